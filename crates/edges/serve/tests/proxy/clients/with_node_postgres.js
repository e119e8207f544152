// What an application with node-postgres does; prints what it saw in one line.
const { Client } = require("pg");
const Cursor = require("pg-cursor");

async function inTransaction(client, work) {
  await client.query("BEGIN");
  try {
    const answer = await work();
    await client.query("COMMIT");
    return answer;
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  }
}

async function main() {
  const client = new Client();
  await client.connect();
  const one = async (sql, values) => (await client.query(sql, values)).rows[0];
  const said = [];
  await inTransaction(client, () => client.query("INSERT INTO accounts VALUES ($1, $2, $3)", [10, "zoe", 7]));
  await inTransaction(client, async () => {
    const { balance } = await one("SELECT balance FROM accounts WHERE id = $1", [1]);
    said.push(Number(balance));
    await client.query("UPDATE accounts SET balance = $1 WHERE id = $2", [balance - 5, 1]);
  });
  // A prepared statement with a name, twice.
  const rise = { name: "rise", text: "UPDATE accounts SET balance = balance + $1 WHERE owner = $2" };
  await client.query({ ...rise, values: [0, "ann"] });
  said.push((await client.query({ ...rise, values: [1, "ann"] })).rowCount);
  const all = await one("SELECT count(*) AS n, sum(balance) AS sum FROM accounts");
  said.push(Number(all.n), Number(all.sum));
  const rich = await client.query("SELECT id FROM accounts WHERE balance > 95 ORDER BY id");
  said.push(rich.rows.map((it) => it.id).join(","));
  await client.query("BEGIN");
  await client.query("DELETE FROM accounts WHERE id = 10");
  await client.query("ROLLBACK");
  said.push((await one("SELECT 1 AS found FROM accounts WHERE id = $1", [10])) ? "True" : "False");
  await inTransaction(client, async () => {
    await client.query("SAVEPOINT here");
    await client.query("INSERT INTO accounts VALUES (11, 'yan', 1)");
    await client.query("ROLLBACK TO SAVEPOINT here");
    await client.query("UPDATE accounts SET balance = 8 WHERE id = 10");
  });
  said.push(Number((await one("SELECT count(*) AS n FROM accounts")).n));
  // A portal, from which rows come a few at a time.
  let sum = 0;
  await inTransaction(client, async () => {
    const cursor = client.query(new Cursor("SELECT balance FROM accounts WHERE id >= $1", [0]));
    for (let rows = await cursor.read(2); rows.length > 0; rows = await cursor.read(2)) {
      sum += rows.reduce((before, it) => before + Number(it.balance), 0);
    }
    await cursor.close();
  });
  said.push(sum);
  console.log(said.join(" "));
  await client.end();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});

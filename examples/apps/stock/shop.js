// A small shop on PostgreSQL: customers order products. It has a bug that no test of one customer finds.
//
//     node shop.js setup               makes the tables
//     node shop.js order ann lamp 2    orders two lamps for a customer
//     node shop.js rush 8 lamp 1       eight customers, one after the other, each with a connection of its own
//     node shop.js audit               fails if more was sold than there was
//
// It connects as libpq says: PGHOST, PGPORT, PGUSER, PGDATABASE. It needs node-postgres: npm install pg
const fs = require("node:fs");
const path = require("node:path");
const { Client } = require("pg");

/** Runs some work in a transaction, and once more if the database says so. */
async function inTransaction(client, work) {
  for (let left = 5; ; left--) {
    await client.query("BEGIN");
    try {
      const answer = await work();
      await client.query("COMMIT");
      return answer;
    } catch (error) {
      await client.query("ROLLBACK");
      if (error.code !== "40001" || left === 0) throw error;
    }
  }
}

/** Orders a product, if there is enough of it. Says whether there was. */
function order(client, customer, product, n) {
  return inTransaction(client, async () => {
    const { rows } = await client.query("SELECT stock FROM products WHERE name = $1", [product]);
    if (rows.length === 0 || rows[0].stock < n) return false;
    // The bug: somebody else may have bought it since it was looked at.
    await client.query("UPDATE products SET stock = stock - $1 WHERE name = $2", [n, product]);
    await client.query("INSERT INTO orders (product, customer, n) VALUES ($1, $2, $3)", [product, customer, n]);
    return true;
  });
}

/** Products of which more was sold than there was. */
async function audit(client) {
  // Locked rows are those of the newest state, whatever else a transaction may see.
  const { rows } = await client.query("SELECT name, stock FROM products ORDER BY name FOR UPDATE");
  return rows.filter((it) => it.stock < 0);
}

async function connected(work, options = {}) {
  const client = new Client(options);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function main([what, ...rest]) {
  if (what === "setup") {
    const schema = fs.readFileSync(path.join(__dirname, "schema.sql"), "utf8");
    await connected((client) => client.query(`DROP TABLE IF EXISTS orders, products; ${schema}`));
  } else if (what === "order") {
    const [customer, product, n] = rest;
    const done = await connected((client) => order(client, customer, product, Number(n)));
    console.log(done ? "ordered" : "not enough left");
  } else if (what === "rush") {
    const [customers, product, n] = rest;
    for (let nth = 1; nth <= Number(customers); nth++) {
      const done = await connected((client) => order(client, `customer ${nth}`, product, Number(n)));
      console.log(done ? "ordered" : "not enough left");
    }
  } else if (what === "audit") {
    const oversold = await connected(audit);
    if (oversold.length > 0) throw new Error(oversold.map((it) => `${it.name}: ${it.stock} left`).join(", "));
    console.log("nothing is oversold");
  } else {
    throw new Error(`there is no \`${what}\`; choose setup, order, rush or audit`);
  }
}

module.exports = { audit, connected, order };

if (require.main === module) {
  main(process.argv.slice(2)).catch((error) => {
    console.error(error.message);
    process.exit(1);
  });
}

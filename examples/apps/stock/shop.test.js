// A test of the shop on a weak PostgreSQL. With Node alone: node --test examples/apps/stock
const assert = require("node:assert");
const path = require("node:path");
const { test } = require("node:test");
const { serve } = require("./isoscope");
const { connected, order } = require("./shop");

/** So many customers order one lamp each. Gives what is left. */
async function rush(served, customers) {
  const { host, port, user, password, database } = served;
  const place = { host, port, user, password, database };
  for (let nth = 0; nth < customers; nth++) {
    await connected((client) => order(client, `customer ${nth}`, "lamp", 1), place);
  }
  return connected(async (client) => {
    const { rows } = await client.query("SELECT stock FROM products WHERE name = 'lamp' FOR UPDATE");
    return rows[0].stock;
  }, place);
}

const schema = path.join(__dirname, "schema.sql");

test("the newest versions hide the bug", async () => {
  const served = await serve({ level: "postgres.rc", policy: "latest", schema });
  try {
    assert.strictEqual(await rush(served, 8), 0);
  } finally {
    await served.end();
  }
});

test("READ COMMITTED sells what is not there", async () => {
  const served = await serve({ level: "postgres.rc", seed: 7, schema });
  try {
    // Your own test would say that it is at least 0, and fail.
    const left = await rush(served, 8);
    assert.ok(left < 0, `${left} are left`);
    assert.match(await served.explanation(), /violated/);
  } finally {
    await served.end();
  }
});

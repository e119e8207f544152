// What an application with TypeORM does; prints what it saw in one line.
require("reflect-metadata");
const { DataSource, EntitySchema, MoreThan } = require("typeorm");

const Account = new EntitySchema({
  name: "Account",
  tableName: "accounts",
  columns: { id: { type: "int", primary: true }, owner: { type: "text" }, balance: { type: "int" } },
});

async function main() {
  const source = new DataSource({
    type: "postgres",
    host: process.env.PGHOST,
    port: Number(process.env.PGPORT),
    username: process.env.PGUSER,
    password: process.env.PGPASSWORD,
    database: process.env.PGDATABASE,
    extra: { max: 1 },
    installExtensions: false,
    entities: [Account],
  });
  await source.initialize();
  const accounts = source.getRepository(Account);
  const said = [];
  await accounts.insert({ id: 10, owner: "zoe", balance: 7 });
  await source.transaction(async (manager) => {
    const account = await manager.findOneBy(Account, { id: 1 });
    said.push(account.balance);
    account.balance -= 5;
    await manager.save(Account, account);
  });
  const rise = accounts.createQueryBuilder().update().set({ balance: () => "balance + 1" }).where({ owner: "ann" });
  said.push((await rise.execute()).affected);
  said.push(await accounts.count());
  said.push(Number((await accounts.createQueryBuilder("a").select("SUM(a.balance)", "sum").getRawOne()).sum));
  const rich = await accounts.find({ where: { balance: MoreThan(95) }, order: { id: "ASC" } });
  said.push(rich.map((it) => it.id).join(","));
  const undone = new Error("undone");
  await source
    .transaction(async (manager) => {
      await manager.delete(Account, 10);
      throw undone;
    })
    .catch((error) => {
      if (error !== undone) throw error;
    });
  said.push((await accounts.findOneBy({ id: 10 })) ? "True" : "False");
  await source.transaction(async (manager) => {
    await manager
      .transaction(async (nested) => {
        await nested.insert(Account, { id: 11, owner: "yan", balance: 1 });
        throw undone;
      })
      .catch((error) => {
        if (error !== undone) throw error;
      });
    await manager.update(Account, 10, { balance: 8 });
  });
  said.push(await accounts.count());
  said.push((await accounts.find()).reduce((before, it) => before + it.balance, 0));
  console.log(said.join(" "));
  await source.destroy();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});

"""What an asynchronous application with SQLAlchemy and asyncpg does; prints what it saw in one line."""

import asyncio
import os

from sqlalchemy import Column, Integer, Text, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import declarative_base

Base = declarative_base()


class Account(Base):
    __tablename__ = "accounts"
    id = Column(Integer, primary_key=True)
    owner = Column(Text)
    balance = Column(Integer)


async def main():
    place = "{PGUSER}:{PGPASSWORD}@{PGHOST}:{PGPORT}/{PGDATABASE}".format(**os.environ)
    engine = create_async_engine(f"postgresql+asyncpg://{place}", pool_size=1, max_overflow=0)
    said = []
    async with AsyncSession(engine) as session:
        session.add(Account(id=10, owner="zoe", balance=7))
        await session.commit()
        async with session.begin():
            account = await session.get(Account, 1)
            said.append(account.balance)
            account.balance -= 5
        async with session.begin():
            rise = update(Account).where(Account.owner == "ann").values(balance=Account.balance + 1)
            said.append((await session.execute(rise.execution_options(synchronize_session=False))).rowcount)
        async with session.begin():
            said += (await session.execute(select(func.count(), func.sum(Account.balance)))).one()
            rich = await session.scalars(select(Account).where(Account.balance > 95).order_by(Account.id))
            said.append(",".join(str(it.id) for it in rich))
        await session.delete(await session.get(Account, 10))
        await session.flush()
        await session.rollback()
        said.append(await session.get(Account, 10) is not None)
        await session.rollback()
        async with session.begin():
            nested = await session.begin_nested()
            session.add(Account(id=11, owner="yan", balance=1))
            await session.flush()
            await nested.rollback()
            (await session.get(Account, 10)).balance = 8
        async with session.begin():
            said.append(await session.scalar(select(func.count()).select_from(Account)))
        async with session.begin():
            # A portal, from which rows come a few at a time.
            result = await session.stream(select(Account.balance).execution_options(yield_per=2))
            said.append(sum([it.balance async for it in result]))
    await engine.dispose()
    print(*said)


asyncio.run(main())

"""What an application with SQLAlchemy does; prints what it saw in one line."""

from sqlalchemy import Column, Integer, Text, create_engine, func, select, text, update
from sqlalchemy.orm import Session, declarative_base

Base = declarative_base()


class Account(Base):
    __tablename__ = "accounts"
    id = Column(Integer, primary_key=True)
    owner = Column(Text)
    balance = Column(Integer)


def main():
    engine = create_engine("postgresql+psycopg2://", pool_size=1, max_overflow=0)
    said = []
    with Session(engine) as session:
        session.add(Account(id=10, owner="zoe", balance=7))
        session.commit()
        with session.begin():
            account = session.get(Account, 1)
            said.append(account.balance)
            account.balance -= 5
        with session.begin():
            rise = update(Account).where(Account.owner == "ann").values(balance=Account.balance + 1)
            said.append(session.execute(rise.execution_options(synchronize_session=False)).rowcount)
        with session.begin():
            said += session.execute(select(func.count(), func.sum(Account.balance))).one()
            rich = session.scalars(select(Account).where(Account.balance > 95).order_by(Account.id))
            said.append(",".join(str(it.id) for it in rich))
        session.delete(session.get(Account, 10))
        session.flush()
        session.rollback()
        said.append(session.get(Account, 10) is not None)
        session.rollback()
        with session.begin():
            nested = session.begin_nested()
            session.add(Account(id=11, owner="yan", balance=1))
            session.flush()
            nested.rollback()
            session.get(Account, 10).balance = 8
        with session.begin():
            said.append(session.scalar(select(func.count()).select_from(Account)))
        with session.begin():
            assert session.execute(text("SELECT owner FROM accounts WHERE id IN :ids").bindparams(ids=(1, 99))).scalar() == "bob"
            said.append(sum(it.balance for it in session.scalars(select(Account))))
    print(*said)


main()

"""A driver for SurrealDB inside Python: pip install surrealdb, then python3 surrealdb.py mem:// or surrealkv://FOLDER

The embedded database takes a transaction as one query of several statements, so the driver has no `begin`, and isoscope sends
each transaction in one piece (`txn`). Transactions of different sessions run at the same time.
"""

import json
import os
import sys

from protocol import Conflict, Loop, Session, serve

# This file is called as the package is, and stands before it on the path.
sys.path = [it for it in sys.path if os.path.abspath(it or ".") != os.path.dirname(os.path.abspath(__file__))]
from surrealdb import AsyncSurreal  # noqa: E402


def statement(operation, nth):
    """The statement of an operation. What a get finds is in a variable of its number."""
    row = f"kv:⟨{operation['key']}⟩"
    if operation["do"] == "get":
        return f"LET $r{nth} = (SELECT VALUE value FROM ONLY {row})"
    if operation["do"] == "put":
        return f"UPSERT {row} SET value = {json.dumps(operation['value'])}"
    if operation["do"] == "append":
        return f"UPSERT {row} SET value += [{json.dumps(operation['value'])}]"
    return f"DELETE {row}"


def query(operations):
    """A transaction as one query, whose last result is what the reads found."""
    statements = [statement(operation, nth) for nth, operation in enumerate(operations)]
    results = [f"$r{nth}" if it["do"] == "get" else "NONE" for nth, it in enumerate(operations)]
    return "BEGIN; " + "; ".join(statements) + f"; RETURN [{', '.join(results)}]; COMMIT;"


def failed(message):
    # "This transaction can be retried": it was not done.
    if "can be retried" in message or "conflict" in message:
        raise Conflict(message)
    raise RuntimeError(message)


class Surreal(Session):
    def __init__(self, loop, db):
        self.loop, self.db = loop, db

    def txn(self, operations):
        said = self.loop.wait(self.db.query_raw(query(operations)))
        if "error" in said:
            failed(json.dumps(said["error"], default=str))
        last = said["result"][-1]
        return last["result"] if last["status"] == "OK" else failed(str(last["result"]))


async def opened(url):
    db = AsyncSurreal(url)
    await db.connect()
    await db.use("isoscope", "isoscope")
    return db, str(await db.version()).removeprefix("surrealdb-")


loop = Loop()
db, version = loop.wait(opened(sys.argv[1] if len(sys.argv) > 1 else "mem://"))
hello = {"name": "surrealdb", "version": version, "levels": ["snapshot-isolation"]}
serve({**hello, "promises": {"snapshot-isolation": "si"}, "unsupported": ["begin", "scan"]}, lambda: Surreal(loop, db))

"""A driver for SurrealDB inside Python: pip install surrealdb, then python3 surrealdb.py mem:// or surrealkv://FOLDER

The embedded database takes a transaction as one query of several statements, so the driver answers `begin` with
"unsupported", and isoscope sends each transaction in one piece (`txn`). Transactions of different sessions run at the same
time. docs/drivers.md has the protocol.
"""

import asyncio
import json
import os
import sys
import threading

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


async def transaction(db, operations):
    statements = [statement(operation, nth) for nth, operation in enumerate(operations)]
    results = [f"$r{nth}" if it["do"] == "get" else "NONE" for nth, it in enumerate(operations)]
    query = "BEGIN; " + "; ".join(statements) + f"; RETURN [{', '.join(results)}]; COMMIT;"
    said = await db.query_raw(query)
    if "error" in said:
        return failure(json.dumps(said["error"], default=str))
    last = said["result"][-1]
    return {"ok": last["result"]} if last["status"] == "OK" else failure(str(last["result"]))


def failure(message):
    # "This transaction can be retried": it was not done.
    return {"conflict": message} if "can be retried" in message or "conflict" in message else {"broken": message}


async def respond(db, version, request):
    what = request["do"]
    if what == "hello":
        levels = ["snapshot-isolation"]
        hello = {"protocol": 1, "name": "surrealdb", "version": version, "levels": levels}
        said = {"ok": {**hello, "promises": {"snapshot-isolation": "si"}, "unsupported": ["begin", "scan"]}}
    elif what == "txn":
        if any(it["do"] == "scan" for it in request["ops"]):
            said = {"unsupported": "scan"}
        else:
            said = await transaction(db, request["ops"])
    elif what in ("open", "close"):
        said = {"ok": None}
    else:
        said = {"unsupported": what}
    print(json.dumps({"id": request["id"], **said}), flush=True)


async def main():
    db = AsyncSurreal(sys.argv[1] if len(sys.argv) > 1 else "mem://")
    await db.connect()
    await db.use("isoscope", "isoscope")
    version = str(await db.version()).removeprefix("surrealdb-")
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    running = set()

    def begin(line):
        task = asyncio.ensure_future(respond(db, version, json.loads(line)))
        running.add(task)
        task.add_done_callback(running.discard)

    def read():
        for line in sys.stdin:
            loop.call_soon_threadsafe(begin, line)
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=read, daemon=True).start()
    await ended.wait()


asyncio.run(main())

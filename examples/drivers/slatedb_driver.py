"""A driver for SlateDB: pip install slatedb, then python3 slatedb_driver.py [URL], such as memory:/// or file:///FOLDER"""

import importlib.metadata
import json
import sys

from slatedb.uniffi import DbBuilder, Error, IsolationLevel, KeyRange, ObjectStore

from protocol import Conflict, Loop, Session, serve

LEVELS = {"serializable": IsolationLevel.SERIALIZABLE_SNAPSHOT, "snapshot": IsolationLevel.SNAPSHOT}
ALL = KeyRange(start=None, start_inclusive=False, end=None, end_inclusive=False)
loop = Loop()


async def opened(url):
    return await DbBuilder("kv", ObjectStore.resolve(url)).build()


class SlateDb(Session):
    def __init__(self, db):
        self.db = db

    def begin(self, level):
        self.txn = loop.wait(self.db.begin(LEVELS[level]))

    def get(self, key):
        value = loop.wait(self.txn.get(key.encode()))
        return value and json.loads(value)

    def put(self, key, value):
        loop.wait(self.txn.put(key.encode(), json.dumps(value).encode()))

    def delete(self, key):
        loop.wait(self.txn.delete(key.encode()))

    async def rows(self, prefix):
        rows, found = [], await self.txn.scan_prefix(prefix.encode(), ALL)
        while row := await found.next():
            rows.append([row.key.decode(), json.loads(row.value)])
        return rows

    def scan(self, prefix):
        return loop.wait(self.rows(prefix))

    def commit(self):
        try:
            loop.wait(self.txn.commit())
        except Error.Transaction as error:
            raise Conflict(error) from error

    def abort(self):
        loop.wait(self.txn.rollback())


db = loop.wait(opened(sys.argv[1] if len(sys.argv) > 1 else "memory:///"))
hello = {"name": "slatedb", "version": importlib.metadata.version("slatedb"), "levels": list(LEVELS)}
serve({**hello, "promises": {"serializable": "ser", "snapshot": "si"}}, lambda: SlateDb(db))

"""A driver for LMDB: pip install lmdb, then python3 lmdb_driver.py [FOLDER]

There is one writer at a time, and every transaction of this driver is one: who begins waits for the one before.
"""

import json
import sys
import tempfile

import lmdb

from protocol import Session, serve

HELLO = {
    "name": "lmdb",
    "version": ".".join(str(it) for it in lmdb.version()),
    "levels": ["serializable"],
    "promises": {"serializable": "ser"},
}


class Lmdb(Session):
    def __init__(self, env):
        self.env, self.txn = env, None

    def begin(self, level):
        self.txn = self.env.begin(write=True)

    def get(self, key):
        value = self.txn.get(key.encode())
        return value and json.loads(value)

    def put(self, key, value):
        self.txn.put(key.encode(), json.dumps(value).encode())

    def delete(self, key):
        self.txn.delete(key.encode())

    def scan(self, prefix):
        rows, cursor = [], self.txn.cursor()
        is_there = cursor.set_range(prefix.encode())
        while is_there and cursor.key().startswith(prefix.encode()):
            rows.append([cursor.key().decode(), json.loads(cursor.value())])
            is_there = cursor.next()
        return rows

    def commit(self):
        self.txn.commit()

    def abort(self):
        self.txn.abort()

    def close(self):
        if self.txn:
            self.txn.abort()


with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
    env = lmdb.open(sys.argv[1] if len(sys.argv) > 1 else folder, map_size=1 << 30, sync=False)
    serve(HELLO, lambda: Lmdb(env))

"""A driver for ZODB: pip install zodb, then python3 zodb_driver.py [entries]

ZODB has a snapshot for each transaction, and refuses who writes an object that has changed since. So each row is an object of its
own, and stays where it is when it is deleted. With `entries`, rows are entries of a B-tree, which merges what others did.
"""

import importlib.metadata
import sys
import tempfile

import transaction
import ZODB
import ZODB.FileStorage
from BTrees.OOBTree import OOBTree
from persistent import Persistent
from ZODB.POSException import ConflictError

from protocol import Conflict, Session, serve

HELLO = {
    "name": "zodb",
    "version": importlib.metadata.version("ZODB"),
    "levels": ["snapshot"],
    "promises": {"snapshot": "si"},
}


class Row(Persistent):
    value = None


class Zodb(Session):
    def __init__(self, db):
        self.manager = transaction.TransactionManager(explicit=True)
        self.connection = db.open(self.manager)

    def begin(self, level):
        self.manager.begin()
        self.rows = self.connection.root()["kv"]

    def get(self, key):
        row = self.rows.get(key)
        return row and row.value

    def put(self, key, value):
        if key not in self.rows:
            self.rows[key] = Row()
        self.rows[key].value = value

    def delete(self, key):
        if key in self.rows:
            self.rows[key].value = None

    def scan(self, prefix):
        found = [[key, self.get(key)] for key in self.rows.keys(prefix, prefix[:-1] + "0", excludemax=True)]
        return [it for it in found if it[1] is not None]

    def commit(self):
        try:
            self.manager.commit()
        except ConflictError as error:
            self.manager.abort()
            raise Conflict(error) from error

    def abort(self):
        self.manager.abort()

    def close(self):
        self.connection.close()


class Entries(Zodb):
    def get(self, key):
        value = self.rows.get(key)
        return list(value) if isinstance(value, tuple) else value

    def put(self, key, value):
        self.rows[key] = tuple(value) if isinstance(value, list) else value

    def delete(self, key):
        self.rows.pop(key, None)


with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
    db = ZODB.DB(ZODB.FileStorage.FileStorage(f"{folder}/kv.fs"), pool_size=1000)
    with db.transaction() as connection:
        connection.root()["kv"] = OOBTree()
    serve(HELLO, lambda: (Entries if "entries" in sys.argv else Zodb)(db))

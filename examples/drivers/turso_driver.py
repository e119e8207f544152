"""A driver for Turso with its MVCC: pip install pyturso, then python3 turso_driver.py [FILE]"""

import importlib.metadata
import os
import sys
import tempfile

import turso

from protocol import Conflict, SqlSession, serve

HELLO = {
    "name": "turso",
    "version": importlib.metadata.version("pyturso"),
    "levels": ["concurrent"],
    "promises": {"concurrent": "si"},
}
# What the message of an aborted transaction has.
CONFLICTS = ["conflict", "busy", "locked", "snapshot", "constraint"]


class Turso(SqlSession):
    def __init__(self, file):
        self.db = turso.connect(file, isolation_level=None)

    def execute(self, sql, values=()):
        try:
            return self.db.execute(sql, values)
        except turso.Error as error:
            if not any(it in str(error).lower() for it in CONFLICTS):
                raise
            try:
                self.db.execute("ROLLBACK")
            except turso.Error:
                pass  # it has ended already
            raise Conflict(error) from error

    def begin(self, level):
        self.execute("BEGIN CONCURRENT")

    def close(self):
        self.db.close()


with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
    file = sys.argv[1] if len(sys.argv) > 1 else os.path.join(folder, "kv.db")
    db = turso.connect(file, isolation_level=None)
    db.execute("PRAGMA journal_mode = 'mvcc'").fetchall()
    db.execute("CREATE TABLE IF NOT EXISTS kv (k TEXT PRIMARY KEY, v TEXT)")
    serve(HELLO, lambda: Turso(file))

"""A driver for SQLite, with the module that Python brings along: python3 sqlite.py [FILE]

Each session has a thread and a connection, so that one that waits for a lock keeps nobody from answering.
"""

import os
import sqlite3
import sys
import tempfile

from protocol import Conflict, SqlSession, serve

HELLO = {
    "name": "sqlite-python",
    "version": sqlite3.sqlite_version,
    "levels": ["serializable", "serializable-immediate"],
    "promises": {"serializable": "ser", "serializable-immediate": "ser"},
}


class Sqlite(SqlSession):
    def __init__(self, file):
        # Python must begin no transactions by itself. Who waits longer than the timeout has lost.
        self.db = sqlite3.connect(file, timeout=1, isolation_level=None)

    def execute(self, sql, values=()):
        try:
            return self.db.execute(sql, values)
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) and "busy" not in str(error):
                raise
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")
            raise Conflict(error) from error

    def begin(self, level):
        self.execute("BEGIN IMMEDIATE" if level == "serializable-immediate" else "BEGIN DEFERRED")

    def close(self):
        self.db.close()


def main():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        file = sys.argv[1] if len(sys.argv) > 1 else os.path.join(folder, "kv.db")
        db = sqlite3.connect(file)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE IF NOT EXISTS kv (k TEXT PRIMARY KEY, v TEXT)")
        db.commit()
        serve(HELLO, lambda: Sqlite(file))


main()

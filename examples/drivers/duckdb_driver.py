"""A driver for DuckDB: pip install duckdb, then python3 duckdb_driver.py [FILE]

Sessions are cursors of one database.
"""

import sys

import duckdb

from protocol import Conflict, SqlSession, serve

HELLO = {
    "name": "duckdb",
    "version": duckdb.__version__,
    "levels": ["snapshot"],
    "promises": {"snapshot": "si"},
}


class DuckDb(SqlSession):
    def __init__(self, db):
        self.db = db.cursor()

    def execute(self, sql, values=()):
        try:
            return self.db.execute(sql, values)
        # A constraint fails if another transaction made the same row.
        except (duckdb.TransactionException, duckdb.ConstraintException) as error:
            try:
                self.db.execute("ROLLBACK")
            except duckdb.Error:
                pass  # it has ended already
            raise Conflict(error) from error

    def begin(self, level):
        self.execute("BEGIN TRANSACTION")


db = duckdb.connect(sys.argv[1] if len(sys.argv) > 1 else ":memory:")
db.execute("CREATE TABLE IF NOT EXISTS kv (k VARCHAR PRIMARY KEY, v VARCHAR)")
serve(HELLO, lambda: DuckDb(db))

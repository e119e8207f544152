"""A driver for Firebird inside the process: pip install firebird-driver, then python3 firebird_driver.py

Needs Firebird's client library with its engine (Debian: firebird3.0-server).
"""

import tempfile

from firebird.driver import DatabaseError, Isolation, connect, create_database, tpb

from protocol import Conflict, SqlSession, serve

LEVELS = {"snapshot": Isolation.SNAPSHOT, "table-stability": Isolation.SERIALIZABLE}
CONFLICTS = ["deadlock", "conflict", "lock time-out", "violation of PRIMARY or UNIQUE"]


class Firebird(SqlSession):
    PUT = "UPDATE OR INSERT INTO kv (k, v) VALUES (?, ?) MATCHING (k)"

    def __init__(self, file):
        self.db = connect(file, user="SYSDBA")

    def refused(self, error):
        if not any(it in str(error) for it in CONFLICTS):
            raise error
        if self.db.is_active():
            self.db.rollback()
        raise Conflict(error) from error

    def execute(self, sql, values=()):
        cursor = self.db.cursor()
        try:
            cursor.execute(sql, values)
            return cursor
        except DatabaseError as error:
            self.refused(error)

    def begin(self, level):
        self.db.begin(tpb(LEVELS[level], lock_timeout=1))

    def commit(self):
        try:
            self.db.commit()
        except DatabaseError as error:
            self.refused(error)

    def abort(self):
        self.db.rollback()

    def close(self):
        self.db.close()


with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
    db = create_database(f"{folder}/kv.fdb", user="SYSDBA", overwrite=True)
    db.execute_immediate("CREATE TABLE kv (k VARCHAR(100) CHARACTER SET ASCII PRIMARY KEY, v VARCHAR(8000))")
    db.commit()
    hello = {"name": "firebird", "version": str(db.info.firebird_version), "levels": list(LEVELS)}
    serve({**hello, "promises": {"snapshot": "si", "table-stability": "ser"}}, lambda: Firebird(f"{folder}/kv.fdb"))

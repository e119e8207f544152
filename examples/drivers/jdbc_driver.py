"""A driver for databases in Java: pip install jaydebeapi, then python3 jdbc_driver.py h2|hsqldb|derby JAR..

The database lives in memory, inside the process.
"""

import json
import os
import sys

import jaydebeapi
import jpype

from protocol import Conflict, SqlSession, serve

CREATE = "CREATE TABLE kv (k VARCHAR(100) PRIMARY KEY, v VARCHAR(8000))"
# How each is reached, what is done first, and its levels: java.sql's number and the promise.
KINDS = {
    "h2": {
        "driver": "org.h2.Driver",
        "url": "jdbc:h2:mem:kv;DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=1000",
        "first": [CREATE],
        # "Only that transactions see the same snapshot", says its documentation of all three.
        "levels": {"snapshot": (6, "si"), "serializable": (8, "si"), "repeatable-read": (4, "rc"), "read-committed": (2, "rc")},
    },
    "hsqldb": {
        "driver": "org.hsqldb.jdbc.JDBCDriver",
        "url": "jdbc:hsqldb:mem:kv",
        "first": ["SET DATABASE TRANSACTION CONTROL MVCC", CREATE],
        "levels": {"serializable": (8, "si"), "read-committed": (2, "rc")},
    },
    "derby": {
        "driver": "org.apache.derby.jdbc.EmbeddedDriver",
        "url": "jdbc:derby:memory:kv;create=true",
        "first": [
            "CALL SYSCS_UTIL.SYSCS_SET_DATABASE_PROPERTY('derby.locks.waitTimeout', '2')",
            "CALL SYSCS_UTIL.SYSCS_SET_DATABASE_PROPERTY('derby.locks.deadlockTimeout', '1')",
            CREATE,
        ],
        "levels": {"serializable": (8, "ser"), "repeatable-read": (4, "rc"), "read-committed": (2, "rc")},
    },
}
# Derby would write a log into the folder where it is started.
os.environ.setdefault("JAVA_TOOL_OPTIONS", f"-Dderby.stream.error.file={os.devnull}")
# The class of a transaction that was rolled back, and of a row that another one has made.
CONFLICTS = ("40", "23", "90131", "HYT00")


class Jdbc(SqlSession):
    def __init__(self, kind, jars):
        self.levels = kind["levels"]
        self.db = jaydebeapi.connect(kind["driver"], kind["url"], ["sa", ""], jars)
        self.db.jconn.setAutoCommit(False)

    def trying(self, what):
        try:
            return what()
        except (jpype.JException, jaydebeapi.Error) as error:
            cause = error if hasattr(error, "getSQLState") else error.args[0]
            if not str(getattr(cause, "getSQLState", str)()).startswith(CONFLICTS):
                raise
            self.db.rollback()
            raise Conflict(error) from error

    def execute(self, sql, values=()):
        cursor = self.db.cursor()
        self.trying(lambda: cursor.execute(sql, values))
        return cursor

    def rows(self, sql, values):
        # Some wait for locks when rows are fetched.
        cursor = self.execute(sql, values)
        return self.trying(cursor.fetchall)

    def put(self, key, value):
        if self.execute("UPDATE kv SET v = ? WHERE k = ?", [json.dumps(value), key]).rowcount == 0:
            self.execute("INSERT INTO kv VALUES (?, ?)", [key, json.dumps(value)])

    def begin(self, level):
        self.db.jconn.setTransactionIsolation(self.levels[level][0])

    def commit(self):
        self.trying(self.db.commit)

    def abort(self):
        self.db.rollback()

    def close(self):
        self.db.rollback()
        self.db.close()


name, jars = sys.argv[1], sys.argv[2:]
kind = KINDS[name]
db = jaydebeapi.connect(kind["driver"], kind["url"], ["sa", ""], jars)
for sql in kind["first"]:
    db.cursor().execute(sql)
levels = kind["levels"]
hello = {
    "name": name,
    "version": str(db.jconn.getMetaData().getDatabaseProductVersion()),
    "levels": list(levels),
    "promises": {level: promise for level, (_, promise) in levels.items()},
}
serve(hello, lambda: Jdbc(kind, jars))

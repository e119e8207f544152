"""A driver for SQLite, with the module that Python brings along: python3 sqlite.py [FILE]

isoscope writes requests to standard input and reads answers from standard output, one JSON object a line. Each session
has a thread and a connection, so that one that waits for a lock keeps nobody from answering. docs/drivers.md has the protocol.
"""

import json
import os
import queue
import sqlite3
import sys
import tempfile
import threading

HELLO = {
    "protocol": 1,
    "name": "sqlite-python",
    "version": sqlite3.sqlite_version,
    "levels": ["serializable", "serializable-immediate"],
    "promises": {"serializable": "ser", "serializable-immediate": "ser"},
}
writing = threading.Lock()


def answer(request, **what):
    with writing:
        print(json.dumps({"id": request["id"], **what}), flush=True)


class Session(threading.Thread):
    def __init__(self, file):
        super().__init__(daemon=True)
        self.file, self.requests = file, queue.Queue()

    def run(self):
        # Python must begin no transactions by itself. Who waits longer than the timeout has lost.
        self.db = sqlite3.connect(self.file, timeout=1, isolation_level=None)
        while True:
            request = self.requests.get()
            try:
                answer(request, **self.do(request))
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) and "busy" not in str(error):
                    answer(request, broken=str(error))
                    continue
                if self.db.in_transaction:
                    self.db.execute("ROLLBACK")
                answer(request, conflict=str(error))
            except Exception as error:  # whatever it is, isoscope should hear of it
                answer(request, broken=repr(error))
            if request["do"] == "close":
                self.db.close()
                return

    def do(self, request):
        what, key = request["do"], request.get("key")
        if what == "begin":
            immediate = request["level"] == "serializable-immediate"
            self.db.execute("BEGIN IMMEDIATE" if immediate else "BEGIN DEFERRED")
        elif what == "get":
            return {"ok": self.get(key)}
        elif what == "put":
            self.put(key, request["value"])
        elif what == "append":
            self.put(key, (self.get(key) or []) + [request["value"]])
        elif what == "delete":
            self.db.execute("DELETE FROM kv WHERE key = ?", [key])
        elif what == "scan":
            # Rows that do not match are dropped by isoscope, so "where" may be left alone.
            rows = self.db.execute("SELECT key, value FROM kv WHERE key GLOB ?", [request["table"] + "/*"])
            return {"ok": [[key, json.loads(value)] for key, value in rows]}
        elif what == "commit":
            self.db.execute("COMMIT")
        elif what == "abort":
            self.db.execute("ROLLBACK")
        elif what not in ("open", "close"):
            return {"unsupported": what}
        return {"ok": None}

    def get(self, key):
        row = self.db.execute("SELECT value FROM kv WHERE key = ?", [key]).fetchone()
        return row and json.loads(row[0])

    def put(self, key, value):
        self.db.execute("INSERT OR REPLACE INTO kv VALUES (?, ?)", [key, json.dumps(value)])


def main():
    with tempfile.TemporaryDirectory() as folder:
        file = sys.argv[1] if len(sys.argv) > 1 else os.path.join(folder, "kv.db")
        db = sqlite3.connect(file)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE IF NOT EXISTS kv (key TEXT PRIMARY KEY, value TEXT)")
        db.commit()
        sessions = {}
        for line in sys.stdin:
            request = json.loads(line)
            if request["do"] == "hello":
                answer(request, ok=HELLO)
                continue
            if request["do"] == "open":
                sessions[request["session"]] = Session(file)
                sessions[request["session"]].start()
            sessions[request["session"]].requests.put(request)
            if request["do"] == "close":
                del sessions[request["session"]]


main()

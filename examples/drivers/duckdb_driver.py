"""A driver for DuckDB: pip install duckdb, then python3 duckdb_driver.py [FILE]

Sessions are cursors of one database, each with a thread. docs/drivers.md has the protocol.
"""

import json
import queue
import sys
import threading

import duckdb

HELLO = {
    "protocol": 1,
    "name": "duckdb",
    "version": duckdb.__version__,
    "levels": ["snapshot"],
    "promises": {"snapshot": "si"},
}
writing = threading.Lock()


def answer(request, **what):
    with writing:
        print(json.dumps({"id": request["id"], **what}), flush=True)


class Session(threading.Thread):
    def __init__(self, db):
        super().__init__(daemon=True)
        self.db, self.requests = db.cursor(), queue.Queue()

    def run(self):
        while True:
            request = self.requests.get()
            try:
                answer(request, **self.do(request))
            except duckdb.TransactionException as error:
                self.roll_back()
                answer(request, conflict=str(error))
            except duckdb.ConstraintException as error:
                # Another transaction made the same row.
                self.roll_back()
                answer(request, conflict=str(error))
            except Exception as error:  # whatever it is, isoscope should hear of it
                answer(request, broken=repr(error))
            if request["do"] == "close":
                return

    def roll_back(self):
        try:
            self.db.execute("ROLLBACK")
        except duckdb.Error:
            pass  # it has ended already

    def do(self, request):
        what, key = request["do"], request.get("key")
        if what == "begin":
            self.db.execute("BEGIN TRANSACTION")
        elif what == "get":
            return {"ok": self.get(key)}
        elif what == "put":
            self.put(key, request["value"])
        elif what == "append":
            self.put(key, (self.get(key) or []) + [request["value"]])
        elif what == "delete":
            self.db.execute("DELETE FROM kv WHERE key = ?", [key])
        elif what == "scan":
            query = "SELECT key, value FROM kv WHERE starts_with(key, ?)"
            rows = self.db.execute(query, [request["table"] + "/"]).fetchall()
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
    db = duckdb.connect(sys.argv[1] if len(sys.argv) > 1 else ":memory:")
    db.execute("CREATE TABLE IF NOT EXISTS kv (key VARCHAR PRIMARY KEY, value VARCHAR)")
    sessions = {}
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "hello":
            answer(request, ok=HELLO)
            continue
        if request["do"] == "open":
            sessions[request["session"]] = Session(db)
            sessions[request["session"]].start()
        sessions[request["session"]].requests.put(request)
        if request["do"] == "close":
            del sessions[request["session"]]


main()

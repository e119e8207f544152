"""What the drivers in Python share: the protocol of docs/drivers.md, with a thread for each session.

A driver is a class of sessions, and `serve(hello, open_session)`. Each method of the class is a request: `begin(level)`,
`get(key)`, `put(key, value)`, `append(key, value)`, `delete(key)`, `scan(prefix)`, `commit()`, `abort()`, `close()`, and
`txn(operations)` where transactions are taken in one piece. What a class does not have is unsupported.
"""

import asyncio
import json
import queue
import subprocess
import sys
import tempfile
import threading
import time


class Conflict(Exception):
    """The database aborted the transaction, for sure."""


class Lost(Exception):
    """Nobody knows what became of the transaction."""


class Session:
    """A session. It is opened, used and closed by the same thread."""

    def append(self, key, value):
        self.put(key, (self.get(key) or []) + [value])

    def open(self):
        """The session is open already."""

    def close(self):
        """Nothing is left to be done."""


class SqlSession(Session):
    """A session of a database with a table `kv` of keys `k` and values `v`, as texts. `self.execute(sql, values)` is a cursor."""

    PUT = "INSERT OR REPLACE INTO kv VALUES (?, ?)"

    def get(self, key):
        row = self.execute("SELECT v FROM kv WHERE k = ?", [key]).fetchone()
        return row and json.loads(row[0])

    def put(self, key, value):
        self.execute(self.PUT, [key, json.dumps(value)])

    def delete(self, key):
        self.execute("DELETE FROM kv WHERE k = ?", [key])

    def scan(self, prefix):
        # The character after a slash is a zero.
        between = [prefix, prefix[:-1] + "0"]
        rows = self.execute("SELECT k, v FROM kv WHERE k >= ? AND k < ?", between).fetchall()
        return [[key, json.loads(value)] for key, value in rows]

    def commit(self):
        self.execute("COMMIT")

    def abort(self):
        self.execute("ROLLBACK")


ARGUMENTS = {
    "begin": lambda it: [it["level"]],
    "get": lambda it: [it["key"]],
    "put": lambda it: [it["key"], it["value"]],
    "append": lambda it: [it["key"], it["value"]],
    "delete": lambda it: [it["key"]],
    "scan": lambda it: [it["table"] + "/"],
    "txn": lambda it: [it["ops"]],
}
writing = threading.Lock()


def answer(request, said):
    with writing:
        print(json.dumps({"id": request["id"], **said}), flush=True)


def respond(session, request):
    """What a request is answered with."""
    what = request["do"]
    if not hasattr(session, what):
        return {"unsupported": what}
    try:
        return {"ok": getattr(session, what)(*ARGUMENTS.get(what, lambda it: [])(request))}
    except Conflict as error:
        return {"conflict": str(error)}
    except Lost as error:
        return {"lost": str(error)}
    except Exception as error:  # whatever it is, isoscope should hear of it
        return {"broken": repr(error)}


def run(open_session, requests):
    """A session, until it is closed."""
    session = None
    while True:
        request = requests.get()
        try:
            session = session or open_session()
        except Exception as error:
            answer(request, {"broken": repr(error)})
            return
        answer(request, respond(session, request))
        if request["do"] == "close":
            return


def serve(hello, open_session):
    """Answers requests until there are no more."""
    sessions = {}
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "hello":
            answer(request, {"ok": {"protocol": 1, **hello}})
            continue
        number = request["session"]
        if number not in sessions:
            sessions[number] = queue.Queue()
            threading.Thread(target=run, args=[open_session, sessions[number]], daemon=True).start()
        sessions[number].put(request)
        if request["do"] == "close":
            del sessions[number]


class Loop(threading.Thread):
    """An event loop for libraries that are asynchronous: sessions wait in their threads for what runs in it."""

    def __init__(self):
        super().__init__(daemon=True)
        self.loop = asyncio.new_event_loop()
        self.start()

    def run(self):
        self.loop.run_forever()

    def wait(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()


class Server:
    """A server that lives in a temporary folder as long as the driver: `with Server(command_in) as folder`."""

    def __init__(self, command_in, is_ready):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        # What the server says is no answer to isoscope.
        self.process = subprocess.Popen(command_in(self.folder.name), stdin=subprocess.DEVNULL, stdout=sys.stderr)
        self.is_ready = is_ready

    def __enter__(self):
        until = time.monotonic() + 20
        while not self.is_ready(self.folder.name):
            if self.process.poll() is not None or time.monotonic() > until:
                self.process.kill()
                sys.exit("the server does not start")
            time.sleep(0.05)
        return self.folder.name

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

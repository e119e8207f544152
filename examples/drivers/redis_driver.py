"""A driver for Redis, whose server it starts: pip install redis, then python3 redis_driver.py

A transaction watches what it reads, keeps what it writes, and sends that with MULTI and EXEC when it commits.
"""

import json
import os

import redis

from protocol import Conflict, Lost, Server, Session, serve


class Redis(Session):
    def __init__(self, socket):
        self.db = redis.Redis(unix_socket_path=socket)

    def begin(self, level):
        self.txn, self.written = self.db.pipeline(transaction=True), {}

    def get(self, key):
        if key in self.written:
            return self.written[key]
        self.txn.watch(key)
        value = self.txn.get(key)
        return value and json.loads(value)

    def put(self, key, value):
        self.written[key] = value

    def delete(self, key):
        self.written[key] = None

    def commit(self):
        self.txn.multi()
        for key, value in self.written.items():
            if value is None:
                self.txn.delete(key)
            else:
                self.txn.set(key, json.dumps(value))
        # EXEC looks at what is watched, also if there is nothing to write; the client would leave it out.
        self.txn.ping()
        try:
            self.txn.execute()
        except redis.WatchError as error:
            raise Conflict(error) from error
        except redis.ConnectionError as error:
            raise Lost(error) from error

    def abort(self):
        self.txn.reset()

    def close(self):
        self.db.close()


def command_in(folder):
    return ["redis-server", "--port", "0", "--unixsocket", f"{folder}/socket", "--dir", folder, "--save", ""]


with Server(command_in, lambda folder: os.path.exists(f"{folder}/socket")) as folder:
    hello = {
        "name": "redis",
        "version": redis.Redis(unix_socket_path=f"{folder}/socket").info()["redis_version"],
        "levels": ["serializable"],
        "promises": {"serializable": "ser"},
    }
    serve(hello, lambda: Redis(f"{folder}/socket"))

"""A driver for etcd, whose server it starts on loopback: python3 etcd_driver.py

All reads of a transaction are of one revision, and its commit compares what it read with what is there.
"""

import base64
import http.client
import json
import socket

from protocol import Conflict, Server, Session, serve


def port():
    """A port that nobody uses."""
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


CLIENTS, PEERS = port(), port()


def encoded(text):
    return base64.b64encode(text.encode()).decode()


def decoded(text):
    return base64.b64decode(text).decode()


class Etcd(Session):
    def __init__(self):
        self.http = http.client.HTTPConnection("127.0.0.1", CLIENTS, timeout=10)

    def ask(self, what, **question):
        self.http.request("POST", f"/v3/kv/{what}", json.dumps(question))
        said = json.load(self.http.getresponse())
        if "error" in said:
            raise RuntimeError(said)
        return said

    def begin(self, level):
        self.revision, self.compared, self.written = None, [], {}

    def range(self, **question):
        if self.revision:
            question["revision"] = self.revision
        said = self.ask("range", **question)
        self.revision = self.revision or said["header"]["revision"]
        return said.get("kvs", [])

    def is_as_read(self, key, revision):
        return {"key": encoded(key), "target": "MOD", "result": "EQUAL", "modRevision": revision}

    def get(self, key):
        if key in self.written:
            return self.written[key]
        found = self.range(key=encoded(key))
        self.compared.append(self.is_as_read(key, found[0]["mod_revision"] if found else "0"))
        return json.loads(decoded(found[0]["value"])) if found else None

    def put(self, key, value):
        self.written[key] = value

    def delete(self, key):
        self.written[key] = None

    def scan(self, prefix):
        all_of = {"key": encoded(prefix), "range_end": encoded(prefix[:-1] + "0")}
        found = {decoded(it["key"]): it for it in self.range(**all_of)}
        # Nothing is newer, and nothing is gone.
        newer = str(int(self.revision) + 1)
        self.compared.append({**all_of, "target": "MOD", "result": "LESS", "modRevision": newer})
        self.compared += [self.is_as_read(key, it["mod_revision"]) for key, it in found.items()]
        rows = {key: json.loads(decoded(it["value"])) for key, it in found.items()}
        rows.update({key: value for key, value in self.written.items() if key.startswith(prefix)})
        return [[key, value] for key, value in rows.items() if value is not None]

    def commit(self):
        delete = lambda key: {"requestDeleteRange": {"key": encoded(key)}}  # noqa: E731
        put = lambda key, value: {"requestPut": {"key": encoded(key), "value": encoded(json.dumps(value))}}  # noqa: E731
        done = [delete(key) if value is None else put(key, value) for key, value in self.written.items()]
        if not self.ask("txn", compare=self.compared, success=done).get("succeeded"):
            raise Conflict("something that was read has changed")

    def abort(self):
        """Nothing was sent."""

    def close(self):
        self.http.close()


def command_in(folder):
    clients, peers = f"http://127.0.0.1:{CLIENTS}", f"http://127.0.0.1:{PEERS}"
    return ["etcd", "--data-dir", folder, "--listen-client-urls", clients, "--advertise-client-urls", clients,
            "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
            "--initial-cluster", f"default={peers}", "--max-txn-ops", "4096"]  # fmt: skip


def version():
    """That of the server, if it is up."""
    try:
        asked = http.client.HTTPConnection("127.0.0.1", CLIENTS, timeout=1)
        asked.request("GET", "/version")
        said = json.load(asked.getresponse())["etcdserver"]
        Etcd().ask("range", key=encoded("nothing"))
        return said
    except (OSError, RuntimeError, http.client.HTTPException, ValueError):
        return None


with Server(command_in, lambda _: version()):
    serve({"name": "etcd", "version": version(), "levels": ["serializable"], "promises": {"serializable": "ser"}}, Etcd)

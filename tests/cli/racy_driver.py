"""A driver for a map that takes transactions in one piece, and loses an update in some of the races of two of them."""

import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/drivers"))
from protocol import Session, serve  # noqa: E402

HELLO = {"name": "racy", "version": "1", "levels": ["snapshot"], "promises": {"snapshot": "si"}, "unsupported": ["begin", "scan"]}
rows, lock, dice = {}, threading.Lock(), random.Random(7)


class Racy(Session):
    def txn(self, operations):
        with lock:
            is_careless = dice.random() < 0.3
            seen = dict(rows)
            if not is_careless:
                return self.run(rows, operations)
        time.sleep(0.002)
        answers = self.run(seen, operations)
        with lock:
            rows.update(seen)
        return answers

    def run(self, state, operations):
        return [self.step(state, **it) for it in operations]

    def step(self, state, do, key, value=None, **_):
        if do == "get":
            return state.get(key)
        if do == "append":
            state[key] = (state.get(key) or []) + [value]
        else:
            state[key] = value if do == "put" else None


serve(HELLO, Racy)

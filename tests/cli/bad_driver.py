"""A driver that is right for a while, and then does something wrong: bad_driver.py nonsense|dies|hangs|floods|strange|..

Its transactions run one after the other on a dictionary, so that it is serializable as long as it works.
"""

import json
import sys
import time

fault = sys.argv[1]
left = int(sys.argv[2]) if len(sys.argv) > 2 else 40
rows, undo, owner, queue = {}, {}, None, []
HELLO = {"protocol": 1, "name": "bad", "version": "1", "levels": ["serializable"], "promises": {"serializable": "ser"}}


def say(request, **what):
    print(json.dumps({"id": request["id"], **what}), flush=True)


def go_wrong(request):
    if fault == "nonsense":
        print("what a nice day", flush=True)
    elif fault == "dies":
        print("something is rotten", file=sys.stderr, flush=True)
        sys.exit(3)
    elif fault == "hangs":
        time.sleep(3600)
    elif fault == "floods":
        while True:
            sys.stdout.write("x" * 65536)
    elif fault == "strange":
        print(json.dumps({"id": request["id"] + 1000, "ok": None}), flush=True)
    elif fault == "both":
        say(request, ok=None, conflict="or not")
    elif fault == "float":
        say(request, ok=1.5)
    elif fault == "broken":
        say(request, broken="the disk is on fire")


def act(request):
    global undo, owner
    what, key = request["do"], request.get("key")
    if what == "begin":
        owner, undo = request["session"], dict(rows)
    elif what == "get":
        return say(request, ok=rows.get(key))
    elif what == "put":
        rows[key] = request["value"]
    elif what == "delete":
        rows.pop(key, None)
    elif what in ("commit", "abort"):
        if what == "abort":
            rows.clear()
            rows.update(undo)
        owner = None
    elif what in ("append", "scan") or what not in ("open", "close"):
        return say(request, unsupported=what)
    say(request, ok=None)


for line in sys.stdin:
    request = json.loads(line)
    if request["do"] == "hello":
        answer = "hi" if fault == "rude" else {**HELLO, "protocol": 7} if fault == "future" else HELLO
        say(request, ok=answer)
        continue
    queue.append(request)
    while True:
        # Whoever begins while another transaction is open waits for its end.
        ready = [it for it in queue if owner is None or it["session"] == owner or it["do"] in ("open", "close")]
        if not ready:
            break
        queue.remove(ready[0])
        left -= ready[0]["do"] in ("get", "commit")
        wanted = ("get",) if fault == "float" else ("commit",)
        if left < 0 and ready[0]["do"] in wanted:
            go_wrong(ready[0])
        else:
            act(ready[0])

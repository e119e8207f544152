"""From a log of an application to a page that says what went wrong: run it like the cells of a notebook.

    python examples/python/orders.py why.html
"""

import sys

import isoscope

# %% What the application logged: two customers buy the last of five lamps, and a third one looks.
log = [
    {"client": "ann", "order": 1, "did": "read", "row": "lamps", "saw": 5},
    {"client": "bob", "order": 1, "did": "read", "row": "lamps", "saw": 5},
    {"client": "ann", "order": 1, "did": "write", "row": "lamps", "saw": 2},
    {"client": "bob", "order": 1, "did": "write", "row": "lamps", "saw": 1},
    {"client": "cid", "order": 1, "did": "read", "row": "lamps", "saw": 1},
]

# %% A history: which column is what, and what the table held at first.
history = isoscope.History.from_rows(
    log, session="client", txn="order", op="did", key="row", value="saw", initial={"lamps": 5}
)
print(history.to_text())

# %% Which levels allow it? A notebook would show the picture here.
answer = isoscope.check(history)
for level in answer:
    print(f"{level.level:4} {level.verdict} {', '.join(level.anomalies)}")

# %% Why not snapshot isolation?
why = isoscope.check(history, "si")
print(why.explain())

# %% A page to attach to a bug report.
page = sys.argv[1] if len(sys.argv) > 1 else "why.html"
why.report(page)
print(f"The page is in {page}.")

"""How long Python takes for a history in a polars frame, beside the command line on the same history in a file.

    python python/bench/million.py --isoscope target/release/isoscope [--txns 1000000] [--level ser]
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import time

import polars

import isoscope

arguments = argparse.ArgumentParser(description=__doc__)
arguments.add_argument("--isoscope", default="isoscope")
arguments.add_argument("--txns", type=int, default=1_000_000)
arguments.add_argument("--level", default="ser")
asked = arguments.parse_args()


def frame_of(path: pathlib.Path) -> tuple[polars.DataFrame, object]:
    """The history as a table, with an operation a row, and what registers hold at first."""
    columns: dict[str, list] = {name: [] for name in ("session", "txn", "op", "key", "value", "status", "begin", "end")}
    with path.open() as lines:
        header = json.loads(next(lines))
        for txn, line in enumerate(lines):
            one = json.loads(line)
            if "ops" not in one:
                continue
            for op in one["ops"]:
                cells = (one["s"], txn, op[0], op[1], op[2], one.get("status", "commit"), one.get("begin"), one.get("end"))
                for column, cell in zip(columns.values(), cells):
                    column.append(cell)
    return polars.DataFrame(columns), header.get("initial")


with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "history.jsonl"
    words = [asked.isoscope, "generate", "balanced", "--txns", str(asked.txns), "-o", str(path)]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    frame, initial = frame_of(path)
    print(f"{frame.height} rows, {frame.estimated_size('mb'):.0f} MB: {dict(frame.schema)}")
    for _ in range(3):
        since = time.monotonic()
        history = isoscope.History.from_rows(frame, initial=initial)
        table = time.monotonic() - since
        answer = isoscope.check(history, asked.level)
        python = time.monotonic() - since
        since = time.monotonic()
        said = subprocess.run([asked.isoscope, "check", str(path), "--level", asked.level], capture_output=True, text=True)
        command = time.monotonic() - since
        assert answer.exit_code == said.returncode, (answer, said)
        print(
            f"{history.n_transactions} transactions, {asked.level} {answer.verdict}: Python {python:.2f} s, of which the "
            f"table {table:.2f} s; command {command:.2f} s; {python / command:.2f} times"
        )

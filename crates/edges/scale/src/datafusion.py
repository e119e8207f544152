"""Replays an order of transactions over a Parquet data set with DataFusion, and writes down what does not fit."""

import json
import os
import pathlib
import queue
import shutil
import signal
import sys
import threading

import pyarrow as pa
import pyarrow.parquet as pq
from datafusion import RuntimeEnvBuilder, SessionConfig, SessionContext

# A sort that has less than this writes and reads again more than it sorts.
BYTES_PER_PARTITION = 256 << 20


def plans():
    """The plans whose names come in. When no more can come, nobody waits for an answer: whatever runs is ended, and its
    folder is removed, as whoever made it may have been killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    names = queue.Queue()
    folders = set()

    def read():
        for line in sys.stdin:
            names.put(line.rstrip("\n"))
            folders.add(os.path.dirname(line.rstrip("\n")))
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        with open(names.get()) as file:
            yield json.load(file)


def context(plan):
    memory = plan["memory"]
    n_partitions = min(os.cpu_count() or 2, max(2, memory // BYTES_PER_PARTITION))
    # The setting below makes a new manager of files, which has forgotten any folder but this one.
    os.environ["TMPDIR"] = plan["spill"]
    runtime = RuntimeEnvBuilder().with_fair_spill_pool(memory).with_disk_manager_os()
    ctx = SessionContext(SessionConfig().with_target_partitions(n_partitions), runtime)
    # The disk ends where it ends.
    ctx.sql("SET datafusion.runtime.max_temp_directory_size = '1000000G'")
    return ctx


def register(ctx, name, path):
    """A directory of files, or one file, whatever characters its name has."""
    path = pathlib.Path(path)
    if path.is_dir():
        ctx.register_parquet(name, path.as_uri() + "/")
    else:
        ctx.register_parquet(name, path.as_uri(), file_extension="")


def plain(schema):
    """The same columns, with texts as files of Parquet have them."""
    return pa.schema([pa.field(it.name, pa.string() if it.type == pa.string_view() else it.type) for it in schema])


def rows(frame):
    return pa.Table.from_batches(frame.collect(), schema=frame.schema()).cast(plain(frame.schema()))


def keep(frame, path):
    """Writes rows as they come: they may be more than fit into memory. Says how many there are."""
    schema = plain(frame.schema())
    n_rows = 0
    with pq.ParquetWriter(path, schema) as file:
        for batch in frame.execute_stream():
            table = pa.Table.from_batches([batch.to_pyarrow()]).cast(schema)
            file.write_table(table)
            n_rows += table.num_rows
    return n_rows


def main(plan):
    ctx = context(plan)
    folder = pathlib.Path(plan["folder"])
    count = lambda name: ctx.sql(f"SELECT COUNT(*) AS n FROM {name}").collect()[0].column(0)[0].as_py()
    register(ctx, "history", plan["history"])
    if plan["moved"]:
        columns = pa.schema([("txn", pa.int64()), ("pos", pa.int64()), ("counts", pa.int32())])
        ctx.register_csv("moved", pathlib.Path(plan["moved"]).as_uri(), schema=columns, has_header=False)
    if plan["before"]:
        register(ctx, "before", plan["before"])
    empty = set()
    for name, text in plan["views"]:
        if name in plan["kept"]:
            kept, frame = folder / f"{name}.parquet", ctx.sql(text)
            if plan["empty_with"].get(name) in empty:
                frame = frame.limit(0)
            if keep(frame, kept) == 0:
                empty.add(name)
            register(ctx, name, kept)
        else:
            ctx.sql(f"CREATE VIEW {name} AS {text}")
    result = {
        "rows": count("history"),
        "other_kinds": [it["kind"] for it in rows(ctx.sql("SELECT kind FROM other_kinds")).to_pylist()],
        "broken": count("broken"),
        "keys": count("misfit_keys"),
        "misfits": count("misfit_txns"),
        "txns": count("txns"),
        "part_rows": 0,
    }
    if result["keys"] or result["misfits"]:
        result["part_rows"] = count("part")
        if result["part_rows"] <= plan["max_part_rows"]:
            part = rows(ctx.sql("SELECT * FROM part")).sort_by([("txn", "ascending"), ("op", "ascending")])
            pq.write_table(part, plan["part"], compression="snappy")
    # It is there as a whole, or not at all.
    with open(plan["result"] + ".new", "w") as file:
        json.dump(result, file)
    os.replace(plan["result"] + ".new", plan["result"])


for plan in plans():
    try:
        main(plan)
    except Exception as error:
        # What it says on several lines is one sentence here.
        sys.exit("Error: " + " ".join(str(error).split())[:2000])

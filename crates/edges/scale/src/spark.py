"""Replays an order of transactions over a Parquet data set with Spark, and writes down what does not fit."""

import json
import os
import signal
import sys

from pyspark.sql import SparkSession


def main(plan):
    builder = (
        SparkSession.builder.appName("isoscope")
        .master(plan["master"])
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.ansi.enabled", "true")
    )
    spark = builder.getOrCreate()
    if plan["partitions"]:
        spark.conf.set("spark.sql.shuffle.partitions", plan["partitions"])
    spark.sparkContext.setLogLevel("ERROR")
    spark.read.parquet(plan["history"]).createOrReplaceTempView("history")
    if plan["moved"]:
        moved = spark.read.schema("txn BIGINT, pos BIGINT, counts INT").csv(plan["moved"])
        moved.createOrReplaceTempView("moved")
    if plan["before"]:
        spark.read.parquet(plan["before"]).createOrReplaceTempView("before")
    empty = set()
    for name, text in plan["views"]:
        view = spark.sql(text)
        if plan["empty_with"].get(name) in empty:
            view = view.limit(0)
        if name in plan["kept"]:
            # A view that is cached still is part of the plans of all that ask it, which grow beyond all memory.
            kept = f"file://{plan['folder']}/{name}.parquet"
            view.write.mode("overwrite").parquet(kept)
            view = spark.read.parquet(kept)
            if view.isEmpty():
                empty.add(name)
        view.createOrReplaceTempView(name)
    count = lambda name: spark.table(name).count()
    result = {
        "rows": count("history"),
        "other_kinds": [row["kind"] for row in spark.table("other_kinds").collect()],
        "broken": count("broken"),
        "keys": count("misfit_keys"),
        "misfits": count("misfit_txns"),
        "txns": count("txns"),
        "part_rows": 0,
    }
    if result["keys"] or result["misfits"]:
        part = spark.table("part").persist()
        result["part_rows"] = part.count()
        if result["part_rows"] <= plan["max_part_rows"]:
            part.coalesce(1).sortWithinPartitions("txn", "op").write.parquet(plan["part"])
    spark.catalog.clearCache()
    # It is there as a whole, or not at all.
    with open(plan["result"] + ".new", "w") as file:
        json.dump(result, file)
    os.replace(plan["result"] + ".new", plan["result"])


# Ctrl-C is heard by who started this.
signal.signal(signal.SIGINT, signal.SIG_IGN)
for line in sys.stdin:
    with open(line.rstrip("\n")) as file:
        main(json.load(file))
if SparkSession.getActiveSession():
    SparkSession.getActiveSession().stop()

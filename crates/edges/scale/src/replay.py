"""Replays an order of transactions over a Parquet data set with Spark, and writes down what does not fit."""

import json
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
    if plan["partitions"]:
        builder = builder.config("spark.sql.shuffle.partitions", plan["partitions"])
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.read.parquet(plan["history"]).createOrReplaceTempView("history")
    if plan["moved"]:
        moved = spark.read.schema("txn BIGINT, pos BIGINT, counts INT").csv(plan["moved"])
        moved.createOrReplaceTempView("moved")
    if plan["before"]:
        spark.read.parquet(plan["before"]).createOrReplaceTempView("before")
    for name, text in plan["views"]:
        view = spark.sql(text)
        if name in ("misfit_keys", "misfit_txns"):
            # Looked at twice: once to count them, once for the part around them.
            view = view.persist()
        view.createOrReplaceTempView(name)
    count = lambda name: spark.table(name).count()
    result = {
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
    with open(plan["result"], "w") as file:
        json.dump(result, file)
    spark.stop()


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        main(json.load(file))

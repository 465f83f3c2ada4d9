"""Tables in Apache Spark: the same release as in memory. Slow to start, so on request (``./dev explore --spark``)."""

from __future__ import annotations

import os
import sys
import time
from functools import cache
from typing import Any

import polars as pl

import shoal

from .cases import draw_case
from .results import Result, rows_of, shorten
from .setting import Case, build_table


@cache
def _session() -> Any:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.log.level", "FATAL").config("spark.ui.showConsoleProgress", "false")
    return builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()


def _in_spark(case: Case, table: pl.DataFrame) -> Any:
    """Hand the records over one by one: through pandas, missing whole numbers would become fractions."""
    from pyspark.sql import types

    kinds = {
        "integer": types.LongType(),
        "float": types.DoubleType(),
        "text": types.StringType(),
        "boolean": types.BooleanType(),
        "date": types.DateType(),
        "datetime": types.TimestampType(),
    }
    fields = [types.StructField(column["name"], kinds[column["kind"]]) for column in case["columns"]]
    return _session().createDataFrame(table.rows(), types.StructType(fields))


def draw_spark(seed: int) -> Case:
    """Draw a case that Spark can hold: it has no times of day."""
    while True:
        case = draw_case(seed, "tiny")
        simple = not any(column["kind"] == "time" for column in case["columns"])
        policy = case["policy"]
        if simple and not case.get("population") and not policy.get("subject") and not policy.get("survey_weight"):
            return {**case, "family": "spark", "drawn": seed}
        seed += 10**6


def run_spark(case: Case) -> Result:
    """Compare the release of a Spark table with that of the same table in memory."""
    started = time.perf_counter()
    result, table = Result(case), build_table(case["columns"])
    outcomes: list[Any] = []
    for given in (lambda: table, lambda: _in_spark(case, table)):
        try:
            outcomes.append(shoal.anonymize(given(), case["policy"]))
        except shoal.AuditFailed as error:
            result.find("audit-failed", shorten(error))
        except shoal.ShoalError as error:
            outcomes.append(error)
        except Exception as error:
            result.find("crash", f"{type(error).__name__}: {shorten(error)}")
    if len(outcomes) == 2:
        ours, theirs = outcomes
        refused = [isinstance(one, shoal.ShoalError) for one in outcomes]
        if refused[0] != refused[1]:
            result.find("spark", f"memory: {shorten(ours, 140)}; Spark: {shorten(theirs, 140)}")
        elif not refused[0]:
            collected = [row.asDict() for row in theirs.table.collect()]
            if sorted(map(str, collected)) != sorted(map(str, rows_of(ours.frame))):
                result.find("spark", "another release than that of the memory")
            result.checks["spark"] += 1
    if result.findings:
        result.outcome = "finding"
    result.seconds = time.perf_counter() - started
    return result

"""Bringing a decision back to the records: the published table as a Spark table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_

import numpy as np
import polars as pl
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

from shoal.engines.counted import COUNTS
from shoal.engines.spark.columns import moments

PIECE = ("low", "high")
"""The records of a combination that a piece takes: numbered from 1, after ``low``, up to ``high``."""
LARGEST_FILE = 1_000_000
"""About how many records are in a partition of a release."""


def create(spark: SparkSession, frame: pl.DataFrame) -> DataFrame:
    """Return a frame of the driver, with columns of our own names, as a Spark table, in its order."""
    # by way of numbers: Spark takes moments without a zone for those of its session
    times = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Datetime)]
    table = spark.createDataFrame(frame.cast(dict.fromkeys(times, pl.Int64)).to_arrow())
    columns = (moments(F.col(name)).alias(name) if name in times else F.col(name) for name in frame.columns)
    return table.select(*columns) if times else table


def repeat(table: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Return each record of a Spark table as often as it occurs."""
    again = F.explode(F.sequence(F.lit(1), F.col(COUNTS).cast("int")))
    return table.select(*keys, again.alias("again")).select(*keys)


def cut_counts(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a tally in which no record occurs much more often than others: it is there several times instead.

    Spark cuts a table into parts of as many rows each: one that occurs a million times would be the work of one task.

    Examples
    --------
    >>> cut_counts(pl.DataFrame({"age": [21, 24], "times": [1, 7]}))["times"].to_list()
    [1, 4, 3]
    """
    times = frame[COUNTS].to_numpy()
    most = max(-(-int(times.sum()) // max(len(times), 1)), 1)
    parts = -(-times // most)
    rows = np.repeat(np.arange(len(times)), parts)
    index = np.arange(len(rows)) - np.repeat(np.cumsum(parts) - parts, parts)
    left = np.minimum(times[rows] - index * most, most)
    return frame[rows].with_columns(pl.Series(COUNTS, left))


def expand_counts(spark: SparkSession, frame: pl.DataFrame) -> DataFrame:
    """Return the published table where all of it was counted: each published record as often as it occurs.

    The table is made of the counts alone, so that Spark has no reason to read the original again, whatever it loses.
    """
    keys = [name for name in frame.columns if name != COUNTS]
    records = int(frame[COUNTS].sum())
    table = create(spark, cut_counts(frame))
    parts = max(-(-records // LARGEST_FILE), count_task_slots(spark))
    return repeat(table.coalesce(parts), keys)


def join_others(
    rows: DataFrame, pieces: DataFrame, keys: Sequence[str], order: Sequence[str], texts: Sequence[str]
) -> DataFrame:
    """Return the published table where records carry columns that were not counted.

    Parameters
    ----------
    rows
        The original records: ``keys`` and other columns.
    pieces
        What becomes of each combination of ``keys``: the texts that it shows, which of its records the piece takes, and
        whether the combination is split between several.
    keys, order, texts
        The counted columns; those by which records of one combination are told apart; what is shown.
    """
    other = [name for name in rows.columns if name not in keys]
    shown = pieces.select(*(F.col(name).alias(f"k_{name}") for name in keys), *texts, *PIECE, "split")
    same = _same(keys)
    whole = rows.join(shown.where(~F.col("split")), same, "inner").select(*keys, *other, *texts)
    # only combinations that are split need their records numbered, in an order that does not follow the partitions
    split = shown.where(F.col("split"))
    chosen = rows.join(split.select(*(f"k_{name}" for name in keys)).distinct(), same, "left_semi")
    in_order = chosen.withColumn("number", F.row_number().over(Window.partitionBy(*keys).orderBy(*order)))
    inside = (F.col("number") > F.col("low")) & (F.col("number") <= F.col("high"))
    shared = in_order.join(split, same & inside, "inner").select(*keys, *other, *texts)
    return whole.unionAll(shared)


def _same(keys: Sequence[str]) -> Column:
    return reduce(and_, (F.col(name).eqNullSafe(F.col(f"k_{name}")) for name in keys))


def checkpoint(table: DataFrame) -> DataFrame:
    """Return a table that is computed now and never again: what was audited is what the caller gets.

    Where Spark has a folder for checkpoints it is written there, and no loss of an executor touches it. Else executors
    hold it, two of them each part where there are several: if more are lost, reading the table fails, but no other
    table comes instead.
    """
    context = getattr(table.sparkSession, "_sc", None)
    if context is None:  # Spark Connect
        return table.localCheckpoint(eager=True)
    if context.getCheckpointDir() is not None:
        return table.checkpoint(eager=True)
    alone = context.master.startswith("local") and not context.master.startswith("local-cluster")
    level = StorageLevel.MEMORY_AND_DISK if alone else StorageLevel.MEMORY_AND_DISK_2
    return table.localCheckpoint(eager=True, storageLevel=level)


def count_task_slots(spark: SparkSession) -> int:
    """Return how many tasks Spark does at the same time."""
    context = getattr(spark, "_sc", None)
    return int(context.defaultParallelism) if context is not None else 2

"""Counting on Spark: GROUP BY, whole records or each column by itself, and the counts as a table on the driver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import polars as pl
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from shoal.engines.counted import COUNTS, CountedTable, side_by_side
from shoal.engines.spark.columns import Layout
from shoal.policy import Policy


def count_combinations(table: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Return each combination of some columns once, with how often it occurs."""
    return table.groupBy(*keys).agg(F.count(F.lit(1)).alias(COUNTS))


def count_each(table: DataFrame, units: Sequence[Sequence[str]]) -> list[pl.DataFrame]:
    """Return for each of several sets of columns their combinations, with how often each occurs; in one pass."""
    every = list(dict.fromkeys(key for unit in units for key in unit))
    sets = [[F.col(key) for key in unit] for unit in units]
    grouped = table.groupingSets(sets, *every)
    found = collect(grouped.agg(F.grouping_id().alias("without"), F.sum(COUNTS).cast("bigint").alias(COUNTS)))
    numbers = [int("".join("0" if key in unit else "1" for key in every), 2) for unit in units]
    return [
        found.filter(found["without"] == number).select(*unit, COUNTS)
        for unit, number in zip(units, numbers, strict=True)
    ]


def keep(table: DataFrame) -> DataFrame:
    """Return a table that Spark keeps until it is told not to."""
    return table.persist(StorageLevel.MEMORY_AND_DISK)


@contextmanager
def cache(table: DataFrame) -> Iterator[DataFrame]:
    """Let Spark keep a table while it is looked at more than once."""
    table = keep(table)
    try:
        yield table
    finally:
        table.unpersist()


def collect(table: DataFrame) -> pl.DataFrame:
    """Return a Spark table as a frame on the driver."""
    frame = pl.from_arrow(table.toArrow())
    assert isinstance(frame, pl.DataFrame)
    return frame


def name_columns(counts: pl.DataFrame, layout: Layout, also: Sequence[str] = ()) -> CountedTable:
    """Return counts as a counted table with the names of the table; columns that were not counted have no values."""
    named = {}
    for name in layout.names:
        if layout.key(name) in counts.columns:
            named[name] = counts[layout.key(name)]
        elif name in also:
            named[name] = pl.Series([None] * counts.height, dtype=pl.String)
    return CountedTable(pl.DataFrame(named), counts[COUNTS])


def count_marginals(combinations: DataFrame, layout: Layout, policy: Policy) -> CountedTable:
    """Return a table whose columns are those of a larger one, the sensitive ones together, but whose records are not.

    Domains, hierarchies, losses and the distributions that promises are compared with follow from it, whatever the size
    of the larger table.
    """
    sensitive = [layout.key(name) for name in layout.counted if name in policy.sensitive]
    units = [[layout.key(name)] for name in layout.counted if name in policy.quasi_identifiers]
    table = side_by_side(count_each(combinations, [*units, *([sensitive] if sensitive else [])]))
    named = {name: table[layout.key(name)] for name in layout.names if layout.key(name) in table.columns}
    blank = pl.Series([None] * table.height, dtype=pl.String)
    every = {name: named.get(name, blank) for name in layout.names if name in named or name in policy.identifiers}
    return CountedTable(pl.DataFrame(every), table[COUNTS], apart=True)

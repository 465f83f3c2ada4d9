"""Comparing what Spark holds with what was decided: columns that ride along, and the texts beside them."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from shoal.errors import Fault


def find_moved_faults(joined: DataFrame, original: DataFrame, pieces: DataFrame, keys: Sequence[str]) -> list[Fault]:
    """Return a fault where a record does not stand beside the texts that were decided for what it holds.

    Parameters
    ----------
    joined
        The original records that are published, each with its texts (``t…``).
    original
        All of them, without texts.
    pieces
        What was decided: the texts of each combination of ``keys``, and for how many of its records.
    keys
        The columns that were counted.
    """
    rows = [name for name in joined.columns if not name.startswith("t")]
    if faults := find_other_faults(joined, original, rows):
        return faults
    pair = [*keys, *(name for name in joined.columns if name.startswith("t"))]
    mark = F.xxhash64(*pair).cast("decimal(38,0)")
    decided = pieces.agg(F.sum(F.col("high") - F.col("low")), F.sum(mark * (F.col("high") - F.col("low")))).collect()[0]
    if tuple(joined.agg(F.count(F.lit(1)), F.sum(mark)).collect()[0]) == tuple(decided):
        return []
    return [Fault("records stand beside other texts than were decided for them", got=f"{decided[0]} were decided")]


def find_other_faults(published: DataFrame, original: DataFrame, keys: Sequence[str]) -> list[Fault]:
    """Return a fault where columns that are published as they are hold what the original does not, or not so often."""
    if not keys:
        return []
    mark = F.xxhash64(*keys).cast("decimal(38,0)")
    sums = [table.agg(F.count(F.lit(1)), F.sum(mark)).collect()[0] for table in (published, original)]
    if sums[0] == sums[1]:
        return []
    if sums[0][0] < sums[1][0] and published.select(*keys).exceptAll(original.select(*keys)).isEmpty():
        return []
    what = "columns that are published as they are hold what the original does not, or not so often"
    return [Fault(what, got=f"{sums[0][0]} of {sums[1][0]} records")]

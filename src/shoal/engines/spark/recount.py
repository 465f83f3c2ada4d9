"""Counting a published Spark table again, and auditing what was counted."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from shoal.auditing import Audit, audit
from shoal.engines.counted import TIMES, CountedTable
from shoal.engines.spark.columns import Layout
from shoal.engines.spark.tally import collect, counted, tallied
from shoal.errors import Fault
from shoal.policy import Policy


def recounted(
    published: DataFrame, layout: Layout, policy: Policy, original: CountedTable | None, *, statistics: bool = False
) -> tuple[Audit, pl.DataFrame]:
    """Audit a published table under our own names; return also what was counted in it.

    The subject of each record may be among the columns: it is for this count only, and no part of the release.
    """
    counts = collect(counted(published, [key for key in layout.keys(layout.counted) if key in published.columns]))
    subject = layout.key(policy.subject) if policy.subject in layout.names else None
    people = None if subject is None or subject not in counts.columns else counts[subject]
    shown = counts if people is None or subject is None else counts.drop(subject)
    also = [name for name in layout.names if layout.key(name) in published.columns and name != policy.subject]
    checked = audit(tallied(shown, layout, also), policy, original=original, subjects=people, statistics=statistics)
    return checked, counts


def other_than_decided(counts: pl.DataFrame, decided: pl.DataFrame) -> list[Fault]:
    """Return a fault where Spark holds other records, or others as often, than were decided."""
    keys = [name for name in decided.columns if name != TIMES]
    both = [
        table.group_by(keys).agg(pl.col(TIMES).sum()).sort(keys, nulls_last=False).select(*keys, pl.col(TIMES))
        for table in (counts.select(*keys, TIMES), decided)
    ]
    if both[0].equals(both[1]):
        return []
    got = f"{both[0].height} distinct records, {both[1].height} were decided"
    return [Fault("Spark holds another table than was decided", got=got, hint="did the original change meanwhile?")]


def moved_faults(joined: DataFrame, original: DataFrame, pieces: DataFrame, keys: Sequence[str]) -> list[Fault]:
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
    if faults := other_faults(joined, original, rows):
        return faults
    pair = [*keys, *(name for name in joined.columns if name.startswith("t"))]
    mark = F.xxhash64(*pair).cast("decimal(38,0)")
    decided = pieces.agg(F.sum(F.col("high") - F.col("low")), F.sum(mark * (F.col("high") - F.col("low")))).collect()[0]
    if tuple(joined.agg(F.count(F.lit(1)), F.sum(mark)).collect()[0]) == tuple(decided):
        return []
    return [Fault("records stand beside other texts than were decided for them", got=f"{decided[0]} were decided")]


def other_faults(published: DataFrame, original: DataFrame, keys: Sequence[str]) -> list[Fault]:
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

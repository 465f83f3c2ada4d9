"""anonymize() and audit() for tables of Spark: every stage once, in order."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from shoal.algorithms.bounds.lower_bound import LowerBound
from shoal.auditing import Audit
from shoal.auditing import audit as audit_here
from shoal.auditing.roles import promised
from shoal.encoding.types import Progress, silent
from shoal.engines.choice import engine_of
from shoal.engines.counted import TIMES, CountedTable, untallied
from shoal.engines.spark.columns import Layout
from shoal.engines.spark.lookup import checkpointed, create, with_others, without_others
from shoal.engines.spark.progress import Stages, watched
from shoal.engines.spark.recount import moved_faults, other_than_decided, recounted
from shoal.engines.spark.release import SparkRelease
from shoal.engines.spark.sessions import translate_errors
from shoal.engines.spark.tally import cached, collect, counted, tallied
from shoal.errors import AuditFailed, Fault, Misfit
from shoal.pipeline.anonymize import anonymize as anonymize_here
from shoal.pipeline.pseudonyms import Key
from shoal.pipeline.release import Release, disagreements
from shoal.policy import Policy

FITS = 2_000_000
"""How many distinct combinations the driver takes; more are cut into blocks first."""
BLOCK = 100_000
"""About how many combinations a block has, where the table is cut into some."""


def anonymize(
    table: DataFrame,
    policy: Policy | Mapping[str, Any] | str | Path,
    *,
    progress: Progress = silent,
    bound: LowerBound | None = None,
    key: Key | None = None,
    fits: int = FITS,
    block: int = BLOCK,
) -> Release:
    """Turn a Spark table into one that can be published: what :func:`shoal.anonymize` does with a Spark table.

    Parameters
    ----------
    table, policy, progress, bound, key
        As in :func:`shoal.anonymize`.
    fits
        How many distinct combinations of quasi-identifiers, sensitive values and persons the driver takes.
    block
        Where there are more: about how many of them are searched at a time, on one core of an executor.
    """
    policy = Policy.of(policy)
    layout = Layout.of(table, policy)
    layout.require(policy)
    spark = table.sparkSession
    with translate_errors(), watched(spark, progress) as stages:
        misfits = untallied(policy)
        stages.begin("Spark: counting")
        misfits += layout.other_faults()
        if misfits:
            raise Misfit(misfits)
        with cached(counted(layout.table, layout.keys(layout.counted))) as combinations:
            if combinations.count() > fits:
                from shoal.engines.spark.blocks import released_in_blocks

                return released_in_blocks(combinations, layout, policy, stages, block)
            counts = collect(combinations)
        return _released(counts, layout, policy, stages, bound)


def _released(
    counts: pl.DataFrame, layout: Layout, policy: Policy, stages: Stages, bound: LowerBound | None
) -> Release:
    """Search on the driver and apply on the executors."""
    original = tallied(counts, layout, list(policy.identifiers))
    stages.step = ""  # the search tells its own progress
    decided = anonymize_here(original, policy, progress=stages.progress, bound=bound)
    stages.begin("Spark: writing what was decided")
    published, expected, moved = _applied(decided, counts, layout, policy)
    stages.begin("Spark: auditing")
    everything = tallied(counts, layout, layout.names)
    checked, found = recounted(published, layout, policy, everything)
    checked = checked.claiming(decided.audit.claimed_bound)
    faults = [
        *checked.failures(),
        *other_than_decided(found, expected),
        *disagreements(checked, decided.attained, decided.audit),
    ]
    faults += moved
    if faults:
        raise AuditFailed(faults)
    return SparkRelease.of(decided, published, layout, checked, everything, found)


def _applied(
    decided: Release, counts: pl.DataFrame, layout: Layout, policy: Policy
) -> tuple[DataFrame, pl.DataFrame, list[Fault]]:
    """Return the published table under our own names; what was decided: each record with how often it occurs; and where
    records do not stand beside what was decided for them.
    """
    assert decided.times is not None
    assert decided.rows is not None
    spark = layout.table.sparkSession
    frame = decided.frame
    released = pl.DataFrame([frame[name].alias(layout.key(name)) for name in frame.columns])
    if policy.subject is not None and decided.subjects is not None:
        released = released.with_columns(decided.subjects.alias(layout.key(policy.subject)))
    expected = released.with_columns(decided.times.alias(TIMES))
    if not layout.others:
        return without_others(spark, expected), expected, []
    keys = layout.keys(layout.counted)
    quasi = layout.keys([name for name in layout.counted if name in policy.quasi_identifiers])
    pieces = create(spark, _pieces(expected, counts, decided.rows, keys, quasi))
    order = layout.keys([name for name in layout.published if name not in policy.quasi_identifiers])
    texts = {name: f"t_{name}" for name in quasi}
    first = [texts[name] for name in layout.keys(list(policy.quasi_identifiers))]
    joined = with_others(layout.table, F.broadcast(pieces), keys, order, list(texts.values()))
    joined = checkpointed(joined.orderBy(*first, *order))
    shown = layout.keys([*layout.published, *([] if policy.subject is None else [policy.subject])])
    published = joined.select(*(F.col(texts.get(name, name)).alias(name) for name in shown))
    return published, expected, moved_faults(joined, layout.table, pieces, keys)


def _pieces(
    expected: pl.DataFrame, counts: pl.DataFrame, rows: pl.Series, keys: list[str], quasi: list[str]
) -> pl.DataFrame:
    """Return what becomes of each combination: the texts that its records show, and how many of them."""
    times = expected[TIMES]
    table = pl.DataFrame(
        [
            rows.cast(pl.Int64).alias("row"),
            times.alias("high"),
            *(expected[name].alias(f"t_{name}") for name in quasi),
        ]
    )
    reached = pl.col("high").cum_sum().over("row")
    table = table.with_columns((reached - pl.col("high")).alias("low"), reached.alias("high"))
    index = table["row"].to_numpy()
    split = (pl.Series(table["low"] > 0) | (table["high"] < counts[TIMES][index])).alias("split")
    return pl.DataFrame([*(counts[name][index] for name in keys), *table.drop("row").get_columns(), split])


def audit(table: object, policy: Any, *, original: object = None, **asked: Any) -> Audit:
    """Count a published Spark table again: what :func:`shoal.audit` does with a Spark table.

    Only what is published, or told to be counted, leaves Spark: each distinct record once, with how often it occurs.
    """
    policy = promised(policy)
    with translate_errors():
        tables = [one if engine_of(one) is None else _tally_of(one, policy) for one in (table, original)]
    return audit_here(tables[0], policy, original=tables[1], **asked)


def _tally_of(table: Any, policy: Policy) -> CountedTable:
    layout = Layout.of(table, policy)
    counts = collect(counted(layout.table, layout.keys(layout.counted)))
    return tallied(counts, layout, layout.names)

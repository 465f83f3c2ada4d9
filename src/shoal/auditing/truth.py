"""Truth: each published record shows what one original record holds, where it is known which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import polars as pl

from shoal.auditing.census import Often, texts_of
from shoal.auditing.hygiene import comparable
from shoal.auditing.reading import Reader
from shoal.encoding.domains import STAR
from shoal.engines.columns import plain
from shoal.engines.counted import Times, as_weights
from shoal.errors import Fault
from shoal.policy import Policy

Pairs = Iterable[tuple[str | None, str | None]]
"""What a record holds and what is published of it; each pair once."""


def record_faults(
    frame: pl.DataFrame, raw: pl.DataFrame, readers: Mapping[str, Reader], rows: pl.Series, often: Often
) -> list[Fault]:
    """Return a fault for each column that shows of some record what its original record does not hold.

    ``rows`` is the original record of each published one. A generalized column must cover the original value, within
    its boundary unless the record is suppressed; every other one must show it as it is; no original record may be
    published more often than it occurs.
    """
    if not _are_records(rows, frame, raw, often):
        return [Fault("the original records of the published ones are not known", got=f"{len(rows)} of {frame.height}")]
    texts = {name: texts_of(frame[name]) for name in readers}
    suppressed = pl.Series(
        np.logical_and.reduce([(column == STAR).fill_null(False).to_numpy() for column in texts.values()])
    )
    times = pl.Series(np.ones(frame.height, np.int64)) if often.published is None else often.published
    faults = []
    for name in frame.columns:
        if name not in raw.columns:
            continue  # told by the check of columns
        if name in readers:
            what = "published texts that are not true of their records"
            false = _not_allowed(plain(raw[name]).gather(rows), texts[name], readers[name]) & ~suppressed
        else:
            what = "published values that are not those of their records"
            false = comparable(frame[name]).ne_missing(comparable(raw[name]).gather(rows))
        if false.any():
            faults.append(Fault(what, name, f"{times.filter(false).sum():,} of {times.sum():,} records"))
    return faults


def _are_records(rows: pl.Series, frame: pl.DataFrame, raw: pl.DataFrame, often: Often) -> bool:
    """Whether there is an original record for each published one, and none is taken more often than it occurs."""
    indices = rows.to_numpy()
    if len(rows) != frame.height or rows.null_count() or (len(indices) and indices.min() < 0):
        return False
    taken = np.bincount(indices, as_weights(often.published), minlength=raw.height)
    return len(taken) == raw.height and bool(
        (taken <= (1 if often.original is None else often.original.to_numpy())).all()
    )


def _not_allowed(values: pl.Series, texts: pl.Series, reader: Reader) -> pl.Series:
    """Return which records show a text that they may not; each pair is looked at once."""
    both = pl.DataFrame([values.alias("value"), texts.alias("text")])
    pairs = both.unique().with_columns(pl.col("value").cast(pl.String).alias("held"))
    false = [not reader.allows(text, held) for held, text in pairs.select("held", "text").rows()]
    known = pairs.with_columns(pl.Series("false", false, dtype=pl.Boolean))
    return both.join(known, on=["value", "text"], how="left", nulls_equal=True, maintain_order="left")["false"]


def truth_faults(pairs: Mapping[str, Pairs], raw: pl.DataFrame, policy: Policy, times: Times = None) -> list[Fault]:
    """Return a fault for each column where a published text does not cover a value that it stands for.

    For tables whose records nobody has at hand: of each column the pairs of value and text are enough.
    """
    faults = []
    for name, column in pairs.items():
        reader = Reader(raw, name, policy, times)
        false = sum(not reader.covers(shown, value) for value, shown in column)
        if false:
            faults.append(Fault("published texts that are not true of their records", name, f"{false} kinds of cells"))
    return faults

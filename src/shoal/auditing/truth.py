"""Truth: each published record shows what one original record holds, where it is known which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import polars as pl

from shoal.auditing.hygiene import comparable
from shoal.auditing.original import OriginalTable
from shoal.auditing.reading import numbered
from shoal.auditing.suppression import stars_everywhere
from shoal.auditing.texts import texts_of
from shoal.engines.columns import codes_of, plain
from shoal.engines.counted import CountedTable
from shoal.errors import Fault


class Pair(NamedTuple):
    """What a record holds, what is published of it, and whether it is suppressed: shows ``*`` in every column."""

    value: str | None
    text: str | None
    is_suppressed: bool


def record_faults(published: CountedTable, original: OriginalTable, rows: pl.Series) -> list[Fault]:
    """Return a fault for each column that shows of some record what its original record does not hold.

    ``rows`` is the original record of each published one. A generalized column must cover the original value, within
    its boundary unless the record is suppressed; every other one must show it as it is; no original record may be
    published more often than it occurs.
    """
    frame, raw, readers = published.frame, original.frame, original.readers
    if not _are_records(rows, published, original.table):
        return [Fault("the original records of the published ones are not known", got=f"{len(rows)} of {frame.height}")]
    texts = {name: texts_of(frame[name]) for name in readers}
    suppressed = stars_everywhere(texts.values())
    faults = []
    for name in frame.columns:
        if name not in raw.columns:
            continue  # told by the check of columns
        if name in readers:
            what = "published texts that are not true of their records"
            codes = codes_of(plain(raw[name]), readers[name].domain)[rows.to_numpy()]
            false = pl.Series(~readers[name].allows(*numbered(texts[name]), codes)) & ~suppressed
        else:
            what = "published values that are not those of their records"
            false = comparable(frame[name]).ne_missing(comparable(raw[name]).gather(rows))
        if false.any():
            got = f"{published.count_where(false):,} of {published.records:,} records"
            faults.append(Fault(what, name, got))
    return faults


def _are_records(rows: pl.Series, published: CountedTable, original: CountedTable) -> bool:
    """Whether there is an original record for each published one, and none is taken more often than it occurs."""
    indices = rows.to_numpy()
    if len(rows) != published.frame.height or rows.null_count() or (len(indices) and indices.min() < 0):
        return False
    taken = published.count_codes(indices, original.frame.height)
    return len(taken) == original.frame.height and bool((taken <= original.record_counts).all())


def truth_faults(pairs: Mapping[str, Iterable[Pair]], original: OriginalTable) -> list[Fault]:
    """Return a fault for each column where a record may not show what it shows: it does not cover the value, or is
    above its boundary.

    For tables whose records nobody has at hand: of each column the pairs of value and text are enough.
    """
    faults = []
    for name, column in pairs.items():
        reader, shown = original.readers[name], [pair for pair in column if not pair.is_suppressed]
        missing = len(reader.domain)
        codes = np.array(
            [missing if pair.value is None else reader.place.get(pair.value, -1) for pair in shown], np.int64
        )
        allowed = reader.allows([pair.text for pair in shown], np.arange(len(shown)), codes)
        false = int((~allowed).sum())
        if false:
            faults.append(Fault("published texts that are not true of their records", name, f"{false} kinds of cells"))
    return faults

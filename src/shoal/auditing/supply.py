"""supply_faults(): no text is published more often than the original has records that it could stand for."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from shoal.auditing.reading import Reader, numbered
from shoal.encoding.types import Ints
from shoal.errors import Fault, examples

_NESTED = 300_000_000
"""So many triples of two texts and a value are compared in a column, at most; each text alone is always counted."""


def supply_faults(classes: pl.DataFrame, readers: Mapping[str, Reader]) -> list[Fault]:
    """Return a fault for each column where more is published than the original has.

    All records whose text says no more than that they are under a label stand under it in the original too, so they
    cannot be more than that has. Labels that were moved between records, or made up, break this. It is a necessary
    condition for each column by itself, from the counts of the published ``classes`` alone.

    Cost: for each column its texts squared.
    """
    records = classes["records"].cast(pl.Int64).to_numpy()
    faults = []
    for index, (name, reader) in enumerate(readers.items()):
        overdrawn = _find_overdrawn(classes[f"q{index}"], records, reader)
        if overdrawn:
            what = "labels are published more often than the original has records under them"
            faults.append(Fault(what, where=name, got=examples(overdrawn)))
    return faults


def _find_overdrawn(column: pl.Series, records: Ints, reader: Reader) -> list[str]:
    """Return the texts under which more is published than the original has."""
    texts, of_class = numbered(column)
    under = np.bincount(of_class, records, minlength=len(texts))
    held = np.append(reader.records, reader.missing)
    if len(texts) ** 2 * len(held) <= _NESTED:
        table = reader.covering(texts)
        outside = table.astype(np.float32) @ (~table).astype(np.float32).T
        under = under @ (outside == 0)  # texts that say at least as much
    available = reader.codes(texts).sums(held.astype(np.float64))
    return sorted(str(text) for text, more in zip(texts, under > available, strict=True) if more)

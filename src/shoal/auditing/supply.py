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
        many = _Cover.of(classes[f"q{index}"], reader).overdrawn(records)
        if many:
            what = "labels are published more often than the original has records under them"
            faults.append(Fault(what, where=name, got=examples(many)))
    return faults


class _Cover:
    """What the published texts of a column may stand for."""

    def __init__(self, texts: list[str | None], of_class: Ints, reader: Reader) -> None:
        self.texts, self.of_class, self.reader = texts, of_class, reader

    @classmethod
    def of(cls, column: pl.Series, reader: Reader) -> _Cover:
        return cls(*numbered(column), reader)

    def overdrawn(self, records: Ints) -> list[str]:
        """Return the texts under which more is published than the original has."""
        published = np.bincount(self.of_class, records, minlength=len(self.texts))
        held = np.append(self.reader.records, self.reader.missing)
        under = published
        if len(self.texts) ** 2 * len(held) <= _NESTED:
            table = self.reader.covering(self.texts)
            outside = table.astype(np.float32) @ (~table).astype(np.float32).T
            under = published @ (outside == 0)  # texts that say at least as much
        available = np.array([held[self.reader.codes(text)].sum() for text in self.texts], np.int64)
        return sorted(str(text) for text, more in zip(self.texts, under > available, strict=True) if more)

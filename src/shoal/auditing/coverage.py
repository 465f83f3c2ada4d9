"""Covered: a quasi-identifier's texts as an attacker reads them, against the values that persons have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.auditing.reading import Reader, named
from shoal.domains import STAR
from shoal.policy import Policy
from shoal.risk.base import Meaning
from shoal.tables.columns import domain_of, of_kind, plain

Ints = npt.NDArray[np.int64]

MOST_CELLS = 30_000_000
"""So many pairs of a text and a value are read, at most."""


@dataclass(frozen=True)
class Covered:
    """What the published texts of a column may stand for, and the numbers of values."""

    reader: Reader
    kind: pl.DataType
    meaning: Meaning

    def codes(self, column: pl.Series, unknown: int | None = None) -> Ints:
        """Return the number of each value; that of the missing one is after the last, unless another is given.

        A value that is not among those which texts were read against has the number after that.
        """
        count = len(self.reader.domain)
        texts = of_kind(plain(column), self.kind).cast(pl.String)
        given = plain(column).is_not_null()
        numbers = texts.replace_strict(self.reader.place, default=count + 1, return_dtype=pl.Int64)
        missing = count if unknown is None else unknown
        return pl.select(pl.when(given).then(numbers).otherwise(missing)).to_series().to_numpy()


def covered(
    texts: Sequence[str | None], raw: pl.DataFrame | None, external: pl.DataFrame | None, name: str, policy: Policy
) -> Covered | None:
    """Read the texts of a column; ``None`` where they and the values are too many.

    Values are those of the original and of the external table. Where the labels follow from the data they are those of
    the original alone, since its hierarchy is the one that was published.
    """
    reader, kind = _reader(texts, raw, external, name, policy)
    count = len(reader.domain)
    if len(texts) * (count + 2) > MOST_CELLS:
        return None
    covers, parts = np.zeros((len(texts), count + 2), bool), np.full((len(texts), count + 2), -1, np.int64)
    for row, text in enumerate(texts):
        values, missing = reader.values_of(text)
        covers[row, list(values)] = True
        covers[row, count] = missing
        covers[row, count + 1] = text == STAR
        for number, part in enumerate(reader.parts_of(text)):
            parts[row, list(part)] = number
    return Covered(reader, kind, Meaning(covers, parts))


def _reader(
    texts: Sequence[str | None], raw: pl.DataFrame | None, external: pl.DataFrame | None, name: str, policy: Policy
) -> tuple[Reader, pl.DataType]:
    """Return what reads the texts, and the type of the values."""
    theirs = plain(external[name]) if external is not None and name in external.columns else None
    own = plain(raw[name]) if raw is not None else theirs
    if own is None:  # nobody knows a value: the texts are all there is
        own = pl.Series("values", [], dtype=pl.String)
    others = [] if theirs is None else [of_kind(theirs, own.dtype)]
    if raw is None:  # ends of ranges and items of sets that no person of the external table has
        said = [value for text in texts if text is not None for value in named(text)]
        others.append(of_kind(pl.Series(said, dtype=pl.String), own.dtype))
    more = pl.concat([own, *(other.alias(own.name) for other in others)]).alias(name)
    hierarchy = policy.quasi_identifiers[name].hierarchy
    if hierarchy is None or (hierarchy.data_independent and not list(hierarchy.faults(domain_of(plain(more))))):
        return Reader(pl.DataFrame([more]), name, policy), own.dtype
    return Reader(pl.DataFrame([own.alias(name)]) if raw is None else raw, name, policy), own.dtype

"""read_coverage(): a quasi-identifier's texts as an attacker reads them, against the values that persons have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.auditing.original import OriginalTable
from shoal.auditing.reading import Reader
from shoal.encoding.domains import STAR, Domain
from shoal.encoding.labels import read_label
from shoal.encoding.types import Bools, Ints
from shoal.engines.columns import domain_of, kind_of, of_kind, to_plain
from shoal.engines.counted import CountedTable
from shoal.engines.dictionary import TableDictionary
from shoal.policy import Policy
from shoal.risk.base import TextMeaning

MOST_CELLS = 30_000_000
"""So many pairs of a text and a value are read, at most."""


@dataclass(frozen=True)
class ReadColumn:
    """What the published texts of a column may stand for, and the numbers of values."""

    place: Mapping[str, int]
    """Text of a value → its number."""
    kind: pl.DataType
    meaning: TextMeaning
    unread: int
    """Texts that stand for no value that anybody has."""

    def codes(self, column: pl.Series, unknown: int | None = None) -> Ints:
        """Return the number of each value; that of the missing one is after the last, unless another is given.

        A value that is not among those which texts were read against has the number after that.
        """
        count = len(self.place)
        texts = of_kind(to_plain(column), self.kind).cast(pl.String)
        given = to_plain(column).is_not_null()
        numbers = texts.replace_strict(self.place, default=count + 1, return_dtype=pl.Int64)
        missing = count if unknown is None else unknown
        return pl.select(pl.when(given).then(numbers).otherwise(missing)).to_series().to_numpy()


def read_coverage(
    texts: Sequence[str | None],
    original: OriginalTable | None,
    external: pl.DataFrame | None,
    name: str,
    policy: Policy,
) -> ReadColumn | None:
    """Read the texts of a column; ``None`` where they and the values are too many.

    Values are those of the original and of the external table. Where the labels follow from the data, they are those
    of the original's hierarchy; other numbers are then covered by labels that are ranges.
    """
    own = _own(None if original is None else original.frame, external, name)
    said = texts if original is None else ()
    read = _covered(texts, own, _others(said, own.dtype, external, name, policy), original, name, policy)
    if read is None or original is not None or not read.unread or own.dtype == pl.String:
        return read
    # the mask of a number is a text: without the original nobody says which of both the values are
    own = own.cast(pl.String)
    again = _covered(texts, own, _others(said, own.dtype, external, name, policy), original, name, policy)
    return again if again is not None and again.unread < read.unread else read


def _covered(
    texts: Sequence[str | None],
    own: pl.Series,
    others: pl.Series,
    original: OriginalTable | None,
    name: str,
    policy: Policy,
) -> ReadColumn | None:
    reader, more = _reader(own, others, original, name, policy)
    known, count = len(reader.domain), len(reader.domain) + len(more)
    if len(texts) * (count + 2) > MOST_CELLS:
        return None
    covers, parts = np.zeros((len(texts), count + 2), bool), np.full((len(texts), count + 2), -1, np.int64)
    for row, text in enumerate(texts):
        values, missing = reader.values_of(text)
        covers[row, list(values)] = True
        covers[row, known:count] = _in_range(text, reader, more)
        covers[row, count] = missing
        covers[row, count + 1] = text == STAR
        for number, part in enumerate(reader.parts_of(text)):
            parts[row, [count if value == known else value for value in part]] = number
    index = {text: number for number, text in enumerate((*reader.domain.texts, *more.texts))}
    return ReadColumn(index, own.dtype, TextMeaning(covers, parts), int((~covers.any(axis=1)).sum()))


def _in_range(text: str | None, reader: Reader, more: Domain) -> Bools:
    """Return which values that the reader does not know are covered by a text."""
    extent = reader.extent(text) if more.ordered else None
    if text == STAR or extent is None:
        return np.full(len(more), text == STAR)
    above = more.values >= extent.least if extent.with_least else more.values > extent.least
    below = more.values <= extent.greatest if extent.with_greatest else more.values < extent.greatest
    return np.asarray(above & below, bool)


def _own(raw: pl.DataFrame | None, external: pl.DataFrame | None, name: str) -> pl.Series:
    """Return the values of the original, else of the external table; none where the texts are all there is."""
    for table in (raw, external):
        if table is not None and name in table.columns:
            return to_plain(table[name])
    return pl.Series("values", [], dtype=pl.String)


def _others(
    texts: Sequence[str | None], kind: pl.DataType, external: pl.DataFrame | None, name: str, policy: Policy
) -> pl.Series:
    """Return the distinct values of the external table, and those that texts name.

    A text that may be a label of a hierarchy that only the original tells is no value.
    """
    hierarchy = policy.quasi_identifiers[name].hierarchy
    labelled = kind == pl.String and hierarchy is not None and not hierarchy.data_independent
    others = [pl.Series("values", [], dtype=kind)]
    if external is not None and name in external.columns:
        others.append(of_kind(to_plain(external[name]), kind))
    labels = [read_label(text, kind_of(others[0])) for text in texts]
    said = [value for label in labels if not labelled or label.form in ("set", "shortened") for value in label.names]
    others.append(of_kind(pl.Series(said, dtype=pl.String), kind))
    return pl.concat([other.alias("values") for other in others]).drop_nulls().unique().sort()


def _reader(
    own: pl.Series, others: pl.Series, original: OriginalTable | None, name: str, policy: Policy
) -> tuple[Reader, Domain]:
    """Return what reads the texts, and the values beyond those that it knows."""
    spec = policy.quasi_identifiers[name]
    if spec.hierarchy is not None and not spec.hierarchy.data_independent:
        if original is not None:
            rest = others.filter(~others.is_in(own.drop_nulls().unique().implode()))
            return original.readers[name], domain_of(rest)
        # its labels follow from the original: only what is a value, a range or a set can be read
        unlabelled = spec.replace(hierarchy=None, boundaries=())
        policy = policy.replace(quasi_identifiers={**policy.quasi_identifiers, name: unlabelled})
    elif spec.hierarchy is not None:
        leaves = pl.Series(spec.hierarchy.leaves(), dtype=pl.String)
        others = pl.concat([others, of_kind(leaves, own.dtype).alias(others.name)]).drop_nulls().unique().sort()
        known = [not list(spec.hierarchy.faults(domain_of(others[index : index + 1]))) for index in range(len(others))]
        others = others.filter(pl.Series(known, dtype=pl.Boolean))
        own = own if original is not None else others
    whole = pl.concat([own, others.alias(own.name)]).alias(name)
    return Reader(TableDictionary(CountedTable(pl.DataFrame([whole])), policy), name), domain_of(own.clear())

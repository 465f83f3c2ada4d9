"""Truth: each published record shows what one original record holds, where it is known which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.auditing.hygiene import write_comparable
from shoal.auditing.original import OriginalTable
from shoal.auditing.suppression import stars_everywhere
from shoal.auditing.texts import number_texts, read_texts
from shoal.encoding.types import Ints
from shoal.engines.columns import to_plain
from shoal.engines.counted import CountedTable
from shoal.engines.treatments import treat
from shoal.errors import Fault
from shoal.guarantees import declare_guarantees


@dataclass(frozen=True, kw_only=True)
class _RecordView:
    """A :class:`~shoal.guarantees.base.ColumnView`: a published column beside the original, record by record."""

    name: str
    published: pl.Series
    rows: pl.Series
    table: OriginalTable
    suppressed: pl.Series
    classes: pl.Series

    @property
    def original(self) -> pl.Series:
        """What the original record of each published one holds."""
        return self.table.frame[self.name].gather(self.rows)

    def find_changed(self) -> pl.Series:
        """Return which records show another value than their own."""
        return write_comparable(self.published).ne_missing(
            write_comparable(self.table.frame[self.name]).gather(self.rows)
        )

    def find_uncovered(self) -> pl.Series:
        """Return which records show a text that does not hold their value, or is above its boundary."""
        reader = self.table.readers[self.name]
        codes = self.table.words.codes(self.name)[self.rows.to_numpy()]
        return pl.Series(~reader.allows(*number_texts(read_texts(self.published)), codes)) & ~self.suppressed


def record_faults(published: CountedTable, original: OriginalTable, rows: pl.Series, classes: pl.Series) -> list[Fault]:
    """Return a fault for each column that does not keep what is promised of it for some record.

    ``rows`` is the original record of each published one, ``classes`` its class. No original record may be published
    more often than it occurs; what else is asked is for the guarantee of each column to say (:mod:`shoal.guarantees`).
    """
    frame = published.frame
    if not _are_records(rows, published, original.table):
        return [Fault("the original records of the published ones are not known", got=f"{len(rows)} of {frame.height}")]
    suppressed = _find_suppressed(frame, original)
    faults = []
    for name, guarantee in declare_guarantees(frame.columns, original.policy).items():
        if name not in frame.columns or name not in original.frame.columns:
            continue  # told by the check of columns
        column = frame[name]
        false = guarantee.find_false(
            _RecordView(name=name, published=column, rows=rows, table=original, suppressed=suppressed, classes=classes)
        )
        if false is not None and false.any():
            got = f"{published.count_where(false):,} of {published.records:,} records"
            faults.append(Fault(guarantee.broken, name, got))
    return faults


def _find_suppressed(frame: pl.DataFrame, original: OriginalTable) -> pl.Series:
    """Return which records show ``*`` in every quasi-identifier; none where there are no quasi-identifiers."""
    if not original.readers:
        return pl.Series(np.zeros(frame.height, bool))
    return stars_everywhere(read_texts(frame[name]) for name in original.readers)


def _are_records(rows: pl.Series, published: CountedTable, original: CountedTable) -> bool:
    """Whether there is an original record for each published one, and none is taken more often than it occurs."""
    indices = rows.to_numpy()
    if len(rows) != published.frame.height or rows.null_count() or (len(indices) and indices.min() < 0):
        return False
    taken = published.count_codes(indices, original.frame.height)
    return len(taken) == original.frame.height and bool((taken <= original.record_counts).all())


def pair_faults(pairs: Mapping[str, pl.DataFrame], original: OriginalTable) -> Iterator[Fault]:
    """Yield each column where a record may not show what it shows: it does not cover the value, or is above its
    boundary.

    For tables whose records nobody has at hand: of each column the pairs of ``value`` and ``text`` are enough, with
    whether the record is ``suppressed``: shows ``*`` in every column.
    """
    for name, found in pairs.items():
        reader, shown = original.readers[name], found.filter(~found["suppressed"])
        codes = _find_codes(shown["value"], name, original)
        false = int((~reader.allows(*number_texts(read_texts(shown["text"])), codes)).sum())
        if false:
            yield Fault("published texts that are not true of their records", name, f"{false} kinds of cells")


def _find_codes(values: pl.Series, name: str, original: OriginalTable) -> Ints:
    """Return the places of given values in the domain of their column; of those that are not in it -1."""
    reader, distinct = original.readers[name], values.alias("value").unique()
    treated = treat(CountedTable(pl.DataFrame([distinct.alias(name)])), original.policy).frame[name]
    missing = len(reader.domain)
    texts = to_plain(treated).cast(pl.String)
    codes = [missing if text is None else reader.place.get(text, -1) for text in texts]
    places = pl.DataFrame([distinct, pl.Series("code", codes, dtype=pl.Int64)])
    asked = pl.DataFrame([values.alias("value")])
    found: Ints = asked.join(places, on="value", how="left", nulls_equal=True, maintain_order="left")["code"].to_numpy()
    return found

"""count(): a table in files becomes its distinct records, each with how often it occurs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from shoal.encoding.types import Progress, silent
from shoal.engines.counted import TIMES, CountedTable
from shoal.engines.files.budget import Budget
from shoal.engines.files.parts import Scan, key, reading
from shoal.engines.memory.files import blank, format_of, typed


@dataclass(frozen=True)
class Counted:
    """A table by its distinct records, and its first records as they stand in the file."""

    table: CountedTable
    head: pl.DataFrame


def count(
    scan: Scan,
    budget: Budget,
    *,
    names: Collection[str] | None = None,
    types: bool = True,
    head: int = 0,
    progress: Progress = silent,
    what: str = "counting",
) -> Counted:
    """Count the distinct records of a table, part by part.

    Parameters
    ----------
    scan
        The table.
    budget
        Bounds the parts, and the distinct records: too many of them are an error before they are all there.
    names
        The columns to count by, all by default. The others are in the result as columns of missing values: that they
        are there is known, what is in them is not looked at.
    types
        Whether texts of a CSV become numbers and dates where every one is written so.
    head
        How many of the first records to keep.
    progress, what
        Told how much is read, under this name.
    """
    indices = [index for index, name in enumerate(scan.columns) if names is None or name in names]
    tally, wanted = _Tally(indices, budget), head
    firsts: list[pl.DataFrame] = []
    progress(what, 0, scan.total)
    for part in scan.parts(indices, budget.rows(len(indices))):
        with reading(part.path, format_of(part.path)):
            if wanted or not firsts:
                firsts.append(part.frame.head(wanted).collect())
                wanted -= firsts[-1].height
            tally.add(part.frame)
        progress(what, part.done, scan.total)
    merged, first = tally.merged(), pl.concat(firsts)
    plain_texts = (typed if types else blank) if scan.is_text else None
    columns = {index: _values(merged[key(index)], first[key(index)], plain_texts) for index in indices}
    unseen = pl.repeat(None, merged.height, dtype=pl.String, eager=True)
    frame = {name: columns[index][0] if index in columns else unseen for index, name in enumerate(scan.columns)}
    top = {scan.columns[index]: column[1] for index, column in columns.items()}
    return Counted(CountedTable(pl.DataFrame(frame), merged[TIMES]), pl.DataFrame(top))


@dataclass
class _Tally:
    """Distinct records that grow part by part.

    Texts are held as categories of our own: four bytes for each cell, and each text once. Counts of parts are merged
    when there is as much of them as was merged before, so that all merging together costs about as much as counting.
    """

    places: list[int]
    budget: Budget
    counts: list[pl.DataFrame] = field(default_factory=list)
    settled: int = 0
    categories: dict[str, pl.DataType] = field(default_factory=dict)

    @property
    def keys(self) -> list[str]:
        return [key(index) for index in self.places]

    def add(self, part: pl.LazyFrame) -> None:
        """Count one more part."""
        texts = [name for name, kind in part.collect_schema().items() if kind == pl.String]
        coded = part.with_columns(pl.col(name).cast(self._category(name)) for name in texts)
        found = coded.group_by(self.keys).agg(pl.len().cast(pl.Int64).alias(TIMES))
        self.counts.append(found.collect(engine="streaming"))
        if sum(count.height for count in self.counts) > 2 * self.settled:
            self.settled = self.merged().height
            self.budget.require(self.settled, len(self.places), self._texts())

    def merged(self) -> pl.DataFrame:
        """Return each record once."""
        if len(self.counts) > 1:
            self.counts = [pl.concat(self.counts).group_by(self.keys).agg(pl.col(TIMES).sum())]
        return self.counts[0]

    def _texts(self) -> int:
        """Return the bytes of the texts that are held."""
        held = (self.counts[0][name].unique().cast(pl.String) for name in self.categories)
        return sum(int(texts.str.len_bytes().sum()) for texts in held)

    def _category(self, name: str) -> pl.DataType:
        return self.categories.setdefault(name, pl.Categorical(pl.Categories.random()))


def _values(
    column: pl.Series, head: pl.Series, read: Callable[[pl.Series], pl.Series] | None
) -> tuple[pl.Series, pl.Series]:
    """Return a counted column, and its first cells, as they would be read from the whole file.

    The type of a CSV's column follows from its distinct texts.
    """
    if not isinstance(column.dtype, pl.Categorical) or head.dtype != pl.String:
        return column, head
    distinct = column.unique()
    texts = distinct.cast(pl.String).extend(head)
    values = texts if read is None else read(texts)
    codes, known = (one.to_physical().cast(pl.Int64).fill_null(-1).to_numpy() for one in (column, distinct))
    index = np.zeros(int(known.max(initial=-1)) + 2, np.int64)  # the last is that of the missing value
    index[known] = np.arange(len(known))
    return values.gather(pl.Series(index[codes])), values[len(known) :]

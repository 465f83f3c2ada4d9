"""count(): a table in files becomes its distinct records, each with how often it occurs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import polars as pl

from shoal.encoding.types import Progress, silent
from shoal.engines.cells import TextReader
from shoal.engines.counted import COUNTS, CountedTable
from shoal.engines.delimited import key
from shoal.engines.files.budget import MemoryBudget
from shoal.engines.files.scan import FileScan, locate_in_scan
from shoal.engines.memory.files import explain_read_errors, format_of
from shoal.engines.texts import blank_to_missing


def count(
    scan: FileScan,
    budget: MemoryBudget,
    *,
    names: Collection[str] | None = None,
    types: bool = True,
    head: int = 0,
    progress: Progress = silent,
    what: str = "counting",
) -> tuple[CountedTable, pl.DataFrame]:
    """Return the distinct records of a table, counted part by part, and its first records as they stand in the file.

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
    (counted,), top = count_units(scan, budget, [indices], types=types, head=head, progress=progress, what=what)
    unseen = pl.repeat(None, len(counted.counts), dtype=pl.String, eager=True)
    frame = {name: counted.values.get(index, unseen) for index, name in enumerate(scan.columns)}
    return CountedTable(pl.DataFrame(frame), counted.counts), top


@dataclass(frozen=True, kw_only=True)
class CountedUnit:
    """The distinct records of some columns, given by their places in the table."""

    values: dict[int, pl.Series]
    """What is in them, as it is read."""
    raw: dict[int, pl.Series]
    """The same as it stands in the files."""
    counts: pl.Series


def count_units(
    scan: FileScan,
    budget: MemoryBudget,
    units: Sequence[Sequence[int]],
    *,
    types: bool,
    head: int,
    progress: Progress,
    what: str,
) -> tuple[list[CountedUnit], pl.DataFrame]:
    """Return for each of several sets of columns its distinct records, counted in one pass, and the first records."""
    indices = sorted({index for unit in units for index in unit})
    if types:
        TextReader(scan.options).require_names(scan.columns, str(scan.paths[0]))
    counters, wanted = [RecordCounter(unit, partial(budget.require, columns=len(unit))) for unit in units], head
    firsts: list[pl.DataFrame] = []
    progress(what, 0, scan.total)
    for part in scan.parts(indices, budget.rows(len(indices))):
        with explain_read_errors(part.path, format_of(part.path)):
            if wanted or not firsts:
                firsts.append(part.frame.head(wanted).collect())
                wanted -= firsts[-1].height
            for counter in counters:
                counter.add(part.frame.select(counter.keys))
        progress(what, part.done, scan.total)
    texts, first = TextReader(scan.options), pl.concat(firsts)
    read = (texts.read if scan.is_text else texts.read_typed) if types else _blank_to_missing
    found, top = [], {}
    for counter in counters:
        merged, values = counter.merge(), {}
        for index in counter.indices:
            name, column = scan.columns[index], merged[key(index)]
            values[index], top[index] = _values(column, first[key(index)], partial(read, name=name))
        raw = {index: merged[key(index)] for index in counter.indices}
        found.append(CountedUnit(values=values, raw=raw, counts=merged[COUNTS]))
    if types:
        texts.require_read(str(scan.paths[0]), lambda wanted: locate_in_scan(scan, wanted, budget.rows(len(wanted))))
    return found, pl.DataFrame({scan.columns[index]: top[index] for index in indices})


@dataclass
class RecordCounter:
    """Distinct records that grow part by part.

    Texts are held as categories of our own: four bytes for each cell, and each text once. Counts of parts are merged
    when there is as much of them as was merged before, so that all merging together costs about as much as counting.
    """

    indices: Sequence[int]
    require: Callable[..., None]
    """Raises where so many ``distinct`` records, with so many bytes of ``texts``, do not fit into the memory."""
    fits: int = 2**62
    """How many distinct records fit: more are merged early, to find out whether there are so many."""
    counts: list[pl.DataFrame] = field(default_factory=list)
    distinct: int = 0
    """Records that were there when counts were merged last."""
    categories: dict[str, pl.DataType] = field(default_factory=dict)

    @property
    def keys(self) -> list[str]:
        """Our own names of the columns."""
        return [key(index) for index in self.indices]

    def add(self, part: pl.LazyFrame) -> None:
        """Count one more part."""
        texts = [name for name, kind in part.collect_schema().items() if kind == pl.String]
        coded = part.with_columns(pl.col(name).cast(self._category(name)) for name in texts)
        found = coded.group_by(self.keys).agg(pl.len().cast(pl.Int64).alias(COUNTS))
        self.counts.append(found.collect(engine="streaming"))
        waiting = sum(count.height for count in self.counts)
        if waiting > 2 * self.distinct or waiting > max(self.fits, 3 * self.distinct // 2):
            self.distinct = self.merge().height
            self.require(distinct=self.distinct, texts=self._texts())

    def merge(self) -> pl.DataFrame:
        """Return each record once."""
        if len(self.counts) > 1:
            self.counts = [pl.concat(self.counts).group_by(self.keys).agg(pl.col(COUNTS).sum())]
        return self.counts[0]

    def _texts(self) -> int:
        """Return the bytes of the texts that are held."""
        held = (self.counts[0][name].unique().cast(pl.String) for name in self.categories)
        return sum(int(texts.str.len_bytes().sum()) for texts in held)

    def _category(self, name: str) -> pl.DataType:
        return self.categories.setdefault(name, pl.Categorical(pl.Categories.random()))


def _values(column: pl.Series, head: pl.Series, read: Callable[[pl.Series], pl.Series]) -> tuple[pl.Series, pl.Series]:
    """Return a counted column, and its first cells, as they would be read from the whole file.

    The type of a CSV's column follows from its distinct texts.
    """
    if not isinstance(column.dtype, pl.Categorical) or head.dtype != pl.String:
        return column, head
    distinct = column.unique()
    texts = distinct.cast(pl.String).extend(head)
    values = read(texts)
    codes, known = (one.to_physical().cast(pl.Int64).fill_null(-1).to_numpy() for one in (column, distinct))
    index = np.zeros(int(known.max(initial=-1)) + 2, np.int64)  # the last is that of the missing value
    index[known] = np.arange(len(known))
    return values.gather(pl.Series(index[codes])), values[len(known) :]


def _blank_to_missing(column: pl.Series, name: str) -> pl.Series:
    return blank_to_missing(column)

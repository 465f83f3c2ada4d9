"""number_table(): a table in files by the numbers of its values: a few bytes where a record takes hundreds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.encoding.types import Progress
from shoal.engines.counted import COUNTS, CountedTable, side_by_side
from shoal.engines.delimited import key
from shoal.engines.files.budget import MemoryBudget
from shoal.engines.files.count import CountedUnit, RecordCounter, count_units
from shoal.engines.files.scan import FileScan
from shoal.engines.memory.files import explain_read_errors, format_of
from shoal.errors import AuditFailed, Fault
from shoal.policy import Policy
from shoal.policy.published_columns import needed_columns


@dataclass(frozen=True, kw_only=True)
class ColumnNumbers:
    """What the values of a column are called here: by their places in an order that no order of records decides."""

    index: int
    """The place of the column in the table."""
    values: pl.Series
    """The value of each number, as it is read."""
    numbers: pl.DataFrame
    """Each ``raw`` value, as it stands in the files, with its ``number``."""

    @classmethod
    def of(cls, index: int, unit: CountedUnit) -> ColumnNumbers:
        """Number the values of a column that was counted."""
        read = unit.values[index].alias("value")
        both = pl.DataFrame([_plain(unit.raw[index]).alias("raw"), read]).unique()
        values = both["value"].unique()
        values = values.gather(_plain(values).arg_sort(nulls_last=True))
        places = pl.DataFrame([values]).with_row_index("number")
        numbers = both.join(places, on="value", how="left", nulls_equal=True)
        size = np.min_scalar_type(len(values))
        return cls(
            index=index,
            values=values,
            numbers=numbers.select("raw", pl.col("number").cast(pl.Series(np.zeros(0, size)).dtype)),
        )

    def number(self, column: pl.Series) -> pl.Series:
        """Return the numbers of values as they stand in the files."""
        asked = pl.DataFrame([_plain(column).alias("raw")])
        found = asked.join(self.numbers, on="raw", how="left", nulls_equal=True, maintain_order="left")["number"]
        if found.null_count():
            raise AuditFailed(Fault("a file changed while it was read"))
        return found.alias(key(self.index))


def _plain(column: pl.Series) -> pl.Series:
    """Return a column without categories: their order is that in which they were first seen."""
    return column.cast(pl.String) if isinstance(column.dtype, pl.Categorical) else column


@dataclass(frozen=True, kw_only=True)
class NumberedTable:
    """A table by the numbers of its values: each combination once, and how often it occurs."""

    columns: Mapping[str, ColumnNumbers]
    """The columns that are counted, by name."""
    combinations: pl.DataFrame
    """The numbers of each combination, under our own names of the columns, and how often it occurs."""


@dataclass(frozen=True, kw_only=True)
class Marginals:
    """A table of which each column is known by itself, the sensitive ones together."""

    table: CountedTable
    columns: Mapping[str, ColumnNumbers]
    head: pl.DataFrame
    """The first records as they stand in the file."""


def count_marginals(
    scan: FileScan, budget: MemoryBudget, policy: Policy, *, types: bool, head: int, progress: Progress
) -> Marginals:
    """Count each column of a table by itself, the sensitive ones together, in one pass."""
    needed = [index for index, name in enumerate(scan.columns) if name in needed_columns(scan.columns, policy)]
    together = [index for index in needed if scan.columns[index] in policy.sensitive]
    units = [*([index] for index in needed if index not in together), *([together] if together else [])]
    what = "counting each column"
    counted, top = count_units(scan, budget, units, types=types, head=head, progress=progress, what=what)
    table = side_by_side([_name(unit, scan) for unit in counted])
    blank = pl.repeat(None, table.height, dtype=pl.String, eager=True)
    names = {index: key(index) for unit in units for index in unit}
    frame = {name: table[names[n]] if n in names else blank for n, name in enumerate(scan.columns)}
    numbers = {scan.columns[index]: ColumnNumbers.of(index, unit) for unit in counted for index in unit.values}
    return Marginals(table=CountedTable(pl.DataFrame(frame), table[COUNTS], apart=True), columns=numbers, head=top)


def _name(unit: CountedUnit, scan: FileScan) -> pl.DataFrame:
    columns = [values.alias(key(index)) for index, values in unit.values.items()]
    return pl.DataFrame([*columns, unit.counts])


def number_table(
    scan: FileScan, budget: MemoryBudget, columns: Mapping[str, ColumnNumbers], progress: Progress
) -> NumberedTable:
    """Read a table once more, and count its combinations by the numbers of their values."""
    indices = [column.index for column in columns.values()]
    width, what = len(indices), "numbering"
    counter = RecordCounter(
        indices, lambda distinct, texts: budget.require_numbered(distinct, width), budget.numbered(width)
    )
    progress(what, 0, scan.total)
    for part in scan.parts(indices, budget.rows(len(indices))):
        with explain_read_errors(part.path, format_of(part.path)):
            frame = part.frame.collect()
        counter.add(pl.DataFrame([column.number(frame[key(column.index)]) for column in columns.values()]).lazy())
        progress(what, part.done, scan.total)
    return NumberedTable(columns=columns, combinations=counter.merge())


def look_up_numbers(column: ColumnNumbers, numbers: pl.DataFrame, name: str) -> pl.Series:
    """Return what each number of a column is called by others, who give each ``value`` another number, under a name."""
    asked = pl.DataFrame([column.values.alias("value")])
    return asked.join(numbers, on="value", how="left", nulls_equal=True, maintain_order="left")[name]

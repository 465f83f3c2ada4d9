"""FilesTable: a table in Parquet or CSV files, read and written part by part within a budget of memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import polars as pl

from shoal.encoding.read_options import AS_WRITTEN, ReadOptions
from shoal.encoding.types import Progress, silent
from shoal.engines.base import RowMapping, TableEngine
from shoal.engines.blocks import CutRequest
from shoal.engines.counted import CountedTable
from shoal.engines.files.blocks import FilesCut, cut_table
from shoal.engines.files.budget import MemoryBudget
from shoal.engines.files.count import count
from shoal.engines.files.numbering import ColumnNumbers, count_marginals, number_table
from shoal.engines.files.repeats import find_repeating
from shoal.engines.files.scan import FileScan, open_scan
from shoal.engines.files.write import write
from shoal.engines.locations import Location
from shoal.engines.memory.databases import is_address
from shoal.engines.memory.files import format_of
from shoal.errors import TableError
from shoal.policy import Policy

_NOTHING_SAID = ReadOptions()
_HEAD = 20_000
"""So many of the first records are kept, to see whether the published ones still stand in their order."""


@dataclass(frozen=True, kw_only=True)
class FilesTable(TableEngine):
    """A table in files, or the records that are to be written into one."""

    name: ClassVar[str] = "files"
    formats: ClassVar[tuple[str, ...]] = ("csv", "parquet")
    reads_late: ClassVar[bool] = True

    scan: FileScan
    budget: MemoryBudget
    detects_types: bool = True
    """Whether texts of a CSV become numbers and dates where every one is written so."""
    block: int | None = None
    """Where the distinct records do not fit: about how many are searched at a time; by default half of those that
    would."""
    table: CountedTable | None = None
    """What is to be written."""
    progress: Progress = field(default=silent, repr=False, compare=False)
    _heads: dict[str, pl.DataFrame] = field(default_factory=dict, repr=False, compare=False)
    _numbers: dict[str, ColumnNumbers] = field(default_factory=dict, repr=False, compare=False)
    """Of a table that is cut into blocks: what the values of each column are called."""

    @classmethod
    def open(
        cls,
        path: object,
        memory: str | int,
        reading: ReadOptions = _NOTHING_SAID,
        *,
        footprint: int = 500,
        types: bool = True,
        fits: int | None = None,
        block: int | None = None,
    ) -> FilesTable:
        """Look at files; nothing but their columns is read, of a CSV also what it is written in."""
        if not isinstance(path, (str, Path, list, tuple)) or is_address(path):
            kind = "a database" if is_address(path) else f"{type(path).__module__}.{type(path).__name__}"
            got, hint = kind, "give the path of a file, or leave memory out"
            raise TableError("only files are read within a budget of memory", where="memory", got=got, hint=hint)
        budget = MemoryBudget.of(memory, footprint, fits)
        return cls(scan=open_scan(path, reading), budget=budget, detects_types=types, block=block)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return self.scan.columns if self.table is None else tuple(self.table.frame.columns)

    @property
    def native(self) -> CountedTable:
        """The published records, each with how often it occurs."""
        return self.count() if self.table is None else self.table.with_frame(self.table.frame.clone())

    @property
    def default_format(self) -> str:
        """The format of the files."""
        return format_of(self.scan.paths[0])

    @property
    def delimiter(self) -> str:
        """The delimiter of the files."""
        return self.scan.delimiter

    @property
    def sources(self) -> tuple[Path, ...]:
        """The files."""
        return self.scan.paths

    @contextmanager
    def watch(self, progress: Progress) -> Iterator[Progress]:
        """Look at the memory whenever progress is told."""
        yield self.budget.watch(progress)

    def telling(self, progress: Progress) -> FilesTable:
        """Return the same table, whose work is told."""
        return replace(self, progress=progress)

    def count(self, names: Sequence[str] | None = None, what: str = "counting") -> CountedTable:
        """Count the distinct records, part by part."""
        if self.table is not None:
            return self.table
        table, self._heads["first"] = count(
            self.scan, self.budget, names=names, types=self.detects_types, head=_HEAD, progress=self.progress, what=what
        )
        return table

    def count_records(self) -> int | None:
        """Return how many records the heads of Parquet files tell."""
        return self.scan.records

    def find_repeating(self, names: Sequence[str]) -> list[str]:
        """Look for a value that stands in two records, part by part."""
        return find_repeating(self.scan, self.budget, names)

    def count_marginals(self, policy: Policy) -> CountedTable:
        """Count each column by itself, the sensitive ones together."""
        found = count_marginals(
            self.scan, self.budget.without_limit(), policy, types=self.detects_types, head=_HEAD, progress=self.progress
        )
        self._heads["first"] = found.head
        self._numbers.update(found.columns)
        return found.table

    @contextmanager
    def cut(self, request: CutRequest) -> Iterator[FilesCut]:
        """Cut the table into blocks; what is held is the numbers of its values."""
        numbered = number_table(self.scan, self.budget, self._numbers, self.progress)
        size = self.block or max(self.budget.distinct(len(self._numbers)) // 2, 1)
        yield cut_table(self, numbered, request, size, self.progress)

    def publish(self, mapping: RowMapping) -> FilesTable:
        """Return what is to be written."""
        return self.hold(mapping.published)

    def hold(self, table: CountedTable) -> FilesTable:
        """Return a table that is to be written."""
        return replace(self, table=table, budget=self.budget.without_limit(), _heads={}, _numbers={})

    def write(self, path: Location, format: str) -> None:
        """Write the published records, each as often as it occurs, some at a time."""
        assert self.table is not None
        assert isinstance(path, Path)
        rows = self.budget.rows(self.table.frame.width)
        write(self.table, path, format, rows, self.progress, delimiter=self.delimiter)

    def reopen(self, path: Location, format: str) -> FilesTable:
        """Return a file that was written, with nothing detected."""
        assert isinstance(path, Path)
        how = AS_WRITTEN.replace(delimiter=self.delimiter) if format == "csv" else ReadOptions()
        return replace(self, scan=open_scan(path, how), detects_types=False, table=None, _heads={})

    def head(self, records: int) -> pl.DataFrame:
        """Return the first records as they stand in the file."""
        if "first" not in self._heads:
            self.count()
        return self._heads["first"].head(records)

    def require_expanded(self, records: int, columns: int) -> None:
        """Raise where so many records do not fit into the memory one by one."""
        self.budget.require_expanded(records, columns)

    def require_distinct(self, records: int, columns: int) -> None:
        """Raise where so many distinct records do not fit into the memory."""
        self.budget.without_limit().require(records, columns)

    def sample_size(self, columns: int) -> int | None:
        """Return of how many records statistics may be made."""
        return self.budget.sample(columns)

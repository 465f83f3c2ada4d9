"""FilesTable: a table in Parquet or CSV files, read and written part by part within a budget of memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from shoal.encoding.types import Progress, silent
from shoal.engines.base import RowMapping
from shoal.engines.counted import CountedTable
from shoal.engines.files.budget import Budget
from shoal.engines.files.count import count
from shoal.engines.files.parts import Scan
from shoal.engines.files.scan import open_scan
from shoal.engines.files.write import write
from shoal.engines.locations import Location, read_blocks
from shoal.engines.memory.files import format_of
from shoal.errors import Fault, TableError

_HEAD = 20_000
"""So many of the first records are kept, to see whether the published ones still stand in their order."""
_AS_WRITTEN = {"csv": {"delimiter": ",", "quote": '"', "encoding": "utf-8"}, "parquet": {}}


@dataclass(frozen=True, kw_only=True)
class FilesTable:
    """A table in files, or the records that are to be written into one."""

    name: ClassVar[str] = "files"
    formats: ClassVar[tuple[str, ...]] = ("csv", "parquet")
    reads_late: ClassVar[bool] = True

    scan: Scan
    budget: Budget
    detects_types: bool = True
    """Whether texts of a CSV become numbers and dates where every one is written so."""
    table: CountedTable | None = None
    """What is to be written."""
    progress: Progress = field(default=silent, repr=False, compare=False)
    _heads: dict[str, pl.DataFrame] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def open(
        cls, path: object, memory: str | int, *, footprint: int = 500, types: bool = True, **options: Any
    ) -> FilesTable:
        """Look at files; nothing but their columns is read, of a CSV also what it is written in."""
        if not isinstance(path, (str, Path)):
            hint = "give the path of a file, or leave memory out"
            raise TableError(
                "only files are read within a budget of memory", where="memory", got=_kind(path), hint=hint
            )
        return cls(scan=open_scan(path, **options), budget=Budget.of(memory, footprint), detects_types=types)

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
        counted = count(
            self.scan, self.budget, names=names, types=self.detects_types, head=_HEAD, progress=self.progress, what=what
        )
        self._heads["first"] = counted.head
        return counted.table

    def publish(self, mapping: RowMapping) -> FilesTable:
        """Return what is to be written."""
        return replace(self, table=mapping.published, _heads={})

    @property
    def uncounted(self) -> tuple[str, ...]:
        """Nothing: every published column was counted."""
        return ()

    def name_all_columns(self) -> FilesTable:
        """Return the same table: all its columns are counted where nobody chooses some."""
        return self

    def uncounted_faults(self) -> list[Fault]:
        """Return nothing: every published column was counted."""
        return []

    def locate(self, out: object) -> Path:
        """Return a folder of this machine."""
        return Path(str(out))

    def write(self, path: Location, format: str) -> None:
        """Write the published records, each as often as it occurs, some at a time."""
        assert self.table is not None
        assert isinstance(path, Path)
        write(self.table, path, format, self.budget.rows(self.table.frame.width), self.progress)

    def reopen(self, path: Location, format: str) -> FilesTable:
        """Return a file that was written, with nothing detected."""
        assert isinstance(path, Path)
        scan = open_scan(path, **_AS_WRITTEN[format])
        return replace(self, scan=scan, detects_types=False, table=None, _heads={})

    def head(self, records: int) -> pl.DataFrame:
        """Return the first records as they stand in the file."""
        if "first" not in self._heads:
            self.count()
        return self._heads["first"].head(records)

    def raw_bytes(self, path: Location) -> Iterator[bytes]:
        """Yield a file block by block."""
        yield from read_blocks(path)

    def container_bytes(self, path: Location, format: str) -> bytes:
        """Return nothing: everyone knows what a file without records looks like."""
        return b""

    def describe(self) -> dict[str, Any]:
        """Return nothing: the same table on any machine gives the same manifest."""
        return {}

    def sample_size(self, columns: int) -> int | None:
        """Return of how many records statistics may be made."""
        return self.budget.sample(columns)


def _kind(table: object) -> str:
    return f"{type(table).__module__}.{type(table).__name__}"

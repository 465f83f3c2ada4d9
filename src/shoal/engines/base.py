"""TableEngine: a table where it lies, and the few things that are done there; all else is written once, over counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import polars as pl

from shoal.encoding.types import Progress
from shoal.engines.counted import CountedTable
from shoal.engines.locations import Location
from shoal.errors import Fault


@dataclass(frozen=True, kw_only=True)
class RowMapping:
    """What each counted record of a table is published as."""

    original: CountedTable
    """What the engine counted."""
    published: CountedTable
    """The published records, in their order."""
    rows: pl.Series
    """The counted record that each published one comes from."""
    subjects: pl.Series | None = None
    """The person of each published record, where persons count; for counting it again, never published."""


class TableEngine(Protocol):
    """A table that lies somewhere: in memory, in files, in Spark.

    An engine counts records and looks up what they are published as. It takes no decision about privacy: what it
    counted, published and wrote is compared with what was decided (:mod:`shoal.pipeline.verify`).
    """

    name: ClassVar[str]
    formats: ClassVar[tuple[str, ...]]
    """What it can write, by the names of :data:`~shoal.engines.memory.write.ENDINGS`."""
    reads_late: ClassVar[bool]
    """Whether records are read only when they are counted: what is wrong with the columns is told before."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""

    @property
    def native(self) -> Any:
        """The table as its own library has it."""

    @property
    def default_format(self) -> str:
        """What it is written as where nothing else is asked for."""

    @property
    def sources(self) -> tuple[Location, ...]:
        """The files that it was read from, which must not be written over."""

    @property
    def uncounted(self) -> tuple[str, ...]:
        """The published columns that are not counted, and only ride along."""

    def watch(self, progress: Progress) -> AbstractContextManager[Progress]:
        """Return the progress that is to be told while work goes on; errors of the engine become ours."""

    def count(self, names: Sequence[str] | None = None, what: str = "counting") -> CountedTable:
        """Return the distinct records of some columns, and how often each occurs; or all records, one by one.

        Columns that are not counted are there without values: that they exist is known, what they hold is not.
        """

    def name_all_columns(self) -> TableEngine:
        """Return the same table; counted, it has the name of every column, whatever its role: for an audit."""

    def publish(self, mapping: RowMapping) -> TableEngine:
        """Return the table of what each record is published as."""

    def uncounted_faults(self) -> list[Fault]:
        """Return what is wrong with published columns that were not counted, and only ride along."""

    def locate(self, out: object) -> Location:
        """Return the folder that a path or an address leads to."""

    def write(self, path: Location, format: str) -> None:
        """Write the table."""

    def reopen(self, path: Location, format: str) -> TableEngine:
        """Return what was written, read back as it is: nothing is detected, no text becomes a number."""

    def head(self, records: int) -> pl.DataFrame:
        """Return the first records, in the order in which they lie; none where nobody knows it."""

    def raw_bytes(self, path: Location) -> Iterator[bytes]:
        """Yield the bytes of what was written."""

    def container_bytes(self, path: Location, format: str) -> bytes:
        """Return what it writes beside the cells of a table, where that is not what every file of a format holds."""

    def telling(self, progress: Progress) -> TableEngine:
        """Return the same table, whose work tells its progress."""

    def sample_size(self, columns: int) -> int | None:
        """Return of how many records statistics may be made; ``None`` where memory sets no limit."""

    def describe(self) -> dict[str, Any]:
        """Return what the manifest says of the engine."""

"""TableEngine: a table where it lies, and the few things that are done there; all else is written once, over counts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import polars as pl

from shoal.encoding.types import Progress
from shoal.engines.counted import CountedTable
from shoal.engines.locations import Location, read_blocks
from shoal.errors import Fault

Room = Callable[[int, int], None]
"""Called with how many distinct records of how many columns are published; raises where they do not fit."""


def unlimited(records: int, columns: int) -> None:
    """Let any number of records be held."""


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
    typed: tuple[str, ...] = ()
    """The published columns that are given as intervals, where the table's library has such a type."""


class TableEngine(Protocol):
    """A table that lies somewhere: in memory, in files, in Spark.

    An engine counts records and looks up what they are published as. It takes no decision about privacy: what it
    counted, published and wrote is compared with what was decided (:mod:`shoal.pipeline.verify`).

    What has a body here is so wherever a table lies on this machine, and each of its columns is counted.
    """

    name: ClassVar[str]
    formats: ClassVar[tuple[str, ...]]
    """What it can write, by the names of :data:`~shoal.engines.memory.write.ENDINGS`; the usual one first."""
    reads_late: ClassVar[bool]
    """Whether records are read only when they are counted: what is wrong with the columns is told before."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""

    @property
    @abstractmethod
    def native(self) -> Any:
        """The table as its own library has it."""

    @property
    def default_format(self) -> str:
        """What it is written as where nothing else is asked for."""
        return self.formats[0]

    @property
    def delimiter(self) -> str:
        """What CSV is written with: as it was read."""
        return ","

    @property
    @abstractmethod
    def sources(self) -> tuple[Location, ...]:
        """The files that it was read from, which must not be written over."""

    @property
    def uncounted(self) -> tuple[str, ...]:
        """The published columns that are not counted, and only ride along."""
        return ()

    def watch(self, progress: Progress) -> AbstractContextManager[Progress]:
        """Return the progress that is to be told while work goes on; errors of the engine become ours."""
        return nullcontext(progress)

    def telling(self, progress: Progress) -> TableEngine:
        """Return the same table, whose work tells its progress."""
        return self

    @abstractmethod
    def count(self, names: Sequence[str] | None = None, what: str = "counting") -> CountedTable:
        """Return the distinct records of some columns, and how often each occurs; or all records, one by one.

        Columns that are not counted are there without values: that they exist is known, what they hold is not.
        """

    def count_records(self) -> int | None:
        """Return how many records there are, found in another way than by :meth:`count`; ``None`` where there is none
        that does not read the whole table again."""
        return None

    def name_all_columns(self) -> TableEngine:
        """Return the same table; counted, it has the name of every column, whatever its role: for an audit."""
        return self

    @abstractmethod
    def publish(self, mapping: RowMapping) -> TableEngine:
        """Return the table of what each record is published as."""

    def find_repeating(self, names: Sequence[str]) -> list[str]:
        """Return which of some columns that are not counted hold a value in more than one record."""
        return []

    def uncounted_faults(self) -> list[Fault]:
        """Return what is wrong with what no count tells: columns that only ride along, or what a table carries beside
        its records."""
        return []

    def locate(self, out: object) -> Location:
        """Return the folder that a path or an address leads to."""
        return Path(str(out))

    @abstractmethod
    def write(self, path: Location, format: str) -> None:
        """Write the table."""

    @abstractmethod
    def reopen(self, path: Location, format: str) -> TableEngine:
        """Return what was written, read back as it is: nothing is detected, no text becomes a number."""

    @abstractmethod
    def head(self, records: int) -> pl.DataFrame:
        """Return the first records, in the order in which they lie; none where nobody knows it."""

    def raw_bytes(self, path: Location) -> Iterator[bytes]:
        """Yield the bytes of what was written."""
        yield from read_blocks(path)

    def container_bytes(self, path: Location, format: str) -> bytes:
        """Return what it writes beside the cells of a table, where that is not what every file of a format holds."""
        return b""

    def require_expanded(self, records: int, columns: int) -> None:
        """Raise where so many records cannot be held one by one, by the numbers of some columns."""
        return

    def require_distinct(self, records: int, columns: int) -> None:
        """Raise where so many distinct records cannot be published."""
        return

    def sample_size(self, columns: int) -> int | None:
        """Return of how many records statistics may be made; ``None`` where memory sets no limit."""
        return None

    def describe(self) -> dict[str, Any]:
        """Return what the manifest says of the engine: nothing that depends on the machine."""
        return {}

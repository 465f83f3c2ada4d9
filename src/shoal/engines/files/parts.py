"""Part: so much of a table as is in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import polars as pl

from shoal.errors import ShoalError, TableError


@dataclass(frozen=True)
class Part:
    """Some records, lazily; the columns that were asked for have names of our own (:func:`key`)."""

    frame: pl.LazyFrame
    path: Path
    """The file that they are in."""
    done: int
    """How much of the whole table is read when this part is."""


def key(index: int) -> str:
    """Return our own name of a column: polars reads ``*`` and ``^…$`` in a name as a pattern."""
    return f"c{index}"


class Scan(Protocol):
    """A table in files: its columns are known, its records are read part by part."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files, in order."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        ...

    @property
    def total(self) -> int:
        """How much there is to read: what the ``done`` of the last part is."""
        ...

    @property
    def is_text(self) -> bool:
        """Whether every cell is read as a text."""
        ...

    def parts(self, indices: Sequence[int], rows: int) -> Iterator[Part]:
        """Yield some of the columns, about so many records at a time; at least one part, if an empty one."""
        ...


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Tell every error of a reader as one of ours."""
    try:
        yield
    except (ShoalError, MemoryError):
        raise
    except (Exception, pl.exceptions.PanicException) as error:  # each reader has errors of its own
        reason = " ".join(str(error).split())[:200]
        raise TableError(f"cannot be read as {kind}", where=str(path), got=reason) from None

"""MemoryBudget: how much memory a table may take, and how it is shared out."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from shoal.encoding.types import Progress
from shoal.errors import OverBudget, TableError

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?i?)b?\s*", re.IGNORECASE)

LEAST = 64 * 10**6
"""No budget is smaller: libraries take about as much to do anything."""
_CELL = 100
"""Bytes that a cell of a part takes while it is read and counted: itself, its text, and its place in a hash table."""
_FEWEST, _MOST = 10_000, 2_000_000
_DISTINCT, _DISTINCT_CELL = 400, 100
"""Bytes that a distinct record takes, and each of its cells, where they take most: when the release is audited."""
_NUMBERED, _NUMBERED_CELL = 80, 24
"""Bytes that a distinct record takes, and each of its cells, where only its numbers are held, and cut into blocks."""
_EXPANDED, _EXPANDED_CELL = 60, 140
"""Bytes that a record takes, and each of its cells, where a column is perturbed and its guarantee is tested."""
_COUNTING = 32 * 10**6
"""Bytes that counting takes beside them, however few they are."""
_COPIES = 4
"""How often a text that occurs is held: by the count, the domains of the search and of the audit, and their labels."""


@dataclass(frozen=True)
class MemoryBudget:
    """So many bytes for the data, on top of what the program itself takes.

    An eighth is for the part of the file that is being read or written; the distinct records have the rest. What they
    take was measured, with room to spare; and whatever is estimated, the memory is looked at whenever progress is told.

    Examples
    --------
    >>> MemoryBudget.of("4GB").bytes, MemoryBudget.of("512 MiB").bytes
    (4000000000, 536870912)
    """

    bytes: int
    search: int = 500
    """Bytes that the search takes for each distinct record (:attr:`shoal.algorithms.base.Algorithm.footprint`)."""
    fits: int | None = None
    """At most so many distinct records are held, whatever the memory; then the table is cut into blocks."""
    before: int = field(default=0, repr=False, compare=False)
    """What the program took before it began."""

    @classmethod
    def of(cls, memory: str | int, search: int = 500, fits: int | None = None) -> MemoryBudget:
        """Return a budget from a number of bytes or a text such as ``4GB``."""
        size = memory if isinstance(memory, int) else _parse(memory)
        if size < LEAST:
            hint = f"give at least {format_size(LEAST)}"
            raise TableError("too little to work with", where="memory", got=format_size(size), hint=hint)
        return cls(size, search, fits, resident())

    def without_limit(self) -> MemoryBudget:
        """Return the same memory, without a limit to how many distinct records are held."""
        return replace(self, fits=None)

    def rows(self, columns: int) -> int:
        """Return how many records may be read or written at a time."""
        return min(max(self._part(columns), _FEWEST), _MOST)

    def sample(self, columns: int) -> int:
        """Return of how many records statistics may be made, when no part is read or written any more."""
        return max(self._part(columns), _FEWEST)

    def _part(self, columns: int) -> int:
        return self.bytes // 8 // (_CELL * max(columns, 1))

    def distinct(self, columns: int, texts: int = 0) -> int:
        """Return how many distinct records fit, whose different texts are so many bytes."""
        left = self.bytes - self.bytes // 8 - _COPIES * texts
        fits = max(left, 0) // (self.search + _DISTINCT + _DISTINCT_CELL * columns)
        return fits if self.fits is None else min(fits, self.fits)

    def require(self, distinct: int, columns: int, texts: int = 0) -> None:
        """Raise if so many distinct records do not fit."""
        fits = self.distinct(columns, texts)
        if distinct > fits:
            raise OverBudget(
                "the distinct records do not fit into the memory",
                where="memory",
                got=f"more than the {fits:,} distinct records of {columns} columns that {format_size(self.bytes)} hold",
                hint=_HINT,
            )

    def numbered(self, columns: int) -> int:
        """Return how many distinct records fit by the numbers of their values."""
        return (self.bytes - self.bytes // 8 - _COUNTING) // (_NUMBERED + _NUMBERED_CELL * columns)

    def require_numbered(self, distinct: int, columns: int) -> None:
        """Raise if so many distinct records do not even fit by the numbers of their values."""
        fits = self.numbered(columns)
        if distinct > fits:
            got = f"more than the {fits:,} distinct records of {columns} columns that {format_size(self.bytes)} hold"
            what = "the distinct records do not fit into the memory, not even cut into blocks"
            raise OverBudget(what, where="memory", got=got, hint=_HINT)

    def expanded(self, columns: int) -> int:
        """Return how many records fit one by one, by the numbers of the columns that are perturbed."""
        return (self.bytes - self.bytes // 8 - _COUNTING) // (_EXPANDED + _EXPANDED_CELL * columns)

    def require_expanded(self, records: int, columns: int) -> None:
        """Raise if so many records do not fit one by one."""
        fits = self.expanded(columns)
        if records > fits:
            got = f"{records:,} records of {columns} such columns; {format_size(self.bytes)} hold {fits:,}"
            what = "columns are perturbed record by record, and these do not fit into the memory"
            raise OverBudget(what, where="memory", got=got, hint="allow more memory, or perturb fewer columns")

    def watch(self, progress: Progress) -> Progress:
        """Return the same progress; whenever it is told, the memory is looked at."""

        def tell_and_watch(what: str, done: int, total: int) -> None:
            taken = resident() - self.before
            if taken > self.bytes:
                got = f"{format_size(taken)} of {format_size(self.bytes)}"
                raise OverBudget(f"{what} takes more memory than is allowed", where="memory", got=got, hint=_HINT)
            progress(what, done, total)

        return tell_and_watch


_HINT = "allow more memory, publish fewer columns or coarser values, or say --engine spark"


def format_size(size: int) -> str:
    """Return a number of bytes as people write it.

    Examples
    --------
    >>> format_size(4_000_000_000), format_size(536_870_912)
    ('4 GB', '537 MB')
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "KB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} bytes"


def resident() -> int:
    """Return how many bytes of memory this process takes now; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 0


def _parse(text: str) -> int:
    found = _SIZE.fullmatch(text)
    if found is None:
        raise TableError("is no size", where="memory", got=repr(text), hint="for example 4GB or 512MB")
    return int(float(found[1]) * _UNITS[found[2].lower()])


def default_memory() -> int:
    """Return half of the memory of this machine."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (ValueError, OSError, AttributeError):
        return 4 * 10**9

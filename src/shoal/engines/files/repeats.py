"""find_repeating(): which columns of a table in files hold a value in more than one record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from shoal.engines.delimited import key
from shoal.engines.files.budget import MemoryBudget
from shoal.engines.files.scan import FileScan
from shoal.engines.memory.files import explain_read_errors, format_of

_VALUE = 48
"""Bytes that a value takes while it is looked up, by its hash."""


def find_repeating(scan: FileScan, budget: MemoryBudget, names: Sequence[str]) -> list[str]:
    """Return which of some columns hold a value in more than one record.

    Values are compared by hashes of 64 bits, as many at a time as half of the memory holds. Two values with one hash
    would be taken for a repetition: nobody is less protected by that.
    """
    return [name for name in names if _repeats(scan, budget, scan.columns.index(name))]


def _repeats(scan: FileScan, budget: MemoryBudget, index: int) -> bool:
    room, shares = budget.bytes // 2 // _VALUE, 1
    while True:
        found = [_repeats_among(_hashes(scan, budget, index, share, shares), room) for share in range(shares)]
        if None not in found:
            return any(found)
        shares *= 2


def _repeats_among(parts: Iterator[pl.Series], room: int) -> bool | None:
    """Return whether a hash is there twice, or nothing where they are more than there is room for."""
    seen, waiting, values = pl.Series("hash", [], pl.UInt64), list[pl.Series](), 0
    for part in parts:
        waiting.append(part)
        values += len(part)
        if values > 2 * len(seen):  # all comparing together costs about as much as reading
            seen, waiting = pl.concat([seen, *waiting]).unique(), []
            if len(seen) < values:
                return True
            if values > room:
                return None
    return pl.concat([seen, *waiting]).n_unique() < values


def _hashes(scan: FileScan, budget: MemoryBudget, index: int, share: int, shares: int) -> Iterator[pl.Series]:
    """Yield the hashes of the values of a column, part by part; one of so many shares of all hashes."""
    for part in scan.parts([index], budget.rows(1)):
        with explain_read_errors(part.path, format_of(part.path)):
            values = part.frame.select(pl.col(key(index)).alias("value")).collect()["value"].drop_nulls()
        values = values.filter(values != "") if values.dtype == pl.String else values
        values = values.filter(values.is_not_nan()) if values.dtype.is_float() else values
        hashes = values.hash()
        yield hashes.filter(hashes % shares == share) if shares > 1 else hashes

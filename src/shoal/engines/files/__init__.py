"""Tables in files that are larger than memory, on one machine; the distinct records are held, not the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.encoding.read_options import ReadOptions
    from shoal.engines.files.engine import FilesTable
    from shoal.policy import Policy


def claims(table: object, options: dict[str, Any]) -> bool:
    """Return whether a table is to be read within a budget of memory."""
    return "memory" in options


def open_table(
    table: object,
    policy: Policy,
    *,
    memory: str | int,
    reading: ReadOptions,
    types: bool = True,
    fits: int | None = None,
    block: int | None = None,
) -> FilesTable:
    """Return a table in files."""
    from shoal.engines.files.engine import FilesTable

    footprint = policy.algorithm.footprint
    return FilesTable.open(table, memory, reading, footprint=footprint, types=types, fits=fits, block=block)

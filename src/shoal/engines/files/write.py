"""write(): published records, each as often as it occurs, into a file, some at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from shoal.encoding.types import Progress, silent
from shoal.engines.counted import CountedTable
from shoal.engines.memory.write import dates_to_texts


def write(
    table: CountedTable, path: Path, kind: str, rows: int, progress: Progress = silent, *, delimiter: str = ","
) -> None:
    """Write a table as :func:`shoal.engines.memory.write.to_bytes` would write its records: the same ones, in the same
    order.

    Cost: what is in memory is the distinct records, and so many rows at a time.
    """
    told = _tell_progress(pieces(table, rows), table.records, progress)
    if kind == "csv":
        _write_csv(told, path, delimiter)
    else:
        _write_parquet(told, table.frame.schema, path, rows)
    with path.open("rb") as file:
        os.fsync(file.fileno())


def pieces(table: CountedTable, rows: int) -> Iterator[pl.DataFrame]:
    """Yield the records of a table in order, so many at a time; at least one piece, if an empty one.

    Examples
    --------
    >>> table = CountedTable(pl.DataFrame({"sex": ["f", "m"]}), pl.Series([3, 2]))
    >>> [piece["sex"].to_list() for piece in pieces(table, 2)]
    [['f', 'f'], ['f', 'm'], ['m']]
    """
    ends = np.cumsum(table.record_counts)
    for start in range(0, max(table.records, 1), rows):
        indices = np.arange(start, min(start + rows, table.records))
        yield table.frame[np.searchsorted(ends, indices, side="right")]


def _tell_progress(frames: Iterator[pl.DataFrame], total: int, progress: Progress) -> Iterator[pl.DataFrame]:
    done = 0
    progress("writing", 0, total)
    for frame in frames:
        yield frame
        done += frame.height
        progress("writing", done, total)


def _write_csv(frames: Iterator[pl.DataFrame], path: Path, delimiter: str) -> None:
    with path.open("wb") as file:
        for index, frame in enumerate(frames):
            dates_to_texts(frame).write_csv(file, include_header=index == 0, separator=delimiter)


def _write_parquet(frames: Iterator[pl.DataFrame], schema: pl.Schema, path: Path, rows: int) -> None:
    """Write row groups, without compression and statistics, from plain columns (see
    :mod:`shoal.engines.memory.write`)."""
    from polars.io.plugins import register_io_source

    failed: list[BaseException] = []

    def source(columns: object, predicate: object, most: object, size: object) -> Iterator[pl.DataFrame]:
        try:
            yield from frames
        except BaseException as error:  # polars would tell it as one of its own
            failed.append(error)
            raise

    try:
        register_io_source(source, schema=schema).sink_parquet(
            path, compression="uncompressed", statistics=False, row_group_size=rows, engine="streaming"
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        if failed:
            raise failed[0] from None
        raise OSError(" ".join(str(error).split())[:200]) from None

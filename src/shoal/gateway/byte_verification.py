"""verify_bytes(): reads an answer back from its bytes, and compares it with the answer that was verified.

As a release is read back before it exists. It is read by other code than wrote it (the standard library's readers of
JSON and CSV, Arrow's of the rest), and compared cell by cell.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from typing import Any

import polars as pl

from shoal.engines.columns import to_texts
from shoal.errors import AuditFailed, import_extra

_Columns = list[tuple[str, list[Any]]]


def verify_bytes(data: bytes, format: str, table: pl.DataFrame) -> None:
    """Raise if what was written is not the table.

    Raises
    ------
    AuditFailed
        It is not; the text holds no data.

    Examples
    --------
    >>> table = pl.DataFrame({"age": [30, None]})
    >>> verify_bytes(b"age\\n30\\n\\n", "csv", table)
    >>> verify_bytes(b"age\\n31\\n\\n", "csv", table)
    Traceback (most recent call last):
        ...
    shoal.errors.AuditFailed: csv: what was written is not the answer.
    """
    try:
        written = _READERS[format](data, table.columns)
    except (ValueError, KeyError, csv.Error):
        raise AuditFailed("what was written cannot be read", where=format) from None
    list_cells = _list_writable if format in ("json", "csv") else pl.Series.to_list
    are_same = _are_texts_of if format == "csv" else _are_same
    if [name for name, _ in written] != table.columns or not all(
        len(cells) == table.height and are_same(cells, list_cells(column))
        for (_, cells), column in zip(written, table, strict=True)
    ):
        raise AuditFailed("what was written is not the answer", where=format)


def _read_json(data: bytes, names: list[str]) -> _Columns:
    answer = json.loads(data)
    if any(list(record) != names for record in answer["records"]):
        raise ValueError
    return [(name, [record[name] for record in answer["records"]]) for name in answer["columns"]]


def _read_csv(data: bytes, names: list[str]) -> _Columns:
    csv.field_size_limit(max(len(data), csv.field_size_limit()))
    head, *lines = csv.reader(io.StringIO(data.decode(), newline=""))
    records = [line or [""] for line in lines]  # one column, and nothing in it
    if any(len(record) != len(head) for record in records):
        raise ValueError
    return [(name, [record[index] for record in records]) for index, name in enumerate(head)]


def _read_stream(data: bytes, names: list[str]) -> _Columns:
    pa = import_extra("pyarrow", "gateway", "answers in Arrow and Parquet")
    return _list_columns(pa.ipc.open_stream(data).read_all())


def _read_parquet(data: bytes, names: list[str]) -> _Columns:
    pq = import_extra("pyarrow.parquet", "gateway", "answers in Arrow and Parquet")
    return _list_columns(pq.read_table(io.BytesIO(data)))


def _list_columns(table: Any) -> _Columns:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return [(column.name, column.to_list()) for column in frame]


_READERS: dict[str, Callable[[bytes, list[str]], _Columns]] = {
    "json": _read_json,
    "csv": _read_csv,
    "arrow": _read_stream,
    "parquet": _read_parquet,
}


def _list_writable(column: pl.Series) -> list[Any]:
    """Return cells as JSON and CSV can hold them: moments as a release writes them, other kinds as their texts."""
    if column.dtype.is_float():
        return [None if cell is None or not math.isfinite(cell) else cell for cell in column.to_list()]
    if column.dtype.is_integer() or column.dtype in (pl.String, pl.Boolean):
        return column.to_list()
    if column.dtype.is_temporal() and column.dtype != pl.Duration:
        return to_texts(column).to_list()
    return [None if cell is None else str(cell) for cell in column.to_list()]


def _are_same(written: list[Any], cells: list[Any]) -> bool:
    """Whether the cells that were read back are what they were; nearly always they are equal and of the same kinds."""
    alike = written == cells and list(map(type, written)) == list(map(type, cells))
    return alike or all(map(_is_same, written, cells))


def _are_texts_of(written: list[str], cells: list[Any]) -> bool:
    return all(map(_is_text_of, written, cells))


def _is_same(written: Any, cell: Any) -> bool:
    """Whether a cell that was read back is what it was; true is not one."""
    if written is None or cell is None or isinstance(written, bool) or isinstance(cell, bool):
        return written is cell
    return bool(written == cell) or (isinstance(cell, float) and math.isnan(cell) and math.isnan(written))


def _is_text_of(written: str, cell: Any) -> bool:
    """Whether a text of a CSV file stands for a cell."""
    if cell is None:
        return not written
    if isinstance(cell, bool):
        return written == str(cell).lower()
    if isinstance(cell, float):
        return float(written) == cell
    return written == str(cell)

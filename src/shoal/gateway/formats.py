"""Formats: an answer as JSON, CSV, Arrow or Parquet, and back.

JSON holds everything. Arrow (an IPC stream) and Parquet hold the explanation in the schema's metadata, under
``shoal``. CSV holds the records only; its explanation is fetched by the request's number.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import polars as pl

from shoal.engines.columns import to_texts
from shoal.errors import TableError, import_extra
from shoal.gateway.byte_verification import verify_bytes

Format = Literal["json", "csv", "arrow", "parquet"]
MEDIA: dict[Format, str] = {
    "json": "application/json",
    "csv": "text/csv",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
}
_METADATA_KEY = b"shoal"
_PLAIN = (pl.String, pl.Boolean)
_MOMENTS = (pl.Date, pl.Datetime, pl.Time)


@dataclass(frozen=True)
class Reply:
    """An answer as it leaves: the records, and why they are what they are."""

    table: pl.DataFrame
    explanation: dict[str, Any]


def choose_format(accept: str) -> Format | None:
    """Return the format that an ``Accept`` header likes best; ``None`` if it likes none of ours.

    Examples
    --------
    >>> choose_format("text/html, text/csv;q=0.8, */*;q=0.1"), choose_format(""), choose_format("image/png")
    ('csv', 'json', None)
    """
    best: tuple[float, Format | None] = (0.0, None)
    for part in (accept or "*/*").split(","):
        media, *parameters = (text.strip().lower() for text in part.split(";"))
        weight = _read_weight(parameters)
        for name, ours in MEDIA.items():
            if weight > best[0] and media in (ours, f"{ours.partition('/')[0]}/*", "*/*"):
                best = weight, name
    return best[1]


def _read_weight(parameters: list[str]) -> float:
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return float(parameter[2:])
            except ValueError:
                return 0.0
    return 1.0


def write_reply(reply: Reply, format: Format) -> bytes:
    """Return an answer in a format, read back and compared with what was verified.

    Raises
    ------
    AuditFailed
        What was written is not the answer.

    Examples
    --------
    >>> reply = Reply(pl.DataFrame({"age": [30, None]}), {"request": "7", "decisions": []})
    >>> write_reply(reply, "json")
    b'{"request":"7","decisions":[],"columns":{"age":"Int64"},"records":[{"age":30},{"age":null}]}'
    >>> write_reply(reply, "csv"), read_reply(write_reply(reply, "arrow")).explanation["request"]
    (b'age\\n30\\n\\n', '7')
    """
    # a table may be shared by threads, and polars locks it to write it: two of them would wait for each other for ever
    own = replace(reply, table=reply.table.clone())
    data = WRITERS[format](own)
    verify_bytes(data, format, own.table)
    return data


def read_reply(data: bytes, format: Format = "arrow") -> Reply:
    """Return what an answer in Arrow or Parquet holds."""
    pa = _import_arrow()
    try:
        if format == "parquet":
            import pyarrow.parquet as pq

            table = pq.read_table(io.BytesIO(data))
        else:
            table = pa.ipc.open_stream(data).read_all()
        explanation = json.loads((table.schema.metadata or {}).get(_METADATA_KEY, b"{}"))
    except (pa.ArrowException, ValueError):
        raise TableError("the answer is not whole", where=format) from None
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return Reply(frame, explanation)


def _write_json(reply: Reply) -> bytes:
    kinds = {column.name: _name_type(column.dtype) for column in reply.table}
    head = json.dumps({**reply.explanation, "columns": kinds}, ensure_ascii=False, separators=(",", ":"))
    return f'{head[:-1]},"records":{_to_writable(reply.table).write_json()}}}'.encode()


@lru_cache(100)
def _name_type(dtype: pl.DataType) -> str:
    return str(dtype)


def _write_csv(reply: Reply) -> bytes:
    return _to_writable(reply.table).write_csv().encode()


def _write_arrow(reply: Reply) -> bytes:
    pa = _import_arrow()
    table, out = _attach_explanation(reply), io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def _write_parquet(reply: Reply) -> bytes:
    _import_arrow()
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(_attach_explanation(reply), out)
    return out.getvalue()


def _to_writable(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table whose cells can be written as texts or numbers."""
    columns = table.get_columns()
    fitting = [
        _drop_infinite(one if one.dtype.is_numeric() or one.dtype in _PLAIN else _to_text(one)) for one in columns
    ]
    same = all(one is other for one, other in zip(columns, fitting, strict=True))
    return table if same else pl.DataFrame(fitting)


def _to_text(column: pl.Series) -> pl.Series:
    if column.dtype in _MOMENTS:  # as a release writes them
        return to_texts(column).alias(column.name)
    cells = [None if cell is None else str(cell) for cell in column.to_list()]
    return pl.Series(column.name, cells, dtype=pl.String)


def _drop_infinite(column: pl.Series) -> pl.Series:
    """Return a column without the numbers that JSON lacks."""
    if not column.dtype.is_float() or bool(column.is_finite().all()):
        return column
    return pl.Series(column.name, [cell if cell is not None and abs(cell) < float("inf") else None for cell in column])


def _attach_explanation(reply: Reply) -> Any:
    metadata: Mapping[bytes, bytes] = {_METADATA_KEY: json.dumps(reply.explanation, ensure_ascii=False).encode()}
    return reply.table.to_arrow(compat_level=pl.CompatLevel.oldest()).replace_schema_metadata(metadata)


def _import_arrow() -> Any:
    return import_extra("pyarrow", "gateway", "answers in Arrow and Parquet")


WRITERS: dict[Format, Callable[[Reply], bytes]] = {
    "json": _write_json,
    "csv": _write_csv,
    "arrow": _write_arrow,
    "parquet": _write_parquet,
}
"""Format → what writes it."""

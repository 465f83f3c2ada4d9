"""Files out: plain bytes that can be searched, with nothing in them but the published table."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl

from shoal.errors import MissingExtra

ENDINGS = {"csv": ".csv", "parquet": ".parquet", "feather": ".feather", "excel": ".xlsx", "jsonl": ".jsonl"}


def to_bytes(frame: pl.DataFrame, kind: str) -> bytes:
    """Return a table in a file format.

    Parquet and Feather are written without compression, so that the audit can search their bytes; without the
    statistics of columns, and from plain columns, so that no dictionary holds a value that is not published.
    """
    buffer = io.BytesIO()
    if kind == "csv":
        frame.write_csv(buffer)
    elif kind == "parquet":
        frame.write_parquet(buffer, compression="uncompressed", statistics=False)
    elif kind == "feather":
        frame.write_ipc(buffer, compression="uncompressed")
    elif kind == "jsonl":
        frame.write_ndjson(buffer)
    else:
        _write_excel(frame, buffer)
    return buffer.getvalue()


def _write_excel(frame: pl.DataFrame, buffer: io.BytesIO) -> None:
    try:
        import xlsxwriter
    except ImportError:
        raise MissingExtra.of("XlsxWriter", "excel", "writing Excel files") from None
    from datetime import datetime

    # a fixed creation date: the same release is the same bytes
    with xlsxwriter.Workbook(buffer, {"default_date_format": "yyyy-mm-dd"}) as book:
        book.set_properties({"created": datetime(2000, 1, 1)})
        frame.write_excel(book, worksheet="release", autofit=False)


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file and make sure that it is on the disk."""
    import os

    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())

"""Files out: plain bytes that can be searched, with nothing in them but the published table."""

from __future__ import annotations

import io
import os
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.engines.columns import to_texts
from shoal.engines.locations import Location
from shoal.errors import MissingExtra, WriteError

ENDINGS = {"csv": ".csv", "parquet": ".parquet", "feather": ".feather", "excel": ".xlsx", "jsonl": ".jsonl"}


def to_bytes(frame: pl.DataFrame, kind: str, delimiter: str = ",") -> bytes:
    """Return a table in a file format; the delimiter is for CSV.

    Parquet and Feather are written without compression, so that the audit can search their bytes; without the
    statistics of columns, and from plain columns, so that no dictionary holds a value that is not published.
    """
    buffer = io.BytesIO()
    if kind == "csv":
        dates_to_texts(frame).write_csv(buffer, separator=delimiter)
    elif kind == "parquet":
        frame.write_parquet(buffer, compression="uncompressed", statistics=False)
    elif kind == "feather":
        # the oldest layout: every program reads it, and it holds each text once where it is published
        frame.write_ipc(buffer, compression="uncompressed", compat_level=pl.CompatLevel.oldest())
    elif kind == "jsonl":
        dates_to_texts(frame).write_ndjson(buffer)
    else:
        _write_excel(frame, buffer)
    return buffer.getvalue()


def dates_to_texts(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table whose dates and moments are texts, as the audit reads them.

    Every writer of a text format has a way of its own to write a moment, with a ``T`` or a blank, with as many digits
    of a second as it likes: we leave it no choice.

    Examples
    --------
    >>> dates_to_texts(pl.DataFrame({"at": [datetime(2021, 10, 31, 0, 30)]})).item()
    '2021-10-31 00:30:00.000000'
    """
    return pl.DataFrame(
        [to_texts(column).alias(column.name) if column.dtype.is_temporal() else column for column in frame]
    )


def _write_excel(frame: pl.DataFrame, buffer: io.BytesIO) -> None:
    try:
        import xlsxwriter
    except ImportError:
        raise MissingExtra.of("XlsxWriter", "excel", "writing Excel files") from None
    if frame.height >= 2**20 or frame.width > 2**14:
        raise WriteError("too large for Excel", got=f"{frame.height} records, {frame.width} columns", hint="use CSV")
    # texts stay texts: "=1+1" is no formula; and a fixed creation date: the same release is the same bytes
    options = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with xlsxwriter.Workbook(buffer, options) as book:
        book.set_properties({"created": datetime(2000, 1, 1)})
        sheet = book.add_worksheet("release")
        formats = {pl.Date: "yyyy-mm-dd", pl.Datetime: "yyyy-mm-dd hh:mm:ss"}
        for index, column in enumerate(frame):
            cells = _excel_cells(column.alias("values"))
            too_long = [text for text in (column.name, *cells) if isinstance(text, str) and len(text) > 32_767]
            if too_long:
                raise WriteError("Excel cells hold at most 32,767 characters", where=column.name, hint="use CSV")
            sheet.write_string(0, index, column.name)
            style = formats.get(column.dtype.base_type())
            sheet.write_column(1, index, cells, book.add_format({"num_format": style}) if style else None)
        # a record without any value is told from a row that nobody wrote by an empty text
        shown = next((index for index, kind in enumerate(frame.dtypes) if kind == pl.String), 0)
        missing = np.all([column.alias("values").is_null().to_numpy() for column in frame], axis=0)
        for record in np.flatnonzero(missing).tolist():
            sheet.write_string(record + 1, shown, "")


def _excel_cells(column: pl.Series) -> list[Any]:
    """Return the values of a column, as texts where Excel would change one of them.

    Excel keeps 15 digits of a whole number and 16 of another, thousandths of a second, and no date before March 1900.
    """
    least = {pl.Date: date(1900, 3, 1), pl.Datetime: datetime(1900, 3, 1)}.get(column.dtype.base_type())
    if column.dtype == pl.Int64:
        safe = bool((column.abs() < 10**15).all())
    elif column.dtype == pl.Float64:
        safe = all(float(f"{number:.16G}") == number for number in column.drop_nulls().unique())
    elif least is not None:
        whole = column.dtype == pl.Date or bool((column.dt.microsecond() % 1000 == 0).all())
        safe = whole and bool((column >= least).all())
    else:
        safe = True
    return column.to_list() if safe else to_texts(column).to_list()


def write_bytes(path: Location, data: bytes) -> None:
    """Write a file and make sure that it is on the disk."""
    if not isinstance(path, Path):
        path.write_bytes(data)
        return
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())

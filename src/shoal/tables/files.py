"""Files in: CSV (delimiter, quote and encoding detected, or given), Parquet, Feather, Excel, JSON lines."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import MissingExtra, TableError, examples, nearest

FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".data": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".ipc": "feather",
    ".xlsx": "excel",
    ".xls": "excel",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}


def format_of(path: Path) -> str:
    """Return the format that a file's ending stands for."""
    ending = path.suffix.lower()
    if ending not in FORMATS:
        raise TableError(
            "the file's ending names no known format",
            where=str(path),
            got=ending or "none",
            hint=nearest(ending, FORMATS),
        )
    return FORMATS[ending]


def read_file(
    path: Path,
    *,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    types: bool = True,
) -> pl.DataFrame:
    """Read a file as it is: no value is guessed to be missing but the empty one.

    Without ``types`` the cells of a CSV stay the texts that are written, for an audit: ``2.5`` and ``2.50`` are one
    number, but a reader of the file sees two classes.
    """
    if not path.exists():
        raise TableError("no such file", where=str(path), hint=_neighbours(path))
    if not path.is_file():
        raise TableError("is not a file", where=str(path))
    if path.stat().st_size == 0:
        raise TableError("the file is empty", where=str(path))
    kind = format_of(path)
    try:
        if kind == "csv":
            return read_csv(path.read_bytes(), str(path), delimiter, quote, encoding, types=types)
        if kind == "parquet":
            return pl.read_parquet(path, glob=False)
        if kind == "feather":
            return pl.read_ipc(path.read_bytes())
        if kind == "jsonl":
            return pl.read_ndjson(path, infer_schema_length=None)
        return _read_excel(path, sheet)
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = " ".join(str(error).split())[:200]
        raise TableError(f"cannot be read as {kind}", where=str(path), got=reason) from None


def _neighbours(path: Path) -> str:
    try:
        return nearest(path.name, [p.name for p in path.parent.iterdir() if p.suffix.lower() in FORMATS][:50])
    except OSError:
        return f"there is no folder {path.parent}"


def _read_excel(path: Path, sheet: str | None) -> pl.DataFrame:
    try:
        import fastexcel  # noqa: F401
    except ImportError:
        raise MissingExtra.of("fastexcel", "excel", "reading Excel files") from None
    options: dict[str, Any] = {"sheet_name": sheet} if sheet else {"sheet_id": 1}
    sheet_frame: pl.DataFrame = pl.read_excel(path, **options)
    return sheet_frame


def read_csv(
    data: bytes,
    where: str,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    *,
    types: bool = True,
) -> pl.DataFrame:
    """Read delimited text; every column's type is the narrowest that keeps each value as it is written."""
    text = _decoded(data, where, encoding)
    quote = quote or _quote(text)
    delimiter = delimiter or _delimiter(text, quote)
    if len(delimiter) != 1 or len(quote) != 1:
        raise TableError("delimiter and quote must be one character", where=where, got=f"{delimiter!r}, {quote!r}")
    header = _check_rows(text, where, delimiter, quote)
    frame = pl.read_csv(
        io.BytesIO(text.encode("utf-8")),
        separator=delimiter,
        quote_char=quote,
        has_header=True,
        infer_schema=False,
    )
    frame.columns = header
    if not types:
        return frame
    return pl.DataFrame([typed(frame[name]) for name in frame.columns])


def _decoded(data: bytes, where: str, encoding: str | None) -> str:
    if encoding is None:
        marks = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
        encoding = next((name for mark, name in marks.items() if data.startswith(mark)), None)
    tries = [encoding] if encoding else ["utf-8", "cp1252"]
    for name in tries:
        try:
            text = data.decode(name)
        except LookupError:
            raise TableError(
                "no such encoding", where=where, got=repr(name), hint="for example utf-8, latin-1"
            ) from None
        except UnicodeDecodeError:
            continue
        if "\x00" not in text:
            return text.lstrip("\ufeff")
    raise TableError(
        "the text cannot be decoded",
        where=where,
        got=f"tried {', '.join(tries)}",
        hint="give the encoding, for example latin-1",
    )


def _quote(text: str) -> str:
    head = text[:65536]
    return "'" if head.count("'") >= 4 and '"' not in head and _wraps(head, "'") else '"'


def _wraps(head: str, quote: str) -> bool:
    # quotes that open and close cells stand next to a delimiter; apostrophes stand between letters
    return any(f"{quote}{mark}{quote}" in head for mark in ",;\t|")


def _delimiter(text: str, quote: str) -> str:
    """Choose the delimiter that gives the first lines the same number of cells, and the most of them."""
    sample = "\n".join(text[:65536].splitlines()[:50])
    best, score = ",", (0, 0)
    for candidate in ",;\t|":
        counts = [len(row) for row in csv.reader(io.StringIO(sample), delimiter=candidate, quotechar=quote) if row]
        if counts and counts[0] > 1:
            rank = (sum(count == counts[0] for count in counts), counts[0])
            if rank > score:
                best, score = candidate, rank
    return best


def _check_rows(text: str, where: str, delimiter: str, quote: str) -> list[str]:
    """Return the header after checking names and the number of cells of each row."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quotechar=quote)
    header = next(rows, [])
    if not header or header == [""]:
        raise TableError("the first line names no columns", where=where)
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise TableError("column names occur twice", where=where, got=examples(twice), hint="rename them")
    if "" in header:
        raise TableError("a column has no name", where=where, got=f"column {header.index('') + 1} of {header}")
    _check_widths(text, rows, where, delimiter, quote, len(header))
    return header


def _check_widths(text: str, rows: Any, where: str, delimiter: str, quote: str, width: int) -> None:
    if quote not in text:
        # no quoted cells: a line is a row, and counting delimiters is enough
        lines = pl.Series(text.split("\n")).str.strip_chars_end("\r")
        counts = lines.str.count_matches(delimiter, literal=True) + 1
        bad = ((counts != width) & (lines != "")).arg_true()
        if len(bad):
            _ragged(where, int(bad[0]) + 1, int(counts[int(bad[0])]), width)
        return
    for row in rows:
        if row and len(row) != width:
            _ragged(where, rows.line_num, len(row), width)


def _ragged(where: str, line: int, cells: int, width: int) -> None:
    raise TableError(
        f"line {line} has {cells} cells where the header has {width}",
        where=where,
        hint="quote cells that hold the delimiter, or give --delimiter",
    )


_INTEGER = r"^-?(?:0|[1-9][0-9]{0,17})$"
_FLOAT = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_DATETIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?$"


def typed(column: pl.Series) -> pl.Series:
    """Return a text column as numbers, dates or truth values where every cell is written as one.

    ``02138`` stays a text: a leading zero means a code, not a number.

    Examples
    --------
    >>> [str(typed(pl.Series(v)).dtype) for v in (["1", "20"], ["02138"], ["1.5", None], ["1995-01-31"])]
    ['Int64', 'String', 'Float64', 'Date']
    """
    column = column.replace("", None)
    values = column.drop_nulls().unique()
    if not len(values):
        return column
    if values.str.contains(_INTEGER).all():
        return column.cast(pl.Int64)
    if values.str.contains(_FLOAT).all():
        number = column.cast(pl.Float64, strict=False)
        return number if number.null_count() == column.null_count() else column
    if set(values.str.to_lowercase()) <= {"true", "false"}:
        return column.str.to_lowercase() == "true"
    for pattern, kind in ((_DATE, pl.Date), (_DATETIME, pl.Datetime("us"))):
        if values.str.contains(pattern).all():
            parsed = column.str.replace("T", " ").str.strptime(kind, strict=False)
            return parsed if parsed.null_count() == column.null_count() else column
    return column

"""Files in: CSV (delimiter, quote and encoding detected, or given), Parquet, Feather, Excel, JSON lines."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import MissingExtra, ShoalError, TableError, examples, nearest

csv.field_size_limit(2**31 - 1)  # a cell may hold a long set of values

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
            return _read_jsonl(path.read_bytes(), str(path), types)
        return _read_excel(path, sheet)
    except ShoalError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:  # each reader has errors of its own
        reason = " ".join(str(error).split())[:200]
        raise TableError(f"cannot be read as {kind}", where=str(path), got=reason) from None


def _neighbours(path: Path) -> str:
    try:
        return nearest(path.name, [p.name for p in path.parent.iterdir() if p.suffix.lower() in FORMATS][:50])
    except OSError:
        return f"there is no folder {path.parent}"


def _read_excel(path: Path, sheet: str | None) -> pl.DataFrame:
    try:
        import fastexcel
    except ImportError:
        raise MissingExtra.of("fastexcel", "excel", "reading Excel files") from None
    options: dict[str, Any] = {"sheet_name": sheet} if sheet else {"sheet_id": 1}
    # types are inferred from all rows: a text below many numbers would be lost otherwise
    frame: pl.DataFrame = pl.read_excel(path, infer_schema_length=None, **options)
    first = fastexcel.read_excel(path).load_sheet(sheet or 0, header_row=None, n_rows=1).to_polars()
    names = [str(name) for name in first.row(0) if name is not None]
    # the reader makes names up where they are missing or occur twice
    checked_header(["" if name.startswith("__UNNAMED__") else name for name in frame.columns], str(path))
    checked_header(names, str(path))
    return frame


def _read_jsonl(data: bytes, where: str, types: bool) -> pl.DataFrame:
    data = data.removeprefix(b"\xef\xbb\xbf")
    frame = pl.read_ndjson(data, infer_schema_length=None)
    # the reader takes the first where a name occurs twice
    first = json.loads(data.lstrip().partition(b"\n")[0], object_pairs_hook=list)
    require_names([name for name, _ in first], where)
    if not types:
        return frame
    # JSON has no dates: a column in which each text is one is a column of dates
    return pl.DataFrame({name: dated(frame[name]) for name in frame.columns})


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
    quote = one_mark(where, "quote", quote or quote_of(text))
    delimiter = one_mark(where, "delimiter", delimiter or delimiter_of(text, quote))
    if delimiter == quote:
        raise TableError("delimiter and quote must differ", where=where, got=f"{quote!r} for both")
    quoted = quote in text or not delimiter.isascii()
    frame = (_quoted_rows if quoted else _plain_lines)(text, where, delimiter, quote)
    read = typed if types else blank
    return pl.DataFrame({name: read(frame[name]) for name in frame.columns})


def _decoded(data: bytes, where: str, encoding: str | None) -> str:
    tries = encodings(data, encoding)
    for name in tries:
        try:
            text = data.decode(name)
        except UnicodeError:
            continue
        except (LookupError, ValueError):
            raise no_encoding(where, name) from None
        if "\x00" not in text:
            return text.lstrip("\ufeff")
    raise undecoded(where, tries)


def encodings(data: bytes, given: str | None) -> list[str]:
    """Return the encodings to try, in order: the one that is given, or that the first bytes tell, or the usual ones."""
    if given is None:
        marks = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
        given = next((name for mark, name in marks.items() if data.startswith(mark)), None)
    return [given] if given else ["utf-8", "cp1252"]


def no_encoding(where: str, name: str) -> TableError:
    """Return the error for an encoding that nobody knows."""
    return TableError("no such encoding", where=where, got=repr(name), hint="for example utf-8, latin-1")


def undecoded(where: str, tries: list[str]) -> TableError:
    """Return the error for bytes that are no text in any encoding that was tried."""
    got, hint = f"tried {', '.join(tries)}", "give the encoding, for example latin-1"
    return TableError("the text cannot be decoded", where=where, got=got, hint=hint)


def quote_of(text: str) -> str:
    """Return the quote character that the head of a text uses."""
    head = text[:65536]
    return "'" if head.count("'") >= 4 and '"' not in head and _wraps(head, "'") else '"'


def _wraps(head: str, quote: str) -> bool:
    # quotes that open and close cells stand next to a delimiter; apostrophes stand between letters
    return any(f"{quote}{mark}{quote}" in head for mark in ",;\t|")


def delimiter_of(text: str, quote: str) -> str:
    """Choose the delimiter that gives the first lines the same number of cells, and the most of them."""
    sample = "\n".join(text[:65536].splitlines()[:50])
    best, score = ",", (0, 0)
    for candidate in ",;\t|".replace(quote, ""):
        counts = [len(row) for row in csv.reader(io.StringIO(sample), delimiter=candidate, quotechar=quote) if row]
        if counts and counts[0] > 1:
            rank = (sum(count == counts[0] for count in counts), counts[0])
            if rank > score:
                best, score = candidate, rank
    return best


def one_mark(where: str, name: str, mark: str) -> str:
    """Return a delimiter or a quote that is one character, or say that it is none."""
    if len(mark) != 1 or mark in "\r\n\0":
        raise TableError(f"the {name} must be one character that ends no line", where=where, got=repr(mark))
    return mark


def _plain_lines(text: str, where: str, delimiter: str, quote: str) -> pl.DataFrame:
    """Read text without quoted cells: a line is a row, and counting delimiters is enough to check it."""
    lines = pl.Series("lines", text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    header = checked_header(lines[0].split(delimiter), where)
    counts = lines.str.count_matches(delimiter, literal=True) + 1
    bad = ((counts != len(header)) & (lines != "")).arg_true()
    if len(bad):
        ragged(where, int(bad[0]) + 1, int(counts[int(bad[0])]), len(header))
    if len(header) == 1:  # an empty line is a missing value, but for the end of the last line
        return pl.DataFrame({header[0]: lines[1 : -1 if lines[-1] == "" else None]})
    frame = cells_of(lines[1:].filter(lines[1:] != ""), len(header), delimiter, None)
    frame.columns = header
    return frame


def cells_of(lines: pl.Series, width: int, delimiter: str, quote: str | None) -> pl.DataFrame:
    """Return the cells of lines that all have as many, as texts, in columns ``0``, ``1``, …"""
    names = list(map(str, range(width)))
    if not len(lines):
        return pl.DataFrame(schema=dict.fromkeys(names, pl.String))
    blank = delimiter * (width - 1)  # a first line that may be lost: polars drops a byte order mark there
    frame = pl.read_csv(
        io.BytesIO(f"{blank}\n{lines.str.join(chr(10)).item()}".encode()),
        has_header=False,
        new_columns=names,
        separator=delimiter,
        quote_char=quote,
        infer_schema=False,
    )
    return frame.slice(1)


_WIDEST = 100
"""The columns of lines that are looked at as a whole."""


def well_formed(width: int, delimiter: str, quote: str) -> str | None:
    """Return the rule of a line with quoted cells that is a row by itself; ``None`` where it takes a reader to say.

    Examples
    --------
    >>> rule = well_formed(2, ",", '"')
    >>> pl.Series(['a,"b, c"', '"a ""b"" c",', '"a', 'a"b,c']).str.contains(rule).to_list()
    [True, True, False, False]
    """
    if width == 1 or width > _WIDEST or not (quote + delimiter).isascii():
        return None
    q, d = (f"\\x{{{ord(mark):x}}}" for mark in (quote, delimiter))
    cell = f"(?:[^{q}{d}]*|{q}(?:[^{q}]|{q}{q})*{q})"
    return f"^{cell}(?:{d}{cell}){{{width - 1}}}$"


def _quoted_rows(text: str, where: str, delimiter: str, quote: str) -> pl.DataFrame:
    """Read text with quoted cells, which may hold delimiters and ends of lines.

    Where every line is well-formed by itself they are read all at once, else row by row, which takes ten times as long.
    """
    found = _lines_at_once(text, where, delimiter, quote)
    return _row_by_row(text, where, delimiter, quote) if found is None else found


def _row_by_row(text: str, where: str, delimiter: str, quote: str) -> pl.DataFrame:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quotechar=quote, strict=True)
    rows = numbered(reader, where)
    header = checked_header(next(rows, (1, []))[1], where)
    cells = wide_rows(rows, where, len(header))
    blocks = []
    while block := list(islice(cells, 50_000)):
        blocks.append([pl.Series(column, dtype=pl.String) for column in zip(*block, strict=True)])
    columns = [pl.concat(parts) for parts in zip(*blocks, strict=True)] or [pl.Series(dtype=pl.String)] * len(header)
    return pl.DataFrame(dict(zip(header, columns, strict=True)))


def _lines_at_once(text: str, where: str, delimiter: str, quote: str) -> pl.DataFrame | None:
    text = text.replace("\r\n", "\n")
    if "\r" in text or text.startswith("\n"):
        return None
    lines = pl.Series([text]).str.split("\n").explode()
    lines = lines.filter(lines != "")
    header = next(csv.reader(lines.head(1).to_list(), delimiter=delimiter, quotechar=quote), [])
    rule = well_formed(len(header), delimiter, quote)
    if rule is None or not lines.str.contains(rule).all():
        return None
    frame = cells_of(lines[1:], len(header), delimiter, quote)
    frame.columns = checked_header(header, where)
    return frame


def numbered(reader: Any, where: str, first: int = 1) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with the number of the line that it starts on."""
    line = first
    try:
        for row in reader:
            yield line, row
            line = first + reader.line_num
    except csv.Error as error:
        hint = "is a quote not closed?"
        raise TableError(f"line {line} is not well quoted", where=where, got=str(error), hint=hint) from None


def wide_rows(rows: Iterator[tuple[int, list[str]]], where: str, width: int) -> Iterator[list[str]]:
    """Yield the rows that are none of the empty lines; one that is too short or too long is an error."""
    for line, row in rows:
        if row and len(row) != width:
            ragged(where, line, len(row), width)
        if row or width == 1:  # in one column an empty line is a missing value
            yield row or [""]


def checked_header(header: list[str], where: str) -> list[str]:
    """Return the names of columns if each is there, once."""
    if not header or header == [""]:
        raise TableError("the first line names no columns", where=where)
    require_names(header, where)
    return header


def require_names(names: Sequence[str], where: str = "") -> None:
    """Raise where a column of a table has no name, or that of another.

    Every format and engine would make up a name of its own for such a column, and a policy cannot speak of it.
    """
    if not all(names):
        hint = "name it, or leave it out: pandas writes its row index so, unless index=False is said"
        got = f"column {list(names).index('') + 1} of {len(names)}, beside {examples([name for name in names if name])}"
        raise TableError("a column has no name", where=where, got=got, hint=hint)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise TableError("column names occur twice", where=where, got=examples(twice), hint="rename them")


def ragged(where: str, line: int, cells: int, width: int) -> None:
    """Raise that a line has another number of cells than the header."""
    raise TableError(
        f"line {line} has {cells} cells where the header has {width}",
        where=where,
        hint="quote cells that hold the delimiter, or give --delimiter",
    )


INTEGER = r"^-?(?:0|[1-9][0-9]*)$"
FLOAT = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"
LONG = r"^-?[0-9]{16,}$"
DATE = r"^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}$"
DATETIME = r"^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?$"


def typed(column: pl.Series) -> pl.Series:
    """Return a text column as numbers, dates or truth values where every cell is written as one.

    ``02138`` stays a text: a leading zero means a code, not a number. So does a number that 64 bits cannot hold.

    Examples
    --------
    >>> [str(typed(pl.Series(v)).dtype) for v in (["1", "20"], ["02138"], ["1.5", None], ["1995-01-31"])]
    ['Int64', 'String', 'Float64', 'Date']
    """
    column = blank(column)
    values = column.drop_nulls().unique()
    if not len(values):
        return column
    if values.str.contains(INTEGER).all():
        return _if_whole(column.cast(pl.Int64, strict=False), column)
    if values.str.contains(FLOAT).all() and not values.str.contains(LONG).any():
        numbers = column.cast(pl.Float64, strict=False)
        return column if numbers.is_infinite().any() else _if_whole(numbers, column)
    if set(values.str.to_lowercase()) <= {"true", "false"}:
        return column.str.to_lowercase() == "true"
    return dated(column)


def blank(column: pl.Series) -> pl.Series:
    """Return a text column in which empty cells are missing."""
    # under a name of our own: polars reads "^…$" in a name as a pattern
    return column.alias("values").replace("", None)


def dated(column: pl.Series) -> pl.Series:
    """Return a text column as dates, or dates with times, where every cell is written as one."""
    column = column.alias("values")
    values = column.drop_nulls()
    if column.dtype != pl.String or not len(values):
        return column
    if values.str.contains(DATE).all():
        return _if_whole(column.str.to_date("%Y-%m-%d", strict=False), column)
    if values.str.contains(DATETIME).all():
        moments = column.str.replace("T", " ").str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False, time_unit="us")
        return _if_whole(moments, column)
    return column


def _if_whole(parsed: pl.Series, column: pl.Series) -> pl.Series:
    return parsed if parsed.null_count() == column.null_count() else column

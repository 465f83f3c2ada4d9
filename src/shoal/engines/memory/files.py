"""Files in: CSV (delimiter, quote and encoding detected, or given), Parquet, Feather, Excel, JSON lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from shoal.encoding.read_options import PUBLISHED, ReadOptions
from shoal.engines.cells import TextReader, locate_texts
from shoal.engines.delimited import Dialect, require_header
from shoal.engines.layout import find_layout_fault
from shoal.engines.text_files import COMPRESSED
from shoal.engines.texts import blank_to_missing, detect_dates, require_names
from shoal.errors import MissingExtra, ShoalError, TableError, nearest

_NOTHING_SAID = ReadOptions()
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
    """Return the format that a file's ending stands for; a compressed CSV is a CSV.

    Examples
    --------
    >>> format_of(Path("people.tsv")), format_of(Path("people.csv.gz"))
    ('csv', 'csv')
    """
    ending = path.suffix.lower()
    if ending in COMPRESSED and FORMATS.get(Path(path.stem).suffix.lower()) == "csv":
        return "csv"
    if ending not in FORMATS:
        raise TableError(
            "the file's ending names no known format",
            where=str(path),
            got=ending or "none",
            hint=nearest(ending, FORMATS),
        )
    return FORMATS[ending]


def read_file(path: Path, options: ReadOptions = _NOTHING_SAID, *, types: bool = True) -> pl.DataFrame:
    """Read a file as it is: no value is guessed to be missing but the empty one.

    Without ``types`` the cells of a CSV stay the texts that are written, for an audit: ``2.5`` and ``2.50`` are one
    number, but a reader of the file sees two classes.
    """
    return read_with_dialect(path, options, types=types)[0]


def read_with_dialect(path: Path, options: ReadOptions, *, types: bool) -> tuple[pl.DataFrame, Dialect | None]:
    """Read a file; return also what it is written in, if it is a CSV."""
    if not path.exists():
        raise TableError("no such file", where=str(path), hint=_neighbours(path))
    if not path.is_file():
        raise TableError("is not a file", where=str(path))
    if path.stat().st_size == 0:
        raise TableError("the file is empty", where=str(path))
    kind = format_of(path)
    require_layout(kind, options, str(path))
    with explain_read_errors(path, kind):
        if kind == "csv":
            dialect = Dialect.detect(path, str(path), options)
            return read_cells_of(dialect, options, types=types), dialect
        frame = _READERS[kind](path, options)
        return read_typed_texts(frame, options, str(path), kind) if types else frame, None


_LAYOUT = {"csv": ("header", "delimiter", "quote", "encoding", "totals"), "excel": ("header", "sheet")}


def require_layout(kind: str, options: ReadOptions, where: str) -> None:
    """Raise where something is said that files of a format do not have: a delimiter of a Parquet file."""
    known = {*chain(*_LAYOUT.values())} - {*_LAYOUT.get(kind, ())}
    # whatever has columns has names of them, and no line of totals
    said = [name for name in sorted(known) if getattr(options, name) not in (None, getattr(PUBLISHED, name))]
    if said:
        meant = (
            " and ".join(kind for kind, names in _LAYOUT.items() if said[0] in names)
            .replace("csv", "CSV")
            .replace("excel", "Excel")
        )
        got = {"excel": "Excel", "jsonl": "JSON lines"}.get(kind, kind.upper() if kind == "csv" else kind.title())
        raise TableError(f"{', '.join(said)}: for {meant} files", where=where, got=got, hint="leave it out")


@contextmanager
def explain_read_errors(path: Path, kind: str) -> Iterator[None]:
    """Tell every error of a reader as one of ours."""
    try:
        yield
    except (ShoalError, MemoryError):
        raise
    except (Exception, pl.exceptions.PanicException) as error:  # each reader has errors of its own
        reason = " ".join(str(error).split())[:200]
        raise TableError(f"cannot be read as {kind}", where=str(path), got=reason) from None


def _neighbours(path: Path) -> str:
    try:
        return nearest(path.name, [p.name for p in path.parent.iterdir() if p.suffix.lower() in FORMATS][:50])
    except OSError:
        return f"there is no folder {path.parent}"


def _read_excel(path: Path, options: ReadOptions) -> pl.DataFrame:
    try:
        import fastexcel
    except ImportError:
        raise MissingExtra.of("fastexcel", "excel", "reading Excel files") from None
    sheets = fastexcel.read_excel(path).sheet_names
    if options.sheet and options.sheet not in sheets:
        raise TableError("no such sheet", where=str(path), got=repr(options.sheet), hint=nearest(options.sheet, sheets))
    chosen: dict[str, Any] = {"sheet_name": options.sheet} if options.sheet else {"sheet_id": 1}
    line = options.header_line - 1
    how = {"has_header": False} if line < 0 else {"read_options": {"header_row": line}}
    # types are inferred from all rows: a text below many numbers would be lost otherwise
    frame: pl.DataFrame = pl.read_excel(path, infer_schema_length=None, **chosen, **how)
    if line < 0:
        return frame.rename(lambda name: f"column_{frame.columns.index(name) + 1}")
    top = fastexcel.read_excel(path).load_sheet(options.sheet or 0, header_row=None, skip_rows=line, n_rows=1)
    names = [str(name) for name in top.to_polars().row(0) if name is not None]
    if options.header is None:
        _require_header_above(path, options, frame.height)
    # the reader makes names up where they are missing or occur twice
    require_header(["" if name.startswith("__UNNAMED__") else name for name in frame.columns], str(path))
    require_header(names, str(path))
    return frame


def _require_header_above(path: Path, options: ReadOptions, height: int) -> None:
    """Raise where the first row of a sheet does not look like names of columns."""
    import fastexcel

    rows = min(height + 1, 200)
    sheet = fastexcel.read_excel(path).load_sheet(options.sheet or 0, header_row=None, n_rows=rows, dtypes="string")
    cells = [["" if cell is None else str(cell) for cell in row] for row in sheet.to_polars().rows()]
    fault = find_layout_fault(list(enumerate(cells, 1)))
    if fault is not None:
        raise TableError(replace(fault, where=str(path)))


def _read_jsonl(path: Path, options: ReadOptions) -> pl.DataFrame:
    data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    frame = pl.read_ndjson(data, infer_schema_length=None)
    # the reader takes the first where a name occurs twice
    first = json.loads(data.lstrip().partition(b"\n")[0], object_pairs_hook=list)
    require_names([name for name, _ in first], str(path))
    return frame


_READERS: dict[str, Callable[[Path, ReadOptions], pl.DataFrame]] = {
    "parquet": lambda path, _: pl.read_parquet(path, glob=False),
    "feather": lambda path, _: pl.read_ipc(path.read_bytes()),
    "jsonl": _read_jsonl,
    "excel": _read_excel,
}


def read_typed_texts(frame: pl.DataFrame, options: ReadOptions, where: str, kind: str) -> pl.DataFrame:
    """Return a table that has types of its own; its texts are read as far as something is said of them."""
    reader = TextReader(options)
    reader.require_names(frame.columns, where)
    columns = {name: reader.read_typed(frame[name], name) for name in frame.columns}
    first = options.header_line + 1 if kind == "excel" else 1
    reader.require_read(where, lambda wanted: locate_texts([(frame, "", first)], wanted, strip=options.strip))
    if kind == "jsonl":  # JSON has no dates: a column in which each text is one is a column of dates
        columns = {name: detect_dates(column) for name, column in columns.items()}
    return pl.DataFrame(columns)


def read_csv(source: bytes, where: str, options: ReadOptions = _NOTHING_SAID, *, types: bool = True) -> pl.DataFrame:
    """Read delimited text; every column's type is the narrowest that keeps each value as it is written."""
    return read_cells_of(Dialect.detect(source, where, options), options, types=types)


def read_cells_of(dialect: Dialect, options: ReadOptions, *, types: bool) -> pl.DataFrame:
    """Read delimited text that is known."""
    frame, reader = dialect.read(), TextReader(options)
    if not types:
        return pl.DataFrame({name: blank_to_missing(frame[name]) for name in frame.columns})
    reader.require_names(frame.columns, dialect.where)
    columns = {name: reader.read(frame[name], name) for name in frame.columns}
    blocks = [(frame, "", dialect.header_line + 1)]
    reader.require_read(dialect.where, lambda wanted: locate_texts(blocks, wanted, strip=options.strip))
    return pl.DataFrame(columns)

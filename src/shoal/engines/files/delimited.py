"""DelimitedScan: CSV files, read some lines at a time; every cell is the text that :func:`read_file` reads.

What a file is written in (encoding, quote, delimiter) is found as for files that are read at once. Only the encoding,
and whether cells are quoted, need a look at the whole file: a first pass that keeps nothing.
"""

from __future__ import annotations

import csv
import io
import os
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import polars as pl

from shoal.engines.files.parts import Part, key, reading
from shoal.engines.memory.files import (
    cells_of,
    checked_header,
    delimiter_of,
    encodings,
    no_encoding,
    numbered,
    one_mark,
    quote_of,
    ragged,
    undecoded,
    well_formed,
    wide_rows,
)
from shoal.errors import TableError

_HEAD = 65_536
_BLOCK = 2**22
_ROWS = 20_000
"""How many rows are read one by one at a time: their cells take more."""
_LINE = 64
"""Characters that a line is taken to have: so many records are read at a time, more or less."""


@dataclass(frozen=True)
class Dialect:
    """What a CSV file is written in."""

    path: Path
    encoding: str
    quote: str
    delimiter: str
    is_quoted: bool
    header: tuple[str, ...]

    @property
    def where(self) -> str:
        """The file, for errors."""
        return str(self.path)

    def open(self, newline: str | None) -> io.TextIOWrapper:
        """Open the file as text."""
        return self.path.open(encoding=self.encoding, newline=newline)


@dataclass(frozen=True)
class DelimitedScan:
    """CSV files with the same columns; progress is told in bytes."""

    dialects: tuple[Dialect, ...]
    is_text: bool = True

    @classmethod
    def open(
        cls,
        paths: tuple[Path, ...],
        *,
        delimiter: str | None = None,
        quote: str | None = None,
        encoding: str | None = None,
    ) -> DelimitedScan:
        """Find out what files are written in; all must have the columns of the first."""
        dialects = []
        for path in paths:
            with reading(path, "csv"):
                dialects.append(_dialect(path, delimiter, quote, encoding))
            if dialects[-1].header != dialects[0].header:
                raise TableError(f"has other columns than {paths[0].name}", where=str(path))
        return cls(tuple(dialects))

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files, in order."""
        return tuple(dialect.path for dialect in self.dialects)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return self.dialects[0].header

    @property
    def total(self) -> int:
        """How many bytes there are."""
        return sum(path.stat().st_size for path in self.paths)

    def parts(self, indices: Sequence[int], rows: int) -> Iterator[Part]:
        """Yield some of the columns, about so many records at a time."""
        before = 0
        for dialect in self.dialects:
            blocks = _quoted_blocks if dialect.is_quoted else _plain_blocks
            with reading(dialect.path, "csv"):
                for frame, done in blocks(dialect, list(indices), rows):
                    yield Part(frame.lazy(), dialect.path, before + done)
            before += dialect.path.stat().st_size


def _dialect(path: Path, delimiter: str | None, quote: str | None, encoding: str | None) -> Dialect:
    where = str(path)
    with path.open("rb") as file:
        tries = encodings(file.read(4), encoding)
    for name in tries:
        try:
            head = next(_texts(path, name), "").lstrip("\ufeff")[:_HEAD]
            quote_mark = one_mark(where, "quote", quote or quote_of(head))
            is_quoted = sum(quote_mark in text for text in _texts(path, name)) > 0  # to the end: it decodes
        except LookupError:
            raise no_encoding(where, name) from None
        except _NotText:
            continue
        mark = one_mark(where, "delimiter", delimiter or delimiter_of(head, quote_mark))
        if mark == quote_mark:
            raise TableError("delimiter and quote must differ", where=where, got=f"{mark!r} for both")
        found = Dialect(path, name, quote_mark, mark, is_quoted or not mark.isascii(), ())
        return Dialect(path, name, quote_mark, mark, found.is_quoted, tuple(_header(found)))
    raise undecoded(where, tries)


class _NotText(Exception):
    """The bytes are no text in this encoding."""


def _texts(path: Path, encoding: str) -> Iterator[str]:
    """Yield a file's text block by block."""
    decoder = getincrementaldecoder(encoding)()
    with path.open("rb") as file:
        while True:
            data = file.read(_BLOCK)
            try:
                text = decoder.decode(data, final=not data)
            except UnicodeError:
                raise _NotText from None
            if "\x00" in text:
                raise _NotText
            yield text
            if not data:
                return


def _header(dialect: Dialect) -> list[str]:
    if dialect.is_quoted:
        with dialect.open("") as file:
            lines = chain([file.readline().lstrip("\ufeff")], file)
            return checked_header(next(numbered(_reader(dialect, lines), dialect.where), (1, []))[1], dialect.where)
    with dialect.open(None) as file:
        line = file.readline().lstrip("\ufeff").removesuffix("\n")
    return checked_header(line.split(dialect.delimiter), dialect.where)


def _plain_blocks(dialect: Dialect, indices: list[int], rows: int) -> Iterator[tuple[pl.DataFrame, int]]:
    """Yield text without quoted cells: a line is a row, and counting delimiters is enough to check it."""
    with dialect.open(None) as file:
        file.readline()
        line, rest = 2, ""
        while text := file.read(rows * _LINE):
            block, end, rest = (rest + text).rpartition("\n")
            if end:
                frame, lines = _plain_block(block, dialect, indices, line)
                line += lines
                yield frame, _position(file)
        last, _ = _plain_block(rest, dialect, indices, line) if rest else (_empty(indices), 0)
        yield last, _position(file)


def _plain_block(block: str, dialect: Dialect, indices: list[int], line: int) -> tuple[pl.DataFrame, int]:
    """Return the rows of some lines that start at a line of the file, and how many lines there are."""
    width, delimiter = len(dialect.header), dialect.delimiter
    lines = pl.Series([block]).str.split("\n").explode()
    counts = lines.str.count_matches(delimiter, literal=True) + 1
    filled = lines != ""
    bad = ((counts != width) & filled).arg_true()
    if len(bad):
        ragged(dialect.where, line + int(bad[0]), int(counts[int(bad[0])]), width)
    if width == 1:  # an empty line is a missing value
        return pl.DataFrame({key(index): lines for index in indices}), len(lines)
    return _parsed(lines.filter(filled), dialect, indices, quote=None), len(lines)


def _parsed(lines: pl.Series, dialect: Dialect, indices: list[int], quote: str | None) -> pl.DataFrame:
    """Return the cells of lines that all have as many as the header."""
    if not indices:
        return _empty(indices)
    frame = cells_of(lines, len(dialect.header), dialect.delimiter, quote)
    return pl.DataFrame([frame[str(index)].alias(key(index)) for index in indices])


def _quoted_blocks(dialect: Dialect, indices: list[int], rows: int) -> Iterator[tuple[pl.DataFrame, int]]:
    """Yield text with quoted cells, which may hold delimiters and ends of lines.

    As long as every line is well-formed by itself, lines are read many at a time; from the first on that is not (a cell
    of several lines, a quote where none belongs) row by row.
    """
    rule = well_formed(len(dialect.header), dialect.delimiter, dialect.quote)
    with dialect.open("") as file:
        line, rest = 1, ""
        while text := file.read(rows * _LINE):
            block, end, rest = (rest + text).rpartition("\n")
            frame = _quoted_block(block, dialect, indices, line, rule) if end else None
            if end and frame is None:
                pending = io.StringIO(block + end + rest + file.readline(), newline="")
                yield from _rows(dialect, indices, rows, chain(pending, file), line, file)
                return
            if frame is not None:
                line += block.count("\n") + 1
                yield frame, _position(file)
        yield from _rows(dialect, indices, rows, io.StringIO(rest, newline=""), line, file)


def _quoted_block(block: str, dialect: Dialect, indices: list[int], line: int, rule: str | None) -> pl.DataFrame | None:
    """Return the rows of some lines, without the header; ``None`` where one of them is not well-formed by itself."""
    block = f"{block}\n".replace("\r\n", "\n").removesuffix("\n")
    if rule is None or "\r" in block:
        return None
    lines = pl.Series([block.lstrip("\ufeff") if line == 1 else block]).str.split("\n").explode()
    filled = lines.filter(lines != "")
    if not filled.str.contains(rule).all():
        return None
    return _parsed(filled.slice(1 if line == 1 else 0), dialect, indices, dialect.quote)


def _rows(
    dialect: Dialect, indices: list[int], rows: int, lines: Iterable[str], line: int, file: IO[str]
) -> Iterator[tuple[pl.DataFrame, int]]:
    """Yield rows that are read one by one, from lines that start at a line of the file."""
    if line == 1:
        lines = iter(lines)
        lines = chain([next(lines, "").lstrip("\ufeff")], lines)
    numbers = numbered(_reader(dialect, lines), dialect.where, line)
    if line == 1:
        next(numbers)
    cells = wide_rows(numbers, dialect.where, len(dialect.header))
    while True:
        block = list(islice(cells, min(rows, _ROWS)))
        columns = list(zip(*block, strict=True)) or [()] * len(dialect.header)
        frame = pl.DataFrame({key(index): pl.Series(columns[index], dtype=pl.String) for index in indices})
        yield frame, _position(file)
        if not block:
            return


def _reader(dialect: Dialect, lines: Iterable[str]) -> Any:
    return csv.reader(lines, delimiter=dialect.delimiter, quotechar=dialect.quote, strict=True)


def _empty(indices: list[int]) -> pl.DataFrame:
    return pl.DataFrame(schema={key(index): pl.String for index in indices})


def _position(file: IO[str]) -> int:
    """Return how many bytes of a file are read; a text file does not tell while its lines are iterated."""
    return os.lseek(file.fileno(), 0, os.SEEK_CUR)

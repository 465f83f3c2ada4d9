"""CSV: what a text is written in, found or given, and its cells as texts, all at once or some lines at a time.

Only the encoding, and whether cells are quoted, need a look at the whole text: a first pass that keeps nothing.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any

import polars as pl

from shoal.encoding.read_options import ReadOptions
from shoal.engines.layout import Line, find_layout_fault, find_totals
from shoal.engines.letters import OTHER_ENCODINGS, require_letters
from shoal.engines.sums import find_sums, may_be_sums
from shoal.engines.text_files import TextFile, open_text, read_first_bytes
from shoal.engines.texts import require_names
from shoal.errors import Fault, TableError

csv.field_size_limit(2**31 - 1)  # a cell may hold a long set of values

_HEAD = 65_536
"""Characters that quote and delimiter are found in."""
_BLOCK = 2**22
_ROWS = 20_000
"""How many rows are read one by one at a time: their cells take more."""
_LINE = 64
"""Characters that a line is taken to have: so many records are read at a time, more or less."""
_TAIL = 10_000
"""Characters that the last line is looked for in."""
_LINES = 200
"""The first lines, which tell whether there are names of columns."""
_NOTHING_SAID = ReadOptions()
_WIDEST = 100
"""The columns of lines that are looked at as a whole."""

Blocks = Iterator[tuple[pl.DataFrame, int]]
"""Some records, and how many bytes of the text are read with them."""


def key(index: int) -> str:
    """Return our own name of a column: polars reads ``*`` and ``^…$`` in a name as a pattern."""
    return f"c{index}"


@dataclass(frozen=True)
class Dialect:
    """What a CSV file, or the bytes of one, is written in."""

    source: Path | bytes
    where: str
    """The file, for errors."""
    encoding: str
    quote: str = '"'
    delimiter: str = ","
    is_quoted: bool = False
    header: tuple[str, ...] = ()
    header_line: int = 1
    """The line that names the columns; 0 where none does."""
    totals: bool = False
    """Whether the last line is one of totals, and no record."""

    @classmethod
    def detect(cls, source: Path | bytes, where: str, options: ReadOptions = _NOTHING_SAID) -> Dialect:
        """Find out what is not said; what may be meant in two ways is refused."""
        tries = _list_encodings(source, options.encoding)
        for name in tries:
            draft = cls(source, where, name, header_line=options.header_line, totals=bool(options.totals))
            if (found := draft._detect_marks(options)) is not None:
                return replace(found, header=tuple(found._read_header(strip=options.strip)))
        got, hint = f"tried {', '.join(tries)}", f"give the encoding: {OTHER_ENCODINGS}"
        raise TableError("the text cannot be decoded", where=where, got=got, hint=hint)

    def _detect_marks(self, options: ReadOptions) -> Dialect | None:
        """Find out quote and delimiter; ``None`` where the bytes are no text in the encoding."""
        try:
            texts = self._read_texts()
            first = next(texts, "")
            head = first.lstrip("\ufeff")[:_HEAD]
            named = "".join(head.splitlines(keepends=True)[max(self.header_line - 1, 0) :])
            quote = options.quote or _find_quote(named)
            is_quoted, last = quote in first, first
            for text in texts:  # to the end: it decodes
                is_quoted, last = is_quoted or quote in text, last[-_TAIL:] + text
        except UnicodeError:
            return None
        except (LookupError, ValueError):
            hint = "for example utf-8, latin-1"
            raise TableError("no such encoding", where=self.where, got=repr(self.encoding), hint=hint) from None
        require_letters(head, self.encoding if options.encoding is None else "", self.where)
        self._require_mark("quote", quote)
        delimiter = options.delimiter or _find_delimiter(named, quote)
        self._require_mark("delimiter", delimiter)
        if delimiter == quote:
            raise TableError("delimiter and quote must differ", where=self.where, got=f"{quote!r} for both")
        found = replace(self, quote=quote, delimiter=delimiter, is_quoted=is_quoted or not delimiter.isascii())
        found._require_layout(options, named, last[-_TAIL:])
        return found

    def _require_layout(self, options: ReadOptions, head: str, tail: str) -> None:
        """Raise where nobody said what stands beside the records, and something seems to."""
        if options.header is not None and options.totals is not None:
            return
        # blanks are a delimiter that nobody detects: a title has some, too
        faults = [find_layout_fault(self._sample(head))] if options.header is None else []
        if faults == [None] and options.delimiter is None:
            below = head.splitlines()[:_LINES]
            usual = replace(self, delimiter=_find_delimiter("\n".join(below[len(below) // 2 :]), self.quote))
            first = head.partition("\n")[0]
            is_title = self.delimiter not in first or usual.delimiter not in first
            faults = [find_layout_fault(usual._sample(head)) if is_title else None]
        if options.totals is None:
            ends = self._sample("\n".join(tail.rstrip("\r\n").splitlines()[-1:]))
            faults.append(self._find_totals(self._sample(head), ends[-1][1]) if ends else None)
        for fault in faults:
            if fault is not None:
                raise TableError(replace(fault, where=self.where))

    def _find_totals(self, lines: list[Line], last: list[str]) -> Fault | None:
        """Return a fault where the last line is called one of totals, or is one by what all lines sum to."""
        if (named := find_totals(lines, last)) is not None or not may_be_sums(lines, last):
            return named
        with self.open_at_header("") as file, suppress(TableError):
            rows = (cells for _, cells in _number_rows(self, file) if cells)
            return find_sums(islice(rows, 1 if self.header_line else 0, None), last)
        return None

    def _sample(self, text: str) -> list[Line]:
        """Return the first lines of a text that have cells, as far as they are well quoted."""
        lines: list[Line] = []
        whole = text if len(text) < _HEAD else text[: text.rfind("\n") + 1]
        with suppress(TableError):
            for line, cells in _number_rows(self, io.StringIO(whole, newline="")):
                if cells:
                    lines.append((line, cells))
                if len(lines) == _LINES:
                    break
        return lines

    def _require_mark(self, name: str, mark: str) -> None:
        if len(mark) != 1 or mark in "\r\n\0":
            raise TableError(f"the {name} must be one character that ends no line", where=self.where, got=repr(mark))

    @property
    def written_delimiter(self) -> str:
        """The delimiter that a release of this table is written with: the same, if it is a usual one."""
        return self.delimiter if self.delimiter in ",;\t|" else ","

    def open(self, newline: str | None) -> TextFile:
        """Open the text."""
        return open_text(self.source, self.encoding, newline, totals=self.totals)

    def open_at_header(self, newline: str | None) -> TextFile:
        """Open the text where the names of its columns stand."""
        file = self.open(newline)
        for _ in range(self.header_line - 1):
            file.readline()
        return file

    def _read_texts(self) -> Iterator[str]:
        with self.open("") as file:
            while text := file.read(_BLOCK):
                if "\x00" in text:
                    raise UnicodeError("no text has a zero in it")
                yield text

    def reader(self, lines: Iterable[str]) -> Any:
        """Return a reader of rows."""
        return csv.reader(lines, delimiter=self.delimiter, quotechar=self.quote, strict=True)

    def _read_header(self, *, strip: bool) -> list[str]:
        with self.open_at_header("" if self.is_quoted else None) as file:
            line = file.readline().lstrip("\ufeff")
            if self.is_quoted:
                header = next(_number_rows(self, chain([line], file)), (1, []))[1]
            else:
                header = line.removesuffix("\n").split(self.delimiter)
        if not self.header_line:
            return [f"column_{number}" for number in range(1, len(header) + 1)]
        header = [name.strip() for name in header] if strip else header
        require_header(header, self.where)
        return header

    def read(self) -> pl.DataFrame:
        """Return all cells as texts."""
        frame = pl.concat([block for block, _ in self.read_blocks(range(len(self.header)))])
        frame.columns = list(self.header)
        return frame

    def read_blocks(self, indices: Sequence[int], rows: int | None = None) -> Blocks:
        """Yield some of the columns (:func:`key`), about so many records at a time; or as many as there are."""
        blocks = _read_quoted if self.is_quoted else _read_plain
        return blocks(self, list(indices), rows)


def _list_encodings(source: Path | bytes, given: str | None) -> list[str]:
    """Return the encodings to try, in order: the one that is given, or that the first bytes tell, or the usual ones."""
    if given is None:
        first = read_first_bytes(source, 4)
        marks = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
        given = next((name for mark, name in marks.items() if first.startswith(mark)), None)
    return [given] if given else ["utf-8", "cp1252"]


def _find_quote(head: str) -> str:
    # quotes that open and close cells stand next to a delimiter; apostrophes stand between letters
    wraps = any(f"'{mark}'" in head for mark in ",;\t|")
    return "'" if wraps and head.count("'") >= 4 and '"' not in head else '"'


def _find_delimiter(head: str, quote: str) -> str:
    """Return the delimiter that gives the first lines the same number of cells, and the most of them."""
    sample = "\n".join(head.splitlines()[:50])
    best, score = ",", (0, 0)
    for candidate in ",;\t|".replace(quote, ""):
        counts = [len(row) for row in csv.reader(io.StringIO(sample), delimiter=candidate, quotechar=quote) if row]
        if counts and counts[0] > 1:
            rank = (sum(count == counts[0] for count in counts), counts[0])
            if rank > score:
                best, score = candidate, rank
    return best


def require_header(header: list[str], where: str) -> None:
    """Raise where the names of columns are not each there, once."""
    if not header or header == [""]:
        raise TableError("the first line names no columns", where=where)
    require_names(header, where)


def _read_plain(dialect: Dialect, indices: list[int], rows: int | None) -> Blocks:
    """Yield text without quoted cells: a line is a row, and counting delimiters is enough to check it."""
    with dialect.open_at_header(None) as file:
        first = file.readline()
        line, rest = (dialect.header_line + 1, "") if dialect.header_line else (1, first.lstrip("\ufeff"))
        while text := file.read(_characters(rows)):
            block, end, rest = (rest + text).rpartition("\n")
            if end:
                frame, lines = _plain_block(block, dialect, indices, line)
                line += lines
                yield frame, file.position
        last = _plain_block(rest.removesuffix("\n"), dialect, indices, line)[0] if rest else _empty(indices)
        yield last, file.position


def _characters(rows: int | None) -> int:
    return -1 if rows is None else rows * _LINE


def _plain_block(block: str, dialect: Dialect, indices: list[int], line: int) -> tuple[pl.DataFrame, int]:
    """Return the rows of some lines that start at a line of the file, and how many lines there are."""
    width = len(dialect.header)
    lines = pl.Series([block]).str.split("\n").explode()
    counts = lines.str.count_matches(dialect.delimiter, literal=True) + 1
    filled = lines != ""
    bad = ((counts != width) & filled).arg_true()
    if len(bad):
        raise _ragged(dialect, line + int(bad[0]), lines[int(bad[0])].split(dialect.delimiter))
    if width == 1:  # an empty line is a missing value
        return pl.DataFrame({key(index): lines for index in indices}), len(lines)
    return _split_lines(lines.filter(filled), dialect, indices, quote=None), len(lines)


def _ragged(dialect: Dialect, line: int, cells: list[str]) -> TableError:
    what = f"line {line} has {len(cells)} cells where the header has {len(dialect.header)}"
    hint = "quote cells that hold the delimiter, or give --delimiter"
    pairs = pairwise(cells)
    if dialect.delimiter == "," and len(cells) > len(dialect.header) and any(_is_split_number(*two) for two in pairs):
        hint = 'are these decimal commas? Put ; between the cells and say decimal: ",", or quote the numbers'
    return TableError(what, where=dialect.where, hint=hint)


def _is_split_number(whole: str, fraction: str) -> bool:
    return whole.lstrip("-").isdigit() and fraction.isdigit()


def _split_lines(lines: pl.Series, dialect: Dialect, indices: list[int], quote: str | None) -> pl.DataFrame:
    """Return the cells of lines that all have as many as the header."""
    width = len(dialect.header)
    if not indices or not len(lines):
        return _empty(indices)
    blank = dialect.delimiter * (width - 1)  # a first line that may be lost: polars drops a byte order mark there
    frame = pl.read_csv(
        io.BytesIO(f"{blank}\n{lines.str.join(chr(10)).item()}".encode()),
        has_header=False,
        new_columns=[key(index) for index in range(width)],
        separator=dialect.delimiter,
        quote_char=quote,
        infer_schema=False,
    )
    return frame.slice(1).select(key(index) for index in indices)


def _read_quoted(dialect: Dialect, indices: list[int], rows: int | None) -> Blocks:
    """Yield text with quoted cells, which may hold delimiters and ends of lines.

    As long as every line is well-formed by itself, lines are read many at a time; from the first on that is not (a cell
    of several lines, a quote where none belongs) row by row, which takes ten times as long.
    """
    rule, start = well_formed(len(dialect.header), dialect.delimiter, dialect.quote), max(dialect.header_line, 1)
    with dialect.open_at_header("") as file:
        line, rest = start, ""
        while text := file.read(_characters(rows)):
            block, end, rest = (rest + text).rpartition("\n")
            frame = _quoted_block(block, dialect, indices, rule, is_first=line == start) if end else None
            if end and frame is None:
                pending = io.StringIO(block + end + rest + file.readline(), newline="")
                yield from _read_rows(dialect, indices, rows, chain(pending, file), line, file)
                return
            if frame is not None:
                line += block.count("\n") + 1
                yield frame, file.position
        yield from _read_rows(dialect, indices, rows, io.StringIO(rest, newline=""), line, file)


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


def _quoted_block(
    block: str, dialect: Dialect, indices: list[int], rule: str | None, *, is_first: bool
) -> pl.DataFrame | None:
    """Return the rows of some lines, without the header; ``None`` where one of them is not well-formed by itself."""
    block = f"{block}\n".replace("\r\n", "\n").removesuffix("\n")
    if rule is None or "\r" in block:
        return None
    lines = pl.Series([block.lstrip("\ufeff") if is_first else block]).str.split("\n").explode()
    filled = lines.filter(lines != "")
    if not filled.str.contains(rule).all():
        return None
    return _split_lines(filled.slice(1 if is_first and dialect.header_line else 0), dialect, indices, dialect.quote)


def _read_rows(
    dialect: Dialect, indices: list[int], rows: int | None, lines: Iterable[str], line: int, file: TextFile
) -> Blocks:
    """Yield rows that are read one by one, from lines that start at a line of the file."""
    is_first = line == max(dialect.header_line, 1)
    if is_first:
        lines = iter(lines)
        lines = chain([next(lines, "").lstrip("\ufeff")], lines)
    numbers = _number_rows(dialect, lines, line)
    if is_first and dialect.header_line:
        next(numbers)
    cells = _require_width(dialect, numbers)
    while True:
        block = list(islice(cells, min(rows or _ROWS, _ROWS)))
        columns = list(zip(*block, strict=True)) or [()] * len(dialect.header)
        frame = pl.DataFrame({key(index): pl.Series(columns[index], dtype=pl.String) for index in indices})
        yield frame, file.position
        if not block:
            return


def _number_rows(dialect: Dialect, lines: Iterable[str], first: int = 1) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with the number of the line that it starts on."""
    line, reader = first, dialect.reader(lines)
    try:
        for row in reader:
            yield line, row
            line = first + reader.line_num
    except csv.Error as error:
        what, hint = f"line {line} is not well quoted", "is a quote not closed?"
        raise TableError(what, where=dialect.where, got=str(error), hint=hint) from None


def _require_width(dialect: Dialect, rows: Iterator[tuple[int, list[str]]]) -> Iterator[list[str]]:
    """Yield the rows that are none of the empty lines; one that is too short or too long is an error."""
    width = len(dialect.header)
    for line, row in rows:
        if row and len(row) != width:
            raise _ragged(dialect, line, row)
        if row or width == 1:  # in one column an empty line is a missing value
            yield row or [""]


def _empty(indices: list[int]) -> pl.DataFrame:
    return pl.DataFrame(schema={key(index): pl.String for index in indices})

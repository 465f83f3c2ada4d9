"""Cells of a file as values: texts become numbers, dates or missing, as is said or as every one of them is written.

What a column is said to be and some of its cells are not is collected as :class:`Misread`, and told with the rows that
it stands in by :class:`TextReader`: all columns at once. Every engine that holds texts reads them here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import polars as pl

from shoal.encoding.read_options import DIRECTIVES, CellOptions, ReadOptions
from shoal.engines.texts import blank_to_missing, detect_type, detect_type_of
from shoal.errors import Fault, TableError, nearest

_UNKNOWN = (
    "na n/a n.a. #n/a <na> nan null none nil ? ?? - -- . .. missing unknown unbekannt inconnu desconocido k.a. n.v.t. "
    "s/d n/d nd"
)
PLACEHOLDERS = frozenset(_UNKNOWN.split())
"""What people write where they know nothing, in small letters."""
_DAY_AND_MONTH = r"^([0-9]{1,2})[./-]([0-9]{1,2})[./-][0-9]{4}$"
_STATED = {".": r"\.", ",": ","}
_ROWS, _TEXTS = 3, 3

Locate = Callable[[Mapping[str, list[str]]], Mapping[str, Mapping[str, list[str]]]]
"""Column → texts that cannot be read, to column → text → the rows that it stands in."""


@dataclass(frozen=True)
class Misread:
    """Cells of a column that are not what it is said to be."""

    what: str
    texts: list[str]
    hint: str


def read_cells(
    column: pl.Series, how: CellOptions, *, strip: bool = False, insists: Collection[str] = ()
) -> tuple[pl.Series, list[Misread]]:
    """Return a text column as its cells are said to be read, with those that cannot be.

    What is said of the whole file is meant for the columns that most cells fit; what is said of this column
    (``insists``) is meant for every cell.

    Examples
    --------
    >>> values, wrong = read_cells(pl.Series(["1.234,5", "?"]), CellOptions(decimal=",", thousands=".", missing=["?"]))
    >>> values.to_list(), wrong
    ([1234.5, None], [])
    """
    column = _known_texts(column, how, strip=strip)
    values = column.drop_nulls().unique()
    if not len(values):
        return column, []
    wrong: list[Misread] = []
    if how.decimal is not None or how.thousands is not None:
        read = _read_numbers(column, values, how, wrong, insists="decimal" in insists or "thousands" in insists)
        if read is not None:
            return read, wrong
    if how.dates:
        read = read_dates(column, values, how.dates, wrong, insists="dates" in insists)
        if read is not None:
            return read, wrong
    typed = detect_type_of(column, values)
    if typed.dtype == pl.String and not wrong:
        wrong += _find_doubts(values, how)
    return typed, wrong


def _known_texts(column: pl.Series, how: CellOptions, *, strip: bool) -> pl.Series:
    """Return cells without blanks around them, if that is asked, and without what stands for a missing value."""
    column = blank_to_missing(column.alias("values").str.strip_chars() if strip else column)
    return column.set(column.is_in(list(how.missing)), None) if how.missing else column


# ------------------------------------------------------------------------------------------------------- numbers


def _read_numbers(
    column: pl.Series, values: pl.Series, how: CellOptions, wrong: list[Misread], *, insists: bool
) -> pl.Series | None:
    """Return a column of numbers with marks of their own; ``None`` where it is none."""
    decimal, thousands = how.decimal or ".", how.thousands or ""
    fits = values.str.contains(number_rule(decimal, thousands))
    marked = fits & values.str.contains_any([mark for mark in (decimal, thousands) if mark])
    if fits.all():
        plain = column.str.replace_all(thousands, "", literal=True) if thousands else column
        return detect_type(plain.str.replace(decimal, ".", literal=True))
    others = values.filter(~fits)
    if decimal == "," and others.str.contains(number_rule(".", "")).all():
        what = "has numbers with a decimal point, where a comma is said to be the decimal mark"
        hint = 'say so in the read block: columns: {NAME: {decimal: "."}}, or correct them'
        if not thousands and values.str.contains(number_rule(",", ".")).all():
            what = "has numbers with a point, where a comma is said to be the decimal mark"
            hint = 'if it parts thousands, say thousands: "." (--thousands .); else columns: {NAME: {decimal: "."}}'
        wrong.append(Misread(what, others.to_list(), hint))
    elif insists or (marked.any() and 2 * len(others) < len(values)):
        hint = "correct them, or say what they stand for, for example missing: [n/a]"
        wrong.append(Misread("some cells cannot be read as numbers", others.to_list(), hint))
    return None


def number_rule(decimal: str, thousands: str) -> str:
    """Return the rule of a number with a decimal mark and a mark between thousands."""
    groups = f"|[1-9][0-9]{{0,2}}(?:{re.escape(thousands)}[0-9]{{3}})+" if thousands else ""
    return rf"^-?(?:0|[1-9][0-9]*{groups})(?:{_STATED[decimal]}[0-9]+)?(?:[eE][+-]?[0-9]+)?$"


# --------------------------------------------------------------------------------------------------------- dates


def date_rule(format: str) -> str:
    """Return the rule of texts that a format may stand for.

    Examples
    --------
    >>> print(date_rule("%d.%m.%Y"))
    ^[0-9]{1,2}\\.[0-9]{1,2}\\.[1-9][0-9]{3}$
    """
    parts = re.split("%(.)", format)
    return "^" + "".join(DIRECTIVES[part] if place % 2 else re.escape(part) for place, part in enumerate(parts)) + "$"


def parse_dates(values: pl.Series, format: str) -> pl.Series:
    """Return texts as moments in UTC, or missing where they are none in a format."""
    known = values.set(~values.str.contains(date_rule(format)), None)
    chrono = format.replace(".%f", "%.f")
    if "%z" in format:
        known = known.str.replace("Z$", "+0000")
        return known.str.to_datetime(chrono, strict=False, time_unit="us", time_zone="UTC")
    if not _has_time(format):
        return known.str.to_date(chrono, strict=False).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
    missing_seconds = "" if "%S" in format else ":%S"
    known = known if not missing_seconds else known + ":00"
    return known.str.to_datetime(chrono + missing_seconds, strict=False, time_unit="us").dt.replace_time_zone("UTC")


def _has_time(format: str) -> bool:
    return any(f"%{part}" in format for part in "HIz")


def read_dates(
    column: pl.Series, values: pl.Series, formats: tuple[str, ...], wrong: list[Misread], *, insists: bool = False
) -> pl.Series | None:
    """Return a column of dates, or of moments where a format has a time; ``None`` where it is neither."""
    parsed = [parse_dates(values, format) for format in formats]
    moment = parsed[0]
    doubtful = pl.Series([False] * len(values))
    for other in parsed[1:]:
        doubtful |= (moment.is_not_null() & other.is_not_null() & (moment != other)).fill_null(False)
        moment = moment.zip_with(moment.is_not_null(), other)
    told = " or ".join(formats)
    if doubtful.any():
        hint = "give one format, or write the dates of the other another way"
        wrong.append(
            Misread(f"two formats ({told}) make different dates of it", values.filter(doubtful).to_list(), hint)
        )
        return None
    others = values.filter(moment.is_null())
    if not len(others):
        kinds = {"zone" if "%z" in one else "time" if _has_time(one) else "date" for one in formats}
        return _in_place(column, values, _as_kind(moment, kinds))
    if insists or 2 * len(others) < len(values):
        hint = "correct them, add their format to dates, or say what they stand for, for example missing: [n/a]"
        wrong.append(Misread(f"some cells cannot be read as dates ({told})", others.to_list(), hint))
    return None


def _as_kind(moment: pl.Series, kinds: set[str]) -> pl.Series:
    if kinds == {"date"}:
        return moment.dt.date()
    return moment if kinds == {"zone"} else moment.dt.replace_time_zone(None)


def _in_place(column: pl.Series, values: pl.Series, read: pl.Series) -> pl.Series:
    """Return what each cell of a column was read as."""
    table = pl.DataFrame([values.alias("text"), read.alias("read")])
    return pl.DataFrame([column.alias("text")]).join(table, on="text", how="left", maintain_order="left")["read"]


# --------------------------------------------------------------------------------- what is said nothing about


def _find_doubts(values: pl.Series, how: CellOptions) -> Iterator[Misread]:
    """Yield what makes no sense as it is, and what nobody said how to read."""
    if how.missing is None and values.str.to_lowercase().is_in(list(PLACEHOLDERS)).all():
        texts = sorted(values.to_list())
        hint = f"say missing: {texts} in the read block (--missing), or missing: [] where these are values"
        yield Misread("holds nothing but what usually stands for a missing value", texts, hint.replace("'", '"'))
    if how.dates is None and (contradiction := find_contradicting_dates(values)):
        hint = 'correct them; or say the format, for example dates: {format: "%d.%m.%Y"}, or dates: [] to keep texts'
        yield Misread("has dates that contradict each other: day first, and month first", contradiction, hint)


def find_contradicting_dates(values: pl.Series) -> list[str]:
    """Return dates of which some can only be day first and others only month first; nothing where all agree.

    Examples
    --------
    >>> find_contradicting_dates(pl.Series(["13/02/2020", "02/13/2020", "01/02/2020"]))
    ['02/13/2020', '13/02/2020']
    """
    if not len(values) or not values.head(100).str.contains(_DAY_AND_MONTH).all():
        return []
    if not values.str.contains(_DAY_AND_MONTH).all():
        return []
    first, second = (values.str.extract(_DAY_AND_MONTH, group).cast(pl.Int64) for group in (1, 2))
    days, months = ((first > 12) & (second <= 12)), ((second > 12) & (first <= 12))
    if not (days.any() and months.any()):
        return []
    return [str(text) for texts in (months, days) for text in values.filter(texts).sort().head(_TEXTS)]


# ------------------------------------------------------------------------------------------------ tables of texts


@dataclass
class TextReader:
    """Reads the columns of a table, and remembers what cannot be read.

    Examples
    --------
    >>> reader = TextReader(ReadOptions(missing=["?"]))
    >>> reader.read(pl.Series("age", ["21", "?"]), "age").to_list()
    [21, None]
    """

    options: ReadOptions
    wrong: dict[str, list[Misread]] = field(default_factory=dict)

    def read(self, column: pl.Series, name: str) -> pl.Series:
        """Return a column of texts as values."""
        own = self.options.columns.get(name)
        insists = () if own is None else own.to_dict()
        how = self.options.of_column(name)
        values, wrong = read_cells(column, how, strip=self.options.strip, insists=insists)
        if wrong:
            self.wrong[name] = wrong
        return values

    def read_typed(self, column: pl.Series, name: str) -> pl.Series:
        """Return a column of a file that has types of its own; its texts are read as far as something is said."""
        how = self.options.of_column(name)
        if column.dtype != pl.String or (how.is_plain and not self.options.strip):
            return column
        read = self.read(column, name)
        says_numbers = how.decimal is not None or how.thousands is not None
        if says_numbers or not (read.dtype.is_numeric() or read.dtype == pl.Boolean):
            return read
        return _known_texts(column, how, strip=self.options.strip)  # "007" is a text there, and so is "7"

    def require_names(self, names: Sequence[str], where: str) -> None:
        """Raise where something is said of columns that the table has not."""
        unknown = [name for name in self.options.columns if name not in names]
        if unknown:
            raise TableError(
                Fault("no such column in the table", f"{where}, read.columns.{name}", hint=nearest(name, names))
                for name in unknown
            )

    def require_read(self, where: str, locate: Locate) -> None:
        """Raise what cannot be read, in all columns at once, with the rows that it stands in."""
        if self.wrong:
            rows = locate({name: [text for one in wrong for text in one.texts] for name, wrong in self.wrong.items()})
            raise TableError(
                Fault(
                    one.what,
                    f"{where}, {name}" if where else name,
                    _tell(one.texts, rows.get(name, {})),
                    one.hint.replace("{NAME:", f"{{{name}:"),
                )
                for name, wrong in self.wrong.items()
                for one in wrong
            )


def _tell(texts: list[str], rows: Mapping[str, list[str]]) -> str:
    """Return a few texts with the rows that they stand in, the first rows first."""
    ordered = sorted(texts, key=lambda text: (_first_row(rows.get(text, [])), text))
    told = [f"{text!r}{_tell_rows(rows.get(text, []))}" for text in ordered[:_TEXTS]]
    more = len(texts) - len(told)
    return ", ".join(told) + (f" and {more:,} more" if more else "")


def _first_row(rows: list[str]) -> float:
    return int(rows[0].rpartition(" ")[2]) if rows else float("inf")


def _tell_rows(rows: list[str]) -> str:
    if not rows:
        return ""
    shown, more = ", ".join(rows[:_ROWS]), len(rows) > _ROWS
    return f" ({'rows' if len(rows) > 1 else 'row'} {shown}{' and more' if more else ''})"


def locate_texts(
    blocks: Iterable[tuple[pl.DataFrame, str, int]], wanted: Mapping[str, list[str]], *, strip: bool
) -> dict[str, dict[str, list[str]]]:
    """Return the rows that texts stand in, a few of each.

    Parameters
    ----------
    blocks
        Some records (columns by their names), the file that they are in, where there are several, and the number of
        the first row.
    wanted
        Column → texts.
    strip
        Whether blanks around cells are left out.
    """
    found: dict[str, dict[str, list[str]]] = {name: {} for name in wanted}
    for frame, file, first in blocks:
        for name, texts in wanted.items():
            column = frame[name].alias("values")
            column = column.str.strip_chars() if strip else column
            places = column.is_in(texts).arg_true()
            for place in islice(places, 10_000):
                rows = found[name].setdefault(column[place], [])
                if len(rows) <= _ROWS:
                    rows.append(f"{file} {first + place}" if file else str(first + place))
    return found

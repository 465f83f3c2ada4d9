"""read_with_detected(): what a file's cells are written in, found from all of them; for a draft that somebody reads.

Nothing that is detected here is ever applied in silence: ``suggest`` writes it into the draft, and a policy without it
is read as before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from shoal.encoding import yaml as notation
from shoal.encoding.read_options import CellOptions, ReadOptions
from shoal.engines.cells import PLACEHOLDERS, number_rule, parse_dates
from shoal.engines.memory.files import read_with_dialect
from shoal.engines.memory.source import open_in_memory
from shoal.engines.missing_codes import find_missing_codes
from shoal.engines.texts import detect_type

_FORMATS = (
    "%Y-%m-%d",
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%Y/%m/%d",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%d/%m/%Y %H:%M",
    "%m/%d/%Y %H:%M",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%d %H:%M:%S",
    "%d %b %Y",
    "%d-%b-%Y",
)
"""What is looked for, the first that fits; a pair of them where no single one does."""
_PLAIN = frozenset(("n/a", "n.a.", "#n/a", "na", "<na>", "null", "nan", "?", "k.a."))
"""Placeholders that are no values even among texts; the others are only where all else is a number or a date."""
_MARKS = ((",", None), (",", "."), (".", ","), (",", " "), (",", "\u00a0"), (".", "'"), (".", " "))
"""Decimal mark and mark between thousands, the first that fit."""
_SAMPLE = 2_000


def read_with_detected(table: object, **said: Any) -> tuple[pl.DataFrame, ReadOptions]:
    """Return a table, read as is detected, and how that differs from the usual; a table that is no file is as it is.

    Raises
    ------
    TableError
        It cannot be told whether the first line names the columns, or whether the last is one of totals.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "patients.csv"
    ...     _ = path.write_text("born;weight\\n31.12.1950;72,5\\n1.2.1961;n/a\\n")
    ...     read_with_detected(path)[1].to_dict()
    {'decimal': ',', 'missing': ['n/a'], 'dates': {'format': '%d.%m.%Y'}, 'delimiter': ';'}
    """
    if not isinstance(table, (str, Path)) or not Path(table).is_file():
        return open_in_memory(table, **said).frame, ReadOptions.of(None, said)
    given = ReadOptions.of(None, said)
    texts, dialect = read_with_dialect(Path(table), given, types=False)
    found = _detect_cells(texts, given)
    if dialect is not None:
        usual = {"delimiter": ",", "quote": '"', "encoding": "utf-8"}
        found |= {name: getattr(dialect, name) for name, mark in usual.items() if getattr(dialect, name) != mark}
    options = ReadOptions.of(
        given, {name: value for name, value in found.items() if name not in given.model_fields_set}
    )
    return open_in_memory(table, options).frame, options


def draft_read_block(options: ReadOptions) -> Iterator[str]:
    """Yield the lines of a policy that say how its file is read; none where it is read as usual."""
    said = options.to_dict()
    if said:
        yield "# How the file is read, as it was found: check the marks of numbers and the order of day and month."
        yield from notation.dump({"read": said}).rstrip("\n").split("\n")
        yield ""


def _detect_cells(texts: pl.DataFrame, given: ReadOptions) -> dict[str, Any]:
    """Return what the cells of a table tell, for the file or, where columns differ, for each."""
    columns = {name: _detect_column(texts[name], given) for name in texts.columns if texts[name].dtype == pl.String}
    found: dict[str, Any] = {}
    strip = given.strip or any(column.pop("strip", False) for column in columns.values())
    if strip:
        found["strip"] = True
    missing = sorted({text for column in columns.values() for text in column.get("missing", ())})
    if missing:
        found["missing"] = missing
    _follow_commas(texts, columns)
    own = {name: {"missing": [*missing, *codes]} for name, column in columns.items() if (codes := column.get("codes"))}
    for marks in (("decimal", "thousands"), ("dates",)):
        said = [tuple(column.get(mark) for mark in marks) for column in columns.values()]
        most = max((one for one in said if any(one)), key=said.count, default=())
        found |= {mark: value for mark, value in zip(marks, most, strict=False) if value}
        for name, column in columns.items():
            mine = {mark: column[mark] for mark in marks if mark in column}
            if mine and tuple(column.get(mark) for mark in marks) != most:
                own[name] = own.get(name, {}) | mine
    return found | ({"columns": {name: CellOptions(**column) for name, column in own.items()}} if own else {})


def _follow_commas(texts: pl.DataFrame, columns: dict[str, dict[str, Any]]) -> None:
    """Say what points are in numbers of a file whose other numbers have decimal commas.

    Where three digits follow each point it parts thousands, as whoever writes 72,5 writes 1.234; else it is a decimal
    mark, as it usually is.
    """
    if not any(found.get("decimal") == "," for found in columns.values()):
        return
    for name, found in columns.items():
        values = texts[name].alias("values").drop_nulls().str.strip_chars().unique()
        values = values.filter((values != "") & ~values.is_in(found.get("missing", [])))
        plain = not found.keys() & {"decimal", "dates"} and values.str.contains(".", literal=True).any()
        if plain and values.str.contains(number_rule(",", ".")).all():
            found |= {"decimal": ",", "thousands": "."}
        elif plain and values.str.contains(number_rule(".", "")).all():
            found |= {"decimal": "."}


def _detect_column(column: pl.Series, given: ReadOptions) -> dict[str, Any]:
    """Return what the cells of a column tell; nothing of texts that are no numbers and no dates."""
    raw = column.alias("values").drop_nulls().unique()
    values = raw.str.strip_chars().unique()
    stripped = {"strip": True} if len(values) and (raw != raw.str.strip_chars()).any() else {}
    values = values.filter(values != "")
    merged = len(values) < int((raw.str.strip_chars() != "").sum())  # "Bonn " is Bonn
    if given.missing is not None:
        values = values.filter(~values.is_in(list(given.missing)))
    unknown = values.filter(values.str.to_lowercase().is_in(list(PLACEHOLDERS)))
    known = values.filter(~values.is_in(unknown.to_list()))
    if not len(known):
        return {"missing": unknown.to_list()} if len(unknown) and given.missing is None else {}
    marks = _detect_marks(known) or _detect_dates(known)
    typed = bool(marks) or detect_type(known).dtype != pl.String
    if not typed:
        codes = known.str.contains("^[A-Z]{2}$").all()  # NA is Namibia
        unknown = unknown.filter(unknown.str.to_lowercase().is_in(list(_PLAIN))) if not codes else unknown.clear()
    needs_strip = stripped and (detect_type(raw).dtype == pl.String if typed else merged)
    missing = {"missing": unknown.to_list()} if len(unknown) and given.missing is None else {}
    coded = _detect_codes(known) if not marks and typed and given.missing is None else []
    missing |= {"codes": coded} if coded else {}
    return {**marks, **missing, **(stripped if needs_strip else {})}


def _detect_codes(values: pl.Series) -> list[str]:
    """Return the numbers of a column that stand for a missing value; -1 beside 0 may be one as well."""
    numbers = values.cast(pl.Float64, strict=False)
    if numbers.null_count():
        return []
    ordered = numbers.unique().sort()
    codes = find_missing_codes(ordered) - ({-1.0} if ordered[1:2].to_list() == [0.0] else set())
    return sorted(values.filter(numbers.is_in(list(codes))).to_list()) if len(codes) < len(ordered) else []


def _detect_marks(values: pl.Series) -> dict[str, Any]:
    """Return the marks of numbers that are not written as usual; nothing where they may be meant in two ways."""
    if detect_type(values).dtype != pl.String or not values.head(_SAMPLE).str.contains("^-?[0-9]").all():
        return {}
    for decimal, thousands in _MARKS:
        if not values.str.contains(number_rule(decimal, thousands or "")).all():
            continue
        if thousands is None:
            # 1,234 may be a thousand: only another number of digits after the comma tells
            sure = values.str.contains(r",(?:[0-9]{1,2}|[0-9]{4,})$").any()
        else:
            sure = values.str.contains(thousands, literal=True).any() and _tells_thousands(values, decimal, thousands)
        if sure:
            return {"decimal": decimal, "thousands": thousands} if thousands else {"decimal": decimal}
    return {}


def _tells_thousands(values: pl.Series, decimal: str, thousands: str) -> bool:
    """Whether a mark can only stand between thousands: another one is the decimal mark, or it occurs twice."""
    both, twice = values.str.contains(decimal, literal=True), values.str.count_matches(thousands, literal=True) > 1
    return bool(both.any() or twice.any())


def is_dated(column: pl.Series) -> bool:
    """Return whether the texts of a column are dates, however they are written.

    Examples
    --------
    >>> is_dated(pl.Series(["31 Jan 2020 ", None, "1 Feb 2020"])), is_dated(pl.Series(["I10", "E11.9"]))
    (True, False)
    """
    texts = column.alias("values").cast(pl.String).drop_nulls().str.strip_chars().unique()
    known = texts.filter((texts != "") & ~texts.str.to_lowercase().is_in(list(PLACEHOLDERS)))
    return bool(len(known)) and (detect_type(known).dtype.is_temporal() or bool(_detect_dates(known)))


def _detect_dates(values: pl.Series) -> dict[str, Any]:
    """Return the format of dates, or two where a column mixes them; nothing where day and month may be meant
    either way."""
    if detect_type(values).dtype != pl.String or not values.head(_SAMPLE).str.contains("[0-9]").all():
        return {}
    fits = {format: parse_dates(values.head(_SAMPLE), format) for format in _FORMATS}
    tried = [format for format, parsed in fits.items() if parsed.null_count() < len(parsed)]
    if not tried:
        return {}
    parsed = {format: parse_dates(values, format) for format in tried}
    whole = [format for format in tried if not parsed[format].null_count()]
    if whole:
        same = all(parsed[format].equals(parsed[whole[0]]) for format in whole)
        return {"dates": [whole[0]]} if same else {}
    pairs = [
        (first, second)
        for place, first in enumerate(tried)
        for second in tried[place + 1 :]
        if not (parsed[first].is_null() & parsed[second].is_null()).any() and _agree(parsed, first, second)
    ]
    return {"dates": list(pairs[0])} if len(pairs) == 1 else {}


def _agree(parsed: Mapping[str, pl.Series], first: str, second: str) -> bool:
    """Whether no text is a different date in two formats."""
    both = parsed[first].is_not_null() & parsed[second].is_not_null()
    return not bool((both & (parsed[first] != parsed[second])).any())

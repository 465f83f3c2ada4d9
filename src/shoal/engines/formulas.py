"""Formulas: texts that a spreadsheet would not show but run, and how they are published as harmless ones.

An apostrophe before such a text makes it a text for every spreadsheet. A text that has one of its own gets another, so
that one that is followed by a formula is always ours: what is published stands for one value, and
:func:`strip_prefixes` gives it back.
"""

from __future__ import annotations

import polars as pl

from shoal.engines.counted import CountedTable
from shoal.errors import Fault, Misfit
from shoal.policy import Policy

APOSTROPHE = "'"
_SIGNS = r"=+\-@\x{ff1d}\x{ff0b}\x{ff0d}\x{ff20}"
"""Also the wide signs of East Asian keyboards, which spreadsheets read as the narrow ones."""
_BEFORE = r"^[\s'\"\x{feff}\x{200b}]*"
_FORMULA = rf"{_BEFORE}[{_SIGNS}\t\r]"
_NUMBER = r"[+\-](?:[0-9][0-9.,]*|[.,][0-9]+)(?:[eE][+\-]?[0-9]+)?\s*%?"
_HARMLESS = rf"{_BEFORE}(?:[{_SIGNS}]*\s*|{_NUMBER}\s*)$"
"""Nothing but signs, and a number."""
_TEXTS = (pl.String, pl.Categorical, pl.Enum)


def find_formulas(column: pl.Series) -> pl.Series:
    """Return which texts of a column a spreadsheet would take for formulas; none that begins with an apostrophe.

    Examples
    --------
    >>> find_formulas(pl.Series(["=1+1", " '@SUM(A1)", "'=1+1", "-5", "+3.2", "-", "a-b", "-2+3", None])).to_list()
    [True, True, False, False, False, False, False, True, False]
    """
    found = _find_formulas_inside(column)
    return found & ~_as_texts(column).str.starts_with(APOSTROPHE) if found.any() else found


def name_is_formula(name: str) -> bool:
    """Return whether a spreadsheet would take the name of a column for a formula."""
    return bool(find_formulas(pl.Series([name]))[0])


def prefix_name(name: str) -> str:
    """Return the name of a column as it is published where formulas get an apostrophe."""
    return str(_prefix_cells(pl.Series([name]))[0])


def prefix_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table in which formulas have an apostrophe before them, in cells and names.

    Examples
    --------
    >>> prefix_formulas(pl.DataFrame({"=job": ["=1+1", "nurse", "'=1+1"]})).to_dict(as_series=False)
    {"'=job": ["'=1+1", 'nurse', "''=1+1"]}
    """
    return pl.DataFrame([_prefix_cells(column).alias(prefix_name(column.name)) for column in frame])


def prefix_cells(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table in which formulas have an apostrophe before them, in cells only: its names are the reader's own.

    Examples
    --------
    >>> prefix_cells(pl.DataFrame({"=job": ["=1+1", "nurse"]})).to_dict(as_series=False)
    {'=job': ["'=1+1", 'nurse']}
    """
    return pl.DataFrame([_prefix_cells(column).alias(column.name) for column in frame])


def strip_prefixes(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table without the apostrophes that :func:`prefix_formulas` has put there, and no others.

    Examples
    --------
    >>> table = pl.DataFrame({"=job": ["=1+1", "nurse", "'=1+1", "'tis", None]})
    >>> strip_prefixes(prefix_formulas(table)).equals(table)
    True
    """
    return pl.DataFrame([_strip_cells(column).alias(_strip_name(column.name)) for column in frame])


def read_published(frame: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return a published table as the values and labels that its texts stand for."""
    return strip_prefixes(frame) if policy.hygiene.prefixes else frame


def count_formulas(table: CountedTable) -> dict[str, int]:
    """Return how many cells of each column are formulas, for columns that have some; and a name that is one counts.

    Examples
    --------
    >>> count_formulas(CountedTable(pl.DataFrame({"job": ["=1+1", "nurse"], "age": [-1, 2]}), pl.Series([3, 1])))
    {'job': 3}
    """
    found = {column.name: table.count_where(find_formulas(column)) for column in table.frame}
    return {name: count + name_is_formula(name) for name, count in found.items() if count or name_is_formula(name)}


def formula_faults(table: CountedTable, kind: str, hint: str = "") -> list[Fault]:
    """Return a fault for each column with formulas; it names no value.

    Examples
    --------
    >>> print(*formula_faults(CountedTable(pl.DataFrame({"job": ["=1+1", "nurse"]})), "warning"))
    job: texts that a spreadsheet takes for formulas; got 1 of them.
    """
    what = "texts that a spreadsheet takes for formulas"
    return [Fault(what, name, f"{count:,} of them", hint, kind) for name, count in count_formulas(table).items()]


def make_harmless(table: CountedTable, policy: Policy) -> CountedTable:
    """Return a table as its policy lets it be published.

    Raises
    ------
    Misfit
        It has formulas, and the policy refuses them.
    """
    if policy.hygiene.prefixes:
        return table.with_frame(prefix_formulas(table.frame))
    faults = formula_faults(table, "fault", REFUSED_HINT) if policy.hygiene.formulas == "refuse" else []
    if faults:
        raise Misfit(faults)
    return table


REFUSED_HINT = "correct them, or say hygiene: {formulas: prefix}"
WARNED_HINT = "say hygiene: {formulas: prefix}, or refuse"


def _as_texts(column: pl.Series) -> pl.Series:
    # under a name of our own: polars reads "^…$" in a name as a pattern
    return column.alias("values").cast(pl.String)


def _find_formulas_inside(column: pl.Series) -> pl.Series:
    """Return which texts are formulas, or would be without the blanks and quotes before them."""
    if column.dtype not in _TEXTS:
        return pl.Series([False], dtype=pl.Boolean).new_from_index(0, len(column))
    texts = _as_texts(column)
    begins = texts.str.contains(_FORMULA).fill_null(False)
    return begins & ~texts.str.contains(_HARMLESS) if begins.any() else begins


def _prefix_cells(column: pl.Series) -> pl.Series:
    found = _find_formulas_inside(column)
    return (APOSTROPHE + _as_texts(column)).zip_with(found, _as_texts(column)) if found.any() else column


def _strip_cells(column: pl.Series) -> pl.Series:
    if column.dtype not in _TEXTS:
        return column
    texts = _as_texts(column)
    rest = texts.str.strip_prefix(APOSTROPHE)
    is_ours = texts.str.starts_with(APOSTROPHE).fill_null(False) & _find_formulas_inside(rest)
    return rest.zip_with(is_ours, texts) if is_ours.any() else column


def _strip_name(name: str) -> str:
    return str(_strip_cells(pl.Series([name]))[0])

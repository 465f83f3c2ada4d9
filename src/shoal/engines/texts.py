"""Texts of a table: the names of its columns, and cells that are numbers, dates or truth values."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from shoal.errors import TableError, examples


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


INTEGER = r"^-?(?:0|[1-9][0-9]*)$"
FLOAT = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"
LONG = r"^-?[0-9]{16,}$"
DATE = r"^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}$"
DATETIME = r"^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?$"

ZONED = rf"{DATETIME[:-1]}(?:Z|[+-][0-9]{{2}}:[0-9]{{2}})$"


def detect_type(column: pl.Series) -> pl.Series:
    """Return a text column as numbers, dates or truth values where every cell is written as one.

    ``02138`` stays a text: a leading zero means a code, not a number. So does a number that 64 bits cannot hold.

    Examples
    --------
    >>> [str(detect_type(pl.Series(v)).dtype) for v in (["1", "20"], ["02138"], ["1.5", None], ["1995-01-31"])]
    ['Int64', 'String', 'Float64', 'Date']
    """
    column = blank_to_missing(column)
    return detect_type_of(column, column.drop_nulls().unique())


def detect_type_of(column: pl.Series, values: pl.Series) -> pl.Series:
    """Return the same, for a column whose distinct texts are known."""
    if not len(values):
        return column
    if values.str.contains(INTEGER).all():
        return _if_whole(column.cast(pl.Int64, strict=False), column)
    if values.str.contains(FLOAT).all() and not values.str.contains(LONG).any():
        numbers = column.cast(pl.Float64, strict=False)
        return column if numbers.is_infinite().any() else _if_whole(numbers, column)
    if set(values.str.to_lowercase()) <= {"true", "false"}:
        return column.str.to_lowercase() == "true"
    return detect_dates(column)


def blank_to_missing(column: pl.Series) -> pl.Series:
    """Return a text column in which empty cells are missing."""
    # under a name of our own: polars reads "^…$" in a name as a pattern
    return column.alias("values").replace("", None)


def detect_dates(column: pl.Series) -> pl.Series:
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
    if values.str.contains(ZONED).all():  # the moment that it is, whatever the zone it is told in
        texts = column.str.replace("T", " ").str.replace("Z$", "+00:00")
        utc = texts.str.to_datetime("%Y-%m-%d %H:%M:%S%.f%:z", strict=False, time_unit="us", time_zone="UTC")
        return _if_whole(utc, column)
    return column


def _if_whole(parsed: pl.Series, column: pl.Series) -> pl.Series:
    return parsed if parsed.null_count() == column.null_count() else column

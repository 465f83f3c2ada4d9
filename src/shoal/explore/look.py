"""What somebody sees of a table before deciding anything: its columns in counts, some records, some values."""

from __future__ import annotations

from typing import Any

import polars as pl

from shoal.engines.memory.source import open_in_memory
from shoal.pipeline.release import Release
from shoal.profiling.profile import profile_column

_ROWS, _BARS, _VALUES = 10, 16, 12
"""So many records, bars of a little histogram, and values are shown."""


def describe_each_column(table: object) -> list[dict[str, Any]]:
    """Return what can be said of each column without showing a value.

    Examples
    --------
    >>> described = describe_each_column(pl.DataFrame({"sex": ["f", "m", "f", None]}))
    >>> described[0]["facts"], described[0]["bars"]
    ('text, 2 distinct, 1 missing', [2, 1])
    """
    frame = open_in_memory(table).frame
    return [_describe(frame[name]) for name in frame.columns]


def _describe(column: pl.Series) -> dict[str, Any]:
    found = profile_column(column)
    counts = {"distinct": found.distinct, "missing": found.missing, "bars": _count_bars(column)}
    return {"name": column.name, "kind": found.kind, "facts": found.facts(), **counts}


def _count_bars(column: pl.Series) -> list[int]:
    """Return how many records lie in each part of the range of a number, or have each of the most frequent values."""
    values = column.alias("values").drop_nulls()
    if values.dtype.is_numeric() and values.n_unique() > _BARS:
        numbers = values.cast(pl.Float64)
        counts: list[int] = numbers.filter(numbers.is_finite()).hist(bin_count=_BARS)["count"].to_list()
        return counts
    texts = values.cast(pl.String, strict=False)
    return sorted(texts.value_counts()["count"].to_list(), reverse=True)[:_BARS]


def show_records(table: object) -> dict[str, Any]:
    """Return the first records as texts."""
    frame = open_in_memory(table).frame.head(_ROWS)
    kinds = [str(kind).lower() for kind in frame.dtypes]
    return {"columns": frame.columns, "kinds": kinds, "rows": [list(map(_show, row)) for row in frame.rows()]}


def show_values(table: object, column: str) -> dict[str, Any]:
    """Return the most frequent values of a column with how often each occurs.

    Examples
    --------
    >>> show_values(pl.DataFrame({"sex": ["f", "m", "f", None]}), "sex")["values"]
    [['f', 2], [None, 1], ['m', 1]]
    """
    texts = open_in_memory(table).frame[column].alias("values").cast(pl.String, strict=False)
    found = texts.value_counts().sort("count", "values", descending=[True, False]).head(_VALUES)
    return {"values": [list(row) for row in found.rows()]}


def pair_records(release: Release) -> dict[str, Any] | None:
    """Return some records before and after, for the owner; nothing where nobody knows which record became which."""
    rows, published = release.rows, release.frame
    if rows is None or release.prepared.given.is_counted or not published.height:
        return None
    chosen = sorted({round(number * (published.height - 1) / (_ROWS - 1)) for number in range(_ROWS)})
    original = release.prepared.given.frame
    names = [name for name in published.columns if name in original.columns]
    after = [[_show(published[name][row]) for name in names] for row in chosen]
    before = [[_show(original[name][int(rows[row])]) for name in names] for row in chosen]
    return {"columns": names, "pairs": list(zip(before, after, strict=True))}


def map_records(release: Release) -> list[tuple[int, int]]:
    """Return which record became which, both from 1; nothing where nobody knows."""
    return [] if release.rows is None else [(number, row + 1) for number, row in enumerate(release.rows, 1)]


def _show(value: Any) -> str | None:
    return None if value is None else str(value)

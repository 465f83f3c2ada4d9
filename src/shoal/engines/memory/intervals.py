"""to_intervals(): published ranges as the interval type of pandas, where every cell of a column is one; and back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from shoal.encoding.label_writing import split_ranges, write_range


def _read_day(text: str) -> Any:
    return sys.modules["pandas"].Timestamp(text).as_unit("s")


def _read_moment(text: str) -> Any:
    return sys.modules["pandas"].Timestamp(text).as_unit("us")


_READERS: tuple[Callable[[str], Any], ...] = (int, float, _read_day, _read_moment)


def give_intervals(table: Any, frame: pl.DataFrame, names: Sequence[str]) -> Any:
    """Return a table of pandas with some columns as intervals, where every cell is one; any other as it is."""
    if type(table).__module__.partition(".")[0] != "pandas":
        return table
    for name in names:
        intervals = to_intervals(frame[name].to_list())
        if intervals is not None:
            table.isetitem(frame.columns.index(name), intervals)
    return table


def to_intervals(texts: Sequence[str | None]) -> Any | None:
    """Return texts as a pandas array of closed intervals; ``None`` where one is neither a closed range nor a value.

    A value is an interval from itself to itself. Written back, each is the text that it was: nothing is told in
    another way than it was audited.
    """
    known = [text for text in texts if text is not None]
    if len(known) < len(texts):
        return None
    pairs = [ends or (text, text) for text, ends in zip(known, split_ranges(known), strict=True)]
    for read in _READERS:
        try:
            ends = [(read(first), read(last)) for first, last in pairs]
            made = sys.modules["pandas"].arrays.IntervalArray.from_tuples(ends, closed="both")
        except (TypeError, ValueError, OverflowError):
            continue
        if [write_interval(one) for one in made] == known:
            return made
    return None


def write_interval(interval: Any) -> str:
    """Return how an interval of pandas is written as a published text."""
    if interval.closed != "both":
        return str(interval)
    first, last = _write_end(interval.left), _write_end(interval.right)
    return first if first == last else write_range(first, last)


def _write_end(end: Any) -> str:
    """Return how a number, a day (in seconds) or a moment (in less) is written in a release."""
    if not hasattr(end, "as_unit"):
        return str(end)
    if end.unit == "s" and end == end.normalize():
        return str(end.date())
    return str(end.strftime("%Y-%m-%d %H:%M:%S.%f")) if not end.nanosecond else str(end)

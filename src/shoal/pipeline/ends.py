"""add_ends(): the ends of what is shown, in columns of their own, read off the texts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime, timedelta

import polars as pl

from shoal.encoding.domains import Domain, Kind
from shoal.encoding.labels import Number, read_label
from shoal.engines.columns import kind_of
from shoal.engines.dictionary import TableDictionary
from shoal.hierarchies._steps import Step

End = Number | datetime
Ends = tuple[End, End]


def list_ended_columns(words: TableDictionary) -> list[str]:
    """Return the quasi-identifiers that have ends: those of numbers and of dates, if ends are asked for."""
    if not words.policy.output.has_ends:
        return []
    names = [name for name in words.table.frame.columns if name in words.policy.quasi_identifiers]
    return [name for name in names if kind_of(words.values(name)) not in ("text", "boolean")]


def add_ends(published: pl.DataFrame, words: TableDictionary) -> pl.DataFrame:
    """Return a published table with ``age.low`` and ``age.high`` after each column ``age`` of numbers or dates."""
    for name in list_ended_columns(words):
        kind = kind_of(words.values(name))
        vague = _vague(words.domain(name), words.steps(name))
        texts = published[name].alias("values")
        ends = {text: None if text in vague else read_ends(text, kind) for text in texts.unique().to_list()}
        index = published.columns.index(name) + 1
        for side, suffix in enumerate(("low", "high")):
            numbers = [found[side] if (found := ends[text]) is not None else None for text in texts.to_list()]
            published = published.insert_column(index + side, _typed(numbers, kind).alias(f"{name}.{suffix}"))
    return published


def read_ends(text: str | None, kind: Kind) -> Ends | None:
    """Return the least and the greatest value that a text speaks of, ``None`` where it does not say.

    Examples
    --------
    >>> read_ends("[20, 25)", "integer"), read_ends("{7, 9, 8}", "integer"), read_ends("*", "integer")
    ((20, 24), (7, 9), None)
    >>> [str(end.date()) for end in read_ends("1995-02", "date")]
    ['1995-02-01', '1995-02-28']
    """
    is_number = kind in ("integer", "float")
    shown = read_label(text, kind if is_number else "datetime")
    ends = shown.least, shown.greatest
    if None in shown.items or math.inf in (-shown.least, shown.greatest):
        return None
    return ends if is_number else _moments(*ends)


def _moments(first: Number, last: Number) -> Ends | None:
    epoch = datetime(1970, 1, 1)
    try:
        return epoch + timedelta(microseconds=first), epoch + timedelta(microseconds=last)
    except OverflowError:  # the first decade has a year 0, the calendar has none
        return None


def _typed(numbers: list[End | None], kind: Kind) -> pl.Series:
    if kind == "date":
        days = [None if number is None else number.date() for number in numbers]  # type: ignore[union-attr]
        return pl.Series(days, dtype=pl.Date)
    if kind == "datetime":
        return pl.Series(numbers, dtype=pl.Datetime("us"))
    whole = kind == "integer" and all(number is None or isinstance(number, int) for number in numbers)
    return pl.Series(numbers, dtype=pl.Int64 if whole else pl.Float64, strict=False)


def _vague(domain: Domain, steps: Iterable[Step]) -> set[str]:
    """Return labels that stand for other values and are no ranges, whatever they look like."""
    return {
        label
        for step in steps
        if step.lows is None
        for text, label in zip(domain.texts, step.labels, strict=True)
        if text != label
    }

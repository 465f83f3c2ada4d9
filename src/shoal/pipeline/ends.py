"""with_ends(): the ends of what is shown, in columns of their own, read off the texts."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import datetime, time

import polars as pl

from shoal.encoding.domains import STAR, Domain, Kind
from shoal.engines.columns import column_domain, kind_of, plain
from shoal.hierarchies.base import Hierarchy
from shoal.policy import Policy

Number = int | float | datetime
Ends = tuple[Number, Number]

_RANGE = re.compile(r"\[([^,\[\]{}]+), ([^,\[\]{}]+)[\])]")
_SET = re.compile(r"\{([^{}\"]+)\}")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_PERIOD = re.compile(r"([0-9]{4})(?:-(?:Q([1-4])|([0-9]{2})(?:-([0-9]{2}))?))?")


def ended_columns(frame: pl.DataFrame, policy: Policy) -> list[str]:
    """Return the quasi-identifiers that have ends: those of numbers and of dates, if ends are asked for."""
    if not policy.output.has_ends:
        return []
    names = [name for name in frame.columns if name in policy.quasi_identifiers]
    return [name for name in names if kind_of(plain(frame[name])) in ("integer", "float", "date", "datetime")]


def with_ends(published: pl.DataFrame, raw: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return a published table with ``age.low`` and ``age.high`` after each column ``age`` of numbers or dates."""
    for name in ended_columns(raw, policy):
        kind = kind_of(plain(raw[name]))
        vague = _vague(column_domain(raw, name, policy), policy.quasi_identifiers[name].hierarchy)
        texts = published[name].alias("values")
        ends = {text: None if text in vague else ends_of(text, kind) for text in texts.unique().to_list()}
        index = published.columns.index(name) + 1
        for side, suffix in enumerate(("low", "high")):
            numbers = [found[side] if (found := ends[text]) is not None else None for text in texts.to_list()]
            published = published.insert_column(index + side, _typed(numbers, kind).alias(f"{name}.{suffix}"))
    return published


def ends_of(text: str | None, kind: Kind) -> Ends | None:
    """Return the least and the greatest value that a text speaks of, ``None`` where it does not say.

    Examples
    --------
    >>> ends_of("[20, 25)", "integer"), ends_of("{7, 9, 8}", "integer"), ends_of("*", "integer")
    ((20, 25), (7, 9), None)
    >>> [str(end.date()) for end in ends_of("1995-02", "date")]
    ['1995-02-01', '1995-02-28']
    """
    if text is None or text == STAR:
        return None
    parts = [text]
    if found := _RANGE.fullmatch(text):
        parts = [found[1], found[2]]
    elif found := _SET.fullmatch(text):
        parts = found[1].split(", ")
    read = [_number(part) if kind in ("integer", "float") else _moments(part) for part in parts]
    known = [pair for pair in read if pair is not None]
    if len(known) < len(read):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _number(text: str) -> Ends | None:
    if not _NUMBER.fullmatch(text):
        return None
    number = int(text) if text.lstrip("-").isdigit() else float(text)
    return number, number


def _moments(text: str) -> Ends | None:
    """Return the first and the last moment of a day, a month, a quarter or a year; of a moment, itself."""
    found = _PERIOD.fullmatch(text)
    try:
        if found is None:
            moment = datetime.fromisoformat(text)
            return moment, moment
        year, quarter, month, day = (int(part) if part else None for part in found.groups())
        assert year is not None
        first = month or (3 * quarter - 2 if quarter else 1)
        last = month or (3 * quarter if quarter else 12)
        end = datetime(year, last, day or monthrange(year, last)[1])
        return datetime(year, first, day or 1), datetime.combine(end, time.max)
    except ValueError:
        return None


def _typed(numbers: list[Number | None], kind: Kind) -> pl.Series:
    if kind == "date":
        days = [None if number is None else number.date() for number in numbers]  # type: ignore[union-attr]
        return pl.Series(days, dtype=pl.Date)
    if kind == "datetime":
        return pl.Series(numbers, dtype=pl.Datetime("us"))
    whole = kind == "integer" and all(number is None or isinstance(number, int) for number in numbers)
    return pl.Series(numbers, dtype=pl.Int64 if whole else pl.Float64, strict=False)


def _vague(domain: Domain, hierarchy: Hierarchy | None) -> set[str]:
    """Return labels that stand for other values and are no ranges, whatever they look like."""
    steps = hierarchy.steps(domain) if hierarchy is not None and len(domain) else ()
    return {
        label
        for step in steps
        if step.lows is None
        for text, label in zip(domain.texts, step.labels, strict=True)
        if text != label
    }

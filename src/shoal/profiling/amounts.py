"""round_amounts(): exact numbers of which nearly each person has one of their own, rounded until most are shared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from math import floor, log10
from typing import Any

import numpy as np
import polars as pl

from shoal.encoding.types import Floats
from shoal.engines.columns import to_plain
from shoal.engines.detection import is_dated
from shoal.engines.treatments import code_column
from shoal.errors import PolicyError
from shoal.policy.treatments import Coding
from shoal.profiling.profile import Profile
from shoal.profiling.role_rules import LISTED, RoleSuggestion

_FEWEST = 20
"""In a shorter table it says nothing that each person has another value."""
_ALONE = 0.5
"""Where fewer persons than this share their value with k, it is a number by which one is found."""
_SHARED = 0.9
"""So many persons share theirs with k, once it is rounded."""
_AMOUNT_TEXT = r"^(?:\p{Sc}|[A-Z]{3} )?\s?[-+]?[0-9][0-9.,:'’\s]*(?:\s?(?:\p{Sc}|%|\p{L}{1,4}\.?))?$"
"""A number as a text: with marks of thousands, a currency, a unit."""


def round_amounts(
    frame: pl.DataFrame, profiles: Mapping[str, Profile], decisions: Mapping[str, RoleSuggestion], k: int
) -> dict[str, RoleSuggestion]:
    """Return the roles; what would be published exactly, and is another value for nearly each person, is treated.

    Numbers are rounded to the least step of 1, 2 or 5 times a power of ten with which nine of ten persons share their
    number with k, and the ends are coded where fewer than k stand. Dates, and numbers that were read as texts, are not
    published: nothing says here how they would be coarsened. What the column is called plays no part.

    Why it is safe: whoever knows an exact number of somebody finds k candidates, or, for the one in ten, fewer; what
    the models promise is another matter, and counted on what is left.

    References
    ----------
    Hundepool, A. et al. (2012). Statistical disclosure control. Wiley. Sections 3.5 (rounding, top and bottom coding).
    """
    subject = next((name for name, decision in decisions.items() if decision.role == "subject"), None)
    persons = None if subject is None else frame[subject]
    return {
        name: _treat(frame[name], persons, profiles[name], decision, k) if decision.role == "sensitive" else decision
        for name, decision in decisions.items()
    }


def _treat(
    values: pl.Series, persons: pl.Series | None, column: Profile, decision: RoleSuggestion, k: int
) -> RoleSuggestion:
    if column.kind in ("date", "datetime") or (column.kind == "text" and is_dated(values)):
        reason = "exact dates: a date of an event finds those who were there; as a quasi-identifier it may be coarsened"
        return RoleSuggestion("identifiers", reason)
    if column.distinct < 2 or not (column.numeric or column.kind == "text"):
        return decision
    holders = count_holders(values, persons)
    before = share_with(holders, k)
    if holders["persons"].sum() < _FEWEST or before >= _ALONE:
        exact = f"; published exactly: {_percent(before)} of the persons share theirs with k = {k} or more"
        told = column.numeric and column.distinct > LISTED
        return replace(decision, reason=f"{decision.reason}{exact}") if told else decision
    alone = f"{_percent(1 - before)} of the persons share their value with fewer than k = {k}"
    if column.numeric:
        coding, after = choose_coding(values, persons, k)
        if coding is None:
            return RoleSuggestion("identifiers", f"exact numbers, {alone}, and no rounding changes that: not published")
        how = (
            f"{alone}, and who knows the number finds them: rounded to multiples of {coding.round:,}"
            f"{_told_ends(coding)}, which {_percent(after)} share with k. Round what others nearly know more coarsely"
        )
        return replace(decision, reason=f"{decision.reason}; {how}", spec={"treatment": coding.model_dump()})
    texts = values.drop_nulls().cast(pl.String, strict=False).str.strip_chars()
    if texts.str.contains(_AMOUNT_TEXT).mean() >= _SHARED:  # type: ignore[operator]
        reason = f"exact numbers written as texts, which nothing rounds, {alone}: say in read how they are written"
        return RoleSuggestion("identifiers", reason)
    return decision


def _told_ends(coding: Coding) -> str:
    ends = [f"{name} coded at {value:,}" for name in ("bottom", "top") if (value := getattr(coding, name)) is not None]
    return f", {', '.join(ends)}" if ends else ""


def _percent(share: float) -> str:
    return f"{floor(share * 100)} %"


def choose_coding(values: pl.Series, persons: pl.Series | None, k: int) -> tuple[Coding | None, float]:
    """Return how numbers are rounded, and the share of persons whose rounded number is one of k; nothing where no step
    leaves two numbers.

    Examples
    --------
    >>> wages = pl.Series([1_000 + 7 * place for place in range(200)] + [98_000])
    >>> choose_coding(wages, None, 5)[0].model_dump()
    {'top': 2350, 'bottom': 1050, 'round': 50}
    """
    steps = _list_steps(values)
    low, high, chosen = 0, len(steps) - 1, None
    while low <= high:  # the wider the step, the more share it
        middle = (low + high) // 2
        holders = count_holders(code_column(to_plain(values), Coding(round=steps[middle])), persons)
        if share_with(holders, k) >= _SHARED:
            chosen, high = (steps[middle], holders), middle - 1
        else:
            low = middle + 1
    if chosen is None and steps:
        chosen = steps[-1], count_holders(code_column(to_plain(values), Coding(round=steps[-1])), persons)
    if chosen is None or len(chosen[1]) < 2:
        return None, 0.0
    coding = _code_ends(chosen[0], chosen[1], k)
    left = count_holders(code_column(to_plain(values), coding), persons)
    return (coding, share_with(left, k)) if len(left) >= 2 else (Coding(round=chosen[0]), share_with(chosen[1], k))


def count_holders(values: pl.Series, persons: pl.Series | None) -> pl.DataFrame:
    """Return each value and how many persons have it, in the order of values; records where no persons are known."""
    plain = to_plain(values).alias("value")
    if persons is None:
        return plain.drop_nulls().value_counts(name="persons").sort("value")
    pairs = pl.DataFrame([plain, persons.alias("person")]).drop_nulls().unique()
    return pairs.group_by("value").len("persons").sort("value")


def share_with(holders: pl.DataFrame, k: int) -> float:
    """Return the share of persons (of a person's values, where there are several) who share theirs with k."""
    counts = holders["persons"]
    return float(counts.filter(counts >= k).sum()) / max(int(counts.sum()), 1)


def _list_steps(values: pl.Series) -> list[Any]:
    """Return the steps to try: finer than what half of the persons need, up to half of the range."""
    numbers: Floats = to_plain(values).drop_nulls().cast(pl.Float64).to_numpy()
    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers):
        return []
    quarters = np.quantile(numbers, [0.25, 0.75])
    span = float(numbers.max() - numbers.min())
    middle = float(quarters[1] - quarters[0]) or span
    if not 1e-9 <= span <= 1e15:
        return []
    first = max(floor(log10(middle / len(numbers))), -9)
    every = (Decimal(digit).scaleb(power) for power in range(first, floor(log10(span)) + 1) for digit in (1, 2, 5))
    whole = values.dtype.is_integer()
    steps = [step for step in every if step <= Decimal(repr(span)) / 2 and (step > 1 or not whole)]
    return [int(step) if step == step.to_integral_value() else float(step) for step in steps]


def _code_ends(step: Any, holders: pl.DataFrame, k: int) -> Coding:
    """Return a rounding with a top and a bottom, as far as fewer than k persons stand at an end."""
    values, counts = holders["value"], holders["persons"].cast(pl.Int64)
    bottom = values.filter(counts.cum_sum() >= k)[:1].to_list()
    top = values.filter(counts.cum_sum(reverse=True) >= k)[-1:].to_list()
    ends = {"bottom": bottom, "top": top}
    beyond = {name: end[0] for name, end in ends.items() if end and end[0] not in (values[0], values[-1])}
    written = {name: int(end) if float(end).is_integer() else end for name, end in beyond.items()}
    try:
        return Coding(round=step, **written)
    except PolicyError:  # both ends meet
        return Coding(round=step)

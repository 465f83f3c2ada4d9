"""Treatments: what is published of a treated column tells no more than the treatment leaves.

Written apart from :mod:`shoal.engines.treatments`, on purpose: an audit takes nothing from what it audits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from math import ceil, floor

import polars as pl

from shoal.auditing.texts import read_texts
from shoal.encoding.domains import Kind
from shoal.encoding.labels import Number, PublishedValue, find_digit_groups, read_label
from shoal.errors import Fault, examples
from shoal.policy import Policy
from shoal.policy.treatments import Bound, Coding, Treatment

_SPARSE = "036 059 063 102 202 203 204 205 369 556 692 753 772 790 821 823 830 831 878 879 884 890 893"
"""ZIP codes of three digits that are not told; written here again, since an audit takes nothing from what it audits."""


def untreated_faults(frame: pl.DataFrame, policy: Policy) -> Iterator[Fault]:
    """Yield a fault for each column that has a treatment and shows more; read from the texts alone."""
    for name, treatment in policy.treated.items():
        if name not in frame.columns:
            continue
        keeps = _choose_test(treatment)
        texts = read_texts(frame[name]).drop_nulls().unique().to_list()
        wrong = sum(not keeps(text) for text in texts)
        if wrong:
            yield Fault(f"published values that the treatment {treatment} does not leave", name, f"{wrong} texts")


def coding_faults(given: pl.DataFrame, treated: pl.DataFrame, policy: Policy) -> Iterator[Fault]:
    """Yield a fault for each column that was not treated as its policy says, value by value and person by person.

    Both tables have the same records in the same order: as they were given, and as they were treated.
    """
    for name, coding in policy.treated.items():
        if not isinstance(coding, Coding) or coding.shift_days or name not in given.columns:
            continue
        pairs = pl.DataFrame([read_texts(given[name]).alias("was"), read_texts(treated[name]).alias("shown")]).unique()
        wrong = [was for was, shown in pairs.rows() if not _is_what_is_left(was, shown, coding)]
        if wrong:
            yield Fault(f"values that are not treated by {coding}", name, examples(sorted(map(str, wrong))))
    yield from _shift_faults(given, treated, policy)


def _is_what_is_left(was: str | None, shown: str | None, coding: Coding) -> bool:
    """Whether a value may become another: the next bound of one beyond, else itself, or a multiple nearby."""
    kind: Kind = "datetime" if coding.is_of_dates else "float"
    before, after = read_label(was, kind), read_label(shown, kind)
    if after.form != "value" or before.form != "value":
        return shown is None and (was is None or before.form in ("missing", "sign"))
    low, high = _bound_of(coding.bottom, -1), _bound_of(coding.top, 1)
    if coding.is_of_dates:
        if low <= before.least <= high:
            return before.least == after.least
        return _bound_of(coding.bottom, -1) == after.least or read_label(_day(coding.top), kind).least == after.least
    if before.least >= high or before.least <= low:  # of whole numbers the bound is the last one inside
        return abs(after.least - (high if before.least >= high else low)) < 1
    if coding.round is None:
        return before.least == after.least
    return 2 * abs(_multiples(was, coding.round) - _multiples(shown, coding.round)) <= 1


def _day(bound: Bound | None) -> str:
    return str(bound).replace("T", " ")


def _shift_faults(given: pl.DataFrame, treated: pl.DataFrame, policy: Policy) -> Iterator[Fault]:
    """Yield a fault for each column of dates whose shift is not one of each person, or too large, or none."""
    moved: dict[str, set[int]] = {}
    for name, most in policy.shifted.items():
        if policy.subject is None or name not in given.columns or name not in treated.columns:
            continue
        persons, before, after = (
            read_texts(column).to_list() for column in (given[policy.subject], given[name], treated[name])
        )
        wrong = 0
        for person, was, shown in zip(persons, before, after, strict=True):
            if was is None and shown is None:
                continue
            days = None if was is None or shown is None else _days_between(was, shown)
            wrong += days is None or not 1 <= abs(days) <= most
            moved.setdefault(str(person), set()).add(days or 0)
        if wrong:
            yield Fault("dates that are not shifted as the policy says", name, f"{wrong} records")
    torn = sum(len(days) > 1 for days in moved.values())
    if torn:
        yield Fault("dates of one person are shifted by different days", ", ".join(policy.shifted), f"{torn} persons")


def _days_between(first: str, second: str) -> int | None:
    """Return how many whole days lie between two moments; ``None`` where they are none, or not whole days apart."""
    microseconds = read_label(second, "datetime").least - read_label(first, "datetime").least
    days = Fraction(int(microseconds), 86_400_000_000) if abs(microseconds) < float("inf") else Fraction(1, 2)
    return int(days) if days.denominator == 1 else None


def _choose_test(treatment: Treatment) -> Callable[[str], bool]:
    if isinstance(treatment, Coding):
        return partial(_keeps_coding, coding=treatment)
    return {"zip3": _keeps_zip3, "age-90": _keeps_ages, "year": _keeps_years}[treatment]


def _keeps_coding(text: str, coding: Coding) -> bool:
    """A range must hold something that the treatment leaves; a value, and each value of a set, must be such a one."""
    shown = read_label(text, "datetime" if coding.is_of_dates else "float")
    if shown.form == "range":
        return _leaves_within(shown, coding)
    values = [read_label(item, shown.kind) for item in shown.names] if shown.form != "name" else []
    return all(_leaves(value, coding) for value in values if value.form == "value")


def _leaves(value: PublishedValue, coding: Coding) -> bool:
    low, high = _bound_of(coding.bottom, -1), _bound_of(coding.top, 1)
    is_multiple = coding.round is None or _multiples(value.text, coding.round).denominator == 1
    return low <= value.least and value.greatest <= high and is_multiple


def _leaves_within(shown: PublishedValue, coding: Coding) -> bool:
    low, high = _bound_of(coding.bottom, -1), _bound_of(coding.top, 1)
    least, greatest = max(shown.least, low), min(shown.greatest, high)
    with_least = least != shown.least or shown.with_least
    with_greatest = greatest != shown.greatest or shown.with_greatest
    if coding.round is None or float("inf") in (-least, greatest):
        return least < greatest or (least == greatest and with_least and with_greatest)
    first, last = (_multiples(repr(end), coding.round) for end in (least, greatest))
    start = ceil(first) + (not with_least and first.denominator == 1)
    return start <= floor(last) - (not with_greatest and last.denominator == 1)


def _multiples(text: str | None, base: float) -> Fraction:
    """Return how often a base goes into a number, both as they are written: 0.3 is three times 0.1."""
    return Fraction((text or "").strip()) / Fraction(repr(base))


def _bound_of(bound: Bound | None, direction: int) -> Number:
    """Return a bound as the reader of labels counts, of dates in microseconds; a bound that is a day, all of it."""
    if bound is None:
        return direction * float("inf")
    if not isinstance(bound, str):
        return bound
    whole = read_label(_day(bound), "datetime")
    return whole.least if direction < 0 else whole.greatest


def _keeps_zip3(text: str) -> bool:
    runs = [run for group in find_digit_groups(text) for run in group]
    return all(len(run) <= 3 and run not in _SPARSE.split() for run in runs)


def _keeps_ages(text: str) -> bool:
    """A single age is 90 at most; a range that starts at 90 or later is the group of all who are older."""
    shown = read_label(text, "float")
    if shown.form == "range":
        return shown.least <= 90
    if shown.form in ("value", "set"):
        return all(value.greatest <= 90 for value in (read_label(item, "float") for item in shown.names))
    return all(float(run) <= 90 for group in find_digit_groups(text) for run in group)


def _keeps_years(text: str) -> bool:
    """No number is longer than a year, and none stands with another as the parts of a date do."""
    shown = read_label(text, "integer")
    if shown.form in ("value", "range"):
        return all(abs(end) < 10_000 or abs(end) == float("inf") for end in (shown.least, shown.greatest))
    return all(len(group) == 1 and len(group[0]) <= 4 for group in find_digit_groups(text))

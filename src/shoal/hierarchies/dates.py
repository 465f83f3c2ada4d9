"""Dates: day, week, month, quarter, year, five years, decade."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, field_validator

from shoal.encoding.domains import Domain
from shoal.encoding.label_writing import write_range
from shoal.encoding.types import Floats
from shoal.errors import Fault
from shoal.hierarchies._steps import Step
from shoal.hierarchies.base import Hierarchy

Granularity = Literal["day", "week", "month", "quarter", "year", "5-years", "decade"]
Days = npt.NDArray[Any]
"""An array of ``datetime64[D]``."""

_ORDER: tuple[Granularity, ...] = ("day", "week", "month", "quarter", "year", "5-years", "decade")


class Dates(Hierarchy):
    """Day, week, month, quarter, year, five years, decade.

    Weeks start on Monday and end with their month, because a week in two months would have two parents: the
    label is the range of days that is meant, so it is always true.

    Examples
    --------
    >>> from datetime import date
    >>> days = Domain("date", np.array([9161, 9175]), ("1995-01-31", "1995-02-14"))
    >>> built = Dates(levels=["month", "year"]).build(days, missing=None)
    >>> built.labels[1:]
    (('1995-01', '1995-02'), ('1995',), ('*',))
    """

    data_independent: ClassVar[bool] = True

    levels: Annotated[tuple[Granularity, ...], Field(min_length=1)] = _ORDER
    """The granularities of level 1, 2, …, finest first."""

    @field_validator("levels")
    @classmethod
    def _finest_first(cls, levels: tuple[Granularity, ...]) -> tuple[Granularity, ...]:
        if any(_ORDER.index(below) >= _ORDER.index(above) for below, above in pairwise(levels)):
            raise ValueError(f"must go from fine to coarse in the order {', '.join(_ORDER)}")
        return levels

    def faults(self, domain: Domain) -> Iterator[Fault]:
        """Yield a fault where the column holds no dates."""
        if domain.kind not in ("date", "datetime"):
            yield Fault("needs a column of dates", got=f"{domain.kind} values", hint="dates are read as YYYY-MM-DD")

    def steps(self, domain: Domain) -> Iterator[Step]:
        """Yield one level per granularity."""
        unit = "D" if domain.kind == "date" else "us"
        days = domain.values.astype("int64").astype(f"datetime64[{unit}]").astype("datetime64[D]")
        for granularity in self.levels:
            if granularity == "day" and domain.kind == "date":
                continue
            first, last, labels = _PERIODS[granularity](days)
            step = Step.of(labels)
            _, example = np.unique(step.numbers, return_index=True)
            ends = _number(first, unit)[example], _number(last + _one_less(unit), unit)[example]
            yield Step(step.numbers, step.names, *ends)


def _number(days: Days, unit: str) -> Floats:
    return days.astype(f"datetime64[{unit}]").astype("int64").astype(np.float64)


def _one_less(unit: str) -> np.timedelta64:
    # the last moment of the last day, in the column's own unit
    return np.timedelta64(0, "D") if unit == "D" else np.timedelta64(86_399_999_999, "us")


def _texts(days: Days) -> list[str]:
    return [str(text) for text in np.datetime_as_string(days)]


def _day(days: Days) -> tuple[Days, Days, list[str]]:
    return days, days, _texts(days)


def _week(days: Days) -> tuple[Days, Days, list[str]]:
    weekday = (days.astype("int64") + 3) % 7  # day 0 was a Thursday
    month = days.astype("datetime64[M]")
    first = np.maximum(days - weekday, month.astype("datetime64[D]"))
    last = np.minimum(days - weekday + 6, (month + 1).astype("datetime64[D]") - 1)
    texts = zip(_texts(first), _texts(last), strict=True)
    return first, last, [write_range(low, high) if low != high else low for low, high in texts]


def _months(size: int, label: Callable[[int, int], str]) -> Callable[[Days], tuple[Days, Days, list[str]]]:
    def period(days: Days) -> tuple[Days, Days, list[str]]:
        since_zero = days.astype("datetime64[M]").astype("int64") + 1970 * 12
        start = since_zero - since_zero % size
        first = (start - 1970 * 12).astype("datetime64[M]")
        last = (first + size).astype("datetime64[D]") - 1
        labels = [label(month // 12, month % 12) for month in start.tolist()]
        return first.astype("datetime64[D]"), last, labels

    return period


_PERIODS: dict[Granularity, Callable[[Days], tuple[Days, Days, list[str]]]] = {
    "day": _day,
    "week": _week,
    "month": _months(1, lambda year, month: f"{year:04d}-{month + 1:02d}"),
    "quarter": _months(3, lambda year, month: f"{year:04d}-Q{month // 3 + 1}"),
    "year": _months(12, lambda year, _: f"{year:04d}"),
    "5-years": _months(60, lambda year, _: write_range(f"{year:04d}", f"{year + 4:04d}")),
    "decade": _months(120, lambda year, _: write_range(f"{year:04d}", f"{year + 9:04d}")),
}

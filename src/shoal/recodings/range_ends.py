"""RangeEnds: where the ranges of a column begin and end: at values of its records, or at round numbers outside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from math import floor, log10
from typing import Any

import numpy as np

from shoal.encoding.domains import Domain
from shoal.encoding.types import Floats, Ints
from shoal.hierarchies.base import Levels

_DISTINCT = 100
"""With fewer whole numbers a column says little of a person by an end: ages are shared."""
_MEASURED = 20
"""So many fractions, dates or moments are a person's own: 72.4 kilograms, a day of birth."""
_FINEST = 2.0**-40
"""Numbers that differ by less than this share of the greatest are not told apart."""
_LEAST_EXPONENT = -300
"""Steps are no finer than ten to this power: finer numbers have few digits, or none."""
_CALENDAR = {"week": 7.0, "month": 31.0, "quarter": 92.0, "year": 366.0, "decade": 3_653.0, "century": 36_525.0}
"""Unit → its days; more than a century is as wide."""
_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1_200}
_CLOCK = {"minute": 1 / 1_440, "hour": 1 / 24, "day": 1.0}


@dataclass(frozen=True)
class Ends(Sequence[str]):
    """Ends as texts, each written when it is asked for: most values of a column end no range."""

    numbers: Ints | Floats
    """One for each value."""
    write: Callable[[Any], str]

    def __getitem__(self, index: Any) -> Any:
        """Return the text of an end; of the missing value there is none."""
        return self.write(self.numbers[index])

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True, kw_only=True)
class RangeEnds:
    """Where a range begins whose least value has a code, and where one ends whose greatest value has it.

    The code after the last value stands for the missing value, and has no range.

    Attributes
    ----------
    below, above
        How the two ends are written.
    least, greatest
        Their numbers.
    first, last
        The least and the greatest code that is covered then.
    """

    below: Sequence[str | None]
    above: Sequence[str | None]
    least: Floats
    greatest: Floats
    first: Ints
    last: Ints

    @classmethod
    def exact(cls, levels: Levels) -> RangeEnds:
        """Return ranges that end at values of the column."""
        texts = levels.labels[0]
        if not levels.domain.ordered:
            nothing = np.full(levels.size, np.nan)
            codes = np.arange(levels.size)
            return cls(below=texts, above=texts, least=nothing, greatest=nothing, first=codes, last=codes)
        values = levels.domain.values.astype(np.float64)
        return cls._of(levels, texts, texts, values, values)

    @classmethod
    def rounded(cls, levels: Levels, k: float) -> RangeEnds:
        """Return ranges that end at round numbers outside the values, so far apart that k records lie between two.

        Why it is safe: the ends of a range are values of two persons of the class. Where nearly everybody has a value
        of his own, that is a person's salary, number or birthday for everyone to read. A round end is nobody's, or as
        many persons' as hold a round value; what is covered only grows.

        Examples
        --------
        >>> from shoal.encoding.domains import Domain
        >>> levels = Levels.of(Domain.of("integer", list(range(10_003, 99_999, 37))), [], missing=None)
        >>> ends = RangeEnds.rounded(levels, k=5)
        >>> ends.below[3], ends.above[30]
        ('10000', '11200')
        """
        domain = levels.domain
        width = _find_width(domain, k)
        of_dates = domain.kind in ("date", "datetime")
        below, above = _round_dates(domain, width) if of_dates else _round_numbers(domain, width)
        return cls._of(levels, below, above, below.numbers.astype(np.float64), above.numbers.astype(np.float64))

    @classmethod
    def _of(
        cls,
        levels: Levels,
        below: Sequence[str | None],
        above: Sequence[str | None],
        least: Floats,
        greatest: Floats,
    ) -> RangeEnds:
        values, more = levels.domain.values.astype(np.float64), levels.size - len(levels.domain)
        nothing, beyond = np.full(more, np.nan), np.full(more, len(levels.domain), np.int64)
        return cls(
            below=below,
            above=above,
            least=np.append(least, nothing),
            greatest=np.append(greatest, nothing),
            first=np.append(np.searchsorted(values, least, side="left"), beyond).astype(np.int64),
            last=np.append(np.searchsorted(values, greatest, side="right") - 1, beyond).astype(np.int64),
        )


def is_nearly_unique(domain: Domain, persons: int) -> bool:
    """Whether most persons have a value of their own in a column of numbers or dates.

    Examples
    --------
    >>> is_nearly_unique(Domain.of("integer", list(range(500))), 800)
    True
    >>> is_nearly_unique(Domain.of("integer", list(range(90))), 90)  # ages
    False
    """
    least = _DISTINCT if domain.kind == "integer" else _MEASURED
    return domain.ordered and len(domain) >= least and 2 * len(domain) >= persons


def _find_width(domain: Domain, k: float) -> float:
    """Return how far k records reach, in the middle of the column's places."""
    values, ends = domain.values.astype(np.float64), np.cumsum(domain.records)
    reached = np.searchsorted(ends, ends - domain.records + k, side="left")
    inside = reached < len(values)
    widths = values[reached[inside]] - values[inside]
    width = float(np.median(widths)) if len(widths) else domain.span
    return max(width, float(np.abs(values).max()) * _FINEST)


def _round_numbers(domain: Domain, width: float) -> tuple[Ends, Ends]:
    """Return the multiples of a round step around each value."""
    exponent = max(floor(log10(width)), _LEAST_EXPONENT) if width > 0 else 0
    digit = next(digit for digit in (1, 2, 5, 10) if digit * 10.0**exponent >= width or digit == 10)
    if domain.kind == "integer":
        step = max(digit * 10 ** max(exponent, 0), 2)
        values = domain.values.astype(np.int64)
        return Ends(values // step * step, str), Ends(-(-values // step) * step, str)
    values = domain.values.astype(np.float64)
    low = np.floor(values / (digit * 10.0**exponent)).astype(np.int64)
    low -= _find_multiples(low, digit, exponent) > values
    high = np.where(_find_multiples(low, digit, exponent) >= values, low, low + 1)
    high += _find_multiples(high, digit, exponent) < values
    below, above = (_find_multiples(times, digit, exponent) for times in (low, high))
    return Ends(below, _write_number), Ends(above, _write_number)


def _find_multiples(times: Ints, digit: int, exponent: int) -> Floats:
    """Return multiples of ``digit`` × 10 ** ``exponent``, each the float nearest to it."""
    distinct, indices = np.unique(times, return_inverse=True)
    numbers = [float(Decimal(count * digit).scaleb(exponent)) for count in distinct.tolist()]
    return np.array(numbers)[indices]


def _write_number(number: float) -> str:
    return repr(float(number))


def _round_dates(domain: Domain, width: float) -> tuple[Ends, Ends]:
    """Return the first and the last day (or microsecond) of the week, month, … in which each value lies."""
    unit, day = ("D", 1) if domain.kind == "date" else ("us", 86_400_000_000)
    sizes = _CALENDAR if domain.kind == "date" else {**_CLOCK, **_CALENDAR}
    name = next((name for name, days in sizes.items() if days * day >= width), "century")
    values = domain.values.astype(np.int64)
    if name in _MONTHS:
        months = values.astype(f"datetime64[{unit}]").astype("datetime64[M]").astype(np.int64)
        start = months // _MONTHS[name] * _MONTHS[name]
        first, after = (
            at.astype("datetime64[M]").astype(f"datetime64[{unit}]") for at in (start, start + _MONTHS[name])
        )
        ends = first.astype(np.int64), after.astype(np.int64) - 1
    else:
        size, monday = round(sizes[name] * day), 4 * day  # the first Monday after 1 January 1970
        first_at = (values - monday) // size * size + monday
        ends = first_at, first_at + size - 1
    below, above = (Ends(numbers, partial(_write_moment, unit=unit)) for numbers in ends)
    return below, above


def _write_moment(number: int, unit: str) -> str:
    return str(np.datetime_as_string(np.datetime64(int(number), unit))).replace("T", " ")  # type: ignore[call-overload]

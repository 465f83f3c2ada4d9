"""Levels of ranges: where they start, what they are called, what they cover. Shared by all interval builders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shoal.encoding.domains import Domain
from shoal.encoding.label_writing import write_range
from shoal.errors import Fault
from shoal.hierarchies._steps import Step
from shoal.hierarchies.base import Hierarchy

Starts = Sequence[Fraction]
"""Where the ranges of one level start, in growing order; the last one ends with the domain."""


MOST_RANGES = 2**14
"""Levels of more ranges than this are left out: in a huge range they would hold a value each."""


class RangeHierarchy(Hierarchy):
    """Base of those whose labels are ranges of values that have an order."""

    def faults(self, domain: Domain) -> Iterator[Fault]:
        if not domain.ordered:
            hint = "use rare, similarity, ordering, mask or tree"
            yield Fault("needs a column of numbers or dates", got=f"{domain.kind} values", hint=hint)


def exact(number: float) -> Fraction:
    """Return a number as its reader thinks of it: 0.1 is one tenth."""
    return Fraction(repr(number))


def whole(domain: Domain) -> bool:
    """Whether values are counted in steps (whole numbers, days, microseconds), so that ranges close at both ends."""
    return domain.kind != "float"


def length(domain: Domain) -> Fraction:
    """The size of the whole range: how many steps it has, or how wide it is."""
    low, high = bounds(domain)
    return high - low + 1 if whole(domain) else high - low


def bounds(domain: Domain) -> tuple[Fraction, Fraction]:
    """The least and the greatest value, exactly."""
    if domain.limits is not None:
        return exact(domain.limits[0]), exact(domain.limits[1])
    low, high = domain.values[0], domain.values[-1]
    return (Fraction(int(low)), Fraction(int(high))) if whole(domain) else (exact(float(low)), exact(float(high)))


def step(domain: Domain, starts: Starts) -> Step:
    """Return the level whose ranges start at these places; ranges without values are left out."""
    used, numbers = np.unique(_places(domain, starts), return_inverse=True)
    low, high = bounds(domain)
    names, lows, highs = [], [], []
    for index in used.tolist():
        following = starts[index + 1] if index + 1 < len(starts) else None
        first, last = max(starts[index], low), high if following is None else following
        if whole(domain):
            first = Fraction(-(-first // 1))
            last = high if following is None else Fraction(-(-following // 1) - 1)
        names.append(_label(domain, first, last, closed=whole(domain) or following is None))
        lows.append(float(first))
        highs.append(float(last))
    return Step(numbers.astype(np.int32), tuple(names), np.array(lows), np.array(highs))


def _places(domain: Domain, starts: Starts) -> npt.NDArray[np.intp]:
    """The range of each value; compared exactly, so that no value gets the label of its neighbour."""
    if whole(domain):
        edges = np.array([int(-(-start // 1)) for start in starts], np.int64)
        return np.maximum(np.searchsorted(edges, domain.values.astype(np.int64), side="right") - 1, 0)
    # floats are compared as they are written, by their shortest decimal text
    edges_float = np.array([float(start) for start in starts])
    indices = np.maximum(np.searchsorted(edges_float, domain.values, side="right") - 1, 0)
    near = np.flatnonzero(np.isin(domain.values, edges_float))
    for code in near.tolist():
        value = exact(float(domain.values[code]))
        while indices[code] and starts[indices[code]] > value:
            indices[code] -= 1
        while indices[code] + 1 < len(starts) and starts[indices[code] + 1] <= value:
            indices[code] += 1
    return indices


def _label(domain: Domain, low: Fraction, high: Fraction, *, closed: bool) -> str:
    first, last = _text(domain, low), _text(domain, high)
    if closed and first == last:
        return first
    return write_range(first, last, closed=closed)


def _text(domain: Domain, number: Fraction) -> str:
    if domain.kind == "date":
        return str(np.datetime64(int(number), "D"))
    if domain.kind == "datetime":
        return str(np.datetime64(int(number), "us")).replace("T", " ")
    return str(number.numerator) if number.denominator == 1 else repr(float(number))


def steps(domain: Domain, levels: Sequence[Starts]) -> Iterator[Step]:
    """Yield the levels, finest first; a level of one range is ``*``, which the base puts on top."""
    for starts in levels:
        if len(starts) > 1:
            yield step(domain, starts)


def even_starts(low: Fraction, size: Fraction, parts: int) -> list[Fraction]:
    """Return the starts of so many equal parts of a range."""
    return [low + size * part / parts for part in range(parts)]


def default_smallest(domain: Domain, parts: int = 16) -> Fraction:
    """Return the width that cuts the range into about so many parts."""
    size = length(domain)
    return max(size / parts, Fraction(2)) if whole(domain) else size / parts

"""Divisor-based (DBGH): a level for every divisor of the range."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar

from shoal.encoding.domains import Domain
from shoal.hierarchies import _ranges
from shoal.hierarchies._steps import Step
from shoal.hierarchies.conventional import Smallest


class DivisorBased(_ranges.RangeHierarchy):
    """A level of equal intervals for every divisor of the range.

    The paper's Algorithm 1: a prime range is widened by one; every divisor that is at least ``smallest`` gives a
    level; intervals below the least value are skipped. Columns of positive whole numbers count from 1, as the
    paper does; others from their least value; floats are measured in units of ``smallest``.

    The levels partition the range but need not nest: intervals of 20 do not lie in intervals of 25. Full-domain
    searches take them as they are; a child may have two parents, and ``shoal hierarchy check`` says so.

    Distortion is in proportion to the interval, as the paper's text says; its Table 4 prints other numbers for
    this method (.1, .125, .625, 2.5, 5), which follow no proportion of the intervals 10, 20, 25, 50, 100.

    References
    ----------
    Yaseen, S. et al. (2018). Improved generalization for secure data publishing. IEEE Access 6, III.B, Algorithm 1.

    Examples
    --------
    >>> hours = Domain.of("integer", list(range(1, 101)))
    >>> [len(level) for level in DivisorBased(smallest=10).build(hours, missing=None).labels]
    [100, 10, 5, 4, 2, 1]
    """

    nested: ClassVar[bool] = False

    smallest: Smallest | None = None
    """The smallest wanted interval above the raw values; by default a sixteenth of the range."""

    def steps(self, domain: Domain) -> Iterator[Step]:
        """Yield one level per divisor, finest first."""
        if not _ranges.length(domain):
            return
        low, high = _ranges.bounds(domain)
        smallest = _ranges.default_smallest(domain) if self.smallest is None else _ranges.exact(self.smallest)
        if _ranges.whole(domain):
            unit = Fraction(1)
            first = Fraction(1) if domain.kind == "integer" and low >= 1 else low
            units = int(high - first) + 1
            if units > _MOST_UNITS:  # so long a range is divided to the nearest power of ten
                unit = Fraction(10 ** (len(str(units)) - 9))
                units = -int(-(high - first + 1) // unit)
        else:
            unit, first = smallest, low
            units = max(-int(-(high - low) // unit), 1)
        if _is_prime(units):
            units += 1
        divisors = [divisor for divisor in _divisors(units) if units // divisor <= _ranges.MOST_RANGES]
        sizes = [divisor * unit for divisor in divisors if divisor * unit >= smallest and divisor < units]
        yield from _ranges.steps(domain, [_level(low, first, unit * units, size) for size in sizes])


_MOST_UNITS = 10**9


def _level(low: Fraction, first: Fraction, total: Fraction, size: Fraction) -> list[Fraction]:
    """Return where intervals of a size start, without those that end before the least value."""
    starts = [first + size * part for part in range(int(total / size))]
    return [start for start in starts if start + size > low]


def _divisors(number: int) -> list[int]:
    small = [divisor for divisor in range(1, int(number**0.5) + 1) if number % divisor == 0]
    return sorted({*small, *(number // divisor for divisor in small)})


def _is_prime(number: int) -> bool:
    return number > 1 and len(_divisors(number)) == 2

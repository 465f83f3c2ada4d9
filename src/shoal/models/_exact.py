"""Shares compared exactly: floats decide what is clear, whole numbers decide the edge."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.encoding.types import Ints

Numbers = npt.NDArray[Any]
"""Whole numbers: of 64 bits, or of Python where those do not suffice."""

CLEAR = 1e-9
"""Floats that differ by this share are told apart right; what is nearer is compared as whole numbers."""
_ROOM = 2**62


def decimal(number: float) -> Fraction:
    """Return the number that a person wrote: 0.1 is a tenth, not the double nearest to it.

    Examples
    --------
    >>> decimal(0.1)
    Fraction(1, 10)
    """
    return Fraction(repr(number))


def compare_ratio(above: Numbers, below: Numbers, limit: Fraction) -> Ints:
    """Return for each fraction ``above / below`` whether it is below (-1), at (0) or above (1) a limit.

    Examples
    --------
    >>> compare_ratio(np.array([1, 2, 3]), np.array([20, 20, 20]), decimal(0.1))
    array([-1,  0,  1])
    """
    ratios, bound = above.astype(np.float64) / below.astype(np.float64), float(limit)
    result = np.where(ratios > bound, 1, -1).astype(np.int64)
    for index in np.flatnonzero(np.abs(ratios - bound) <= CLEAR * max(bound, 1.0)).tolist():
        left, right = int(above[index]) * limit.denominator, limit.numerator * int(below[index])
        result[index] = (left > right) - (left < right)
    return result


def find_greatest_ratio(above: Numbers, below: Numbers) -> Fraction:
    """Return the greatest of some fractions ``above / below``, exactly; 0 where there are none.

    None of none is no fraction.

    Examples
    --------
    >>> find_greatest_ratio(np.array([1, 2, 0]), np.array([3, 5, 0]))
    Fraction(2, 5)
    """
    some = (above != 0) | (below != 0)
    above, below = above[some], below[some]
    ratios = above.astype(np.float64) / below.astype(np.float64)
    near = np.flatnonzero(ratios >= ratios.max(initial=0.0) * (1.0 - CLEAR)).tolist()
    pairs = {(int(above[index]), int(below[index])) for index in near}
    return max((Fraction(a, b) for a, b in pairs), default=Fraction(0))


def roomy(*factors: int) -> Any:
    """Return the type in which a product of these factors is exact: 64 bits where they suffice.

    Examples
    --------
    >>> roomy(10**6, 10**6), roomy(10**10, 10**10)
    (<class 'numpy.int64'>, <class 'object'>)
    """
    product = 1
    for factor in factors:
        product *= max(int(factor), 1)
    return np.int64 if product < _ROOM else object

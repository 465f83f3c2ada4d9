"""find_missing_codes(): numbers that stand for a missing value, as 999 for an age."""

from __future__ import annotations

from itertools import takewhile

import polars as pl

_BELOW, _ABOVE = {-1.0, -9.0, -99.0, -999.0, -9999.0}, {99.0, 999.0, 9999.0, 99999.0, 999999.0}
_ENDS = 3
"""A column has up to so many codes at an end."""


def find_missing_codes(numbers: pl.Series) -> set[float]:
    """Return the ends of sorted numbers that look like codes for missing: far from all others.

    Examples
    --------
    >>> sorted(find_missing_codes(pl.Series([-9, -1, 0, 80, 99, 999])))
    [-9.0, -1.0, 999.0]
    >>> find_missing_codes(pl.Series([-5, -1, 0, 60, 99]))
    set()
    """
    first, last = ([float(one) for one in end] for end in (numbers.head(_ENDS), numbers.tail(_ENDS)))
    below = list(takewhile(_BELOW.__contains__, first))
    above = list(takewhile(_ABOVE.__contains__, reversed(last)))
    least, greatest = first[len(below) : len(below) + 1], last[len(last) - len(above) - 1 : len(last) - len(above)]
    codes = {code for code in below if least and least[0] >= 0}
    return codes | {code for code in above if greatest and abs(greatest[0]) <= code / 2}

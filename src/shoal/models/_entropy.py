"""Entropies of classes, and whether one is at least log l, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from math import gcd, prod

import numpy as np

from shoal.encoding.types import Floats, Ints
from shoal.frequencies.frequencies import Histogram
from shoal.models._formatting import logarithm, short

_SMALL = 500
"""Classes of so many records, their counts divided by what they share, are compared as whole numbers at once."""
_EDGE = Decimal("1e-40")
EULER = Decimal("0.57721566490153286060651209008240243104215933593992359880576723488486")


def worst_counts(histogram: Histogram) -> Ints:
    """Return the counts with the wild records of each class added to its most frequent value.

    No other way to give them values has less entropy: it is the one that majorizes all others.
    """
    counts = histogram.counts.copy()
    top = np.flatnonzero(counts == histogram.most(counts)[histogram.classes])
    firsts = top[np.unique(histogram.classes[top], return_index=True)[1]]
    counts[firsts] += histogram.wild[histogram.classes[firsts]]
    return counts


def shannon(histogram: Histogram, counts: Ints) -> Floats:
    """Return the entropy of each class, in nats; 0 where no value is known."""
    totals = np.maximum(histogram.total(counts), 1)
    result: Floats = np.log(totals) - histogram.total(counts * np.log(counts)) / totals
    return np.maximum(result, 0.0)


def shannon_is_at_least(counts: Sequence[int], least: Fraction) -> bool:
    """Return whether the entropy of some counts is at least the logarithm of a number, exactly.

    exp(H) >= l is the same as n^n >= l^n times the product of c^c. Even counts of l values are at the edge.

    Examples
    --------
    >>> shannon_is_at_least([7, 7, 7], Fraction(3)), shannon_is_at_least([7, 7, 8], Fraction(3))
    (True, False)
    """
    shared = gcd(*counts)
    counts = [count // shared for count in counts]
    total = sum(counts)
    if total > _SMALL:
        with localcontext(Context(prec=60)):
            apart: Decimal = shannon_exactly(counts) - logarithm(least)
        if abs(apart) > _EDGE:
            return apart > 0
    left = (total * least.denominator) ** total
    return bool(left >= least.numerator**total * prod(count**count for count in counts))


def shannon_exactly(counts: Sequence[int]) -> Decimal:
    """Return the entropy to fifty digits."""
    total = sum(counts)
    with localcontext(Context(prec=60)):
        return Decimal(total).ln() - sum((count * Decimal(count).ln() for count in counts), Decimal(0)) / total


def effective(counts: Sequence[int]) -> float:
    """Return how many even values have the same entropy, to twelve digits, rounded down.

    Examples
    --------
    >>> effective([5, 5]), effective([1, 3])
    (2.0, 1.7547653506)
    """
    with localcontext(Context(prec=60)):
        number = shannon_exactly(counts).exp()
    nearest = short(number + Decimal("1e-30"), up=False)  # an edge such as 2 comes out as 1.999…
    return nearest if shannon_is_at_least(counts, Fraction(repr(nearest))) else short(number, up=False)


def grassberger(histogram: Histogram) -> Floats:
    """Return Grassberger's estimate of the entropy that the records of each class are drawn from, in nats."""
    counts, totals = histogram.counts, np.maximum(histogram.known, 1)
    parts = histogram.total(counts * _g(int(counts.max(initial=0)))[counts])
    result: Floats = np.log(totals) - parts / totals
    return result


def _g(most: int) -> Floats:
    """G of 0 to so many: G(1) = -γ - log 2, and 2 / (n - 1) more for each even n (Grassberger 2003, section II)."""
    number = np.arange(most + 1)
    steps = np.where((number % 2 == 0) & (number > 0), 2.0 / np.maximum(number - 1, 1), 0.0)
    result: Floats = np.cumsum(steps) - float(EULER) - np.log(2.0)
    return result


def tabulate_estimate(most: int) -> Floats:
    """Return what each count up to so many adds to Grassberger's sum."""
    return np.arange(most + 2) * _g(most + 1)


def grassberger_exactly(counts: Sequence[int]) -> Decimal:
    """Return the same estimate to fifty digits."""
    total = sum(counts)
    with localcontext(Context(prec=60)):
        base = -EULER - Decimal(2).ln()
        sums = sum((count * (base + _odd_parts(count)) for count in counts), Decimal(0))
        return Decimal(total).ln() - sums / total


def _odd_parts(count: int) -> Decimal:
    return sum((Decimal(2) / odd for odd in range(1, count, 2)), Decimal(0))

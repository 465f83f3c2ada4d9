"""How many records to draw, and how many of them must look alike, so that one person hardly matters."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from math import comb, floor

BITS = 53
"""A record is drawn with a chance of so many binary digits: it can be drawn exactly."""
_DIGITS = 60
_SLACK = Decimal(1) + Decimal(10) ** -40
"""Results are rounded up by this: far more than what sixty digits lose on the way."""


def greatest_share(epsilon: Fraction) -> Fraction:
    """Return the greatest chance to draw a record that ε allows, 1 - exp(-ε), rounded down.

    Examples
    --------
    >>> float(greatest_share(Fraction(2)))
    0.8646647167633873
    """
    return drawable(1 - _shrunk(epsilon)[1])


def drawable(share: Fraction) -> Fraction:
    """Return the greatest chance up to a share that can be drawn exactly.

    Examples
    --------
    >>> drawable(Fraction(1, 2)), drawable(Fraction(1, 3)) < Fraction(1, 3)
    (Fraction(1, 2), True)
    """
    return Fraction(floor(share * 2**BITS), 2**BITS)


def _shrunk(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Return numbers just below and just above exp(-ε)."""
    with localcontext() as context:
        context.prec = _DIGITS
        value = Fraction((-Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp())
    return value * (1 - Fraction(1, 10**40)), value * (1 + Fraction(1, 10**40))


@cache
def delta_of(k: int, epsilon: Fraction, beta: Fraction) -> Decimal:
    """Return a δ for which records drawn with a chance of β, and published where k look alike, are private with ε.

    It is the most, over the number n of persons whose records would look alike, that more than a share γ of them is
    drawn (Li et al. 2012, Theorem 5), where γ = 1 - (1 - β) exp(-ε) and n is at least k/γ - 1. For a large n
    Chernoff's bound is below what was found before, and falls: there the search ends (Bild et al. 2018).
    Rounded up.
    """
    below, above = _shrunk(epsilon)
    low, high = 1 - (1 - beta) * above, 1 - (1 - beta) * below
    n = max(-((1 - Fraction(k) / high) // 1), 1)
    most, rate = Decimal(0), _rate(low, beta)
    with localcontext() as context:
        context.prec = _DIGITS
        while (-rate * n).exp() * _SLACK > most:
            most = max(most, _tail(n, floor(low * n) + 1, beta))
            n += 1
    return most


def _rate(share: Fraction, beta: Fraction) -> Decimal:
    """Return the rate of Chernoff's bound on drawing more than a share, rounded down."""
    with localcontext() as context:
        context.prec = _DIGITS
        x, y = (Decimal(part.numerator) / Decimal(part.denominator) for part in (share, beta))
        return (x * (x / y).ln() + (1 - x) * ((1 - x) / (1 - y)).ln()) / _SLACK


@cache
def _tail(n: int, least: int, beta: Fraction) -> Decimal:
    """Return the chance to draw at least so many of n, rounded up; so many are more than to be expected."""
    if least > n:
        return Decimal(0)
    with localcontext() as context:
        context.prec = _DIGITS
        drawn = Decimal(beta.numerator) / Decimal(beta.denominator)
        odds = drawn / (1 - drawn)
        term = comb(n, least) * drawn**least * (1 - drawn) ** (n - least)
        total, j = term, least
        while j < n:
            step = odds * (n - j) / (j + 1)
            term *= step
            total += term
            j += 1
            if step < 1 and term < total * Decimal(10) ** -50:  # terms fall at least as fast from here on
                total += term * step / (1 - step)
                break
        return total * _SLACK


@cache
def least_alike(epsilon: Fraction, delta: Fraction, beta: Fraction) -> int:
    """Return the least k for which δ is small enough; it falls as k grows.

    Examples
    --------
    >>> least_alike(Fraction(2), Fraction(1, 10**5), greatest_share(Fraction(2)))
    113
    """
    limit = Decimal(delta.numerator) / Decimal(delta.denominator) / _SLACK
    low, high = 0, 1
    while delta_of(high, epsilon, beta) > limit:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if delta_of(middle, epsilon, beta) > limit else (low, middle)
    return high

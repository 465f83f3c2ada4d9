"""How attained values are told: as short numbers, rounded so that comparing them says what is true.

A fraction is told as the least double that, as it is written, is not below it. Asked values are doubles too, read as
the decimals that a person wrote; so a fraction is at most what is asked if and only if the double that tells it is.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from math import inf, nextafter

_DIGITS = 12
"""Digits of values that are no fractions, such as entropies; asked values may have no more."""


def round_up(value: Fraction) -> float:
    """Return the least double that, as it is written, is not below a fraction.

    Examples
    --------
    >>> round_up(Fraction(3, 8)), Fraction(repr(round_up(Fraction(1, 3)))) >= Fraction(1, 3)
    (0.375, True)
    """
    told = float(value)
    while Fraction(repr(told)) < value:
        told = nextafter(told, inf)
    while Fraction(repr(lower := nextafter(told, -inf))) >= value:
        told = lower
    return told


def round_down(value: Fraction) -> float:
    """Return the greatest double that, as it is written, is not above a fraction.

    Examples
    --------
    >>> round_down(Fraction(3, 8)), Fraction(repr(round_down(Fraction(1, 3)))) <= Fraction(1, 3)
    (0.375, True)
    """
    return -round_up(-value) or 0.0  # not minus zero


def short(value: Decimal, *, up: bool) -> float:
    """Return a number with twelve digits, rounded up or down.

    Examples
    --------
    >>> short(Decimal(2) / 3, up=False), short(Decimal(2) / 3, up=True)
    (0.666666666666, 0.666666666667)
    """
    return float(Context(prec=_DIGITS, rounding=ROUND_CEILING if up else ROUND_FLOOR).create_decimal(value))


def brief(value: float, *, up: bool) -> float:
    """Return a number with three digits, rounded up or down: what a person would ask for.

    Examples
    --------
    >>> brief(0.375, up=True), brief(1 / 3, up=True), brief(1 / 3, up=False)
    (0.375, 0.334, 0.333)
    """
    rounding = ROUND_CEILING if up else ROUND_FLOOR
    return float(Context(prec=3, rounding=rounding).create_decimal(Decimal(repr(value))))


def check_digits(value: float) -> float:
    """Return an asked value that is compared with values of twelve digits, or raise where it has more.

    Examples
    --------
    >>> check_digits(2.5)
    2.5
    """
    if short(Decimal(repr(value)), up=True) != value:
        raise ValueError(f"must have at most {_DIGITS} digits")
    return value


def list_thresholds(asked: float, least: float) -> list[float]:
    """Return twenty values between the least that can be asked for and what is asked, the least first.

    Examples
    --------
    >>> list_thresholds(0.2, 1.0)[:3]
    [1.0, 0.96, 0.92]
    """
    up = least > asked
    return [brief(least + (asked - least) * step / 20, up=up) for step in range(20)]


def logarithm(value: Fraction) -> Decimal:
    """Return the natural logarithm of a positive fraction to fifty digits: no fraction but 1 has a short one.

    Examples
    --------
    >>> round(logarithm(Fraction(2)), 6)
    Decimal('0.693147')
    """
    with localcontext(Context(prec=60)):
        return Decimal(value.numerator).ln() - Decimal(value.denominator).ln()

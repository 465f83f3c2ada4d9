"""The audit's own estimates of how many persons are unique: the same equations, solved another way, by bisection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import lgamma, log

import numpy as np
from scipy.optimize import bisect
from scipy.special import psi

Sizes = Mapping[int, int]
"""Size → how many classes have it."""
_EXACT = 4 * float(np.finfo(float).eps)


def _find_root(of: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function changes its sign between two places."""
    return float(bisect(of, low, high, xtol=1e-300, rtol=_EXACT, maxiter=2000))


def recount_by_zayatz(sizes: Sizes, population: int) -> float:
    """Bayes' rule, the chances multiplied one after the other."""
    n, alone = sum(size * count for size, count in sizes.items()), sizes.get(1, 0)
    likely, chance, missed, size = 0.0, 0.0, 1.0, 1
    for wanted in sorted(sizes):
        while size < wanted:
            missed *= max(population - n - size + 1, 0) / (population - size) if population > size else 0.0
            size += 1
        likely += sizes[wanted] * wanted * missed
    chance = alone / likely
    return alone * chance / n


def recount_by_pitman(sizes: Sizes, population: int) -> float | None:
    """For each α the likeliest θ, and then the likeliest α."""
    n, u = sum(size * count for size, count in sizes.items()), sum(sizes.values())
    if u == n:
        return None
    steps = np.arange(1, u, dtype=np.float64)

    def theta_of(alpha: float) -> float:
        def slope(theta: float) -> float:
            return float((1.0 / (theta + steps * alpha)).sum() - (psi(theta + n) - psi(theta + 1.0)))

        low, high = -alpha * (1.0 - 1e-12) if alpha else 1e-300, 1.0
        while slope(high) > 0.0:
            high *= 4.0
        return _find_root(slope, low, high)

    def rise(alpha: float) -> float:
        theta = theta_of(alpha)
        pairs = sum(count * (psi(size - alpha) - psi(1.0 - alpha)) for size, count in sizes.items())
        return float((steps / (theta + steps * alpha)).sum() - pairs)

    if u == 1:
        return None if sizes.get(1) else 0.0
    alpha = _find_root(rise, 0.0, 1.0 - 1e-12) if rise(0.0) > 0.0 else 0.0
    theta = theta_of(alpha)
    unique = lgamma(theta + 1.0) - lgamma(theta + alpha) + alpha * log(population)
    return float(np.exp(unique - log(population))) if unique <= log(population) else None


def recount_by_snb(sizes: Sizes, population: int) -> float | None:
    """Classes of one and of two as the negative binomial law expects them; β first, then α."""
    n, one, two = sum(size * count for size, count in sizes.items()), sizes.get(1, 0), sizes.get(2, 0)
    f, u = n / population, sum(sizes.values())
    if f >= 1.0:
        return one / n
    if not two:
        return None
    q = 1.0 - f
    first = sum(count * size * f * f * (1.0 - f * f) ** (size - 1) for size, count in sizes.items())
    second = sum(count * ((q * (1.0 + f)) ** size - q**size) for size, count in sizes.items())
    third = sum(count * q**size for size, count in sizes.items())
    fourth = sum(count * size * f * q ** (size - 1) for size, count in sizes.items())
    classes = u + one * (first / second) * (third / fourth) ** 2

    def alpha_of(beta: float) -> float:
        z = (1.0 - beta) * q

        def gap(scale: float) -> float:  # classes of two by those of one, less what is wanted
            alpha = float(np.exp(scale))
            ones = 1.0 + alpha * z / (1.0 - z)
            twos = f * alpha * (1.0 - beta) / 2.0 * (2.0 - (1.0 - alpha) * z) / (1.0 - z) ** 2
            return twos / ones - two / one

        return float(np.exp(_find_root(gap, -200.0, 200.0)))

    def alone(beta: float) -> float:
        z, alpha = (1.0 - beta) * q, alpha_of(beta)
        return float(classes * f * np.exp(alpha * np.log(beta / (1.0 - z))) * (1.0 + alpha * z / (1.0 - z)) - one)

    if not alone(1.0 - 1e-6) > 0.0 > alone(1e-9):
        return None
    beta = _find_root(alone, 1e-9, 1.0 - 1e-6)
    return float(classes * beta ** alpha_of(beta) / population)


RECOUNTS = {"zayatz": recount_by_zayatz, "pitman": recount_by_pitman, "snb": recount_by_snb}

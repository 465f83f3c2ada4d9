"""How many persons of a population are unique in it, estimated from the sizes of a sample's classes.

Each estimator takes the distinct sizes, how many classes have each, and the size of the population; it returns the
share of the population that is unique, or ``None`` where its equations have no solution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import exp, lgamma, log, sqrt

import numpy as np
from scipy.optimize import bisect
from scipy.special import digamma, zeta

from shoal.encoding.types import Floats, Ints

Estimator = Callable[[Ints, Ints, int], float | None]

_STEPS = 60
_PARTS = tuple(0.5**halved for halved in range(50))
_NEAR = 1e-13
_LOWEST, _HIGHEST = 1e-6, 1.0 - 1e-9


def zayatz(sizes: Ints, counts: Ints, population: int) -> float | None:
    """Zayatz (1991): classes of the population are as large as those of the sample.

    The chance that a record which stands alone comes from a class of one, by Bayes: a class of i leaves just one
    record in the sample with a hypergeometric chance.

    Examples
    --------
    >>> round(zayatz(np.array([1, 2]), np.array([4, 3]), 100), 6)
    0.169231
    """
    n, alone = int(sizes @ counts), _of_size(sizes, counts, 1)
    if population <= n:
        return alone / n  # everyone is in the sample
    j = np.arange(1, int(sizes.max()), dtype=np.float64)  # the other records of a class are all missed
    missed = np.append(0.0, np.cumsum(np.log(np.maximum(population - n - j + 1.0, 1e-300) / (population - j))))
    return float(alone / n * alone / (counts * sizes * np.exp(missed[sizes - 1])).sum())


def pitman(sizes: Ints, counts: Ints, population: int) -> float | None:
    """Pitman's sampling formula by maximum likelihood (Hoshino 2001): Γ(θ+1)/Γ(θ+α) N^α are unique among N.

    α is at least 0, which is Ewens' formula: there θ are unique.

    Examples
    --------
    >>> round(pitman(np.array([1, 2, 9]), np.array([40, 10, 5]), 10_000), 4)
    0.0807
    """
    if counts.sum() == sizes @ counts:
        return None  # all stand alone: the more, the likelier, without end
    i, k = sizes.astype(np.float64), counts.astype(np.float64)
    theta, alpha = _ewens(i, k), 0.0
    if k.sum() * (k.sum() - 1.0) / (2.0 * theta) > k @ (digamma(i) - digamma(1.0)):  # rises from there
        found = _most_likely(i, k)
        if found is None:
            return None
        theta, alpha = found
    unique = lgamma(theta + 1.0) - lgamma(theta + alpha) + alpha * log(population)
    return exp(unique - log(population)) if unique <= log(population) else None


def _ewens(sizes: Floats, counts: Floats) -> float:
    """Return θ where the likelihood is greatest for α = 0: expected are as many classes as there are."""
    classes, n = float(counts.sum()), float(sizes @ counts)
    scale = 0.0  # log θ
    for _ in range(_STEPS):
        theta = exp(scale)
        gap = theta * (digamma(theta + n) - digamma(theta + 1.0)) - (classes - 1.0)
        slope = gap + classes - 1.0 + theta**2 * (_trigamma(theta + n) - _trigamma(theta + 1.0))
        step = float(np.clip(gap / slope, -2.0, 2.0))
        scale -= step
        if abs(step) <= _NEAR:
            break
    return exp(scale)


def _most_likely(sizes: Floats, counts: Floats) -> tuple[float, float] | None:
    """Return θ and α where the likelihood is greatest; Newton's method from several places."""
    for start in _starts(sizes, counts):
        found = _climbed(start, sizes, counts)
        if found is not None:
            return found
    return None


def _climbed(start: tuple[float, float], sizes: Floats, counts: Floats) -> tuple[float, float] | None:
    """Return the maximum near a place, ``None`` where the likelihood does not bend towards one."""
    (theta, alpha), classes, n = start, float(counts.sum()), float(sizes @ counts)
    for _ in range(_STEPS):
        slope, bend = _slopes(theta, alpha, sizes, counts, classes, n)
        determinant = bend[0] * bend[2] - bend[1] * bend[1]
        if not determinant > 0.0 or not bend[0] < 0.0:
            return None
        step_t = (bend[2] * slope[0] - bend[1] * slope[1]) / determinant
        step_a = (bend[0] * slope[1] - bend[1] * slope[0]) / determinant
        part = next((part for part in _PARTS if _inside(theta - part * step_t, alpha - part * step_a)), 0.0)
        theta, alpha = theta - part * step_t, alpha - part * step_a
        if abs(step_t) <= _NEAR * max(abs(theta), 1.0) and abs(step_a) <= _NEAR:
            return theta, alpha
    return None


def _inside(theta: float, alpha: float) -> bool:
    """Whether the parameters are some of a law."""
    return 0.0 < alpha < 1.0 and theta > -alpha


def _starts(sizes: Floats, counts: Floats) -> Iterator[tuple[float, float]]:
    """Yield places to start from: that of the moments first, then a grid."""
    one, two = (max(float(counts[sizes == size].sum()), 1.0) for size in (1, 2))
    u, n = float(counts.sum()), float(sizes @ counts)
    c = one * (one - 1.0) / two
    below = 2.0 * one * u + one * c - n * c
    theta = (n * u * c - one * (n - 1.0) * (2.0 * u + c)) / below if below else 0.0
    alpha = (theta * (one - n) + (n - 1.0) * one) / (n * u)
    if _inside(theta, alpha):
        yield theta, alpha
    for share in (0.5, 0.1, 0.9, 0.01, 0.99, 0.3, 0.7):
        for scale in (0.0, 1.0, 10.0, 100.0, 0.1 * u, u, 10.0 * u):
            yield scale, share


def _slopes(
    theta: float, alpha: float, sizes: Floats, counts: Floats, u: float, n: float
) -> tuple[tuple[float, float], tuple[float, float, float]]:
    """Return the first and second derivatives of the log-likelihood by θ and α."""
    a, b = theta / alpha + 1.0, theta / alpha + u
    first, second = digamma(b) - digamma(a), _trigamma(a) - _trigamma(b)  # sums of 1/(a+i), 1/(a+i)²
    ratio = theta / alpha
    inverse, squares = first / alpha, second / alpha**2
    linear = (u - 1.0 - ratio * first) / alpha  # sum of i / (θ + i α)
    mixed = (first - ratio * second) / alpha**2  # sum of i / (θ + i α)²
    twice = (u - 1.0 - 2.0 * ratio * first + ratio**2 * second) / alpha**2  # sum of i² / (θ + i α)²
    inner = counts @ (digamma(sizes - alpha) - digamma(1.0 - alpha))
    inner_squares = counts @ (_trigamma(1.0 - alpha) - _trigamma(sizes - alpha))
    slope_t = inverse - (digamma(theta + n) - digamma(theta + 1.0))
    bend_t = _trigamma(theta + 1.0) - _trigamma(theta + n) - squares
    return (float(slope_t), float(linear - inner)), (float(bend_t), float(-mixed), float(-twice - inner_squares))


def snb(sizes: Ints, counts: Ints, population: int) -> float | None:
    """Chen and Keller-McNulty (1998): sizes of the population's classes, less one, are negative binomial.

    The number of classes is Shlosser's estimate; the two parameters let as many classes of one and of two be expected
    in the sample as there are.
    """
    n, one, two = int(sizes @ counts), _of_size(sizes, counts, 1), _of_size(sizes, counts, 2)
    share = n / population
    if share >= 1.0:
        return one / n
    if not one or not two:
        return None
    classes = _shlosser(sizes.astype(np.float64), counts.astype(np.float64), share)

    def too_many_alone(x: float) -> float:  # x is 1 - β: more are expected alone at its lowest, fewer at its highest
        return _expected_alone(x, share, classes, two / one) - one

    if not too_many_alone(_LOWEST) > 0.0 > too_many_alone(_HIGHEST):
        return None
    x = float(bisect(too_many_alone, _LOWEST, _HIGHEST, xtol=1e-300, rtol=4 * np.finfo(float).eps))
    return float(classes * (1.0 - x) ** _alpha(x, share, two / one) / population)


def _shlosser(i: Floats, counts: Floats, f: float) -> float:
    """Return how many classes the population has."""
    kept = (1.0 - f) ** i
    above = (i * f**2 * (1.0 - f**2) ** (i - 1.0)) @ counts
    below = ((1.0 - f**2) ** i - kept) @ counts
    ratio = (kept @ counts) / ((i * f * (1.0 - f) ** (i - 1.0)) @ counts)
    return float(counts.sum() + counts[i == 1.0].sum() * above / below * ratio**2)


def _alpha(x: float, f: float, ratio: float) -> float:
    """Return α that lets classes of two and of one be in a ratio: the positive root of a quadratic; x is 1 - β."""
    z = x * (1.0 - f)
    a, b, c = f * x * z, f * x * (2.0 - z) - 2.0 * ratio * (1.0 - z) * z, -2.0 * ratio * (1.0 - z) ** 2
    root = sqrt(b * b - 4.0 * a * c)
    return -2.0 * c / (b + root) if b > 0.0 else (root - b) / (2.0 * a)


def _expected_alone(x: float, f: float, classes: float, ratio: float) -> float:
    """Return how many classes of one a sample of a share f has."""
    z, alpha = x * (1.0 - f), _alpha(x, f, ratio)
    return classes * f * exp(alpha * log((1.0 - x) / (1.0 - z))) * (1.0 + alpha * z / (1.0 - z))


def _trigamma(x: float | Floats) -> Floats:
    return np.asarray(zeta(2.0, x))


def _of_size(sizes: Ints, counts: Ints, size: int) -> int:
    return int(counts[sizes == size].sum())

"""How many persons of a population are unique in it, estimated from the sizes of a sample's classes.

Each estimator takes the distinct sizes, how many classes have each, and the size of the population; it returns the
share of the population that is unique, or ``None`` where its equations have no solution.
"""

from __future__ import annotations

from math import exp, lgamma, log, log1p, sqrt

import numpy as np
from scipy.optimize import bisect, brentq
from scipy.special import digamma

from shoal.encoding.types import Floats, Ints

_LOWEST, _HIGHEST = 1e-6, 1.0 - 1e-9
_LEAST_ALPHA = 1e-7
_FAR = 1e3
_EXACT = 4 * float(np.finfo(float).eps)


def estimate_by_zayatz(sizes: Ints, counts: Ints, population: int) -> float | None:
    """Zayatz (1991): classes of the population are as large as those of the sample.

    The chance that a record which stands alone comes from a class of one, by Bayes: a class of i leaves just one
    record in the sample with a hypergeometric chance.

    Examples
    --------
    >>> round(estimate_by_zayatz(np.array([1, 2]), np.array([4, 3]), 100), 6)
    0.169231
    """
    n, alone = int(sizes @ counts), _of_size(sizes, counts, 1)
    if population <= n:
        return alone / n  # everyone is in the sample
    j = np.arange(1, int(sizes.max()), dtype=np.float64)  # the other records of a class are all missed
    missed = np.append(0.0, np.cumsum(np.log(np.maximum(population - n - j + 1.0, 1e-300) / (population - j))))
    return float(alone / n * alone / (counts * sizes * np.exp(missed[sizes - 1])).sum())


def estimate_by_pitman(sizes: Ints, counts: Ints, population: int) -> float | None:
    """Pitman's sampling formula by maximum likelihood (Hoshino 2001): Γ(θ+1)/Γ(θ+α) N^α are unique among N.

    α is at least 0, which is Ewens' formula: there θ are unique.

    Examples
    --------
    >>> round(estimate_by_pitman(np.array([1, 2, 9]), np.array([40, 10, 5]), 10_000), 4)
    0.0807
    """
    u, n = float(counts.sum()), float(sizes @ counts)
    if u == n:
        return None  # all stand alone: the more, the likelier, without end
    i, k = sizes.astype(np.float64), counts.astype(np.float64)

    def rise(alpha: float) -> float:  # of the logarithm of the likelihood with α, where θ is the likeliest
        ratio = _likeliest_theta(alpha, u, n) / alpha
        outer = (u - 1.0 - ratio * _sum_of_inverses(ratio + 1.0, u - 1.0)) / alpha  # sum of i / (θ + i α)
        return float(outer - k @ (digamma(i - alpha) - digamma(1.0 - alpha)))

    theta, alpha = _likeliest_theta(0.0, u, n), 0.0
    if u * (u - 1.0) / (2.0 * theta) > k @ (digamma(i) - digamma(1.0)) and rise(_LEAST_ALPHA) > 0.0:
        alpha = brentq(rise, _LEAST_ALPHA, _HIGHEST, xtol=1e-300, rtol=_EXACT)
        theta = _likeliest_theta(alpha, u, n)
    unique = lgamma(theta + 1.0) - lgamma(theta + alpha) + alpha * log(population)
    return exp(unique - log(population)) if unique <= log(population) else None


def _likeliest_theta(alpha: float, u: float, n: float) -> float:
    """Return the θ above -α where the likelihood of u classes of n records is greatest."""

    def slope(scale: float) -> float:  # the logarithm of θ + α
        theta = exp(scale) - alpha
        inverses = _sum_of_inverses(theta / alpha + 1.0, u - 1.0) / alpha if alpha else (u - 1.0) / theta
        return exp(scale) * (inverses - _sum_of_inverses(theta + 1.0, n - 1.0))

    return exp(brentq(slope, -30.0, 60.0, xtol=1e-300, rtol=_EXACT)) - alpha


def _sum_of_inverses(start: float, many: float) -> float:
    """Return 1 / start + 1 / (start + 1) + …, so many of them; far out digamma would lose the digits."""
    if start < _FAR:
        return float(digamma(start + many) - digamma(start))
    first = start - 0.5
    return log1p(many / first) + ((first + many) ** -2 - first**-2) / 24.0


def estimate_by_snb(sizes: Ints, counts: Ints, population: int) -> float | None:
    """Chen and Keller-McNulty (1998): sizes of the population's classes, less one, are negative binomial.

    With K classes and the parameters α and β, K β^α are unique.
    """
    n = int(sizes @ counts)
    if n >= population:
        return _of_size(sizes, counts, 1) / n
    law = fit_negative_binomial(sizes, counts, n / population)
    if law is None:
        return None
    classes, alpha, beta = law
    return float(classes * beta**alpha / population)


def fit_negative_binomial(sizes: Ints, counts: Ints, share: float) -> tuple[float, float, float] | None:
    """Return how many classes the population has, α and β, where a share of it is in the sample.

    The number of classes is Shlosser's estimate; the two parameters let as many classes of one and of two be expected
    in the sample as there are.
    """
    one, two = _of_size(sizes, counts, 1), _of_size(sizes, counts, 2)
    if not one or not two:
        return None
    classes = _shlosser(sizes.astype(np.float64), counts.astype(np.float64), share)

    def too_many_alone(x: float) -> float:  # x is 1 - β: more are expected alone at its lowest, fewer at its highest
        return _expected_alone(x, share, classes, two / one) - one

    if not too_many_alone(_LOWEST) > 0.0 > too_many_alone(_HIGHEST):
        return None
    x = float(bisect(too_many_alone, _LOWEST, _HIGHEST, xtol=1e-300, rtol=_EXACT))
    return classes, _alpha(x, share, two / one), 1.0 - x


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


def _of_size(sizes: Ints, counts: Ints, size: int) -> int:
    return int(counts[sizes == size].sum())


ESTIMATORS = {"zayatz": estimate_by_zayatz, "pitman": estimate_by_pitman, "snb": estimate_by_snb}

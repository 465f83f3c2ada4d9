"""Two-sample tests, original against published: are the distribution, the mean, the variance kept?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.encoding.types import Floats
from shoal.utility.statistics.distributions import distance


@dataclass(frozen=True)
class Sample:
    """What the tests of means and variances need to know of some numbers."""

    count: int
    mean: float
    variance: float
    """The unbiased one: divided by one less than the count."""

    @classmethod
    def of(cls, values: Floats) -> Sample:
        """Return the sample of some numbers; at least two."""
        if len(values) < 2:
            raise ValueError(f"a sample needs at least two numbers; got {len(values)}")
        return cls(len(values), float(np.mean(values)), float(np.var(values, ddof=1)))


@dataclass(frozen=True)
class SampleTest:
    """The result of a test; a small p-value says that the two do not come from the same."""

    statistic: float
    p_value: float
    interval: tuple[float, float] | None = None
    """What the difference of the means, or the ratio of the variances, lies in with 95 % confidence."""
    freedom: tuple[float, ...] = ()
    """The degrees of freedom."""


def kolmogorov_smirnov(original: Floats, published: Floats) -> SampleTest:
    """Test whether two samples have one distribution: the largest distance of their empirical distributions.

    The p-value is that of the limiting distribution. Ties, which published ranges are full of, make it too small:
    read it as a measure of distance.

    References
    ----------
    Conover, W. J. (1999). Practical nonparametric statistics, 3rd edition. Wiley, 428-433.

    Examples
    --------
    >>> found = kolmogorov_smirnov(np.array([1.0, 2, 3, 4]), np.array([1.5, 1.5, 3.5, 3.5]))
    >>> found.statistic, round(found.p_value, 3)
    (0.25, 1.0)
    """
    return kolmogorov_of(distance(original[:, None], published[:, None]).largest, len(original), len(published))


def kolmogorov_of(apart: float, original: int, published: int) -> SampleTest:
    """Return the same from the distance and the sizes of the samples."""
    from scipy.special import kolmogorov

    size = original * published / (original + published)
    return SampleTest(apart, float(kolmogorov(np.sqrt(size) * apart)))


def welch(original: Sample, published: Sample) -> SampleTest:
    """Test whether two samples have one mean, whatever their variances (Welch's t).

    Where neither varies, the means are the same or they are not: the p-value is 1 or 0.

    References
    ----------
    Welch, B. L. (1938). The significance of the difference between two means when the population variances are
    unequal. Biometrika 29.

    Examples
    --------
    Original and old model of Hussien et al. (2015), 3.3.4, which prints t = 5.6528, df = 688.778, p = 2.312e-08:

    >>> found = welch(Sample(463, 34.2764579, 451.5676), Sample(463, 22.03024, 1721.440))
    >>> round(found.statistic, 3), round(found.freedom[0], 1), f"{found.p_value:.2e}"
    (5.653, 688.8, '2.31e-08')
    """
    from scipy.special import stdtr, stdtrit  # scipy.stats has them too, and takes a second to import

    parts = [sample.variance / sample.count for sample in (original, published)]
    gap, error = original.mean - published.mean, float(np.sqrt(sum(parts)))
    if error == 0.0:
        return SampleTest(0.0 if gap == 0 else float(np.copysign(np.inf, gap)), float(gap == 0), (gap, gap))
    slack = sum(part**2 / (sample.count - 1) for part, sample in zip(parts, (original, published), strict=True))
    freedom = sum(parts) ** 2 / slack
    reach = error * float(stdtrit(freedom, 0.975))
    return SampleTest(gap / error, 2 * float(stdtr(freedom, -abs(gap / error))), (gap - reach, gap + reach), (freedom,))


def variance_ratio(original: Sample, published: Sample) -> SampleTest:
    """Test whether two samples of normal populations have one variance (F test).

    Where only the published one does not vary, the ratio is infinite and the p-value 0; where neither does, 1 and 1.

    Examples
    --------
    Hussien et al. (2015), 3.3.3, prints F = 1.0017, p = 0.9857, and 0.834491 to 1.202329:

    >>> found = variance_ratio(Sample(463, 0.0, 1.001665), Sample(463, 0.0, 1.0))
    >>> round(found.p_value, 4), round(found.interval[0], 4), round(found.interval[1], 4)
    (0.9857, 0.8345, 1.2023)
    """
    from scipy.special import fdtr, fdtrc, fdtri

    freedom = (original.count - 1.0, published.count - 1.0)
    if published.variance == 0.0:
        same = original.variance == 0.0
        return SampleTest(1.0 if same else float("inf"), float(same), None, freedom)
    ratio = original.variance / published.variance
    tails = float(fdtr(*freedom, ratio)), float(fdtrc(*freedom, ratio))
    interval = ratio / float(fdtri(*freedom, 0.975)), ratio / float(fdtri(*freedom, 0.025))
    return SampleTest(ratio, min(1.0, 2 * min(tails)), interval, freedom)

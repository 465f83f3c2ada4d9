"""Noise: normal random numbers are added (Kim 1986)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from shoal.encoding.types import Bools, Floats
from shoal.errors import Fault
from shoal.perturbations.base import Microdata, Perturbation, Perturbed, missing_faults, spread_faults


class Noise(Perturbation):
    """Normal noise is added to numbers, each column by itself or with the covariances of the columns.

    ``additive`` adds independent noise, whose variance is a share of that of the column: variances grow by that share.
    ``correlated`` adds noise with the covariances of the columns times the share: all covariances grow alike, and
    correlations stay. ``preserving`` does the same and draws the sum towards the mean again, so that variances and
    covariances are those of the original on the average. With ``outliers`` the noise of values that lie far out has so
    many times the variance: more than three times as far from the median as is usual (the median of all distances,
    times 1.4826, which is the standard deviation of a normal column).

    Why it is safe, and where not: nobody knows a value exactly. A record far out stays far out unless its noise is much
    larger, and many noisy values of one person give it away together. *It makes nobody one of several.*

    Cost: time and memory grow with the records.

    References
    ----------
    Kim, J. J. (1986). A method for limiting disclosure in microdata based on random noise and transformation. In
    Proceedings of the ASA Section on Survey Research Methods, 370-374.

    Examples
    --------
    >>> from shoal.perturbations.base import ColumnValues
    >>> data = Microdata(columns={"income": ColumnValues.of_numbers(np.arange(1000.0))})
    >>> shown = Noise(columns=["income"], share=0.25).perturb(data).columns["income"].values
    >>> bool(1.15 < shown.var() / np.arange(1000.0).var() < 1.35)
    True
    """

    guarantee: ClassVar[str] = "perturbs"
    is_random: ClassVar[bool] = True

    share: Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)]
    """The variance of the noise, as a share of the variance of its column."""
    method: Literal["additive", "correlated", "preserving"] = "additive"
    """Whether noise is independent, has the covariances of the columns, or keeps them."""
    outliers: Annotated[float, Field(ge=1, le=1e6)] = 1.0
    """How many times the variance of the noise is for values that lie far out; for ``additive`` noise."""

    def promise(self) -> dict[str, Any]:
        """Return how much noise, and which."""
        told = {"share": self.share, "method": self.method}
        return {
            "mechanism": "additive-noise",
            "told": told | ({"outliers": self.outliers} if self.outliers > 1 else {}),
        }

    def contradictions(self) -> Iterator[Fault]:
        """Yield that outliers get a noise of their own, and covariances are kept."""
        if self.outliers > 1 and self.method != "additive":
            hint = "say method: additive, or leave outliers out"
            yield Fault("more noise for outliers does not keep covariances", "outliers", f"method: {self.method}", hint)

    def faults(self, data: Microdata) -> Iterator[Fault]:
        """Yield missing values, columns of something else or without variance, and a singular covariance."""
        yield from missing_faults(data, self.columns, "fill them in first, or leave the column out")
        for name in self.columns:
            if data.columns[name].kind not in ("integer", "float"):
                yield Fault("needs a column of numbers", name, f"{data.columns[name].kind} values")
        still = [name for name in self.columns if len(data.columns[name].distinct) < 2]
        for name in still:
            yield Fault("all values are the same: there is no variance to have a share of", name)
        far = list(spread_faults(data, self.columns))
        yield from far
        if far:
            return
        numbers = self._numbers(data)
        if self.outliers > 1 and not still and not np.isnan(numbers).any():
            for name in np.array(self.columns)[_spread(numbers) == 0].tolist():
                yield Fault(
                    "half of the values are the same: all others would lie far out", name, hint="leave outliers out"
                )
        if self.method != "additive" and not still and not np.isnan(numbers).any():
            correlations = np.atleast_2d(np.corrcoef(numbers.T))
            if np.linalg.eigvalsh(correlations).min() < 1e-10:
                hint = "say method: additive, or leave a column out that follows from others"
                yield Fault("the covariance is singular: a column follows from others", "columns", hint=hint)

    def perturb(self, data: Microdata) -> Perturbed:
        """Return the columns with noise."""
        numbers = self._numbers(data)
        spread = numbers.std(axis=0, ddof=1)
        drawn = data.rng.standard_normal(numbers.shape)
        if self.method != "additive":
            drawn = drawn @ np.linalg.cholesky(np.atleast_2d(np.corrcoef(numbers.T))).T
        noisy = numbers + drawn * spread * np.sqrt(np.where(find_outliers(numbers), self.outliers, 1.0) * self.share)
        if self.method == "preserving":
            middle = numbers.mean(axis=0)
            noisy = middle + (noisy - middle) / np.sqrt(1.0 + self.share)
        return Perturbed(
            columns={
                name: data.columns[name].with_values(np.ascontiguousarray(column))
                for name, column in zip(self.columns, noisy.T, strict=True)
            }
        )

    def _numbers(self, data: Microdata) -> Floats:
        return np.stack([data.columns[name].numbers for name in self.columns], axis=1)


_FAR, _NORMAL = 3.0, 1.4826


def find_outliers(numbers: Floats) -> Bools:
    """Return which values of each column lie far from its median.

    Examples
    --------
    >>> find_outliers(np.array([[1.0], [2.0], [3.0], [4.0], [50.0]]))[:, 0].tolist()
    [False, False, False, False, True]
    """
    far: Bools = np.abs(numbers - np.median(numbers, axis=0)) > _FAR * _NORMAL * _spread(numbers)
    return far


def _spread(numbers: Floats) -> Floats:
    """Return the median distance from the median of each column."""
    return np.asarray(np.median(np.abs(numbers - np.median(numbers, axis=0)), axis=0))

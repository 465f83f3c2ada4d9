"""Log-linear: how many unique records are unique in the population, by a model of all combinations."""

from __future__ import annotations

from itertools import combinations
from math import prod
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from shoal.encoding.types import Floats, Ints
from shoal.risk.base import Evidence, Finding, PublishedClasses, Risk, share, worst_of

_MOST_COMBINATIONS, _ROUNDS, _NEAR = 4_000_000, 200, 1e-9


class LogLinear(Risk):
    """Unique records may be unique in the population too, by a log-linear model of all combinations.

    The persons of the population who have a combination are taken to be Poisson, their mean λ from a model of the
    table: all quasi-identifiers independent, or with every association of two. In a sample of the share π a unique
    record is unique in the population with the chance exp(-(1 - π) λ), and a match with it is right with
    (1 - exp(-(1 - π) λ)) / ((1 - π) λ). ``unique`` and ``correct`` are the sums over all unique records (τ₁ and τ₂ of
    the literature), ``max`` is the greatest chance of a right match. A leak is a record above ``most``.

    Independence makes odd combinations look rarer than they are, so the risk too high; with all pairs it is nearer. The
    model is fitted by iterative proportional fitting to the published texts.

    Cost: nothing to speak of for independence; for pairs the combinations of all texts, up to four millions.

    References
    ----------
    Skinner, C. J. and Holmes, D. J. (1998). Estimating the re-identification risk per record in microdata. Journal of
    Official Statistics 14(4).
    Skinner, C. J. and Shlomo, N. (2008). Assessing identification risk in survey microdata using log-linear models.
    Journal of the American Statistical Association 103(483).

    Examples
    --------
    Nine records like each other and one that shares nothing with them, a tenth of the population:

    >>> from shoal.risk.base import PublishedClasses
    >>> release = PublishedClasses(np.array([0] * 9 + [1]), np.array([[0, 0], [1, 1]]), np.array([9, 1]))
    >>> evidence = Evidence(release.sizes, columns=("age", "sex"), release=release)
    >>> round(LogLinear(sampled=0.1).run(evidence)[0].measured["unique"], 4)  # exp(-0.9 · 0.1 / 0.1)
    0.4066
    """

    needs: ClassVar[tuple[str, ...]] = ("release",)
    means: ClassVar[str] = "Nobody else of the population is likely to look like a record."

    associations: Literal["none", "pairs"] = "none"
    """Which associations of quasi-identifiers the model has."""
    sampled: Annotated[float, Field(gt=0.0, le=1.0)] | None = None
    """The share of the population that is in the table; by the weights of the survey where nothing is said."""
    most: Annotated[float, Field(gt=0.0, le=1.0)] = 0.1
    """The greatest chance of a right match that nobody need worry about."""

    def run(self, evidence: Evidence) -> list[Finding]:
        """Fit the model, and look at what it says of the unique records."""
        assert evidence.release is not None
        release, fraction = evidence.release, self.sampled
        if fraction is None and evidence.weights is not None:
            fraction = min(share(evidence.records, float(evidence.weights.sum())), 1.0)
        if fraction is None or not evidence.records:
            return []
        texts = [np.unique(column, return_inverse=True)[1].astype(np.int64) for column in release.shown.T]
        sizes = [int(column.max(initial=0)) + 1 for column in texts]
        too_many = self.associations == "pairs" and prod(sizes) > _MOST_COMBINATIONS
        if self.associations == "none" or too_many:
            expected = _fit_independence(release, texts)
        else:
            expected = _fit_pairs(release, texts, sizes)
        alone = release.sizes == 1
        others = (1.0 - fraction) * expected / fraction
        right = np.where(others > 0.0, -np.expm1(-others) / np.where(others > 0.0, others, 1.0), 1.0)
        risky = alone & (right > self.most)
        measured = {
            "unique": float(np.exp(-others[alone]).sum()),
            "correct": float(right[alone].sum()),
            "max": float(right[alone].max(initial=0.0)),
            "above": share(int(risky.sum()), evidence.records),
        }
        left_out = "associations of pairs: too many combinations of texts" if too_many else ""
        return [Finding(bool(risky.any()), measured, worst_of(right, risky), left_out=left_out)]


def _fit_independence(release: PublishedClasses, texts: list[Ints]) -> Floats:
    """Return the expected records of each class: the product of what each of its texts is as a share."""
    total = float(release.sizes.sum())
    expected = np.full(len(release.sizes), total)
    for column in texts:
        expected *= (np.bincount(column, release.sizes) / total)[column]
    return expected


def _fit_pairs(release: PublishedClasses, texts: list[Ints], sizes: list[int]) -> Floats:
    """Return the same where every two columns go together as they do in the table."""
    table = np.zeros(sizes)
    np.add.at(table, tuple(texts), release.sizes)
    columns = range(len(sizes))
    kept: list[tuple[int, ...]] = [*combinations(columns, 2)] or [(0,)]
    others = [tuple(column for column in columns if column not in pair) for pair in kept]
    asked = [table.sum(axis=rest, keepdims=True) for rest in others]
    fitted = np.full(sizes, float(table.sum()) / table.size)
    for _ in range(_ROUNDS):
        far = 0.0
        for rest, margin in zip(others, asked, strict=True):
            held = fitted.sum(axis=rest, keepdims=True)
            far = max(far, float(np.abs(held - margin).max()))
            fitted *= np.divide(margin, held, out=np.zeros_like(margin), where=held > 0.0)
        if far <= _NEAR * float(table.sum()):
            break
    return np.asarray(fitted[tuple(texts)])

"""Kullback–Leibler divergence: the bits by which the published columns mislead about the original ones."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from shoal.encoding.types import Floats
from shoal.utility.base import Outcome, SumMetric


class KlDivergence(SumMetric):
    """The bits per record that are lost by whoever takes the published distribution for the original one.

    A reader spreads each published text evenly over the values that it covers; a suppressed record may be anyone. With
    p for the share of a value in the original and q for what that gives, a column costs Σ p log2(p / q): 0 where
    nothing changed. The total is the sum over the columns, each by its weight over the largest one: the divergence of
    the tables if columns are taken as independent, as Kifer and Gehrke do for a release of single columns.

    A value of the original that no published text covers cannot be measured: then the loss is not told (the
    table is not a generalization of the original). No search counts it; ``non-uniform-entropy`` is the loss to search
    by.

    References
    ----------
    Kullback, S. and Leibler, R. A. (1951). On information and sufficiency. Annals of Mathematical Statistics 22(1).
    Kifer, D. and Gehrke, J. (2006). Injecting utility into anonymized datasets. SIGMOD.

    Examples
    --------
    Of two values, the first is held by three of four records; all are published as *both*:

    >>> round(divergence([3, 1], [2, 2]), 4)  # 3/4 log2(3/2) + 1/4 log2(1/2)
    0.1887
    """

    aliases: ClassVar[tuple[str, ...]] = ("kl", "kullback-leibler")
    unsearchable: ClassVar[str] = "no search counts what texts imply; search by non-uniform-entropy"

    def known(self, outcome: Outcome) -> bool:
        """Return whether the distributions were counted, and each original value is covered."""
        return outcome.divergence is not None and bool(np.isfinite(outcome.divergence).all())

    def by_column(self, outcome: Outcome) -> Floats:
        """Return the bits of each column."""
        assert outcome.divergence is not None, "only where known() says so"
        return outcome.divergence


def divergence(original: npt.ArrayLike, implied: npt.ArrayLike) -> float:
    """Return Σ p log2(p / q) of two counts of the same values; infinite where an original value is not covered."""
    counts, implies = np.asarray(original, np.float64), np.asarray(implied, np.float64)
    held = counts > 0
    if not held.any():
        return 0.0
    if not (implies[held] > 0).all():
        return float("inf")
    p, q = counts[held] / counts.sum(), implies[held] / implies.sum()
    return max(float(p @ np.log2(p / q)), 0.0)

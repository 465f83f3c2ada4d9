"""Optimal univariate microaggregation: the best classes of one column (Hansen and Mukherjee 2003)."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from shoal.encoding.types import Floats, Ints
from shoal.perturbations._microaggregation import Microaggregation, class_means
from shoal.perturbations.base import ColumnNames


class OptimalUnivariate(Microaggregation):
    """The best classes of one column of numbers or dates: the shortest way through its values in order.

    Some best classes are runs of k to 2k - 1 values in order. Each run is an edge from where it begins to where it
    ends, as long as its squared error; the shortest way from the first value to the last is found in one pass. With
    survey weights it is the best of all runs.

    It is for one column: two columns that are microaggregated apart do not make k records alike in both. Name each in
    an entry of its own only where nobody knows both.

    Why it is safe: each run has k records at least, and all of them show its mean.

    Cost: time grows with the records times k (a million of k = 10: a second), memory with the records.

    References
    ----------
    Hansen, S. L., & Mukherjee, S. (2003). A polynomial algorithm for optimal univariate microaggregation. IEEE
    Transactions on Knowledge and Data Engineering, 15(4), 1043-1044.

    Examples
    --------
    >>> method = OptimalUnivariate(columns=["income"], k=2)
    >>> values = np.array([[1.0], [11.0], [2.0], [10.0], [12.0]])
    >>> method.partition(values, np.ones(5), np.random.default_rng(0)).tolist()
    [0, 1, 0, 1, 1]
    """

    columns: Annotated[ColumnNames, Field(min_length=1, max_length=1)]
    """The column that is perturbed."""

    def partition(self, points: Floats, weights: Floats, rng: np.random.Generator) -> Ints:
        """Return the class of each record: the run that it is in."""
        if points.shape[1] != 1:
            return np.zeros(len(points), np.int64)
        return cut_line(points[:, 0], weights, self.k)

    def bound(self, points: Floats, classes: Ints) -> float | None:
        """Return the squared error itself where none can have less: of unweighted means."""
        if self.weighted or points.shape[1] != 1 or self.by:
            return 0.0
        means = class_means(points[:, 0], classes, np.ones(len(classes)), int(classes.max(initial=-1)) + 1)
        return float(((points[:, 0] - means[classes]) ** 2).sum()) * (1 - 1e-9)


def cut_line(values: Floats, weights: Floats, k: int) -> Ints:
    """Return the run of each value, numbered in order."""
    from shoal.kernels.microaggregate import partition_line

    order = np.argsort(values, kind="stable")
    ends = np.zeros(len(values), np.int64)
    partition_line(values[order], weights[order], k, ends)
    starts, end = [], len(values)
    while end > 0:
        end = int(ends[end - 1])
        starts.append(end)
    runs = np.zeros(len(values), np.int64)
    runs[starts[:-1]] = 1
    classes = np.empty(len(values), np.int64)
    classes[order] = np.cumsum(runs)
    return classes

"""MDAV: classes of k about the records that lie farthest out (Domingo-Ferrer and Torra 2005)."""

from __future__ import annotations

import numpy as np

from shoal.encoding.types import Floats, Ints
from shoal.perturbations._microaggregation import Microaggregation


class Mdav(Microaggregation):
    """Maximum distance to average vector: two classes of k at a time, at the ends of what is left.

    While there are at least 3k records: the one farthest from their mean, with its k - 1 nearest, is a class; so is the
    one farthest from that one. Of fewer than 3k, k about the farthest are a class, and the rest is one.

    Why it is safe: each class has k to 2k - 1 records, and all of them show its means.

    Cost: time grows with the square of the records (100,000 of ten columns: some ten seconds), memory with the records.

    References
    ----------
    Domingo-Ferrer, J., & Torra, V. (2005). Ordinal, continuous and heterogeneous k-anonymity through microaggregation.
    Data Mining and Knowledge Discovery, 11(2), 195-212.

    Examples
    --------
    >>> method = Mdav(columns=["income"], k=2)
    >>> method.partition(np.array([[1.0], [2.0], [10.0], [11.0]]), np.ones(4), np.random.default_rng(0))
    array([0, 0, 1, 1])
    """

    def partition(self, points: Floats, weights: Floats, rng: np.random.Generator) -> Ints:
        """Return the class of each record."""
        from shoal.kernels.microaggregate import mdav

        classes = np.empty(len(points), np.int64)
        mdav(np.ascontiguousarray(points.T), self.k, classes)
        return classes

"""V-MDAV: classes of variable size about the records that lie farthest out (Solanas and Martinez-Balleste 2006)."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from shoal.encoding.types import Floats, Ints
from shoal.perturbations._microaggregation import Microaggregation


class VMdav(Microaggregation):
    """Variable-size MDAV: a class of k takes in whoever lies nearer to it than to those who have no class.

    The record farthest from the mean of all, with its k - 1 nearest, is a class. As long as it has fewer than 2k - 1
    records, the nearest other record joins it if its way to the class is shorter than ``gamma`` times its way to the
    others. Those that are left at the end join the class with the nearest mean.

    Why it is safe: each class has k records at least, and all of them show its means.

    Cost: time grows with the square of the records, memory with the records.

    References
    ----------
    Solanas, A., & Martinez-Balleste, A. (2006). V-MDAV: a multivariate microaggregation with variable group size. In
    Proceedings of COMPSTAT, 917-925.

    Examples
    --------
    >>> values = np.array([[1.0], [2.0], [3.0], [10.0], [11.0]])
    >>> VMdav(columns=["income"], k=2, gamma=1).partition(values, np.ones(5), np.random.default_rng(0)).tolist()
    [1, 1, 1, 0, 0]
    """

    gamma: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.2
    """How easily classes grow: 0.2 for scattered records, about 1.1 for records in clusters; 0 keeps all at k."""

    def partition(self, points: Floats, weights: Floats, rng: np.random.Generator) -> Ints:
        """Return the class of each record."""
        from shoal.kernels.microaggregate import v_mdav

        classes = np.empty(len(points), np.int64)
        v_mdav(np.ascontiguousarray(points.T), self.k, self.gamma, classes)
        return classes

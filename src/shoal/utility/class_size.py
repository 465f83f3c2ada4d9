"""Class size (C_avg): how much larger classes are than they need be."""

from __future__ import annotations

from typing import ClassVar

from shoal.utility.base import Measured, Metric, Outcome


class ClassSize(Metric):
    """How much larger classes are, on average, than they need be: 1 is the best that k allows.

    Published records over the number of classes times k. Starred records are a class like any other.

    References
    ----------
    LeFevre, K., DeWitt, D. and Ramakrishnan, R. (2006). Mondrian multidimensional k-anonymity. ICDE.
    Ramana et al. (2013), eq. 9.

    Examples
    --------
    >>> import numpy as np
    >>> outcome = Outcome(10, np.array([3, 4, 3]), np.zeros((3, 1)), ("age",), np.ones(1), k=3)
    >>> round(ClassSize().measure(outcome).total, 3)
    1.111
    """

    range: ClassVar[tuple[float, float]] = (0.0, float("inf"))

    def measure(self, outcome: Outcome) -> Measured:
        """Return the mean class size over k."""
        classes = len(outcome.sizes) + (outcome.starred > 0)
        published = int(outcome.sizes.sum()) + outcome.starred
        return Measured(published / (classes * outcome.k) if classes else 0.0)

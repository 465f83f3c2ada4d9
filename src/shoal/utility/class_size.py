"""Class size (C_avg): how much larger classes are than they need be."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from shoal.utility.base import Metric, Outcome


class ClassSize(Metric):
    """How much larger classes are, on average, than they need be: 1 is the best that k allows.

    Published records over the number of classes times k. Starred records are a class like any other.

    References
    ----------
    LeFevre, K., DeWitt, D. and Ramakrishnan, R. (2006). Mondrian multidimensional k-anonymity. ICDE.
    Ramana et al. (2013), eq. 9.

    Examples
    --------
    >>> from shoal.testing import outcome_of
    >>> outcome = outcome_of(10, [3, 4, 3], [[0.0], [0.0], [0.0]], ("age",), k=3)
    >>> round(ClassSize().measure(outcome).total, 3)
    1.111
    """

    range: ClassVar[tuple[float, float]] = (0.0, float("inf"))

    def totals(self, outcome: Outcome) -> Any:
        """Return the mean class size over k."""
        starred = np.asarray(outcome.starred)
        classes = outcome.classes + (starred > 0)
        return (outcome.kept + starred) / np.maximum(classes * outcome.k, 1)

"""Distinct combinations: how many different records the published table still tells apart."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from shoal.encoding.types import Floats
from shoal.utility.base import Metric, Outcome


class DistinctCombinations(Metric):
    """The number of different combinations of quasi-identifiers that are published; more is better.

    The starred records, where there are any, are one of them. In each column it is the number of different texts.

    ``average-class-size`` is the loss to search by: it divides the records by this number.

    References
    ----------
    Number of equivalence classes: LeFevre, K., DeWitt, D. and Ramakrishnan, R. (2006). Mondrian multidimensional
    k-anonymity. ICDE (``class-size`` divides by it).

    Examples
    --------
    >>> from shoal.testing import outcome_of
    >>> outcome = outcome_of(12, [3, 4, 3], [[0.0], [0.0], [0.0]], ("age",), suppressed=2, starred=2)
    >>> DistinctCombinations().measure(outcome).total
    4.0
    """

    direction: ClassVar[Literal["lower is better", "higher is better"]] = "higher is better"
    unsearchable: ClassVar[str] = "more of it is better; search by average-class-size, which divides by it"

    def totals(self, outcome: Outcome) -> Any:
        """Return the number of combinations."""
        return np.asarray(outcome.classes + (np.asarray(outcome.starred) > 0), np.float64)[()]

    def by_column(self, outcome: Outcome) -> Floats | None:
        """Return the number of texts in each column, where the published table was looked at."""
        return outcome.texts

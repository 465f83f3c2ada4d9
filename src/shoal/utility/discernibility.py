"""Discernibility (DM): each record costs the number of records that it cannot be told from."""

from __future__ import annotations

from typing import ClassVar

from shoal.utility.base import Measured, Metric, Outcome


class Discernibility(Metric):
    """Each record costs the number of records that it cannot be told from; a suppressed one costs all.

    References
    ----------
    Bayardo, R. and Agrawal, R. (2005). Data privacy through optimal k-anonymization. ICDE.
    Sarrafi, M. (2017), eq. 2-1; Ramana et al. (2013), eq. 8.

    Examples
    --------
    >>> import numpy as np
    >>> outcome = Outcome(6, np.array([3, 2]), np.zeros((2, 1)), ("age",), np.ones(1), suppressed=1)
    >>> Discernibility().measure(outcome).total  # 9 + 4 + 6
    19.0
    """

    range: ClassVar[tuple[float, float]] = (0.0, float("inf"))

    def measure(self, outcome: Outcome) -> Measured:
        """Return the sum of squared class sizes, plus the table's size for each suppressed record."""
        squares = int((outcome.sizes * outcome.sizes).sum())
        return Measured(float(squares + outcome.records * outcome.suppressed))

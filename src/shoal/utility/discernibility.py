"""Discernibility (DM): each record costs the number of records that it cannot be told from."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from shoal.utility.base import Floats, Metric, Outcome


class Discernibility(Metric):
    """Each record costs the number of records that it cannot be told from; a suppressed one costs all.

    References
    ----------
    Bayardo, R. and Agrawal, R. (2005). Data privacy through optimal k-anonymization. ICDE.
    Sarrafi, M. (2017), eq. 2-1; Ramana et al. (2013), eq. 8.

    Examples
    --------
    >>> from shoal.testing import outcome_of
    >>> outcome = outcome_of(6, [3, 2], [[0.0], [0.0]], ("age",), suppressed=1)
    >>> Discernibility().measure(outcome).total  # 9 + 4 + 6
    19.0
    """

    range: ClassVar[tuple[float, float]] = (0.0, float("inf"))

    def totals(self, outcome: Outcome) -> Any:
        """Return the sum of squared class sizes, plus the table's size for each suppressed record."""
        return np.asarray(outcome.squares + outcome.records * outcome.suppressed, np.float64)[()]

    def bounds(self, outcome: Outcome) -> Floats:
        """A kept record costs the size of its class, a suppressed one that of the table, which is no less."""
        return self.ranks(outcome)

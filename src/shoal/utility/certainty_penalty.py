"""Certainty penalty (NCP per column, GCP in total): the share of its domain that a published value leaves open."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from shoal.encoding.types import Floats
from shoal.utility.base import MeanMetric, Outcome, PricedCells


class CertaintyPenalty(MeanMetric):
    """The share of its domain that a published value leaves open: NCP per column, GCP in total.

    A range costs its width over the width of the domain; a label or a set costs the number of values under it
    over the number of values of the domain, and nothing for a single value; a suppressed record costs 1 per
    cell. The total is the mean over all cells, weighted by the columns' weights; it lies between 0 (nothing
    lost) and 1 (nothing left).

    References
    ----------
    Xu, J. et al. (2006). Utility-based anonymization using local recoding. KDD.
    Ramana, K. V. et al. (2013). Graph based local recoding for data anonymization. IJDMS 5(4), eq. 5 to 7.

    Examples
    --------
    Three records of age 25 to 40 in a domain of 10 to 100 and both sexes, one suppressed record
    (Sarrafi 2017, Table 2-13):

    >>> import numpy as np
    >>> from shoal.testing import outcome_of
    >>> outcome = outcome_of(4, [3], [[15 / 90, 1.0, 0.0]], ("age", "sex", "zip"), suppressed=1)
    >>> round(CertaintyPenalty().measure(outcome).total * 3 * 4, 3)  # 3 × 1.167 + 3
    6.5
    """

    aliases: ClassVar[tuple[str, ...]] = ("ncp", "gcp", "normalized-certainty-penalty", "global-certainty-penalty")
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    monotone: ClassVar[bool] = True
    """A suppressed record costs 1 per cell, and no kept one more: suppressing never lowers the loss."""

    @property
    def priced_by(self) -> Literal["penalty"]:
        """It is a sum of penalties."""
        return "penalty"

    def price(self, cells: PricedCells) -> Floats:
        """Return the penalty."""
        return cells.penalty

    def by_column(self, outcome: Outcome) -> Floats:
        """Return the mean penalty of each column."""
        suppressed = np.asarray(outcome.suppressed, np.float64)[..., None]
        return (outcome.penalty + suppressed) / max(outcome.records, 1)

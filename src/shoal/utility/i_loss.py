"""ILoss: the share of the other values of its domain that a published value could stand for."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from shoal.encoding.types import Floats
from shoal.utility.base import MeanMetric, Outcome


class ILoss(MeanMetric):
    """The values that a published value could stand for, but one, over the values of the domain.

    A text that covers v of the |D| values of its column costs (v - 1) / |D|; a value costs nothing, a suppressed record
    (|D| - 1) / |D| per cell. Values of numeric columns are counted too, those that the original holds. The total is
    the mean over all cells, weighted by the columns' weights.

    No search counts the values under what it considers. ``granularity`` is the loss to search by: for categories it is
    this one over (|D| - 1) / |D| in each column.

    References
    ----------
    Xiao, X. and Tao, Y. (2006). Personalized privacy preservation. SIGMOD.
    Sarrafi, M. (2017), eq. 2-2.

    Examples
    --------
    Three records leave half of ten values open, one is suppressed:

    >>> from shoal.testing import outcome_of
    >>> outcome = outcome_of(4, [3], [[0.5]], ("age",), suppressed=1)
    >>> round(ILoss().measure(outcome).total, 3)  # (3 × 4/10 + 9/10) / 4
    0.525
    """

    aliases: ClassVar[tuple[str, ...]] = ("iloss",)
    unsearchable: ClassVar[str] = "no search counts the values under a label; search by granularity"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def known(self, outcome: Outcome) -> bool:
        """Return whether the values under the published texts were counted."""
        return outcome.values is not None

    def by_column(self, outcome: Outcome) -> Floats:
        """Return the mean of each column."""
        assert outcome.values is not None, "only where known() says so"
        size = np.maximum(outcome.distinct, 1.0)
        others = outcome.values - outcome.kept + outcome.suppressed * (size - 1.0)
        return np.asarray(others / size / max(outcome.records, 1))

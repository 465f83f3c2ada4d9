"""Distortion ratio: how far up its hierarchies a table is, of all that it could be raised."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from shoal.encoding.types import Floats
from shoal.utility.base import Metric, Outcome, PricedCells
from shoal.utility.precision import Precision


class DistortionRatio(Metric):
    """The levels that all cells were raised, over those of a table that is generalized to the top.

    Column by column it is ``precision``; in total a column counts by the height of its hierarchy (and by its weight),
    since a high one has more to lose. A suppressed record counts as raised to the top.

    Levels are counted alike, as in the definition. What Yaseen et al. print in their Table 4 are distortions of single
    labels, which follow from what a label covers: ``shoal hierarchy build`` shows those, and the ``distortion`` that
    ``shoal lattice`` tells of a node is the ratio by them.

    References
    ----------
    Wong, R. C.-W. et al. (2006). (α, k)-anonymity: an enhanced k-anonymity model for privacy preserving data
    publishing. KDD.
    Yaseen, S. et al. (2018). Improved generalization for secure data publishing. IEEE Access 6, Definition 9.

    Examples
    --------
    Sex at its only level, age as it is, and one of four records suppressed:

    >>> from shoal.testing import outcome_of
    >>> outcome = outcome_of(4, [3], [[0.0, 1.0]], ("age", "sex"), suppressed=1)
    >>> DistortionRatio().measure(outcome)  # (3 × 0 + 1 + 3 × 1 + 1) / (4 × 2)
    Measured(total=0.625, columns={'age': 0.25, 'sex': 1.0})
    """

    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    monotone: ClassVar[bool] = True
    """A suppressed record counts as raised to the top, and no kept one more; undecided columns cost nothing."""

    @property
    def priced_by(self) -> Literal["level"]:
        """It is a sum of levels."""
        return "level"

    def price(self, cells: PricedCells) -> Floats:
        """Return the levels that are climbed: a column counts by its height."""
        return np.asarray(cells.level, np.float64)

    def totals(self, outcome: Outcome) -> Any:
        """Return the ratio of all cells."""
        most = outcome.weights * outcome.heights
        return self.by_column(outcome) @ most / most.sum()

    def by_column(self, outcome: Outcome) -> Floats:
        """Return the ratio of each column."""
        return Precision().by_column(outcome)

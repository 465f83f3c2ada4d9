"""Minimal distortion (MD): how many cells do not show their value."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from shoal.encoding.types import Floats
from shoal.utility.base import Outcome, PricedCells, SumMetric


class MinimalDistortion(SumMetric):
    """The cells that were made less than exact: 1 for each, however little or much it lost.

    Ten records whose sex goes from male or female to *person* cost ten. A suppressed record costs 1 per cell. A
    label of one single value says as much as the value, and costs nothing. The total is the sum of the columns,
    weighted by their weights over the largest weight.

    References
    ----------
    Samarati, P. (2001). Protecting respondents' identities in microdata release. IEEE TKDE 13(6).
    Sarrafi, M. (2017), 2.6.

    Examples
    --------
    >>> from shoal.testing import outcome_of
    >>> outcome = outcome_of(10, [10], [[0.0, 1.0]], ("age", "sex"))
    >>> MinimalDistortion().measure(outcome)
    Measured(total=10.0, columns={'age': 0.0, 'sex': 10.0})
    """

    aliases: ClassVar[tuple[str, ...]] = ("md",)

    @property
    def priced_by(self) -> Literal["penalty"]:
        """A cell shows its value or it does not."""
        return "penalty"

    def price(self, cells: PricedCells) -> Floats:
        """Return 1 for each cell that does not show its value."""
        return (np.asarray(cells.penalty) > 0.0).astype(np.float64)

    def by_column(self, outcome: Outcome) -> Floats:
        """Return the cells of each column that do not show their value."""
        return np.asarray(outcome.records - outcome.exact, np.float64)

    def bounds(self, outcome: Outcome) -> Floats:
        """A suppressed record costs 1 per cell and no kept one more; a wider label is never the more exact one.

        In a column that is not decided nobody loses, and then no kept record is counted.
        """
        suppressed = np.asarray(outcome.suppressed, np.float64)[..., None]
        cells = np.where(outcome.penalty > 0.0, outcome.records - outcome.exact, suppressed)
        return np.asarray(cells @ outcome.relative_weights, np.float64)[..., None]

"""Precision (Prec), as a loss: how far up their hierarchies the published values are."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from shoal.encoding.types import Floats
from shoal.utility.base import MeanMetric, Outcome, PricedCells


class Precision(MeanMetric):
    """How far up its hierarchy a published value is, on average: 1 - Prec of Sweeney (2002), so that less is better.

    A label costs its level over the height of the hierarchy, the lowest level where a label stays the same for some
    levels; a range or a set costs the lowest level with a label as wide; a suppressed record costs 1 per cell. The
    total is the mean over all cells, weighted by the columns' weights; it lies between 0 (nothing climbed) and 1.

    It looks at levels, not at what their labels cover: use it where all hierarchies are fine grained alike.

    References
    ----------
    Sweeney, L. (2002). Achieving k-anonymity privacy protection using generalization and suppression. IJUFKS 10(5).

    Examples
    --------
    Three records at level 1 of 2, one suppressed:

    >>> from shoal.testing import outcome_of
    >>> outcome = outcome_of(4, [3], [[0.5]], ("age",), suppressed=1)
    >>> Precision().measure(outcome).total  # (3 × 1/2 + 1) / 4
    0.625
    """

    aliases: ClassVar[tuple[str, ...]] = ("prec",)
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    monotone: ClassVar[bool] = True
    """A suppressed record costs 1 per cell and no kept one more; columns that are not decided cost nothing.

    Where suppressed records are ignored, the decided columns cost the same whoever is suppressed."""

    suppressed: Literal["counted", "ignored"] = "counted"
    """Whether a suppressed record costs 1 per cell, or the level that it would have had (ARX's monotonic form)."""

    @property
    def priced_by(self) -> Literal["level"] | None:
        """A cell costs its level; a suppressed one too, unless it counts as what it would have shown."""
        return "level" if self.suppressed == "counted" else None

    def price(self, cells: PricedCells) -> Floats:
        """Return the share of the hierarchy that is climbed."""
        return np.asarray(cells.level / max(cells.height, 1), np.float64)

    def by_column(self, outcome: Outcome) -> Floats:
        """Return the mean of each column."""
        if self.suppressed == "ignored":
            whole = outcome.generalized
            assert whole is not None, "only where known() says so"
            return whole.generalization_height / max(whole.records, 1)
        suppressed = np.asarray(outcome.suppressed, np.float64)[..., None]
        return (outcome.generalization_height + suppressed) / max(outcome.records, 1)

    def known(self, outcome: Outcome) -> bool:
        """Return whether it is known what the suppressed records would have shown, where that counts."""
        return self.suppressed == "counted" or outcome.generalized is not None

    def auditable(self) -> Precision:
        """Return the form that counts suppressed records."""
        return self.replace(suppressed="counted")

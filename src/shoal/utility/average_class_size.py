"""Average class size (AECS): how many records share a class."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from shoal.encoding.types import Floats
from shoal.utility.base import Metric, Outcome


class AverageClassSize(Metric):
    """The records of the table over the number of classes; suppressed records are one class, starred or left out.

    It is ARX's *average equivalence class size*. ``class-size`` (C_avg) also divides by k, and counts published
    records only.

    References
    ----------
    LeFevre, K., DeWitt, D. and Ramakrishnan, R. (2006). Mondrian multidimensional k-anonymity. ICDE.

    Examples
    --------
    >>> from shoal.testing import outcome_of
    >>> outcome = outcome_of(12, [3, 4, 3], [[0.0], [0.0], [0.0]], ("age",), suppressed=2)
    >>> AverageClassSize().measure(outcome).total  # 12 / (3 + 1)
    3.0
    """

    aliases: ClassVar[tuple[str, ...]] = ("aecs",)

    def totals(self, outcome: Outcome) -> Any:
        """Return the mean size of a class."""
        classes = np.asarray(outcome.classes + (np.asarray(outcome.suppressed) > 0))
        return outcome.records / np.maximum(classes, 1)

    def bounds(self, outcome: Outcome) -> Floats:
        """Fewer kept records make no more classes of the least size, and suppressed ones are one class more at most."""
        return np.asarray(outcome.records / (outcome.classes + 1), np.float64)[..., None]

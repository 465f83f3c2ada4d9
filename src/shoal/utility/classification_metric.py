"""Classification metric (CM): how many records differ from the majority of their class."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from shoal.utility.base import Measured, Metric, Outcome


class ClassificationMetric(Metric):
    """The share of records whose value is not the most frequent one of their class, or that are suppressed.

    It is the error of a reader who guesses the sensitive value from the published quasi-identifiers, seen on the
    published records themselves. Low is good for those who learn from the table, and bad for those in it: compare it
    with what ``distinct-l-diversity`` promises. There is one value for each sensitive column; the total is their mean.

    No search counts it; ``top-down-specialization`` and ``bottom-up`` with a ``class_column`` keep what tells classes
    apart.

    References
    ----------
    Iyengar, V. S. (2002). Transforming data to satisfy privacy constraints. KDD.
    Sarrafi, M. (2017), 2.6.

    Examples
    --------
    Of eight records two are in the minority of their classes, and one is suppressed:

    >>> from shoal.testing import outcome_of
    >>> outcome = outcome_of(8, [4, 3], [[0.0], [0.0]], ("age",), suppressed=1, minorities={"illness": 2})
    >>> ClassificationMetric().measure(outcome)
    Measured(total=0.375, columns={'illness': 0.375})
    """

    aliases: ClassVar[tuple[str, ...]] = ("cm",)
    unsearchable: ClassVar[str] = "no search counts it; use top-down-specialization or bottom-up with a class_column"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def known(self, outcome: Outcome) -> bool:
        """Return whether there is a class column, and it was counted."""
        return bool(outcome.minorities)

    def totals(self, outcome: Outcome) -> Any:
        """Return the mean over the class columns."""
        return float(np.mean(list(self._by_class(outcome).values())))

    def measure(self, outcome: Outcome) -> Measured:
        """Return the value for each class column, and their mean."""
        return Measured(self.totals(outcome), self._by_class(outcome))

    @staticmethod
    def _by_class(outcome: Outcome) -> dict[str, float]:
        assert outcome.minorities, "only where known() says so"
        return {
            name: float((held + outcome.suppressed) / max(outcome.records, 1))
            for name, held in outcome.minorities.items()
        }

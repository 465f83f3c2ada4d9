"""Class size (C_avg): how much larger classes are than they need be."""

from __future__ import annotations

from typing import Any, ClassVar

from shoal.encoding.types import Floats
from shoal.utility.average_class_size import AverageClassSize
from shoal.utility.base import Metric, Outcome


class ClassSize(Metric):
    """How much larger classes are, on average, than they need be: 1 is the best that k allows.

    The records of the table over the number of classes times k. Suppressed records are one class, whether they are
    published as ``*`` or left out, so that leaving them out does not look like a gain.

    References
    ----------
    LeFevre, K., DeWitt, D. and Ramakrishnan, R. (2006). Mondrian multidimensional k-anonymity. ICDE.
    Ramana et al. (2013), eq. 9.

    Examples
    --------
    >>> from shoal.testing import outcome_of
    >>> outcome = outcome_of(10, [3, 4, 3], [[0.0], [0.0], [0.0]], ("age",), k=3)
    >>> round(ClassSize().measure(outcome).total, 3)
    1.111
    """

    aliases: ClassVar[tuple[str, ...]] = ("c-avg", "cavg")

    def totals(self, outcome: Outcome) -> Any:
        """Return the mean class size over k."""
        return AverageClassSize().totals(outcome) / outcome.k

    def bounds(self, outcome: Outcome) -> Floats:
        """The bound of the average class size, over k."""
        return AverageClassSize().bounds(outcome) / outcome.k

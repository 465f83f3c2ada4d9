"""Discernibility (DM): each record costs the number of records that it cannot be told from."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from shoal.utility.base import Metric, Outcome


class Discernibility(Metric):
    """Each record costs the number of records that it cannot be told from; a suppressed one costs all.

    With ``suppressed: ignored`` it costs the size of the class that it would have been in (ARX's monotonic DM*): only
    a search through full-domain recodings knows it.

    References
    ----------
    Bayardo, R. and Agrawal, R. (2005). Data privacy through optimal k-anonymization. ICDE.
    LeFevre, K., DeWitt, D. and Ramakrishnan, R. (2006). Mondrian multidimensional k-anonymity. ICDE (DM*).
    Sarrafi, M. (2017), eq. 2-1; Ramana et al. (2013), eq. 8.

    Examples
    --------
    >>> from shoal.testing import outcome_of
    >>> outcome = outcome_of(6, [3, 2], [[0.0], [0.0]], ("age",), suppressed=1)
    >>> Discernibility().measure(outcome).total  # 9 + 4 + 6
    19.0
    """

    aliases: ClassVar[tuple[str, ...]] = ("dm", "dcp", "discernibility-metric", "discernibility-penalty")
    monotone: ClassVar[bool] = True
    """A kept record costs the size of its class, a suppressed one that of the table, which is no less.

    Where suppressed records are ignored, each costs 1 at least: the bound is the number of records."""

    suppressed: Literal["counted", "ignored"] = "counted"
    """Whether a suppressed record costs the whole table, or the class that it would have been in."""

    def totals(self, outcome: Outcome) -> Any:
        """Return the sum of squared class sizes, plus the table's size for each suppressed record."""
        if self.suppressed == "ignored":
            whole = outcome.generalized
            assert whole is not None, "only where known() says so"
            return np.asarray(whole.squares, np.float64)[()]
        return np.asarray(outcome.squares + outcome.records * outcome.suppressed, np.float64)[()]

    def known(self, outcome: Outcome) -> bool:
        """Return whether it is known what the suppressed records would have shown, where that counts."""
        return self.suppressed == "counted" or outcome.generalized is not None

    def auditable(self) -> Discernibility:
        """Return the form that counts suppressed records."""
        return self.replace(suppressed="counted")

"""Height: how many levels the columns were raised, together."""

from __future__ import annotations

import numpy as np

from shoal.encoding.types import Floats
from shoal.utility.base import Outcome, SumMetric


class Height(SumMetric):
    """The levels that the columns were raised, added up: the height of a node in the lattice.

    A full-domain recoding publishes a whole column at one level. Where records of a column are at several (local
    recoding, labels that stay the same for some levels, missing values shown as ``*``), the mean of their levels is
    taken, the lowest level with a label as wide for each. Who is suppressed does not count: a search takes
    the levels of all records, an audit those of the records that are not suppressed, and both are the node's level
    where the whole column is at one. Columns count by their weights over the largest weight. Where every record is
    suppressed, the audit counts each column's whole height.

    References
    ----------
    Samarati, P. (2001). Protecting respondents' identities in microdata release. IEEE TKDE 13(6).
    LeFevre, K., DeWitt, D. and Ramakrishnan, R. (2005). Incognito: efficient full-domain k-anonymity. SIGMOD.

    Examples
    --------
    Columns with one level above the values: the sex of all three records is raised, their age is not.

    >>> from shoal.testing import outcome_of
    >>> outcome = outcome_of(4, [3], [[0.0, 1.0]], ("age", "sex"), suppressed=1)
    >>> Height().measure(outcome)
    Measured(total=1.0, columns={'age': 0.0, 'sex': 1.0})
    """

    def by_column(self, outcome: Outcome) -> Floats:
        """Return the mean level of each column."""
        seen = outcome.generalized or outcome
        kept = np.asarray(seen.kept, np.float64)[..., None]
        return np.where(kept > 0, seen.generalization_height / np.maximum(kept, 1.0), 1.0) * outcome.heights

    def bounds(self, outcome: Outcome) -> Floats | None:
        """A search counts all records, so the decided columns cost the same whoever is suppressed; others nothing."""
        return None if outcome.whole is None else self.ranks(outcome)

"""Prosecutor: the attacker knows that the person is in the table."""

from __future__ import annotations

from typing import ClassVar

from shoal.risk._sizes import compute_chances
from shoal.risk.base import Evidence, Finding, SmallGroupRisk, worst_of


class Prosecutor(SmallGroupRisk):
    """The attacker knows that the person is in the table, and looks for the record.

    The chance to be right is one over the size of the person's class: ``max`` is the worst of them, ``mean`` the
    mean over all records, ``median`` and ``p95`` what half and 95 of 100 records do not exceed, ``unique`` the share
    of records that stand alone, ``above`` the share in classes smaller than ``least``. A leak is one such class.

    Cost: the number of classes, sorted.

    References
    ----------
    El Emam, K. (2013). Guide to the de-identification of personal health information. CRC Press.

    Examples
    --------
    >>> import numpy as np
    >>> Prosecutor().run(Evidence(np.array([1, 4, 5])))[0].measured
    {'max': 1.0, 'mean': 0.3, 'unique': 0.1, 'median': 0.2, 'p95': 1.0, 'above': 0.1}
    """

    means: ClassVar[str] = (
        "Somebody who knows that a person is in the table finds the record more easily than promised."
    )

    def run(self, evidence: Evidence) -> list[Finding]:
        """Look at the sizes of the classes."""
        least, sizes = self.enough(evidence), evidence.sizes
        small = sizes < least
        return [Finding(bool(small.any()), compute_chances(sizes, sizes, least), worst_of(-sizes, small))]

"""Marketer: the attacker links everybody and counts the hits."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from shoal.risk.base import Evidence, Finding, SmallGroupRisk, share


class Marketer(SmallGroupRisk):
    """The attacker links every record at random within its class and counts the hits.

    The expected share of right links is the number of classes over the number of records (``mean``). Against a
    population each record is linked to one of the persons that its class may stand for (``linked``). A leak is a mean
    of more than one over ``least``, against the population where there is one.

    Cost: the number of classes.

    References
    ----------
    El Emam, K. (2013). Guide to the de-identification of personal health information. CRC Press.

    Examples
    --------
    >>> import numpy as np
    >>> Marketer().run(Evidence(np.array([1, 4, 5])))[0].measured
    {'mean': 0.3}
    """

    means: ClassVar[str] = "Somebody who links all records to a list of persons is right more often than promised."

    def run(self, evidence: Evidence) -> list[Finding]:
        """Look at the sizes of the classes."""
        least, sizes = self.enough(evidence), evidence.sizes
        measured = {"mean": share(len(sizes), evidence.records)}
        found = len(sizes) * least > evidence.records
        if evidence.population is not None:
            hits = float((sizes / np.maximum(evidence.population, sizes)).sum())
            measured["linked"] = share(hits, evidence.records)
            found = hits * least > evidence.records * (1 + 1e-12)
        return [Finding(bool(found), measured)]

"""Journalist: the attacker looks for anyone of the population."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from shoal.risk._sizes import compute_chances
from shoal.risk.base import Evidence, Finding, SmallGroupRisk, worst_of


class Journalist(SmallGroupRisk):
    """The attacker does not know who is in the table, and picks a person of the population for some record.

    The chance to be right is one over the number of persons of the population that the class may stand for, by what
    it shows; never fewer than the class has records. The names of what is measured are those of the prosecutor.

    Cost: the number of classes, beside reading which persons each may stand for.

    References
    ----------
    El Emam, K. (2013). Guide to the de-identification of personal health information. CRC Press.

    Examples
    --------
    >>> import numpy as np
    >>> evidence = Evidence(np.array([1, 4, 5]), population=np.array([10, 4, 20]))
    >>> Journalist().run(evidence)[0].measured["max"]
    0.25
    """

    needs: ClassVar[tuple[str, ...]] = ("population",)
    means: ClassVar[str] = "A record can be shown to be that of one among few persons of the population."

    def run(self, evidence: Evidence) -> list[Finding]:
        """Look at whom of the population the classes may stand for."""
        assert evidence.population is not None
        least, persons = self.enough(evidence), np.maximum(evidence.population, evidence.sizes)
        few = persons < least
        return [Finding(bool(few.any()), compute_chances(persons, evidence.sizes, least), worst_of(-persons, few))]

"""Individual risk: how likely each record is the right person's, by the weights of a survey."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from shoal.risk._individual import estimate_risks
from shoal.risk.base import Evidence, Finding, Risk, share, worst_of


class IndividualRisk(Risk):
    """The table is a sample, and a person who matches a record may be one of many who do.

    The weights of a class's records estimate how many persons of the population look like them; the risk of a record
    is the expected value of one over that number (Benedetti and Franconi). ``max`` and ``mean`` are over all records,
    ``expected`` is their sum: the records that somebody who links all of them is expected to get right; ``above`` is
    the share of records above ``most``. A leak is one such record.

    Cost: the number of classes.

    References
    ----------
    Benedetti, R. and Franconi, L. (1998). Statistical and technological solutions for controlled data dissemination.
    New Techniques and Technologies for Statistics 1.
    Templ, M. (2017). Statistical disclosure control for microdata. Springer, 3.

    Examples
    --------
    >>> import numpy as np
    >>> evidence = Evidence(np.array([1, 2]), weights=np.array([17.0, 110.0]))
    >>> round(IndividualRisk().run(evidence)[0].measured["max"], 7)
    0.1770758
    """

    needs: ClassVar[tuple[str, ...]] = ("sizes", "weights")
    means: ClassVar[str] = "Few persons of the population look like a record: a match is probably right."

    most: Annotated[float, Field(gt=0.0, le=1.0)] = 0.1
    """The greatest chance of a record that nobody need worry about."""

    def run(self, evidence: Evidence) -> list[Finding]:
        """Look at the records and weights of each class."""
        assert evidence.weights is not None
        sizes = evidence.sizes
        risks = estimate_risks(sizes, evidence.weights)
        risky, expected = risks > self.most, float(sizes @ risks)
        measured = {
            "max": float(risks.max(initial=0.0)),
            "mean": share(expected, evidence.records),
            "expected": expected,
            "above": share(int(sizes[risky].sum()), evidence.records),
        }
        return [Finding(bool(risky.any()), measured, worst_of(risks, risky))]

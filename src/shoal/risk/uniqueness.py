"""Uniqueness: records that nobody else looks like, in the table and in the population."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from shoal.risk.base import Evidence, Finding, Risk, share, worst_of


class Uniqueness(Risk):
    """Some records look like no other, and their persons perhaps like nobody else of the population.

    ``unique`` and ``pairs`` are the shares of records in classes of one and of two. Where the population is known,
    ``unique_in_population`` is the share of records whose class may stand for one person only. Where just the share
    of the population that is in the table is known (``sampled``), ``right_if_unique`` is the chance that a person who
    matches a unique record is the right one: with n₁ and n₂ records in classes of one and of two and the share π,
    πn₁ / (πn₁ + (1 - π)n₂), the data intrusion simulation. A leak is a unique record; against a population, one whose
    class may stand for one person only.

    Cost: the number of classes.

    References
    ----------
    Skinner, C. J. and Elliot, M. J. (2002). A measure of disclosure risk for microdata. Journal of the Royal
    Statistical Society B 64(4).

    Examples
    --------
    >>> import numpy as np
    >>> Uniqueness(sampled=0.1).run(Evidence(np.array([1, 1, 2, 6])))[0].measured
    {'unique': 0.2, 'pairs': 0.2, 'right_if_unique': 0.1}
    """

    means: ClassVar[str] = "A person's record can be told from all others."

    sampled: Annotated[float, Field(gt=0.0, le=1.0)] | None = None
    """The share of the population that is in the table, where it is known."""

    def run(self, evidence: Evidence) -> list[Finding]:
        """Look at the sizes of the classes."""
        sizes = evidence.sizes
        alone, twos = int((sizes == 1).sum()), 2 * int((sizes == 2).sum())
        measured = {"unique": share(alone, evidence.records), "pairs": share(twos, evidence.records)}
        if self.sampled is not None:
            measured["right_if_unique"] = share(self.sampled * alone, self.sampled * alone + (1 - self.sampled) * twos)
        exposed = sizes == 1
        if evidence.population is not None:
            exposed = exposed & (evidence.population <= 1)
            measured["unique_in_population"] = share(int(exposed.sum()), evidence.records)
        return [Finding(bool(exposed.any()), measured, worst_of(-sizes, exposed))]

"""Household risk: whoever finds one member has found all."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from shoal.encoding.types import Ints
from shoal.risk._individual import estimate_risks
from shoal.risk.base import Evidence, Finding, Risk, share


class HouseholdRisk(Risk):
    """Records of one household can be told to belong together: whoever finds one of them has found all.

    The risk of a household is the chance that at least one of its members is found, one minus the product of what is
    left of each by its individual risk; it is also that of each member. ``max`` and ``mean`` are over all records,
    ``expected`` is the number of households that are found, ``above`` the share of records above ``most``. A leak is
    one such record.

    Cost: the number of records.

    References
    ----------
    Franconi, L. and Polettini, S. (2004). Individual risk estimation in µ-Argus: a review. PSD.

    Examples
    --------
    Two records of different classes in one household, and a third record by itself:

    >>> from shoal.risk.base import PublishedClasses
    >>> release = PublishedClasses(np.arange(3), np.arange(3)[:, None], np.ones(3, np.int64))
    >>> known = {"home": np.array([0, 0, 1])}
    >>> evidence = Evidence(release.sizes, release=release, weights=np.array([17.0, 541.0, 5.0]), held=known.get)
    >>> {name: round(value, 4) for name, value in HouseholdRisk(household="home").run(evidence)[0].measured.items()}
    {'max': 0.4024, 'mean': 0.2586, 'expected': 0.589, 'above': 1.0}
    """

    needs: ClassVar[tuple[str, ...]] = ("release", "weights", "held")
    means: ClassVar[str] = "A household is found by its easiest member, and all others with it."

    household: str | None = None
    """The column that says which household a record belongs to; without it nothing is looked at."""
    most: Annotated[float, Field(gt=0.0, le=1.0)] = 0.1
    """The greatest chance of a household that nobody need worry about."""

    def run(self, evidence: Evidence) -> list[Finding]:
        """Put the individual risks of each household together."""
        assert evidence.release is not None
        assert evidence.weights is not None
        assert evidence.held is not None
        households = None if self.household is None else evidence.held(self.household)
        if households is None:
            return []
        release = evidence.release
        households = _apart(households)
        single = estimate_risks(release.sizes, evidence.weights)[release.classes]
        with np.errstate(divide="ignore"):
            kept = np.bincount(households, np.log1p(-single))
        risks = -np.expm1(kept)
        found = risks[households]
        worst = np.zeros(len(release.sizes))
        np.maximum.at(worst, release.classes, found)
        order = np.argsort(-worst, kind="stable")[:5]
        measured = {
            "max": float(found.max(initial=0.0)),
            "mean": share(float(found.sum()), len(found)),
            "expected": float(risks[np.unique(households)].sum()),
            "above": share(int((found > self.most).sum()), len(found)),
        }
        risky = tuple(order[worst[order] > self.most].tolist())
        return [Finding(bool(risky), measured, risky, self.household or "")]


def _apart(households: Ints) -> Ints:
    """Return the households, each record of which none is known (-1) in one of its own."""
    unknown = households < 0
    return np.where(unknown, int(households.max(initial=-1)) + np.cumsum(unknown), households)

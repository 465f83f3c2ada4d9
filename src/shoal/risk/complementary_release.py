"""Complementary release: an earlier release of the same people makes classes smaller."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from shoal.risk._joining import join_tables
from shoal.risk.base import Evidence, Finding, OtherTable, SmallGroupRisk, share


class ComplementaryRelease(SmallGroupRisk):
    """The attacker joins the release with an earlier one of the same people, and is left with fewer records.

    For each person, the records of this release that may be theirs are those whose texts cover the person; likewise in
    the earlier one. Where both publish columns as they are, only records that agree in these can be the same: with n
    and m records that show the same there, at most min(n, m). ``k`` is the least sum of these over all persons,
    ``k_alone`` the least number in this release alone, ``below`` the share of persons with fewer than ``least``. A leak
    is such a person. Persons who match just one of the releases (``in_one``) were not in the other.

    Cost: persons against classes of both releases, in blocks; at most ``most`` kinds of persons, by chance.

    References
    ----------
    Sweeney, L. (2002). k-anonymity: a model for protecting privacy. International Journal of Uncertainty, Fuzziness
    and Knowledge-Based Systems 10(5).

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.risk.base import TextMeaning, KnownPersons, PublishedClasses
    >>> covers = np.array([[True, True, False], [True, False, False], [False, True, False]])
    >>> both = np.array([0, 1])  # two illnesses
    >>> earlier = PublishedClasses(both, np.array([[1], [2]]), np.array([1, 1]))  # shows 21 and 24
    >>> evidence = Evidence(
    ...     np.array([2]),
    ...     release=PublishedClasses(np.zeros(2, np.int64), np.array([[0]]), np.array([2])),  # shows 21-24
    ...     meaning=(TextMeaning(covers, covers - 1),),
    ...     people=KnownPersons(np.array([[0], [1]]), np.array([1, 1])),
    ...     earlier=(OtherTable((both, both), release=earlier),),
    ... )
    >>> ComplementaryRelease().run(evidence)[0].measured
    {'persons': 2, 'in_one': 0, 'k': 1, 'k_alone': 2, 'below': 1.0}
    """

    needs: ClassVar[tuple[str, ...]] = ("release", "meaning", "people", "earlier")
    means: ClassVar[str] = "Two releases together show a person's record among fewer than each alone."

    most: Annotated[int, Field(ge=1, strict=True)] = 50_000
    """Kinds of persons that are looked for, at most."""

    def run(self, evidence: Evidence) -> list[Finding]:
        """Join with each earlier release."""
        return [self._with(evidence, one, f"earlier release {n}") for n, one in enumerate(evidence.earlier or (), 1)]

    def _with(self, evidence: Evidence, beside: OtherTable, name: str) -> Finding:
        assert evidence.release is not None
        assert beside.release is not None
        shared = beside.kept or (np.zeros_like(evidence.release.classes), np.zeros_like(beside.release.classes))
        found = join_tables(evidence, beside, shared, self.most)
        least, counts = self.enough(evidence), found.people.counts
        inside = found.both > 0
        few = inside & (found.both < least)
        measured = {
            "persons": int(counts[inside].sum()),
            "in_one": int(counts[~inside & (found.alone > 0)].sum()),
            "k": int(found.both[inside].min()) if inside.any() else None,
            "k_alone": int(found.alone[inside].min()) if inside.any() else None,
            "below": share(int(counts[few].sum()), int(counts[inside].sum())),
        }
        worst = dict.fromkeys(found.smallest[few][np.argsort(found.both[few], kind="stable")].tolist())
        return Finding(bool(few.any()), measured, tuple(worst)[:5], name, found.left_out)

"""Composition: two releases leave one sensitive value that both allow."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from shoal.encoding.types import Ints
from shoal.risk._joining import join_tables
from shoal.risk.base import Evidence, Finding, OtherTable, Risk, share, worst_of


class Composition(Risk):
    """The attacker knows that a person is in two releases, and takes the sensitive values that both allow.

    Each release leaves a set of values open for the person; what is true is in both sets. ``pinned`` is the share of
    the persons of both releases for whom one value is left, ``pinned_alone`` that in this release alone, ``values``
    the mean number of values left. A leak is a person who is pinned. No class of either release need be small or
    homogeneous for that; only differential privacy bounds it. A missing value is a value of its own here.

    Cost: persons against classes of both releases, in blocks; at most ``most`` kinds of persons, by chance.

    References
    ----------
    Ganta, S. R., Kasiviswanathan, S. P. and Smith, A. (2008). Composition attacks and auxiliary information in data
    privacy. KDD.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.risk.base import TextMeaning, KnownPersons, PublishedClasses
    >>> covers = np.array([[True, True, False]])
    >>> release = PublishedClasses(np.zeros(2, np.int64), np.array([[0]]), np.array([2]))
    >>> evidence = Evidence(
    ...     np.array([2]),
    ...     release=release,
    ...     meaning=(TextMeaning(covers, covers - 1),),
    ...     people=KnownPersons(np.array([[0]]), np.array([1])),
    ...     earlier=(OtherTable(None, {"illness": (np.array([0, 1]), np.array([1, 2]))}, release),),
    ... )
    >>> Composition().run(evidence)[0].measured
    {'persons': 1, 'pinned': 1.0, 'pinned_alone': 0.0, 'values': 1.0}
    """

    needs: ClassVar[tuple[str, ...]] = ("release", "meaning", "people", "earlier")
    means: ClassVar[str] = "A person's sensitive value follows from two releases, each of which hides it."

    most: Annotated[int, Field(ge=1, strict=True)] = 50_000
    """Kinds of persons that are looked for, at most."""

    def run(self, evidence: Evidence) -> list[Finding]:
        """Take each sensitive column that this release and an earlier one have."""
        return [
            self._with(evidence, beside, codes, f"{column}, earlier release {number}")
            for number, beside in enumerate(evidence.earlier or (), 1)
            for column, codes in beside.sensitive.items()
        ]

    def _with(self, evidence: Evidence, beside: OtherTable, codes: tuple[Ints, Ints], name: str) -> Finding:
        found = join_tables(evidence, beside, codes, self.most)
        counts, inside = found.people.counts, found.shared > 0
        persons = int(counts[inside].sum())
        pinned = found.shared == 1
        measured = {
            "persons": persons,
            "pinned": share(int(counts[pinned].sum()), persons),
            "pinned_alone": share(int(counts[inside & (found.values == 1)].sum()), persons),
            "values": share(int((counts * found.shared)[inside].sum()), persons),
        }
        worst = dict.fromkeys(found.smallest[list(worst_of(counts, pinned))].tolist())
        return Finding(bool(pinned.any()), measured, tuple(worst), name, found.left_out)

"""Downcoding: published texts are as narrow as their classes allow, which says what is in them."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from shoal.encoding.types import Ints
from shoal.risk._matching import list_members
from shoal.risk.base import Evidence, Finding, Risk, share, worst_of


class Downcoding(Risk):
    """The attacker knows that texts are as narrow as their classes allow, and undoes part of the generalization.

    If so, somebody of a class holds each end of its range, each value of its set, and a value of each of the two labels
    that its label is made of: cells of the class get finer values than are published. ``claimed`` is the share of all
    generalized cells that an attacker so fills in, ``right`` the share of the claims that are true (counted in
    classes whose persons are known), ``recovered`` the share of the generalized cells of these classes that are
    filled in truly, ``generalized`` that of all cells. A leak is ``recovered`` of at least ``share`` with at least
    ``confidence`` of the claims right. No model that looks at classes only excludes it.

    Cost: the classes times the columns, beside finding who may be in which class.

    References
    ----------
    Cohen, A. (2022). Attacks on deidentification's defenses. USENIX Security.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.risk.base import OtherTable, TextMeaning, KnownPersons, PublishedClasses
    >>> covers = np.array([[True, True, True, False, False]])  # the range from 21 to 36
    >>> parts = np.array([[0, -1, 1, -1, -1]])  # its ends
    >>> evidence = Evidence(
    ...     np.array([2]),
    ...     release=PublishedClasses(np.zeros(2, np.int64), np.array([[0]]), np.array([2])),
    ...     meaning=(TextMeaning(covers, parts),),
    ...     original=OtherTable(None, values=np.array([[0], [2]])),
    ...     people=KnownPersons(np.array([[0], [2]]), np.array([1, 1])),
    ... )
    >>> Downcoding().run(evidence)[0].measured
    {'generalized': 1.0, 'claimed': 1.0, 'right': 1.0, 'recovered': 1.0}
    """

    needs: ClassVar[tuple[str, ...]] = ("release", "meaning", "original", "people")
    means: ClassVar[str] = "Part of what was generalized away can be read from the release and its hierarchies."

    share: Annotated[float, Field(gt=0.0, le=1.0)] = 0.1
    """The share of generalized cells from which there is a leak."""
    confidence: Annotated[float, Field(gt=0.0, le=1.0)] = 0.95
    """The share of claims that must be right for an attacker to trust them."""

    def run(self, evidence: Evidence) -> list[Finding]:
        """Make the claims, and check them where the persons of a class are known."""
        assert evidence.release is not None
        assert evidence.meaning is not None
        assert evidence.people is not None
        shown, sizes = evidence.release.shown, evidence.sizes
        wide = np.stack([one.covers.sum(axis=1)[shown[:, j]] > 1 for j, one in enumerate(evidence.meaning)], axis=1)
        claims = np.stack([_parts(one.parts)[shown[:, j]] for j, one in enumerate(evidence.meaning)], axis=1)
        claims = np.minimum(claims, sizes[:, None]) * wide
        right, known = np.zeros(len(sizes), np.int64), np.zeros(len(sizes), bool)
        for index, found in list_members(evidence):
            evidence.progress("checking claims about classes", index, len(sizes))
            known[index] = True
            for j, meaning in enumerate(evidence.meaning):
                if claims[index, j]:
                    held = meaning.parts[shown[index, j]][evidence.people.tuples[found, j]]
                    right[index] += min(len(np.unique(held[held >= 0])), int(claims[index, j]))
        cells = (wide * sizes[:, None]).sum(axis=1)
        told = claims.sum(axis=1)
        measured = {
            "generalized": share(int(cells.sum()), wide.shape[1] * evidence.records),
            "claimed": share(int(told.sum()), int(cells.sum())),
            "right": share(int(right.sum()), int(told[known].sum())),
            "recovered": share(int(right.sum()), int(cells[known].sum())),
        }
        leak = measured["recovered"] >= self.share and measured["right"] >= self.confidence
        rest = int((~known).sum())
        left_out = f"claims about {rest:,} of {len(sizes):,} classes, whose persons are not known" if rest else ""
        worst = worst_of(right / np.maximum(cells, 1), right > 0) if leak else ()
        return [Finding(leak, measured, worst, left_out=left_out)]


def _parts(parts: Ints) -> Ints:
    """Return how many parts each text has; they are numbered from 0."""
    count: Ints = parts.max(axis=1, initial=-1) + 1
    return count

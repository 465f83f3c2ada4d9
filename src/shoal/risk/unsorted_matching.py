"""Unsorted matching: the records stand where they stood."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from shoal.encoding.types import Bools, Ints
from shoal.risk.base import Evidence, Finding, OtherTable, PublishedClasses, Risk


class UnsortedMatching(Risk):
    """The records stand in the order of the original, or of an earlier release: their places name them.

    ``same`` is the share of places where the published record could be the other table's record at that place: its
    texts cover the values (or could mean the same as the earlier texts), and columns that are published as they are
    agree. ``by_chance`` is that share with the records shuffled, as a mean over a few draws. A leak is a share that
    exceeds chance by ``margin`` of what is left to 1. Where the records are sorted by what they show, their places tell
    nothing that they do not show, and there is none.

    Cost: a few passes over the records. Tables with different numbers of records cannot be compared place by place.

    References
    ----------
    Sweeney, L. (2002). k-anonymity: a model for protecting privacy. International Journal of Uncertainty, Fuzziness
    and Knowledge-Based Systems 10(5).

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.risk.base import TextMeaning
    >>> covers = np.append(np.eye(9, dtype=bool), np.zeros((9, 1), bool), axis=1)
    >>> places = np.array([3, 1, 4, 0, 5, 8, 2, 6, 7])
    >>> release = PublishedClasses(places, np.arange(9)[:, None], np.ones(9, np.int64))
    >>> evidence = Evidence(
    ...     release.sizes,
    ...     release=release,
    ...     meaning=(TextMeaning(covers, covers - 1),),
    ...     original=OtherTable(None, values=places[:, None]),
    ... )
    >>> UnsortedMatching().run(evidence)[0].measured["same"]
    1.0
    """

    needs: ClassVar[tuple[str, ...]] = ("release", "meaning")
    means: ClassVar[str] = "The place of a record says whose it is."

    margin: Annotated[float, Field(gt=0.0, le=1.0)] = 0.5
    """How far from chance to certainty the share may go."""

    @classmethod
    def lacks(cls, evidence: Evidence) -> str:
        """Also a table of as many records is needed."""
        missing = super().lacks(evidence)
        if missing or _others(evidence):
            return missing
        if evidence.original is None and evidence.earlier is None:
            return "needs the original or an earlier release"
        return "the other tables have another number of records, so places cannot be compared"

    def run(self, evidence: Evidence) -> list[Finding]:
        """Compare with the original, and with each earlier release."""
        return [self._with(evidence, beside, name) for name, beside in _others(evidence).items()]

    def _with(self, evidence: Evidence, beside: OtherTable, name: str) -> Finding:
        release, chance = evidence.release, np.random.default_rng(evidence.seed)
        assert release is not None
        count = len(release.classes)
        same = float(_agrees(evidence, beside, np.arange(count)).mean()) if count else 0.0
        draws = (
            [float(_agrees(evidence, beside, chance.permutation(count)).mean()) for _ in range(3)] if count else [0.0]
        )
        expected = sum(draws) / len(draws)
        leak = count > 1 and same - expected > self.margin * (1.0 - expected) and not _is_sorted(release, beside)
        return Finding(bool(leak), {"same": same, "by_chance": expected}, (), name)


def _others(evidence: Evidence) -> dict[str, OtherTable]:
    """Return the tables that have as many records as the release."""
    assert evidence.release is not None
    named = {} if evidence.original is None else {"original": evidence.original}
    named |= {f"earlier release {number}": one for number, one in enumerate(evidence.earlier or (), 1)}
    count = len(evidence.release.classes)
    return {name: one for name, one in named.items() if _length(one) == count}


def _length(beside: OtherTable) -> int:
    if beside.values is not None:
        return len(beside.values)
    return -1 if beside.release is None else len(beside.release.classes)


def _agrees(evidence: Evidence, beside: OtherTable, order: Ints) -> Bools:
    """Return for each record, taken in some order, whether it could be the other table's record at that place."""
    assert evidence.release is not None
    assert evidence.meaning is not None
    shown = evidence.release.shown[evidence.release.classes[order]]
    agrees = np.ones(len(order), bool)
    for index, meaning in enumerate(evidence.meaning):
        if beside.values is not None:
            agrees &= meaning.covers[shown[:, index], beside.values[:, index]]
        elif beside.release is not None:
            agrees &= _may_mean_the_same(meaning.covers, shown[:, index], beside.release, index)
    if beside.kept is not None:
        agrees &= beside.kept[0][order] == beside.kept[1]
    return agrees


def _may_mean_the_same(covers: Bools, texts: Ints, release: PublishedClasses, index: int) -> Bools:
    """Return for each record whether its text and that of the other release could stand for one value."""
    pairs, inverse = np.unique(texts * len(covers) + release.shown[release.classes, index], return_inverse=True)
    meet = np.array([bool((covers[pair // len(covers)] & covers[pair % len(covers)]).any()) for pair in pairs.tolist()])
    return meet[inverse.ravel()] if len(pairs) else np.zeros(0, bool)


def _is_sorted(release: PublishedClasses, beside: OtherTable) -> bool:
    """Whether records stand in order of their classes, and within these of what they show besides."""
    steps = np.diff(release.classes)
    if (steps < 0).any():
        return False
    return beside.kept is None or not (np.diff(beside.kept[0])[steps == 0] < 0).any()

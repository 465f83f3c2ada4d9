"""Temporal: who came or went between two releases."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from shoal.encoding.types import Ints
from shoal.risk.base import Evidence, Finding, OtherTable, SmallGroupRisk, share, worst_of


class Temporal(SmallGroupRisk):
    """The attacker subtracts an earlier release, and is left with those who came or went in between.

    Classes that show the same in both releases are compared: records of this one that the earlier does not have, in
    all columns that both publish as they are, are of persons who came (or changed); the other way round they went.
    ``came`` and ``went`` are the least numbers above 0 in a class, ``exposed`` counts the classes where one of them is
    below ``least``: someone who knows that a person came reads the values of just these records. ``compared`` is the
    share of records in classes of both releases; nothing is said of the others. A leak is one such class.

    Cost: the records of both releases, sorted.

    References
    ----------
    Sweeney, L. (2002). k-anonymity: a model for protecting privacy. International Journal of Uncertainty, Fuzziness
    and Knowledge-Based Systems 10(5).
    Byun, J.-W., Sohn, Y., Bertino, E. and Li, N. (2006). Secure anonymization for incremental datasets. SDM.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.risk.base import PublishedClasses
    >>> earlier = PublishedClasses(np.zeros(2, np.int64), np.array([[0]]), np.array([2]))
    >>> evidence = Evidence(
    ...     np.array([3]),
    ...     release=PublishedClasses(np.zeros(3, np.int64), np.array([[0]]), np.array([3])),
    ...     earlier=(OtherTable((np.array([0, 1, 2]), np.array([0, 1])), release=earlier),),
    ... )
    >>> Temporal().run(evidence)[0].measured
    {'compared': 1.0, 'came': 1, 'went': None, 'exposed': 1}
    """

    needs: ClassVar[tuple[str, ...]] = ("release", "earlier")
    means: ClassVar[str] = "Somebody who knows when a person came or went finds the record among few."

    def run(self, evidence: Evidence) -> list[Finding]:
        """Compare with each earlier release."""
        return [self._with(evidence, one, f"earlier release {n}") for n, one in enumerate(evidence.earlier or (), 1)]

    def _with(self, evidence: Evidence, beside: OtherTable, name: str) -> Finding:
        release, earlier = evidence.release, beside.release
        assert release is not None
        assert earlier is not None
        if beside.kept is None:
            note = "the releases have no column in common that is published as it is"
            return Finding(False, {"compared": 0.0, "came": None, "went": None, "exposed": 0}, (), name, note)
        _, same = np.unique(np.concatenate((release.shown, earlier.shown)), axis=0, return_inverse=True)
        mine, theirs = same.ravel()[: len(release.shown)], same.ravel()[len(release.shown) :]
        width = max(int(codes.max(initial=0)) for codes in beside.kept) + 1
        keys = [
            group[of.classes] * width + codes
            for group, of, codes in zip((mine, theirs), (release, earlier), beside.kept, strict=True)
        ]
        common = np.intersect1d(mine, theirs)
        groups = int(same.max(initial=-1)) + 1
        came, went = _more(keys[0], keys[1], width, groups), _more(keys[1], keys[0], width, groups)
        least, inside = self.enough(evidence), np.isin(mine, common)
        few = ((came > 0) & (came < least)) | ((went > 0) & (went < least))
        exposed = few[mine] & inside
        measured = {
            "compared": share(int(release.sizes[inside].sum()), evidence.records),
            "came": _least(came[common]),
            "went": _least(went[common]),
            "exposed": int(exposed.sum()),
        }
        return Finding(bool(exposed.any()), measured, worst_of(-release.sizes, exposed), name)


def _more(ours: Ints, theirs: Ints, width: int, groups: int) -> Ints:
    """Return for each group how many of its records the other side does not have."""
    keys, counts = np.unique(ours, return_counts=True)
    others, held = np.unique(theirs, return_counts=True)
    _, here, there = np.intersect1d(keys, others, assume_unique=True, return_indices=True)
    counts[here] = np.maximum(counts[here] - held[there], 0)
    return np.bincount(keys // width, counts, groups).astype(np.int64)


def _least(counts: Ints) -> int | None:
    some = counts[counts > 0]
    return int(some.min()) if len(some) else None

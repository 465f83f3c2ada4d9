"""Similarity: a tree of categories from how they occur together with other columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from shoal.encoding.domains import Domain
from shoal.encoding.types import Floats, Ints
from shoal.errors import Fault
from shoal.hierarchies._groups import group_label
from shoal.hierarchies._steps import Step
from shoal.hierarchies.base import Hierarchy


class Similarity(Hierarchy):
    """A tree of categories made from the data: values that occur with the same values of other columns are near.

    Each value has a profile: the shares of each other quasi-identifier's values among its records (numbers in
    eighths). Values are agglomerated by the mean distance of their profiles (Hellinger), and the tree is cut where
    half, a quarter, … of the groups are left. No taxonomy is needed. Beyond ``most`` values, rarer ones start in the
    group of the frequent value that they are nearest to, so memory stays small.

    References
    ----------
    Sarrafi, M. (2017), chapter 3, finds similarity in contingency tables likewise.
    Sokal, R. and Michener, C. (1958). A statistical method for evaluating systematic relationships (average linkage).

    Examples
    --------
    >>> profiles = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]])
    >>> jobs = Domain("text", np.array(list("abcd")), tuple("abcd"), profiles=lambda: profiles)
    >>> Similarity().build(jobs, missing=None).labels[1]
    ('{a, b}', '{c, d}')
    """

    reads_records: ClassVar[bool] = True

    most: Annotated[int, Field(ge=2, le=2000)] = 1000
    """How many values are compared with each other."""

    def faults(self, domain: Domain) -> Iterator[Fault]:
        """Yield a fault where there is no other column to compare by."""
        if domain.profiles is None:
            yield Fault("similarity needs other columns to compare values by", hint="use rare, ordering or tree")

    def steps(self, domain: Domain) -> Iterator[Step]:
        """Yield the levels of the agglomeration, finest first."""
        if domain.profiles is None or len(domain) < 3:
            return
        profiles = np.sqrt(domain.profiles())
        frequent = np.sort(np.argsort(-domain.records, kind="stable")[: self.most])
        nearest = _nearest(profiles, profiles[frequent])
        count = len(frequent)
        merges = _merges(profiles[frequent])
        while count > 2:
            count = (count + 1) // 2
            groups = _cut(merges, len(frequent), count)[nearest]
            names = {
                group: group_label([domain.texts[code] for code in np.flatnonzero(groups == group)])
                for group in np.unique(groups).tolist()
            }
            yield Step.of([names[group] for group in groups.tolist()])


def _nearest(profiles: Floats, centres: Floats) -> Ints:
    """Return the nearest centre of each profile, a block of rows at a time."""
    result = np.empty(len(profiles), np.int64)
    square = (centres**2).sum(axis=1)
    for start in range(0, len(profiles), 1024):
        block = profiles[start : start + 1024]
        result[start : start + 1024] = np.argmin(square - 2 * block @ centres.T, axis=1)
    return result


def _merges(profiles: Floats) -> Ints:
    from scipy.cluster.hierarchy import linkage

    joined: Ints = linkage(profiles, method="average")[:, :2].astype(np.int64)
    return joined


def _cut(merges: Ints, leaves: int, count: int) -> Ints:
    """Return the group of each leaf after enough merges that so many groups are left."""
    parent = np.arange(2 * leaves - 1)
    for turn in range(leaves - count):
        parent[merges[turn]] = leaves + turn
    groups = np.arange(leaves)
    while (parent[groups] != groups).any():
        groups = parent[groups]
    _, numbers = np.unique(groups, return_inverse=True)
    return numbers.astype(np.int64)

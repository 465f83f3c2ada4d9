"""anatomize(): groups of records whose sensitive values all differ, over arrays alone."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.encoding.types import Ints
from shoal.errors import Infeasible


@dataclass(frozen=True)
class Groups:
    """What anatomy answers in the place of a recoding: the group of each record."""

    members: Ints
    l: int  # noqa: E741 - the promise's own letter
    residue: int
    """Records that were left when fewer than l values were, and joined a group that had no such value."""
    proof: None = None
    rounds: tuple[()] = ()

    @property
    def count(self) -> int:
        """The number of groups."""
        return int(self.members.max(initial=-1)) + 1

    def to_dict(self) -> dict[str, Any]:
        """Return what the manifest says of it; who is in which group is in the release."""
        return {"recoding": "anatomy", "groups": self.count, "l": self.l, "residue": self.residue}


def most_diverse(codes: Ints) -> int:
    """Return the greatest l that a table of these sensitive values is eligible for.

    A table is eligible for l if no value has more than n / l of its n records (Xiao & Tao 2006, section 5).

    Examples
    --------
    >>> most_diverse(np.array([0, 0, 1, 1, 2, 2, 3, 4]))
    4
    """
    return len(codes) // int(np.bincount(codes).max()) if len(codes) else 0


def anatomize(codes: Ints, l: int, rng: np.random.Generator) -> Groups:  # noqa: E741 - as in the paper
    """Put records into groups of at least l, all with different sensitive values.

    Records are put into buckets by value. As long as l buckets are not empty, one record of each of the l largest
    makes a group; whoever is left then joins, one by one, a group that does not have their value. Which record of a
    bucket, and which group, is drawn at random.

    Why it is safe: a table that is eligible leaves at most l - 1 records, of different values, and there is a group
    for each (their Properties 1 and 2), so that no value has more than 1/l of a group. Taking the largest buckets
    first is what keeps the rest eligible.

    Cost: n log(values) for n records.

    References
    ----------
    Xiao, X. and Tao, Y. (2006). Anatomy: simple and effective privacy preservation. VLDB, section 5, Figure 3.

    Examples
    --------
    >>> illness = np.array([0, 1, 1, 0, 2, 3, 2, 4])  # 2-diverse by four groups of two
    >>> groups = anatomize(illness, 2, np.random.default_rng(0))
    >>> groups.count, np.bincount(groups.members).tolist()
    (4, [2, 2, 2, 2])
    """
    if not len(codes):
        raise Infeasible("the table has no records")
    best = most_diverse(codes)
    if l > best:
        most = int(np.bincount(codes).max())
        what = f"a sensitive value has {most} of {len(codes)} records, where {len(codes) // l} may have it"
        raise Infeasible(what, attainable={"distinct-l-diversity": best} if best > 1 else {})
    drawn = _drawn(np.bincount(codes), l)
    shuffled = rng.permutation(len(codes))
    buckets = shuffled[np.argsort(codes[shuffled], kind="stable")]  # by value, each in an order of its own
    starts = np.searchsorted(codes[buckets], np.arange(codes.max() + 1))
    by_value = np.argsort(drawn, kind="stable")  # the draws of each value, in turn
    turns = np.arange(len(drawn)) - np.searchsorted(drawn[by_value], drawn[by_value])
    taken = buckets[starts[drawn[by_value]] + turns]
    members = np.full(len(codes), -1, np.int64)
    members[taken] = by_value // l
    return _with_residue(members, codes, l, len(drawn) // l, rng)


def _drawn(sizes: Ints, l: int) -> Ints:  # noqa: E741 - as in the paper
    """Return the values that are drawn: l for each group, always from the largest buckets."""
    heap = [(-size, value) for value, size in enumerate(sizes.tolist()) if size]
    heapq.heapify(heap)
    drawn: list[int] = []
    while len(heap) >= l:
        largest = [heapq.heappop(heap) for _ in range(l)]
        drawn += [value for _, value in largest]
        for size, value in largest:
            if size < -1:
                heapq.heappush(heap, (size + 1, value))
    return np.array(drawn, np.int64)


def _with_residue(members: Ints, codes: Ints, l: int, count: int, rng: np.random.Generator) -> Groups:  # noqa: E741
    """Let each record that is left join a group that does not have its value."""
    left = np.flatnonzero(members < 0)
    for record in left[np.argsort(codes[left], kind="stable")].tolist():
        free = np.setdiff1d(np.arange(count), members[codes == codes[record]])
        members[record] = free[rng.integers(len(free))]
    return Groups(members, l, len(left))

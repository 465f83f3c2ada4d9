"""Bottom-up merging: small groups merge with the group that costs least, large ones are split."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.clustering.local_search import QuadraticSearch
from shoal.recodings.local import Local

if TYPE_CHECKING:
    from shoal.algorithms.clustering.groups import RecordGroups


class BottomUpMerging(QuadraticSearch):
    """Merge small groups with the group that costs least, and split large ones, until all have k records.

    Records of one tuple are a group at first. In each round every group with fewer than k records merges with the
    group with which the weighted certainty penalty rises least; then groups of 2 k records or more are split: two
    records far apart, each other with the one that it costs less, the smaller part filled up to k. A tuple with
    2 k records or more stands for all the groups that it would be split into, so it gives only what is needed.

    Why it is safe: the rounds end when all groups have k records, then groups are joined until all satisfy every
    model; what a group shows covers all its records.

    Cost: about log2(k) rounds, in each a look at all groups for each small group: quadratic in the distinct tuples,
    so above ``block`` of them each block is a table of its own.

    References
    ----------
    Xu, J., Wang, W., Pei, J., Wang, X., Shi, B. and Fu, A. W.-C. (2006). Utility-based anonymization using local
    recoding. KDD.

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("patients")
    >>> shoal.anonymize(table, policy.replace(algorithm=BottomUpMerging())).attained
    {'k-anonymity': 2}
    """

    def form_classes(self, problem: Problem) -> Local:
        """Merge and split the groups of each block; groups that do not comply at the end join others."""
        from shoal.algorithms.clustering.groups import group_blocks

        def form_groups(groups: RecordGroups) -> None:
            while _merge(groups, problem.least_records):
                _split(groups, problem.least_records)
                problem.progress("merging groups", int((groups.boxes.records > 0).sum()), 0)

        return group_blocks(problem, problem.columns, self.block, form_groups)


def _merge(groups: RecordGroups, k: int) -> bool:
    """Let each group with fewer than k records merge, once; return whether any did."""
    records = groups.boxes.records
    merged: set[int] = set()
    for group in np.flatnonzero((records > 0) & (records < k)).tolist():
        if group in merged:
            continue
        other = groups.find_cheapest(group, k)
        if other < 0:
            break
        if len(groups.held[other]) == 1:
            groups.absorb(group, other, k)
        else:
            groups.join(group, other)
        merged |= {group, other}
    return bool(merged)


def _split(groups: RecordGroups, k: int) -> None:
    """Split the groups of at least 2 k records."""
    for group in np.flatnonzero(groups.boxes.records >= 2 * k).tolist():
        groups.part(group, k)

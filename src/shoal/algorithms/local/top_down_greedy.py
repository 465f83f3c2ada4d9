"""Top-down greedy search: part groups around two records far apart, then repair the small ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.clustering.local_search import LocalSearch
from shoal.encoding.types import Ints
from shoal.recodings.local import Local

if TYPE_CHECKING:
    from shoal.algorithms.clustering.costs import Points


class TopDownGreedy(LocalSearch):
    """Part groups around two records far apart, again and again, then repair groups that are too small.

    Two tuples far apart are found by going to the furthest tuple three times; then every other tuple, in an order
    drawn with the policy's seed, goes where it raises the weighted certainty penalty less. A group of more than k
    records is parted as long as one part has k. In the end each group with fewer than k records borrows what it
    needs from the group where that costs least and that can spare it, or joins it.

    Why it is safe: the repair ends when all groups have k records, then groups are joined until all satisfy every
    model; what a group shows covers all its records.

    Cost: a few passes over the distinct tuples for each depth of parting, about log2(n / k) of them where the parts
    are even; the repair looks at all groups for each group that is too small.

    References
    ----------
    Xu, J., Wang, W., Pei, J., Wang, X., Shi, B. and Fu, A. W.-C. (2006). Utility-based anonymization using local
    recoding. KDD.

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("patients")
    >>> shoal.anonymize(table, policy.replace(algorithm=TopDownGreedy())).attained
    {'k-anonymity': 2}
    """

    def form_classes(self, problem: Problem) -> Local:
        """Part, repair, and join groups that do not comply."""
        from shoal.algorithms.clustering.costs import Points
        from shoal.algorithms.clustering.groups import RecordGroups
        from shoal.algorithms.clustering.records import make_recoding

        frequencies = problem.frequencies
        points = Points.of(problem.columns, frequencies.tuples, problem.loss)
        groups = RecordGroups(points, frequencies.counts, _part(problem, points))
        groups.absorb_small_groups(problem.least_records, lambda left: problem.progress("repairing groups", left, 0))
        return make_recoding(problem, [(np.arange(len(points), dtype=np.int64), *groups.shares())])


def _part(problem: Problem, points: Points) -> Ints:
    """Return the group of each tuple, before the repair."""
    from shoal.algorithms.clustering.groups import bisect_tuples

    k, counts = problem.least_records, problem.frequencies.counts
    pair = points.room(2)
    result = np.zeros(len(counts), np.int64)
    number = 0
    waiting = [np.random.default_rng(problem.seed).permutation(len(counts)).astype(np.int64)]
    while waiting:
        group = waiting.pop()
        if counts[group].sum() > k and len(group) > 1:
            right = bisect_tuples(points.at(group), counts[group], pair)
            if max(counts[group[right]].sum(), counts[group[~right]].sum()) >= k:
                waiting += [group[right], group[~right]]
                continue
        result[group] = number
        number += 1
        problem.progress("parting groups", number, 0)
    return result

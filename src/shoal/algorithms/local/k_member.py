"""k-member: grow one class after the other, by the record that costs it least."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.clustering.local_search import QuadraticSearch
from shoal.algorithms.feasibility import separate_by_boundaries
from shoal.recodings.local import Local

if TYPE_CHECKING:
    from shoal.algorithms.clustering.pool import Pool


class KMember(QuadraticSearch):
    """Grow one class after the other, by the record that costs it least.

    The record furthest from the one before starts a class; the record that raises the class's certainty penalty
    least joins, and another, until the class has k records and satisfies every model (or has twice as many as it
    needs: then it waits for the last step). Records that are left at the end join the class whose summed penalty
    rises least. Distance is the penalty of a class of the two. Records of one tuple cost each other nothing, so
    they are taken together, as many as are needed.

    Why it is safe: a class is finished with as many records as every model needs; whatever class does not comply
    at the end joins others until all do; what a class shows covers all its records.

    Cost: for each record that joins, a look at the distinct tuples that are left, which ends early where one fits
    into the class as it is: quadratic in the distinct tuples, so above ``block`` of them each block is a table of
    its own, as is each part that boundaries keep apart.

    References
    ----------
    Byun, J.-W., Kamra, A., Bertino, E. and Li, N. (2007). Efficient k-anonymization using clustering techniques.
    DASFAA.

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("patients")
    >>> shoal.anonymize(table, policy.replace(algorithm=KMember())).attained
    {'k-anonymity': 2}
    """

    def form_classes(self, problem: Problem) -> Local:
        """Grow the classes of each block; classes that do not comply at the end join others."""
        from shoal.algorithms.clustering.costs import Points
        from shoal.algorithms.clustering.pool import Pool
        from shoal.algorithms.clustering.records import Dealt, cut_into_blocks, make_recoding

        points, dealt = (
            Points.of(problem.columns, problem.frequencies.tuples, problem.loss),
            Dealt.of(problem.frequencies),
        )
        parts, apart = [], separate_by_boundaries(problem)
        cut = cut_into_blocks(problem.columns, problem.frequencies, self.block)
        for block in (whole[apart[whole] == part] for whole in cut for part in np.unique(apart[whole])):
            pool = Pool(problem, points, dealt, block)
            _grow(pool, problem.least_records)
            parts.append((block, *np.array(pool.shares, np.int64).T))
        return make_recoding(problem, parts)


def _grow(pool: Pool, k: int) -> None:
    """The paper's algorithm; where it picks at random, the first record is taken."""
    total = pool.records
    record = 0
    while pool.records >= k:
        record = pool.find_furthest(record)
        number = pool.start()
        pool.take(record, number, k)
        while pool.size(number) < k:
            record = pool.find_nearest(number)
            pool.take(record, number, k - pool.size(number))
        while pool.records and pool.size(number) < 2 * k and not pool.complies(number):
            record = pool.find_nearest(number)
            pool.take(record, number, 1)
        pool.problem.progress("growing classes", total - pool.records, total)
    for record in np.flatnonzero(pool.left).tolist():
        while pool.left[record]:
            pool.take(record, pool.find_cheapest(record) if pool.classes else pool.start(), 1)

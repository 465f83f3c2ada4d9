"""NeighbourBound: each record pays at least for the nearest records that are enough for a class.

A class that holds a record and k - 1 others costs, for each of its records, no less than the class of the record and
the farthest of these alone; and one of any k - 1 others is no nearer than the (k - 1)-th nearest. So that distance,
over all columns, is a price that the record pays whatever is done with the others.

In few columns boxes tell more: what k records need together is more than what two of them do. In many columns there are
too many boxes to look at, and nearly all that a class loses it loses for the first two of its records.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.bounds.domain_partition import find_ceiling, partition_domain, place_codes
from shoal.encoding.types import Codes, Floats, Ints
from shoal.kernels.group import group
from shoal.recodings.base import Column

_BLOCK = 256
"""Questions that are asked together: between them a search can be interrupted."""
_WIDEST = 2_000
"""Values of a column beyond which its pairs are not laid out: it counts as if it lost nothing."""
_COMBINATIONS = 1_024
"""Combinations of values up to which columns are looked at together."""
_BINS = 12
"""Widths of ranges that are told apart where a column has missing values."""


class NeighbourBound:
    """The prices of records by their nearest neighbours, as far as the work that is allowed goes."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.needs = np.minimum(problem.least_with(), problem.frequencies.records)
        self.total, self.done = 0.0, 0.0

    @property
    def asks_more(self) -> bool:
        """Whether some records need larger classes than others."""
        return bool((self.needs > self.problem.least_shown).any())

    @property
    def how(self) -> str:
        """How that was found."""
        how = "each record pays at least for the nearest records that are enough for a class"
        return how + ("" if self.done >= 1.0 else f"; {self.done:.0%} of the records were looked at")

    def find(self, budget: int) -> Iterator[float]:
        """Find what records lose at least, as far as the budget goes; yield what they lose so far, the others nothing.

        The budget is in pairs of values that are looked at.
        """
        from shoal.kernels.nearest import cost_nearest

        problem, frequencies = self.problem, self.problem.frequencies
        order, tables = _lay_out(problem)
        if not len(order):
            return
        tuples = frequencies.tuples[:, order]
        rank = np.lexsort(tuples.T[::-1])
        index = np.argsort(rank)
        members, combinations, starts, firsts = _group_columns(tuples[rank])
        asked, needs, weights = self._list_questions()
        ceiling = find_ceiling(problem.columns, range(len(problem.columns)))
        sizes = np.array([len(table) for table in tables], np.int64)
        flat, ends = np.concatenate([table.ravel() for table in tables]), np.append(0, np.cumsum(sizes**2)[:-1])
        space = members, frequencies.counts[rank], flat, ends, sizes, combinations, starts, firsts
        for begin in range(0, len(asked), _BLOCK):
            block = slice(begin, begin + _BLOCK)
            prices = np.zeros(len(asked[block]))
            budget = cost_nearest(*space, index[asked[block]].astype(np.int64), needs[block], budget, prices)
            self.total += float(np.minimum(prices, ceiling) @ weights[block])
            if budget < 0:
                return
            self.done += float(weights[block].sum() / weights.sum())
            yield self.total
        self.done = 1.0

    def _list_questions(self) -> tuple[Ints, Ints, Ints]:
        """Return tuples, the records that each needs in its class, and how many records this is asked for.

        They are spread over the table, so that a part of them tells of all of it.
        """
        frequencies = self.problem.frequencies
        pairs, numbers = np.unique(np.stack([frequencies.cell_tuples, self.needs]), axis=1, return_inverse=True)
        weights = np.bincount(numbers.ravel(), frequencies.cell_counts).astype(np.int64)
        spread = np.argsort(np.arange(len(weights)) * 0.6180339887498949 % 1.0, kind="stable")
        return pairs[0][spread].astype(np.int64), pairs[1][spread].astype(np.int64), weights[spread]


def _group_columns(tuples: Codes) -> tuple[Codes, Codes, Ints, Ints]:
    """Take neighbouring columns together that have few combinations, so that a pair of records is soon told.

    Return the combination of each tuple in each group, the combinations, and where those and the columns of each group
    start.
    """
    members, found, firsts = [], [], [0]
    columns = tuples.shape[1]
    while firsts[-1] < columns:
        first = last = firsts[-1]
        own, rows = group([tuples[:, first]], [int(tuples[:, first].max()) + 1])
        while last + 1 < columns:
            more = tuples[:, last + 1]
            joined, joined_rows = group([own, more], [len(rows), int(more.max()) + 1])
            if len(joined_rows) > _COMBINATIONS:
                break
            own, rows, last = joined, joined_rows, last + 1
        members.append(own)
        found.append(tuples[rows])
        firsts.append(last + 1)
    starts = np.cumsum([0, *(len(rows) for rows in found)])
    return (
        np.ascontiguousarray(np.stack(members, axis=1), np.int32),
        np.ascontiguousarray(np.concatenate(found), np.int32),
        starts.astype(np.int64),
        np.array(firsts, np.int64),
    )


def _lay_out(problem: Problem) -> tuple[Ints, list[Floats]]:
    """Return the columns in the order in which they tell most, and what two values of each cost together at least."""
    tables, means = [], []
    for index, column in enumerate(problem.columns):
        table = _cost_pairs(column) if column.levels.size <= _WIDEST else np.zeros((column.levels.size, 1))
        shares = np.bincount(problem.frequencies.tuples[:, index], problem.frequencies.counts, column.levels.size)
        shares = shares / max(shares.sum(), 1)
        means.append(float(shares @ table @ shares) if table.shape[1] > 1 else 0.0)
        tables.append(table)
    usable = [index for index, table in enumerate(tables) if table.shape[0] == table.shape[1]]
    order = sorted(usable, key=lambda index: -means[index])
    return np.array(order, np.int64), [tables[index] for index in order]


def _cost_pairs(column: Column) -> Floats:
    """Return ``[value, value]``: what a record pays at least, in the column, in a class that holds both."""
    size = column.levels.size
    costs = np.full((size, size), np.inf)
    for partition in partition_domain(column, False, _BINS):
        same = partition.labels[:, None] == partition.labels[None, :]
        costs = np.where(same, np.minimum(costs, np.minimum(partition.costs[:, None], partition.costs[None, :])), costs)
    if column.form == "ranges" and not column.levels.has_missing:
        points = place_codes(column)
        costs = np.abs(points[:, None] - points[None, :]) * (1 - 1e-9)
    return np.where(np.isfinite(costs), costs, column.weight)

"""The kernels choose the boxes that their plain twins choose."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.plain import boxes as plain
from tests.kernels.units import Case as Units

from shoal.algorithms.clustering.costs import Points, select_boxes
from shoal.kernels import boxes as kernels

SEEDS = st.integers(0, 2**32 - 1)


class Case(Units):
    """Some classes of tuples."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, bounded=True)
        self.points = Points.of(self.columns, self.tuples)
        count = len(self.points)
        self.records = self.random.integers(1, 5, count)
        self.members = self.random.integers(0, min(count, 6), count)
        self.count = int(self.members.max()) + 1
        self.boxes = self.points.boxes(self.records, self.members, self.count)
        self.lists = [[row for row, own in zip(self.rows, self.members, strict=True) if own == a] for a in self.every]
        self.sizes = [int(self.records[self.members == a].sum()) for a in self.every]

    @property
    def every(self) -> range:
        return range(self.count)


@settings(max_examples=200, deadline=None)
@given(SEEDS)
def test_costs_twin(seed: int) -> None:
    case = Case(seed)
    assert case.boxes.records.tolist() == case.sizes
    for a in case.every:
        if case.sizes[a]:
            assert case.boxes.costs[a] == plain.box_cost(case.lists[a], case.plain)


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_joined_one_after_the_other_they_are_what_all_together_are(seed: int) -> None:
    case = Case(seed)
    first, *others = [a for a in case.every if case.sizes[a]]
    for a in others:
        kernels.merge(case.costs, case.boxes, first, a)
    together = case.points.boxes(case.records, np.zeros_like(case.members), 1)
    for one, other in zip(select_boxes(case.boxes, np.array([first])), together, strict=True):
        assert (one == other).all()
    assert case.boxes.records.sum() == case.records.sum()


@settings(max_examples=200, deadline=None)
@given(SEEDS)
def test_nearest_and_furthest_twins(seed: int) -> None:
    case = Case(seed)
    left = np.maximum(case.records - 2, 0)
    for a in case.every:
        if case.sizes[a]:
            asked, known = (case.costs, case.boxes, a, case.units), (case.rows, left.tolist(), case.plain)
            assert kernels.find_furthest(*asked, left) == plain.furthest_from(case.lists[a], *known)
            bounds = np.zeros(len(left))
            for box in (case.lists[a], [*case.lists[a], case.rows[0]]):  # bounds hold while a box grows
                assert kernels.find_nearest(*asked, left, bounds) == plain.nearest_to(box, *known)
                kernels.extend(*asked, 0, 1)


@settings(max_examples=200, deadline=None)
@given(SEEDS, st.sampled_from([0, 2, 6]), st.sampled_from([2, 4, 100]))
def test_cheapest_and_join_each_twins(seed: int, least: int, window: int) -> None:
    case = Case(seed)
    alive = [a for a in case.every if case.sizes[a]]
    for a in alive:
        found = kernels.find_cheapest(case.costs, case.boxes, a, least, window)
        assert found == plain.cheapest(case.lists, case.sizes, a, case.plain, least, window)
    queue = case.random.permutation(alive).astype(np.int64)
    into = np.arange(case.count)
    kernels.join_each(case.costs, case.boxes, queue, window, into)
    assert into.tolist() == plain.join_each(case.lists, case.sizes, queue.tolist(), case.plain, window)


@settings(max_examples=200, deadline=None)
@given(SEEDS)
def test_bisect_twin(seed: int) -> None:
    case = Case(seed)
    right = np.zeros(len(case.points), bool)
    kernels.bisect(case.costs, case.points.room(2), case.units, case.records, 3, right)
    assert right.tolist() == plain.bisect(case.rows, case.records.tolist(), case.plain, 3)

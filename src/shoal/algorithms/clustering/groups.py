"""Groups of records that join, borrow from each other, and part."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.clustering.costs import Points
from shoal.algorithms.clustering.records import cut_into_blocks, make_recoding
from shoal.encoding.types import Bools, Ints
from shoal.kernels.boxes import Paid, bisect, extend, find_cheapest, find_nearest, merge
from shoal.recodings.base import Column
from shoal.recodings.local import Local

WINDOW = 40_000
"""Where there are more groups, the cheapest is looked for among so many neighbours."""
ROUNDS = 3
"""How often to look for a tuple that is further away, when two are to be far apart."""


class RecordGroups:
    """Groups of the records of some tuples, each with its box; every tuple is one at first, or as ``classes`` say."""

    def __init__(self, points: Points, records: Ints, classes: Ints | None = None) -> None:
        self.points, self.costs = points, points.costs
        first = np.arange(len(points), dtype=np.int64) if classes is None else classes
        count = int(first.max(initial=-1)) + 1
        self.boxes = points.boxes(records, first, count)
        self.held: list[dict[int, int]] = [{} for _ in range(count)]
        """The records of each tuple that each group has."""
        for index, (group, number) in enumerate(zip(first.tolist(), records.tolist(), strict=True)):
            self.held[group][index] = number
        self.free: list[int] = []
        """Numbers of groups that are no more."""
        self._pair = points.room(2)

    def size(self, group: int) -> int:
        """Return the records of a group; 0 if it is no more."""
        return int(self.boxes.records[group])

    def find_cheapest(self, group: int, least: int) -> int:
        """Return the group with which the summed penalty rises least; -1 if there is none.

        A group that can spare records counts with as many as this group needs to have ``least``.
        """
        return int(find_cheapest(self.costs, self.boxes, group, least, WINDOW))

    def join(self, group: int, other: int) -> None:
        """Let a group absorb another."""
        merge(self.costs, self.boxes, group, other)
        mine = self.held[group]
        for index, records in self.held[other].items():
            mine[index] = mine.get(index, 0) + records
        self.held[other] = {}
        self.free.append(other)

    def borrow(self, group: int, other: int, needed: int) -> None:
        """Move so many records from another group, those first that raise the penalty of this one least."""
        indices = np.array(sorted(self.held[other]), np.int64)
        held = self.points.at(indices)
        left = np.array([self.held[other][index] for index in indices.tolist()], np.int64)
        bounds = np.zeros(len(left))
        while needed:
            chosen = int(find_nearest(self.costs, self.boxes, group, held.tuples, left, bounds))
            moved = min(needed, int(left[chosen]))
            left[chosen] -= moved
            needed -= moved
            extend(self.costs, self.boxes, group, held.tuples, chosen, moved)
            index = int(indices[chosen])
            self.held[group][index] = self.held[group].get(index, 0) + moved
        self._set(other, indices[left > 0], left[left > 0])

    def _set(self, group: int, indices: Ints, records: Ints) -> None:
        self.held[group] = dict(zip(indices.tolist(), records.tolist(), strict=True))
        self.boxes.records[group] = 0
        for index, number in self.held[group].items():
            extend(self.costs, self.boxes, group, self.points.tuples, index, number)

    def absorb(self, group: int, other: int, least: int) -> None:
        """Let a group absorb another, or only what it needs to have ``least``, where the other can spare that."""
        size = self.size(group)
        if size < least and size + self.size(other) >= 2 * least:
            self.borrow(group, other, least - size)
        else:
            self.join(group, other)

    def absorb_small_groups(self, least: int, report: Callable[[int], None]) -> None:
        """Let every group with fewer than ``least`` records absorb the cheapest, the smallest group first."""
        sizes = enumerate(self.boxes.records.tolist())
        small = [(size, group) for group, size in sizes if 0 < size < least]
        heapq.heapify(small)
        while small:
            size, group = heapq.heappop(small)
            if self.size(group) != size:  # it was absorbed meanwhile
                continue
            other = self.find_cheapest(group, least)
            if other < 0:
                break
            self.absorb(group, other, least)
            if self.size(group) < least:
                heapq.heappush(small, (self.size(group), group))
            report(len(small))

    def part(self, group: int, least: int) -> None:
        """Part a group of at least 2 ``least`` records in two, and these again, each of at least ``least``."""
        indices = np.array(sorted(self.held[group]), np.int64)
        if len(indices) < 2 or not self.free or self.size(group) < 2 * least:
            return
        records = np.array([self.held[group][index] for index in indices.tolist()], np.int64)
        right = bisect_tuples(self.points.at(indices), records, self._pair)
        other = self.free.pop()
        self._set(group, indices[~right], records[~right])
        self._set(other, indices[right], records[right])
        for small, large in ((group, other), (other, group)):
            if self.size(small) < least:
                self.borrow(small, large, least - self.size(small))
        self.part(group, least)
        self.part(other, least)

    def shares(self) -> tuple[Ints, Ints, Ints]:
        """Return tuple, records and group of each share of a tuple; groups are numbered from 0."""
        lasting = [held for held in self.held if held]
        rows = [(index, n, group) for group, held in enumerate(lasting) for index, n in sorted(held.items())]
        table = np.array(rows, np.int64).reshape(-1, 3)
        return table[:, 0], table[:, 1], table[:, 2]


def bisect_tuples(points: Points, records: Ints, pair: Paid) -> Bools:
    """Part tuples around two that are far apart; return which go with the second one."""
    right = np.zeros(len(points), bool)
    bisect(points.costs, pair, points.tuples, records, ROUNDS, right)
    return right


def group_blocks(
    problem: Problem, columns: tuple[Column, ...], most: int, form: Callable[[RecordGroups], None]
) -> Local:
    """Let the tuples of each block of at most so many, each a group at first, find together; return the recoding."""
    frequencies, parts = problem.frequencies, []
    points = Points.of(columns, frequencies.tuples, problem.loss)
    for block in cut_into_blocks(columns, frequencies, most):
        groups = RecordGroups(points.at(block), frequencies.counts[block])
        form(groups)
        parts.append((block, *groups.shares()))
    return make_recoding(problem, parts)

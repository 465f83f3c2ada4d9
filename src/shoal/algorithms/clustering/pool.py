"""Pool: the records that are in no class yet, and the classes that grow out of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.clustering.costs import Points
from shoal.algorithms.clustering.records import Dealt
from shoal.encoding.types import Ints
from shoal.kernels.boxes import extend, find_cheapest, find_furthest, find_nearest


class Pool:
    """The records of some tuples; classes are numbered from 0 in the order in which they are started."""

    def __init__(self, problem: Problem, points: Points, dealt: Dealt, tuples: Ints) -> None:
        self.problem, self.points, self.dealt, self.tuples = problem, points.at(tuples), dealt, tuples
        self.left = problem.frequencies.counts[tuples].copy()
        self.records = int(self.left.sum())
        """How many records are left."""
        self.shares: list[tuple[int, int, int]] = []
        """Tuple, records and class of each share of a tuple, in the order in which they were taken."""
        self.classes = 0
        # a class for every k records, and one row for a record on its own
        self._boxes = points.room(self.records // problem.least_records + 2)
        self._alone = len(self._boxes.records) - 1
        self._begun: list[int] = []
        self._bounds = np.zeros(len(tuples))

    def find_furthest(self, record: int) -> int:
        """Return the record that would cost most in one class with this one."""
        return self._alone_with(record, find_furthest, self.points.tuples, self.left)

    def start(self) -> int:
        """Start a class."""
        self._begun.append(len(self.shares))
        self._bounds[:] = 0.0
        self.classes += 1
        return self.classes - 1

    def find_nearest(self, number: int) -> int:
        """Return the record that raises the penalty of a class least."""
        points = self.points
        return int(find_nearest(points.costs, self._boxes, number, points.tuples, self.left, self._bounds))

    def find_cheapest(self, record: int) -> int:
        """Return the class whose summed penalty rises least if a record joins."""
        return self._alone_with(record, find_cheapest, 0, 2 * len(self._boxes.records))

    def take(self, record: int, number: int, most: int) -> None:
        """Let a record join a class, and others of the same tuple, as many as are left and wanted."""
        taken = min(most, int(self.left[record]))
        self._extend(number, record, taken)
        self.shares.append((record, taken, number))
        self.left[record] -= taken
        self.records -= taken

    def size(self, number: int) -> int:
        """Return how many records a class has."""
        return int(self._boxes.records[number])

    def complies(self, number: int) -> bool:
        """Return whether the class that was started last satisfies every model."""
        shares = []
        later: dict[int, int] = {}  # what this class took of a tuple after the share in question
        for record, taken, _ in reversed(self.shares[self._begun[number] :]):
            later[record] = later.get(record, 0) + taken
            before = int(self.problem.frequencies.counts[self.tuples[record]] - self.left[record]) - later[record]
            shares.append((int(self.tuples[record]), before, taken))
        return self.dealt.holds(self.problem, shares)

    def _alone_with(self, record: int, search: Callable[..., int], *args: object) -> int:
        """Look for another one with a record in a class of its own."""
        self._extend(self._alone, record, 1)
        found = search(self.points.costs, self._boxes, self._alone, *args)
        self._boxes.records[self._alone] = 0
        return int(found)

    def _extend(self, number: int, record: int, records: int) -> None:
        extend(self.points.costs, self._boxes, number, self.points.tuples, record, records)

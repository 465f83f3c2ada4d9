"""Rounds of the large-neighbourhood search: all classes are taken apart, block by block, and put together anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from shoal.algorithms._cores import count_cores
from shoal.algorithms.local._units import Units
from shoal.encoding.types import Ints

_TOGETHER = (4, 6, 9)
"""Classes that are taken apart together, in turn: few are quick, many find what few do not."""
_RECORDS = 1000
"""Records that are taken apart together at most, where two classes have fewer: large classes go two by two."""
_CELL = 700
"""Classes among which the neighbours of a class are looked for: more find nearer ones, in more time."""


def run_rounds(units: Units, members: Ints, worth: float, turns: Iterable[int]) -> Iterator[Ints]:
    """Yield the class of each unit after each round; no round raises the cost or breaks a model.

    Parameters
    ----------
    units, members
        The units, and the class of each.
    worth
        The cost per record from which on a block is always taken apart, cheaper ones less often.
    turns
        The numbers of the rounds; chance follows from them and from the seed.
    """
    with ThreadPoolExecutor(count_cores()) as pool:
        for turn in turns:
            members = _Round(units, members, turn, pool).improved(worth)
            yield members


@dataclass(frozen=True)
class _Round:
    units: Units
    members: Ints
    turn: int
    pool: ThreadPoolExecutor

    def improved(self, worth: float) -> Ints:
        """Take all classes apart, block by block, and keep what is not worse and complies."""
        from shoal.kernels.neighbourhood import improve_blocks

        units, problem = self.units, self.units.problem
        block_of_class, index = self._blocks()
        block = block_of_class[self.members]
        listed = np.argsort(block, kind="stable")
        starts = np.searchsorted(block[listed], np.arange(int(block_of_class.max()) + 2))
        before = index[self.members[listed]]
        careful, bold = np.empty(len(units), np.int64), np.empty(len(units), np.int64)
        data = (units.costs, units.boxes, units.weights, units.kinds, listed, starts, before)
        last = (max(problem.least_records, 1), units.spread, self._stay, worth, problem.seed, self.turn, careful, bold)
        self._share(len(starts) - 1, lambda first, end: improve_blocks(*data, first, end, *last))
        width = max(int(array.max()) for array in (before, careful, bold)) + 1
        candidates = [np.empty(len(units), np.int64) for _ in range(3)]
        for candidate, found in zip(candidates, (bold, careful, before), strict=True):
            candidate[listed] = block[listed] * width + found
        return _number_classes(candidates[0]) if units.counts_only else self._complying(block, candidates)

    @property
    def _stay(self) -> int:
        """How many of its kind a unit leaves behind: one, so that no kind is lost; where models look at shares, in
        every other round so many that units only change places with others of their kind."""
        return 1 if self.turn % 2 or all(model.absorbing for model in self.units.problem.models) else len(self.units)

    def _blocks(self) -> tuple[Ints, Ints]:
        """Return the block of each class, and its place in it."""
        from shoal.kernels.blocks import find_blocks, split_cells
        from shoal.kernels.widths import boxes_at, fill_boxes, new_boxes

        units, seed = self.units, self.units.problem.seed
        count = int(self.members.max()) + 1
        order = np.argsort(self.members, kind="stable")
        starts = np.searchsorted(self.members[order], np.arange(count + 1))
        random = np.random.default_rng([seed, self.turn])
        points = order[starts[:-1] + (random.random(count) * np.diff(starts)).astype(np.int64)]
        listed, ends = np.empty(count, np.int64), np.empty(count + 1, np.int64)
        cells = split_cells(units.costs, boxes_at(units.boxes, points), _CELL, seed, self.turn, listed, ends)
        boxes, sizes = new_boxes(count, units.boxes), np.empty(count, np.int64)
        fill_boxes(units.boxes, units.weights, self.members, boxes, sizes)
        most = max(min(_TOGETHER[self.turn % len(_TOGETHER)], _RECORDS // max(units.problem.least_records, 1)), 2)
        begins = np.empty(count, np.bool_)
        self._share(
            cells,
            lambda first, last: find_blocks(
                units.costs, boxes, listed, ends, first, last, most, seed, self.turn, begins
            ),
        )
        block, index = np.empty(count, np.int64), np.empty(count, np.int64)
        block[listed] = np.cumsum(begins) - 1
        index[listed] = np.arange(count) - np.flatnonzero(begins)[block[listed]]
        return block, index

    def _share(self, count: int, work: Callable[[int, int], None]) -> None:
        """Let all cores work on stretches of so many things."""
        cuts = np.unique(np.linspace(0, count, min(count_cores() * 4, count) + 1).astype(np.int64)).tolist()
        list(self.pool.map(lambda part: work(*part), pairwise(cuts)))

    def _complying(self, block: Ints, candidates: list[Ints]) -> Ints:
        """Take for each block the first of its candidates that complies; the last one always did."""
        chosen = candidates[-1]
        for candidate in reversed(candidates[:-1]):
            numbers = _number_classes(candidate)
            holds = self.units.problem.holds(self.units.classes(numbers))
            fits = ~np.isin(block, np.unique(block[~holds[numbers]]))
            chosen = np.where(fits, candidate, chosen)
        return _number_classes(chosen)


def _number_classes(members: Ints) -> Ints:
    numbers: Ints = np.unique(members, return_inverse=True)[1].astype(np.int64)
    return numbers

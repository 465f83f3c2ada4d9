"""Rounds of the large-neighbourhood search: all classes are taken apart, block by block, and put together anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from shoal.algorithms.clustering.coarsening import choose_sizes, coarsen
from shoal.algorithms.clustering.units import Units
from shoal.encoding.types import Ints
from shoal.kernels import count_cores
from shoal.kernels.group import number_values

_TOGETHER = (4, 6, 9)
"""Classes that are taken apart together, in turn: few are quick, many find what few do not."""
_UNITS = 120
"""Units that are taken apart together, about, where two classes have fewer: large classes go two by two."""
_COMPOSED = 1000
"""The same where the search sees what models ask of values: its moves are fewer, and so its blocks larger."""
_CELL = 700
"""Classes among which the neighbours of a class are looked for: more find nearer ones, in more time."""


def run_rounds(units: Units, members: Ints, worth: float, turns: Iterable[int]) -> Iterator[Ints]:
    """Yield the class of each unit after each round; no round raises the cost or breaks a model.

    Blocks that cost more than ``worth`` per record are always taken apart, cheaper ones less often; ``turns`` are the
    numbers of the rounds, from which, and from the seed, chance follows. Where classes are large, pieces of them change
    classes instead of single records: a round takes about the same time whatever the least size is.
    """
    sizes = choose_sizes(units)
    with ThreadPoolExecutor(count_cores()) as pool:
        for turn in turns:
            for index, size in enumerate(sizes):
                step = turn * len(sizes) + index
                pieces, own = coarsen(units, members, size, step) if size > 1 else (units, np.arange(len(units)))
                inside = np.empty(len(pieces), np.int64)
                inside[own] = members
                members = _Round(pieces, inside, step, pool).improve(worth)[own]
            yield members


@dataclass(frozen=True)
class _Round:
    units: Units
    members: Ints
    turn: int
    pool: ThreadPoolExecutor

    def improve(self, worth: float) -> Ints:
        """Take all classes apart, block by block, and keep what is not worse and complies."""
        block_of_class, index = self._blocks()
        block = block_of_class[self.members]
        listed = np.argsort(block, kind="stable")
        starts = np.searchsorted(block[listed], np.arange(int(block_of_class.max()) + 2))
        before = index[self.members[listed]]
        improve = self._recreate if self.units.composition is None else self._exchange
        found = [*improve(listed, starts, before, worth), before]
        width = max(int(array.max()) for array in found) + 1
        candidates = [np.empty(len(self.units), np.int64) for _ in found]
        for candidate, numbers in zip(candidates, found, strict=True):
            candidate[listed] = block[listed] * width + numbers
        return number_values(candidates[0]) if self.units.counts_only else self._complying(block, candidates)

    def _exchange(self, listed: Ints, starts: Ints, before: Ints, worth: float) -> list[Ints]:
        """Return what the search finds that sees the models."""
        from shoal.kernels.exchange import exchange_blocks

        units, own = self.units, self.units.composition
        assert own is not None
        improved = np.empty(len(units), np.int64)
        data = (units.costs, units.boxes, own.places, own.kinds, own.conditions, listed, starts, before)
        last = (worth, units.problem.seed, self.turn, improved)
        self._share(len(starts) - 1, lambda first, end: exchange_blocks(*data, first, end, *last))
        return [improved]

    def _recreate(self, listed: Ints, starts: Ints, before: Ints, worth: float) -> list[Ints]:
        """Return what the search finds that counts kinds: a bold change of each block, and a careful one."""
        from shoal.kernels.neighbourhood import improve_blocks

        units, problem = self.units, self.units.problem
        careful, bold = np.empty(len(units), np.int64), np.empty(len(units), np.int64)
        data = (units.costs, units.boxes, units.weights, units.kinds, listed, starts, before)
        last = (max(problem.least_records, 1), units.spread, self._stay, worth, problem.seed, self.turn, careful, bold)
        self._share(len(starts) - 1, lambda first, end: improve_blocks(*data, first, end, *last))
        return [bold, careful]

    @property
    def _stay(self) -> int:
        """How many of its kind a unit leaves behind: one, so that no kind is lost; where models look at shares, in
        every other round so many that units only change places with others of their kind."""
        return 1 if self.turn % 2 or all(model.absorbing for model in self.units.problem.models) else len(self.units)

    def _blocks(self) -> tuple[Ints, Ints]:
        """Return the block of each class, and its place in it."""
        from shoal.kernels.blocks import find_blocks, split_cells
        from shoal.kernels.widths import fill_boxes, make_boxes, take_boxes

        units, seed = self.units, self.units.problem.seed
        count = int(self.members.max()) + 1
        order = np.argsort(self.members, kind="stable")
        starts = np.searchsorted(self.members[order], np.arange(count + 1))
        random = np.random.default_rng([seed, self.turn])
        points = order[starts[:-1] + (random.random(count) * np.diff(starts)).astype(np.int64)]
        listed, ends = np.empty(count, np.int64), np.empty(count + 1, np.int64)
        cells = split_cells(units.costs, take_boxes(units.boxes, points), _CELL, seed, self.turn, listed, ends)
        boxes, sizes = make_boxes(count, units.boxes), np.empty(count, np.int64)
        fill_boxes(units.boxes, units.weights, self.members, boxes, sizes)
        room = _UNITS if units.composition is None else _COMPOSED
        most = max(min(_TOGETHER[self.turn % len(_TOGETHER)], room * count // len(units)), 2)
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
            numbers = number_values(candidate)
            holds = self.units.problem.holds(self.units.classes(numbers))
            fits = ~np.isin(block, np.unique(block[~holds[numbers]]))
            chosen = np.where(fits, candidate, chosen)
        return number_values(chosen)

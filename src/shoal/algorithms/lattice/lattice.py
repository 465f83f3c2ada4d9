"""The lattice of full-domain recodings: one level per column; thousands of nodes are looked at at once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import prod

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.lattice.packing import COSTS, Labels, Packing
from shoal.algorithms.lattice.walk import PopulationWalk, Shorts, Sums, Test, Walk
from shoal.encoding.domains import STAR
from shoal.encoding.types import Floats, Ints
from shoal.errors import PolicyError
from shoal.kernels import count_cores
from shoal.recodings.base import Column, Proof
from shoal.recodings.equivalence_classes import describe_classes
from shoal.recodings.full_domain import FullDomain
from shoal.utility.base import Outcome

_BLOCK = 1 << 16
"""Nodes that are listed at once."""
_MOST = 10_000_000
"""Nodes of the largest lattice that is walked."""
_TASKS = 8
"""Parts of the work per core, so that the last one to finish is short."""
WORTH_THREADS = 1 << 22
"""Nodes times rows from which on threads are worth their start."""


@dataclass(frozen=True)
class NodeOutcomes:
    """What some nodes turned out to be."""

    nodes: Shorts
    """``nodes[node, column]``: levels."""
    smallest: Ints
    """The persons of the smallest class, nothing suppressed: the k that the node attains."""
    suppressed: Ints
    """Records of classes that are not kept."""
    outcome: Outcome
    """What becomes of the table at each node when the classes that are not kept are suppressed, and those that no
    search sees."""


def find_choices(column: Column, *, by_labels: bool) -> Shorts:
    """Return the levels of a column that publish something different; of those that do not, the lowest.

    A level that joins no values publishes the same partition under other names: ``*`` above a root that has a name,
    a step that shows in no value of the table. It loses no less than the level below, whatever the loss, and no model
    takes it for another, unless persons of a population are matched ``by_labels``, and its labels are also others'.
    """
    levels, chosen = column.levels, [0]
    stars = [np.array([text == STAR for text in names], bool) for names in levels.labels]
    for level in range(1, column.max_level + 1):
        below = chosen[-1]
        own, lower = levels.codes[level], levels.codes[below]
        same = np.array_equal(own, lower) and bool((levels.penalties[level] >= levels.penalties[below]).all())
        if by_labels or not same or (stars[below][lower] & ~stars[level][own]).any():
            chosen.append(level)
    return np.array(chosen, np.int16)


@dataclass(frozen=True)
class Lattice:
    """All full-domain recodings of a problem.

    A node's classes are rolled up from the classes of a node below it, never from the table; nodes that differ only
    in the last places share what they roll up from.
    """

    problem: Problem
    every_level: bool = False
    """Whether levels that publish the same are nodes of their own, for those who list them."""

    @cached_property
    def heights(self) -> tuple[int, ...]:
        """The highest allowed level of each column."""
        return tuple(column.max_level for column in self.problem.columns)

    @cached_property
    def choices(self) -> tuple[Shorts, ...]:
        """The levels of each column that a search tells apart: see :func:`find_choices`."""
        if self.every_level:
            return tuple(np.arange(height + 1, dtype=np.int16) for height in self.heights)
        people = self.problem.background.population is not None
        return tuple(
            find_choices(column, by_labels=people and not column.levels.told_apart) for column in self.problem.columns
        )

    @cached_property
    def top(self) -> Shorts:
        """The node that raises every column as far as that changes anything."""
        return np.array([levels[-1] for levels in self.choices], np.int16)

    @cached_property
    def free(self) -> Shorts:
        """The level of each column that stands for "not decided": all records look alike, and nothing is lost."""
        return np.array([column.levels.height + 1 for column in self.problem.columns], np.int16)

    @cached_property
    def size(self) -> int:
        """How many nodes there are: a number that ``len`` cannot tell beyond 2**63."""
        return prod(len(levels) for levels in self.choices)

    @cached_property
    def order(self) -> Ints:
        """The columns in the order in which they are raised: first those with few values."""
        tuples = self.problem.frequencies.tuples
        values = [len(np.unique(tuples[:, index])) for index in range(tuples.shape[1])]
        return np.argsort(values, kind="stable").astype(np.int64)

    @property
    def monotone(self) -> bool:
        """Whether every node above one that complies complies too."""
        problem = self.problem
        plain = all(column.levels.nested and column.limits is None for column in problem.columns)
        return plain and (problem.absorbing or (problem.monotone and not problem.max_suppressed))

    def require_walkable(self) -> None:
        """Refuse a lattice that is too large to be walked."""
        if self.size > _MOST:
            raise PolicyError(
                f"the lattice has {self.size:,} nodes, more than the {_MOST:,} that are walked",
                where="algorithm",
                hint="use heuristic, which always ends, or optimal, which rules most nodes out",
            )

    def nodes(self, start: int = 0, stop: int | None = None) -> Shorts:
        """Return nodes by number; neighbours in number are near each other in the walk."""
        numbers = np.arange(start, self.size if stop is None else min(stop, self.size), dtype=np.int64)
        result = np.empty((len(numbers), len(self.heights)), np.int16)
        for column in self.order[::-1]:
            numbers, ranks = np.divmod(numbers, len(self.choices[column]))
            result[:, column] = self.choices[column][ranks]
        return result

    def at_height(self, height: int) -> Iterator[Shorts]:
        """Yield the nodes whose levels add up to a height, in blocks.

        A level stands for those above it that publish the same, so a node may be at several heights.
        """
        lasts = [np.append(levels[1:] - 1, top) for levels, top in zip(self.choices, self.heights, strict=True)]
        for start in range(0, self.size, _BLOCK):
            block = self.nodes(start, start + _BLOCK)
            highest = sum(own[ranks] for own, ranks in zip(lasts, self.ranks(block).T, strict=True))
            chosen = block[(block.sum(axis=1) <= height) & (height <= highest)]
            if len(chosen):
                yield chosen

    def ranks(self, nodes: Shorts) -> Ints:
        """Return how many steps above the bottom each column of some nodes is."""
        pairs = zip(self.choices, nodes.T, strict=True)
        return np.stack([np.searchsorted(levels, own) for levels, own in pairs], axis=1)

    def at_ranks(self, ranks: Ints) -> Shorts:
        """Return the nodes whose columns are so many steps above the bottom."""
        pairs = zip(self.choices, ranks.T, strict=True)
        return np.stack([levels[own] for levels, own in pairs], axis=1)

    def predecessors(self, node: Shorts) -> Shorts:
        """Return the nodes that lower one column by one step."""
        return self._neighbours(node, -1)

    def successors(self, node: Shorts) -> Shorts:
        """Return the nodes that raise one column by one step."""
        return self._neighbours(node, 1)

    def _neighbours(self, node: Shorts, step: int) -> Shorts:
        moved = self.ranks(node[None, :]) + step * np.eye(len(node), dtype=np.int64)
        most = [len(levels) for levels in self.choices]
        return self.at_ranks(moved[((moved >= 0) & (moved < most)).all(axis=1)])

    def look(self, nodes: Shorts, test: Test | None = None) -> NodeOutcomes:
        """Count the classes of some nodes, keep those that pass the test, and add up what becomes of the table.

        A column may be ``free`` in all of them; without a test the classes that satisfy every model are kept.
        """
        order = self._raising_order(nodes)
        rank = np.lexsort(nodes[:, order[::-1]].T) if len(nodes) else np.zeros(0, np.intp)
        placed = np.ascontiguousarray(nodes[rank][:, order], dtype=np.int16)
        walk = self._walk_for(nodes).reorder(order)
        sums = Sums.empty(len(nodes), nodes.shape[1], len(walk.labels.costs))
        keep = test or self.problem.holds
        workers = count_cores()
        if workers < 2 or len(nodes) * len(walk.packing.counts) < WORTH_THREADS:
            walk.add_up(placed, keep, sums)
        else:
            cuts = np.linspace(0, len(nodes), workers * _TASKS + 1).astype(int).tolist()
            with ThreadPoolExecutor(workers) as pool:
                tasks = [pool.submit(walk.add_up, placed[a:b], keep, sums.at(slice(a, b))) for a, b in pairwise(cuts)]
                try:
                    for task in tasks:
                        task.result()
                except BaseException:
                    pool.shutdown(wait=True, cancel_futures=True)
                    raise
        back = np.empty(len(nodes), np.intp)
        back[rank] = np.arange(len(nodes))
        return self._collect_outcomes(nodes, sums.at(back), np.argsort(order))

    def _raising_order(self, nodes: Shorts) -> Ints:
        """The columns in the order in which they are raised: first those that have few levels and join much.

        The nodes that agree in the first columns share the tables of these; tables should get small soon.
        """
        keys = []
        for column in range(nodes.shape[1]):
            levels, counts = np.unique(nodes[:, column], return_counts=True)
            left = [self._labels[column][level] / self._labels[column][0] for level in levels.tolist()]
            shrinks = -np.log(max(float(np.average(left, weights=counts)), 1e-9)) if len(levels) else 0.0
            keys.append(np.log(max(len(levels), 1)) / shrinks if shrinks > 0 else np.inf)
        return np.argsort(keys, kind="stable").astype(np.int64)

    @cached_property
    def _labels(self) -> list[list[int]]:
        """``[column][level]``: how many labels occur."""
        offsets, totals = self._walk.labels.offsets, self._walk.labels.totals
        return [
            [max(int((totals[begin:end] > 0).sum()), 1) for begin, end in pairwise(row[: int(free) + 2].tolist())]
            for row, free in zip(offsets, self.free, strict=True)
        ]

    def _walk_for(self, nodes: Shorts) -> Walk:
        """The walk that leaves out the columns that all nodes leave free.

        A column with boundaries that only some nodes leave free is counted anew from the values: what one node shows
        above a boundary is not above it where the column is free.
        """
        free = nodes == self.free
        unused, mixed = free.all(axis=0), free.any(axis=0) & ~free.all(axis=0)
        # in the order of the columns, so that sets of them that grow share what they are made from
        walk = self._without(tuple(column for column in self.order.tolist() if unused[column]))
        bounded = np.array([column.limits is not None for column in self.problem.columns], bool)
        if not (mixed & bounded).any():
            return walk
        return replace(walk, labels=replace(walk.labels, nested=walk.labels.nested & ~(mixed & bounded)))

    def _without(self, indices: tuple[int, ...]) -> Walk:
        """The walk that leaves some places out; it is made from the one that leaves out all of them but one."""
        if indices not in self._walks:
            self._walks[indices] = self._without(indices[:-1]).without(indices[-1:])
        return self._walks[indices]

    @cached_property
    def _walks(self) -> dict[tuple[int, ...], Walk]:
        return {(): self._walk}

    @cached_property
    def _walk(self) -> Walk:
        self.problem.progress("preparing the search (compiled once per machine)", 0, 0)
        frequencies = self.problem.frequencies
        labels = Labels.of(self.problem.columns, frequencies.tuples, frequencies.counts)
        packing = Packing.of(self.problem)
        people = PopulationWalk.of(packing, labels, self.problem)
        return Walk(packing, labels, np.arange(len(self.problem.columns)), people)

    def _collect_outcomes(self, nodes: Shorts, sums: Sums, index: Ints) -> NodeOutcomes:
        problem = self.problem
        kept = sums.kept[:, :, index]
        outcome = Outcome(
            records=problem.frequencies.records + problem.forced_suppression,
            columns=tuple(column.name for column in problem.columns),
            weights=problem.weights,
            suppressed=sums.suppressed + problem.forced_suppression,
            classes=sums.classes,
            squares=sums.squares,
            **dict(zip(COSTS, kept, strict=True)),
            log_value_counts=np.array([column.log_value_counts for column in problem.columns]),
            distinct=np.array([column.levels.size for column in problem.columns], np.float64),
            heights=np.array([column.levels.height for column in problem.columns], np.float64),
            starred=0,
            k=problem.k,
            suppressed_entropy=sums.suppressed_entropy[:, index],
        )
        everyone = self._everyone[:, np.arange(nodes.shape[1]), nodes]
        whole = replace(
            outcome,
            records=problem.frequencies.records,
            suppressed=np.zeros_like(sums.suppressed),
            classes=sums.all_classes,
            squares=sums.all_squares,
            **dict(zip(COSTS, everyone, strict=True)),
            log_value_counts=self._log_value_counts,
            suppressed_entropy=np.zeros_like(sums.suppressed_entropy),
        )
        return NodeOutcomes(nodes, sums.smallest, sums.suppressed, replace(outcome, whole=whole))

    @cached_property
    def _log_value_counts(self) -> Floats:
        """By column: log2 of the original records with the same value, summed over the records that are searched."""
        frequencies = self.problem.frequencies
        return np.array(
            [
                frequencies.counts @ np.log2(np.maximum(column.levels.own, 1))[frequencies.tuples[:, index]]
                for index, column in enumerate(self.problem.columns)
            ]
        )

    @cached_property
    def _everyone(self) -> Floats:
        """``[cost, column, level]``: what all records cost when a column is at a level and nobody is suppressed."""
        labels, totals = self._walk.labels, self._walk.labels.totals
        result = np.zeros((len(labels.costs), len(self.free), int(self.free.max()) + 1))
        for column, free in enumerate(self.free.tolist()):
            for level in range(free + 1):
                part = slice(labels.offsets[column, level], labels.offsets[column, level + 1])
                result[:, column, level] = labels.costs[:, part] @ totals[part]
        return result

    def recoding(self, node: Shorts, proof: Proof | None = None) -> FullDomain:
        """Return the recoding of a node; its classes that do not comply are suppressed."""
        problem, frequencies = self.problem, self.problem.frequencies
        beyond = np.zeros(len(frequencies.tuples), bool)
        for column, codes, level in zip(problem.columns, frequencies.tuples.T, node.tolist(), strict=True):
            if column.limits is not None:
                beyond |= column.limits[codes] < level
        chosen = FullDomain(beyond, dict(zip((c.name for c in problem.columns), node.tolist(), strict=True)), proof)
        draft = chosen.draft(frequencies, problem.columns)
        kept = np.ones(draft.count, bool)
        if draft.count > 1 or beyond.any():  # who shows * everywhere looks suppressed, unless that is all there is
            kept = ~np.logical_and.reduce([shown.stars for shown in draft.columns])
        fits = problem.holds(replace(describe_classes(draft, frequencies, problem.background), kept=kept))
        members = draft.members[frequencies.cell_starts[:-1]]
        return replace(chosen, suppressed=beyond | ~np.append(fits, False)[members])

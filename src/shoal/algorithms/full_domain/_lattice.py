"""The lattice of full-domain recodings: one level per column; thousands of nodes are looked at at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import prod

import numpy as np

from shoal.algorithms._cores import count_cores
from shoal.algorithms.base import Problem
from shoal.algorithms.full_domain._packing import COVER_SIZE, EXACT, HEIGHT, PENALTY, Labels, Packing
from shoal.algorithms.full_domain._walk import People, Shorts, Sums, Test, Walk
from shoal.encoding.domains import STAR
from shoal.encoding.types import Floats, Ints
from shoal.errors import PolicyError
from shoal.frequencies.frequencies import Classes
from shoal.kernels.group import group
from shoal.recodings.base import Column, Proof
from shoal.recodings.full_domain import FullDomain
from shoal.utility.base import Outcome

_BLOCK = 1 << 16
"""Nodes that are listed at once."""
_MOST = 10_000_000
"""Nodes of the largest lattice that is walked."""
_TASKS = 8
"""Parts of the work per core, so that the last one to finish is short."""
_WORTH_THREADS = 1 << 22
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


@dataclass(frozen=True)
class Lattice:
    """All full-domain recodings of a problem.

    A node's classes are rolled up from the classes of a node below it, never from the table; nodes that differ only
    in the last places share what they roll up from.
    """

    problem: Problem

    @cached_property
    def heights(self) -> tuple[int, ...]:
        """The highest allowed level of each column."""
        return tuple(column.max_level for column in self.problem.columns)

    @cached_property
    def free(self) -> Shorts:
        """The level of each column that stands for "not decided": all records look alike, and nothing is lost."""
        return np.array([column.levels.height + 1 for column in self.problem.columns], np.int16)

    @cached_property
    def size(self) -> int:
        """How many nodes there are: a number that ``len`` cannot tell beyond 2**63."""
        return prod(height + 1 for height in self.heights)

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
            numbers, result[:, column] = np.divmod(numbers, self.heights[column] + 1)
        return result

    def at_height(self, height: int) -> Iterator[Shorts]:
        """Yield the nodes whose levels add up to a height, in blocks."""
        for start in range(0, self.size, _BLOCK):
            block = self.nodes(start, start + _BLOCK)
            chosen = block[block.sum(axis=1) == height]
            if len(chosen):
                yield chosen

    def successors(self, node: Shorts) -> Shorts:
        """Return the nodes that raise one column by one level."""
        return self._neighbours(node, 1)

    def predecessors(self, node: Shorts) -> Shorts:
        """Return the nodes that lower one column by one level."""
        return self._neighbours(node, -1)

    def _neighbours(self, node: Shorts, step: int) -> Shorts:
        moved = node + step * np.eye(len(node), dtype=np.int16)
        inside = ((moved >= 0) & (moved <= np.array(self.heights))).all(axis=1)
        return moved[inside].astype(np.int16)

    def look(self, nodes: Shorts, test: Test | None = None) -> NodeOutcomes:
        """Count the classes of some nodes, keep those that pass the test, and add up what becomes of the table.

        Parameters
        ----------
        nodes
            Levels by column; a column may be ``free`` in all of them.
        test
            Which classes are kept; those that satisfy every model by default.
        """
        order = self._raising_order(nodes)
        rank = np.lexsort(nodes[:, order[::-1]].T) if len(nodes) else np.zeros(0, np.intp)
        placed = np.ascontiguousarray(nodes[rank][:, order], dtype=np.int16)
        walk = self._walk_for(nodes).reorder(order)
        sums = Sums.empty(len(nodes), nodes.shape[1], len(walk.labels.costs))
        keep = test or self.problem.holds
        workers = count_cores()
        if workers < 2 or len(nodes) * len(walk.packing.counts) < _WORTH_THREADS:
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
        people = People.of(packing, labels, self.problem)
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
            penalty=kept[PENALTY],
            exact=kept[EXACT],
            generalization_height=kept[HEIGHT],
            log_cover_size=kept[COVER_SIZE],
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
            penalty=everyone[PENALTY],
            exact=everyone[EXACT],
            generalization_height=everyone[HEIGHT],
            log_cover_size=everyone[COVER_SIZE],
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
        problem, levels = self.problem, node.tolist()
        tuples = problem.frequencies.tuples
        pairs = list(zip(problem.columns, levels, strict=True))
        labels = [column.levels.codes[level][tuples[:, index]] for index, (column, level) in enumerate(pairs)]
        beyond = np.zeros(len(tuples), bool)
        for index, (column, level) in enumerate(pairs):
            if column.limits is not None:
                beyond |= column.limits[tuples[:, index]] < level
        members, rows = group(labels, [len(column.levels.labels[level]) for column, level in pairs])
        members = np.where(beyond, -1, members)
        classes = Classes.of(problem.frequencies, members[problem.frequencies.cell_tuples], len(rows))
        kept = np.ones(len(rows), bool)
        if len(rows) > 1 or beyond.any():  # a class that shows * everywhere looks suppressed, unless it is all there is
            stars = [np.array([text == STAR for text in c.levels.labels[level]], bool) for c, level in pairs]
            kept = ~np.logical_and.reduce([star[label[rows]] for star, label in zip(stars, labels, strict=True)])
        shown = np.stack([label[rows] for label in labels], axis=1).astype(np.int64)
        matches = self._matches(pairs, shown)
        fits = problem.holds(replace(classes, shown=lambda: shown, kept=kept, matches=matches))
        suppressed = beyond | ~fits[members]
        return FullDomain({column.name: level for column, level in pairs}, suppressed, proof)

    def _matches(self, pairs: list[tuple[Column, int]], shown: Ints) -> Callable[[], Ints] | None:
        """Count the persons of the population that match classes with these labels."""
        population = self.problem.background.population
        if population is None:
            return None
        starts = np.array([column.levels.label_offsets[level] for column, level in pairs])
        return lambda: population.matching(list((starts + shown).T), [column.levels.covers for column, _ in pairs])

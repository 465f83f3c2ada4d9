"""Cuts through hierarchies: which label stands for each value, and what one more step would do to the classes.

A *cut* of a column is a set of labels such that every value lies under exactly one. A search moves the cut down
(a label becomes its children) or up (children become their label); what a step does is worked out from the
records under that label only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.cuts.trees import ValueTree
from shoal.encoding.types import Bools, Floats, Ints
from shoal.errors import Fault, PolicyError, nearest
from shoal.frequencies.frequencies import Classes
from shoal.kernels.group import group
from shoal.recodings.intervals import IntervalRecoding

DIGITS = 12
"""Scores that agree so far are equal: sums of the same numbers in another order must not decide."""
_NONE = np.iinfo(np.int64).max
"""The size of the smallest class where there is no class."""


@dataclass(frozen=True)
class Moves:
    """What each possible step in one column would do: one entry per label that can be moved."""

    place: int
    """The column."""
    nodes: Ints
    """The labels: those to be replaced, or those to be put in the place of their children."""
    lost: Ints
    """How many more records would be in classes that cannot be published."""
    broken: Ints
    """How many more classes could not be published."""
    broken_now: Ints
    """How many classes under each label cannot be published now."""
    cost: Floats
    """How much more certainty penalty the published table would have; a suppressed record costs 1 per cell."""
    widened: Floats
    """How much more certainty penalty all records would have if none was suppressed."""
    smallest: Ints
    """The size of the smallest published class after the step."""


Rate = Callable[[Moves], tuple[Bools, *tuple[Ints | Floats, ...]]]
"""Says which steps in a column may be made, and their ratings."""


class SubtreeSearch(Algorithm):
    """Base of the searches that move a cut."""

    class_column: str | None = None
    """The sensitive column that readers will want to predict; without it every value counts the same."""

    def find_class_column(self, problem: Problem) -> int | None:
        """Return the place of the class column, or raise if it is no sensitive column."""
        name, columns = self.class_column, problem.background.columns
        if name is None or name in columns:
            return None if name is None else columns[name].place
        hint = nearest(name, columns) or "declare it under sensitive"
        raise PolicyError(Fault("must name a sensitive column", "algorithm.class_column", repr(name), hint))


class HierarchyCut(ABC):
    """A cut through every column, its classes, and a forecast of every step.

    A step in one column changes only the classes that show the label in question, and regroups them only among
    themselves. So the forecast of each class for each column is kept, and made anew only where classes changed.
    """

    def __init__(self, problem: Problem, trees: list[ValueTree], at: list[Ints]) -> None:
        self.problem = problem
        self.trees = trees
        self.at = at
        """The label of each value, column by column."""
        tuples = problem.frequencies.tuples
        self.codes = [np.searchsorted(tree.codes, tuples[:, index]) for index, tree in enumerate(trees)]
        self.moving = [np.full(len(tree.codes), -1, np.int64) for tree in trees]
        """For each value the label whose move would take it along, -1 for none."""
        self.target = [np.full(len(tree.codes), -1, np.int64) for tree in trees]
        """For each value the label that it would then have."""
        everyone = np.arange(len(tuples), dtype=np.int64)
        labels = [at[index][codes] for index, codes in enumerate(self.codes)]
        self.member, first = group(labels, [len(tree) for tree in trees])
        """The class of each tuple."""
        records, holds = self._judge(everyone, self.member, len(first))
        self.labels, self.records, self.fits = (
            np.zeros((len(trees), 0), np.int64),
            np.zeros(0, np.int64),
            np.zeros(0, bool),
        )
        self._cost, self._stars = np.zeros(0), np.zeros(0, np.int64)
        self._after, self._least = np.zeros((3, len(trees), 0)), np.zeros((len(trees), 0), np.int64)
        self._adopt(self.fits, np.stack([label[first] for label in labels]), records, holds)
        for index in range(len(trees)):
            self._aim(index, np.ones(len(trees[index].codes), bool))
            self._forecast(everyone, index)

    @abstractmethod
    def _aim(self, index: int, changed: Bools) -> Bools:
        """Set ``moving`` and ``target`` of a column after some of its values changed; return where they were set."""

    @property
    def lost(self) -> int:
        """Records in classes that cannot be published."""
        return int(self.records[~self.fits].sum())

    @property
    def smallest(self) -> int:
        """The size of the smallest published class."""
        return int(np.where(self.fits, self.records, _NONE).min())

    @cached_property
    def _full_cost(self) -> float:
        return float(self.problem.weights.sum())

    def step(self, index: int, node: int) -> None:
        """Move one label, and forecast what is next for the classes that changed."""
        values = self.moving[index] == node
        under = np.flatnonzero(values[self.codes[index]])
        to = self.target[index][self.codes[index][under]]
        groups, first = self._regroup(under, index, to)
        records, holds = self._judge(under, groups, len(first))
        labels = self.labels[:, self.member[under[first]]]
        labels[index] = to[first]
        self.at[index][values] = self.target[index][values]
        kept = np.ones(len(self.records), bool)
        kept[self.member[under]] = False
        self.member = (np.cumsum(kept) - 1)[self.member]
        self.member[under] = groups + int(kept.sum())
        self._adopt(kept, labels, records, holds)
        for other in range(len(self.trees)):
            if other != index:
                self._forecast(under, other)
        self.aim(index, values)

    def aim(self, index: int, changed: Bools) -> None:
        """Look anew for the steps of a column after some of its values changed, and forecast them."""
        reset = self._aim(index, changed)
        self._forecast(np.flatnonzero(reset[self.codes[index]]), index)

    def _adopt(self, kept: Bools, labels: Ints, records: Ints, holds: Bools) -> None:
        """Put new classes after those that are kept."""
        width, total = len(self.trees), self.problem.frequencies.records
        pairs = list(zip(self.trees, labels, strict=True))
        cost = np.sum([tree.penalty[label] for tree, label in pairs], axis=0)
        stars = np.sum([tree.starred[label] for tree, label in pairs], axis=0)
        fits = holds & ((stars < width) | (records == total))
        self.labels = np.append(self.labels[:, kept], labels, axis=1)
        self.records, self.fits = np.append(self.records[kept], records), np.append(self.fits[kept], fits)
        self._cost, self._stars = np.append(self._cost[kept], cost), np.append(self._stars[kept], stars)
        self._after = np.append(self._after[:, :, kept], np.zeros((3, width, len(records))), axis=2)
        self._least = np.append(self._least[:, kept], np.full((width, len(records)), _NONE), axis=1)

    def _regroup(self, under: Ints, index: int, to: Ints) -> tuple[Ints, Ints]:
        """Group tuples by their new labels in one column and their present ones in the others."""
        local, rows = group([self.member[under]], [len(self.records)])
        classes = self.member[under[rows]]
        rest = [(self.labels[other, classes], len(tree)) for other, tree in enumerate(self.trees) if other != index]
        others = local * 0
        count = 1
        if rest:
            numbers, found = group([labels for labels, _ in rest], [size for _, size in rest])
            others, count = numbers[local], len(found)
        return group([others, to], [count, len(self.trees[index])])

    def _judge(self, under: Ints, groups: Ints, count: int) -> tuple[Ints, Bools]:
        """Return the records of each group of tuples, and whether it satisfies every model."""
        frequencies = self.problem.frequencies
        cells, owner = frequencies.cells_of(under)
        classes = Classes(count, groups[owner], cells, frequencies.cell_counts[cells], frequencies)
        return classes.records, self.problem.holds(classes)

    def _forecast(self, tuples: Ints, index: int) -> None:
        """Work out what a step in one column would make of the classes of these tuples."""
        tree = self.trees[index]
        classes = self.member[tuples]
        self._after[:, index, classes] = 0
        self._least[index, classes] = _NONE
        to = self.target[index][self.codes[index][tuples]]
        tuples, to = tuples[to >= 0], to[to >= 0]
        if not len(tuples):
            return
        groups, first = self._regroup(tuples, index, to)
        records, holds = self._judge(tuples, groups, len(first))
        head, to = self.member[tuples[first]], to[first]  # what a group adds up to is kept at one of its classes
        now = self.labels[index, head]
        stars = self._stars[head] - tree.starred[now] + tree.starred[to]
        fits = holds & ((stars < len(self.trees)) | (records == self.problem.frequencies.records))
        cost = np.where(fits, self._cost[head] - tree.penalty[now] + tree.penalty[to], self._full_cost)
        for row, amount in enumerate((np.where(fits, 0, records), ~fits, cost * records)):
            self._after[row, index] += np.bincount(head, amount, minlength=len(self.records))
        np.minimum.at(self._least[index], head[fits], records[fits])

    def moves(self) -> Iterator[Moves]:
        """Yield what the possible steps in each column would do."""
        for index in range(len(self.trees)):
            found = self.moves_in(index)
            if len(found.nodes):
                yield found

    def find_best(self, rate: Rate) -> tuple[int, int] | None:
        """Return the column and the label of the step whose ratings are least, the first of them first.

        Ties go to the first column, and there to the first label.
        """
        best: tuple[tuple[float, ...], int, int] | None = None
        for moves in self.moves():
            possible, *ratings = rate(moves)
            chosen = np.flatnonzero(possible)
            if len(chosen):
                keys = [self.trees[moves.place].low[moves.nodes], *reversed(ratings)]
                number = chosen[np.lexsort([key[chosen] for key in keys])[0]]
                rank = tuple(float(rating[number]) for rating in ratings)
                if best is None or rank < best[0]:
                    best = rank, moves.place, int(moves.nodes[number])
        return None if best is None else best[1:]

    def step_to_best(self, rate: Rate) -> bool:
        """Make the best step; return whether there was one."""
        found = self.find_best(rate)
        if found is not None:
            self.step(*found)
        return found is not None

    def moves_in(self, index: int) -> Moves:
        """Return what the possible steps in one column would do."""
        tree, labels = self.trees[index], self.labels[index]
        moved = self.moving[index][tree.low[labels]]
        inside = np.flatnonzero(moved >= 0)
        nodes, number = np.unique(moved[inside], return_inverse=True)
        records, fits = self.records[inside], self.fits[inside]
        before = (np.where(fits, 0, records), ~fits, np.where(fits, self._cost[inside], self._full_cost) * records)
        now = [np.bincount(number, amount, minlength=len(nodes)) for amount in before]
        lost, broken, cost = (
            np.bincount(number, self._after[row, index, inside], minlength=len(nodes)) - now[row] for row in range(3)
        )
        wider = records * (tree.penalty[moved[inside]] - tree.penalty[labels[inside]])
        after = np.full(len(nodes), _NONE)
        np.minimum.at(after, number, self._least[index, inside])
        sizes = np.where(self.fits, self.records, _NONE)
        return Moves(
            index,
            nodes,
            np.rint(lost).astype(np.int64),
            np.rint(broken).astype(np.int64),
            np.rint(now[1]).astype(np.int64),
            cost.astype(np.float64),
            np.bincount(number, wider, minlength=len(nodes)).astype(np.float64),
            np.minimum(after, _least_elsewhere(sizes, inside, number, len(nodes))),
        )

    def recoding(self) -> IntervalRecoding:
        """Return the cut as runs of codes, with the classes that cannot be published suppressed."""
        runs = {}
        for tree, at in zip(self.trees, self.at, strict=True):
            numbers = np.append(0, np.cumsum(np.diff(at) != 0))
            before = np.searchsorted(tree.codes, np.arange(tree.column.levels.size), side="right") - 1
            runs[tree.column.name] = numbers[np.maximum(before, 0)].astype(np.int64)
        return IntervalRecoding(~self.fits[self.member], runs)


def _least_elsewhere(sizes: Ints, inside: Ints, number: Ints, count: int) -> Ints:
    """Return for each label the smallest size among the classes that are not under it."""
    least = np.full(count + 1, _NONE)
    np.minimum.at(least, number, sizes[inside])
    outside = np.ones(len(sizes), bool)
    outside[inside] = False
    least[count] = sizes[outside].min(initial=_NONE)
    first, second = np.partition(np.append(least, _NONE), 1)[:2]
    result: Ints = np.where(least[:count] == first, second, first)  # where two are the smallest, both are the same
    return result


def find_occurring(problem: Problem) -> list[Ints]:
    """Return the codes that occur in each column."""
    return [np.unique(column).astype(np.int64) for column in problem.frequencies.tuples.T]

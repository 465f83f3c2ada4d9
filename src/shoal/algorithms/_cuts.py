"""Cuts through hierarchies: which label stands for each value, and what one more step would do to the classes.

A *cut* of a column is a set of labels such that every value lies under exactly one. A search moves the cut down
(a label becomes its children) or up (children become their label); what a step does is worked out from the
records under that label only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.algorithms.base import Ints, Problem
from shoal.domains import STAR
from shoal.errors import Fault, PolicyError, nearest
from shoal.frequencies import Classes, Frequencies
from shoal.kernels.group import group
from shoal.recodings.base import Column, Floats
from shoal.recodings.forms import FORMS, Members
from shoal.recodings.intervals import Intervals

Bools = npt.NDArray[np.bool_]

ROOT = 0
_NONE = np.iinfo(np.int64).max
"""The size of the smallest class where there is no class."""


@dataclass
class Tree:
    """The labels of one column over the values that occur, numbered from 0; the root is the first.

    A label is a run ``low`` to ``high`` of places among the occurring codes. Labels that cover the same values are
    one, so every step shows something new.
    """

    column: Column
    codes: Ints
    """The codes that occur, in hierarchy order."""
    low: Ints
    high: Ints
    parent: Ints
    children: list[list[int]] = field(init=False)
    penalty: Floats = field(init=False)
    """The weighted certainty penalty of each label."""
    starred: Bools = field(init=False)
    """Whether a label is published as ``*``."""
    allowed: Bools = field(init=False)
    """Whether boundaries let every value under a label be shown as it."""

    def __post_init__(self) -> None:
        self.children = [[] for _ in self.low]
        for node, above in enumerate(self.parent.tolist()):
            if above >= 0:
                self.children[above].append(node)
        self.penalty, self.starred, self.allowed = self._shown(self.low, self.high)

    def __len__(self) -> int:
        return len(self.low)

    @classmethod
    def of(cls, column: Column, codes: Ints) -> Tree:
        """Return the tree of a hierarchy, from ``*`` to the values.

        Where levels do not nest, only those that do are used, from the top down: elsewhere a label has no children.
        """
        spans: dict[tuple[int, int], int] = {(0, len(codes) - 1): ROOT}
        parents = [-1]
        above = np.zeros(len(codes), np.int64)
        edges = np.zeros(len(codes) - 1, bool)
        for level in range(column.levels.height - 1, -1, -1):
            changes = np.diff(column.levels.codes[level][codes]) != 0
            if (edges & ~changes).any():
                continue
            starts = np.append(0, np.flatnonzero(changes) + 1)
            for low, high in zip(starts.tolist(), [*(starts[1:] - 1).tolist(), len(codes) - 1], strict=True):
                if (low, high) not in spans:
                    spans[low, high] = len(parents)
                    parents.append(int(above[low]))
                above[low : high + 1] = spans[low, high]
            edges = changes
        low_high = np.array(list(spans), np.int64)
        return cls(column, codes, low_high[:, 0], low_high[:, 1], np.array(parents, np.int64))

    @classmethod
    def whole(cls, column: Column, codes: Ints) -> Tree:
        """Return a tree that has only its root: runs are divided later."""
        return cls(column, codes, np.array([0]), np.array([len(codes) - 1]), np.array([-1]))

    @classmethod
    def halves(cls, column: Column, codes: Ints, records: Ints, least: int) -> Tree:
        """Return a tree that halves each run at its median record, as long as both halves have enough records."""
        ends = np.cumsum(records)
        runs, parents = [(0, len(codes) - 1)], [-1]
        for node, (low, high) in enumerate(runs):  # grows while it is walked
            left = ends[low:high] - (ends[low] - records[low])
            smaller = np.minimum(left, ends[high] - ends[low:high])
            if smaller.max(initial=0) >= least:
                place = low + int(np.argmax(smaller))
                runs += [(low, place), (place + 1, high)]
                parents += [node, node]
        low_high = np.array(runs, np.int64)
        return cls(column, codes, low_high[:, 0], low_high[:, 1], np.array(parents, np.int64))

    def divide(self, node: int, place: int) -> None:
        """Give a run two children, with the values up to the place on the left; former children are forgotten."""
        low = np.array([self.low[node], place + 1])
        high = np.array([place, self.high[node]])
        self.children[node] = [len(self), len(self) + 1]
        self.children += [[], []]
        self.low, self.high = np.append(self.low, low), np.append(self.high, high)
        self.parent = np.append(self.parent, [node, node])
        penalty, starred, allowed = self._shown(low, high)
        self.penalty = np.append(self.penalty, penalty)
        self.starred, self.allowed = np.append(self.starred, starred), np.append(self.allowed, allowed)

    def penalties(self, low: Ints, high: Ints) -> Floats:
        """Return the weighted certainty penalty of some runs."""
        return self._shown(low, high)[0]

    def _shown(self, low: Ints, high: Ints) -> tuple[Floats, Bools, Bools]:
        """What runs would show. Of sets, the ends tell all but how many values there are."""
        column, first, last = self.column, self.codes[low], self.codes[high]
        members = Members(np.repeat(np.arange(len(low)), 2), len(low))
        shown = FORMS[column.form](column.levels, members, np.stack([first, last], axis=1).ravel())
        starred = np.array([text == STAR for text in shown.texts], bool)[shown.ids]
        penalties = shown.penalties
        if column.form == "sets":
            several = (low < high) & ~starred
            penalties = np.where(several, (high - low + 1) / column.levels.size, penalties)
        allowed = np.ones(len(low), bool)
        if column.limits is not None:
            limits = column.limits[self.codes]
            pairs = zip(low.tolist(), high.tolist(), strict=True)
            allowed = shown.levels <= np.array([limits[start : end + 1].min() for start, end in pairs])
        return penalties * column.weight, starred, allowed

    def top(self) -> Ints:
        """Return the label of each value in the highest cut that the boundaries allow."""
        at = np.zeros(len(self.codes), np.int64)
        for node in range(1, len(self)):  # parents come first
            if not self.allowed[self.parent[node]]:
                at[self.low[node] : self.high[node] + 1] = node
        return at

    def bottom(self) -> Ints:
        """Return the label of each value in the lowest cut: the value itself, or a run that is not divided."""
        leaves = np.array([node for node, children in enumerate(self.children) if not children], np.int64)
        leaves = leaves[np.argsort(self.low[leaves])]
        return np.repeat(leaves, self.high[leaves] - self.low[leaves] + 1)


def runs_anywhere(column: Column) -> bool:
    """Return whether a column has nothing between values and ``*`` and is published as ranges or sets of values."""
    return column.form != "labels" and column.levels.height == 1 and column.limits is None


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


class Cut(ABC):
    """A cut through every column, its classes, and a forecast of every step.

    A step in one column changes only the classes that show the label in question, and regroups them only among
    themselves. So the forecast of each class for each column is kept, and made anew only where classes changed.
    """

    def __init__(self, problem: Problem, trees: list[Tree], at: list[Ints]) -> None:
        self.problem = problem
        self.trees = trees
        self.at = at
        """The label of each value, column by column."""
        tuples = problem.frequencies.tuples
        self.codes = [np.searchsorted(tree.codes, tuples[:, place]) for place, tree in enumerate(trees)]
        self.moving = [np.full(len(tree.codes), -1, np.int64) for tree in trees]
        """For each value the label whose move would take it along, -1 for none."""
        self.target = [np.full(len(tree.codes), -1, np.int64) for tree in trees]
        """For each value the label that it would then have."""
        self._cells = _Ranges.of(problem.frequencies.cell_tuples, len(tuples))
        everyone = np.arange(len(tuples), dtype=np.int64)
        labels = [at[place][codes] for place, codes in enumerate(self.codes)]
        self.member, first = group(labels, [len(tree) for tree in trees])
        """The class of each tuple."""
        records, holds = self._judge(everyone, self.member, len(first))
        self._adopt(np.zeros((len(trees), 0), np.int64), np.stack([label[first] for label in labels]), records, holds)
        for place in range(len(trees)):
            self._aim(place, np.ones(len(trees[place].codes), bool))
            self._forecast(everyone, place)

    @abstractmethod
    def _aim(self, place: int, changed: Bools) -> Bools:
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

    def step(self, place: int, node: int) -> None:
        """Move one label, and forecast what is next for the classes that changed."""
        values = self.moving[place] == node
        under = np.flatnonzero(values[self.codes[place]])
        to = self.target[place][self.codes[place][under]]
        groups, first = self._regroup(under, place, to)
        records, holds = self._judge(under, groups, len(first))
        labels = self.labels[:, self.member[under[first]]]
        labels[place] = to[first]
        self.at[place][values] = self.target[place][values]
        kept = np.ones(len(self.records), bool)
        kept[self.member[under]] = False
        self.member = (np.cumsum(kept) - 1)[self.member]
        self.member[under] = groups + int(kept.sum())
        self._adopt(self.labels[:, kept], labels, records, holds, kept)
        for other in range(len(self.trees)):
            if other != place:
                self._forecast(under, other)
        self.aim(place, values)

    def aim(self, place: int, changed: Bools) -> None:
        """Look anew for the steps of a column after some of its values changed, and forecast them."""
        reset = self._aim(place, changed)
        self._forecast(np.flatnonzero(reset[self.codes[place]]), place)

    def _adopt(self, kept_labels: Ints, labels: Ints, records: Ints, holds: Bools, kept: Bools | None = None) -> None:
        """Put new classes after those that are kept."""
        width, total = len(self.trees), self.problem.frequencies.records
        pairs = list(zip(self.trees, labels, strict=True))
        cost = np.sum([tree.penalty[label] for tree, label in pairs], axis=0)
        stars = np.sum([tree.starred[label] for tree, label in pairs], axis=0)
        fits = holds & ((stars < width) | (records == total))
        self.labels = np.append(kept_labels, labels, axis=1)
        if kept is None:
            self.records, self.fits, self._cost, self._stars = records, fits, cost, stars
            self._after = np.zeros((3, width, len(records)))
            self._least = np.full((width, len(records)), _NONE)
            return
        self.records, self.fits = np.append(self.records[kept], records), np.append(self.fits[kept], fits)
        self._cost, self._stars = np.append(self._cost[kept], cost), np.append(self._stars[kept], stars)
        self._after = np.append(self._after[:, :, kept], np.zeros((3, width, len(records))), axis=2)
        self._least = np.append(self._least[:, kept], np.full((width, len(records)), _NONE), axis=1)

    def _regroup(self, under: Ints, place: int, to: Ints) -> tuple[Ints, Ints]:
        """Group tuples by their new labels in one column and their present ones in the others."""
        local, rows = group([self.member[under]], [len(self.records)])
        classes = self.member[under[rows]]
        rest = [(self.labels[other, classes], len(tree)) for other, tree in enumerate(self.trees) if other != place]
        others = local * 0
        count = 1
        if rest:
            numbers, found = group([labels for labels, _ in rest], [size for _, size in rest])
            others, count = numbers[local], len(found)
        return group([others, to], [count, len(self.trees[place])])

    def _judge(self, under: Ints, groups: Ints, count: int) -> tuple[Ints, Bools]:
        """Return the records of each group of tuples, and whether it satisfies every model."""
        frequencies = self.problem.frequencies
        cells, owner = self._cells.of_tuples(under)
        classes = Classes(count, groups[owner], cells, frequencies.cell_counts[cells], frequencies)
        return classes.records, self.problem.holds(classes)

    def _forecast(self, tuples: Ints, place: int) -> None:
        """Work out what a step in one column would make of the classes of these tuples."""
        tree = self.trees[place]
        classes = self.member[tuples]
        self._after[:, place, classes] = 0
        self._least[place, classes] = _NONE
        to = self.target[place][self.codes[place][tuples]]
        tuples, to = tuples[to >= 0], to[to >= 0]
        if not len(tuples):
            return
        groups, first = self._regroup(tuples, place, to)
        records, holds = self._judge(tuples, groups, len(first))
        head, to = self.member[tuples[first]], to[first]  # what a group adds up to is kept at one of its classes
        now = self.labels[place, head]
        stars = self._stars[head] - tree.starred[now] + tree.starred[to]
        fits = holds & ((stars < len(self.trees)) | (records == self.problem.frequencies.records))
        cost = np.where(fits, self._cost[head] - tree.penalty[now] + tree.penalty[to], self._full_cost)
        for row, amount in enumerate((np.where(fits, 0, records), ~fits, cost * records)):
            self._after[row, place] += np.bincount(head, amount, minlength=len(self.records))
        np.minimum.at(self._least[place], head[fits], records[fits])

    def moves(self) -> Iterator[Moves]:
        """Yield what the possible steps in each column would do."""
        for place in range(len(self.trees)):
            found = self.moves_in(place)
            if len(found.nodes):
                yield found

    def moves_in(self, place: int) -> Moves:
        """Return what the possible steps in one column would do."""
        tree, labels = self.trees[place], self.labels[place]
        moved = self.moving[place][tree.low[labels]]
        inside = np.flatnonzero(moved >= 0)
        nodes, number = np.unique(moved[inside], return_inverse=True)
        records, fits = self.records[inside], self.fits[inside]
        before = (np.where(fits, 0, records), ~fits, np.where(fits, self._cost[inside], self._full_cost) * records)
        now = [np.bincount(number, amount, minlength=len(nodes)) for amount in before]
        lost, broken, cost = (
            np.bincount(number, self._after[row, place, inside], minlength=len(nodes)) - now[row] for row in range(3)
        )
        wider = records * (tree.penalty[moved[inside]] - tree.penalty[labels[inside]])
        after = np.full(len(nodes), _NONE)
        np.minimum.at(after, number, self._least[place, inside])
        sizes = np.where(self.fits, self.records, _NONE)
        return Moves(
            place,
            nodes,
            np.rint(lost).astype(np.int64),
            np.rint(broken).astype(np.int64),
            np.rint(now[1]).astype(np.int64),
            cost.astype(np.float64),
            np.bincount(number, wider, minlength=len(nodes)).astype(np.float64),
            np.minimum(after, _least_elsewhere(sizes, inside, number, len(nodes))),
        )

    def recoding(self) -> Intervals:
        """Return the cut as runs of codes, with the classes that cannot be published suppressed."""
        runs = {}
        for tree, at in zip(self.trees, self.at, strict=True):
            numbers = np.append(0, np.cumsum(np.diff(at) != 0))
            before = np.searchsorted(tree.codes, np.arange(tree.column.levels.size), side="right") - 1
            runs[tree.column.name] = numbers[np.maximum(before, 0)].astype(np.int64)
        return Intervals(runs, ~self.fits[self.member])


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


@dataclass(frozen=True)
class _Ranges:
    """Where the cells of each tuple are: they are neighbours."""

    starts: Ints
    lengths: Ints

    @classmethod
    def of(cls, cell_tuples: Ints, count: int) -> _Ranges:
        starts = np.searchsorted(cell_tuples, np.arange(count + 1))
        return cls(starts[:-1], np.diff(starts))

    def of_tuples(self, tuples: Ints) -> tuple[Ints, Ints]:
        """Return the cells of some tuples, and which of these tuples each is of."""
        lengths = self.lengths[tuples]
        owner = np.repeat(np.arange(len(tuples)), lengths)
        offsets = np.cumsum(lengths) - lengths
        return self.starts[tuples][owner] + np.arange(len(owner)) - offsets[owner], owner


def class_place(problem: Problem, name: str | None) -> int | None:
    """Return the place of the class column, or raise if it is no sensitive column."""
    if name is None or name in problem.background.columns:
        return None if name is None else problem.background.columns[name].place
    hint = nearest(name, problem.background.columns) or "declare it under sensitive"
    raise PolicyError(Fault("must name a sensitive column", "algorithm.class_column", repr(name), hint))


def occurring(problem: Problem) -> list[Ints]:
    """Return the codes that occur in each column."""
    return [np.unique(column).astype(np.int64) for column in problem.frequencies.tuples.T]


class Impurity:
    """How mixed the classes of a class column are among the records under a label: records times entropy, in bits.

    Examples
    --------
    >>> table = Frequencies(np.array([[0], [1]], np.int32), np.array([0, 0, 1]), np.array([1, 1, 2]),
    ...                     np.array([[0], [1], [1]], np.int32))
    >>> mixed = Impurity(table, np.array([0, 1]), 0)
    >>> mixed.of(0, 0), mixed.of(1, 1), round(mixed.of(0, 1), 3)
    (2.0, 0.0, 3.245)
    """

    def __init__(self, frequencies: Frequencies, codes: Ints, class_place: int) -> None:
        cell_codes = codes[frequencies.cell_tuples]
        order = np.argsort(cell_codes, kind="stable")
        self._codes = cell_codes[order]
        self._values = frequencies.sensitive[order, class_place]
        self._counts = frequencies.cell_counts[order]

    def _inside(self, low: int, high: int) -> slice:
        return slice(*np.searchsorted(self._codes, [low, high + 1]))

    def of(self, low: int, high: int) -> float:
        """Return the impurity of the records whose code is between two codes."""
        inside = self._inside(low, high)
        _, numbers = np.unique(self._values[inside], return_inverse=True)
        counts = np.bincount(numbers, self._counts[inside])
        return float(_bits(counts.sum()) - _bits(counts).sum())

    def gain(self, low: int, high: int, parts: list[tuple[int, int]]) -> float:
        """Return the information gain of a division: the entropy of the whole minus the mean one of its parts."""
        drop = self.of(low, high) - sum(self.of(*part) for part in parts)
        return float(drop / self._counts[self._inside(low, high)].sum())

    def gains(self, low: int, high: int) -> Floats:
        """Return the information gain of dividing after each code but the last."""
        inside = self._inside(low, high)
        counts, codes = self._counts[inside], self._codes[inside] - low
        order = np.lexsort([codes, self._values[inside]])
        counts, codes = counts[order], codes[order]
        _, starts, number = np.unique(self._values[inside][order], return_index=True, return_inverse=True)
        running = np.cumsum(counts)
        before = running - counts - (running - counts)[starts][number]
        after = before + counts
        total = np.bincount(number, counts)[number]
        size = high - low + 1
        left = np.cumsum(np.bincount(codes, _bits(after) - _bits(before), minlength=size))
        taken = np.cumsum(np.bincount(codes, _bits(total - before) - _bits(total - after), minlength=size))
        ends = np.cumsum(np.bincount(codes, counts, minlength=size))
        whole = taken[-1]
        parts = (_bits(ends) - left) + (_bits(ends[-1] - ends) - (whole - taken))
        gains: Floats = (_bits(ends[-1]) - whole - parts)[:-1] / ends[-1]
        return gains


def _bits(counts: npt.ArrayLike) -> Floats:
    """x log2 x, and 0 for 0."""
    values = np.asarray(counts, np.float64)
    return values * np.log2(np.maximum(values, 1.0))

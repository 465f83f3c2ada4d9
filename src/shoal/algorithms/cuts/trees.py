"""Trees: the labels of a column, each a run of the values that occur."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from shoal.encoding.types import Bools, Floats, Ints
from shoal.recodings.base import Column
from shoal.recodings.forms import ClassMembers, show_column

ROOT = 0


@dataclass
class ValueTree:
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
    def of(cls, column: Column, codes: Ints) -> ValueTree:
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
    def whole(cls, column: Column, codes: Ints) -> ValueTree:
        """Return a tree that has only its root: runs are divided later."""
        return cls(column, codes, np.array([0]), np.array([len(codes) - 1]), np.array([-1]))

    @classmethod
    def halves(cls, column: Column, codes: Ints, records: Ints, least: int) -> ValueTree:
        """Return a tree that halves each run at its median record, as long as both halves have enough records."""
        ends = np.cumsum(records)
        runs, parents = [(0, len(codes) - 1)], [-1]
        for node, (low, high) in enumerate(runs):  # grows while it is walked
            left = ends[low:high] - (ends[low] - records[low])
            smaller = np.minimum(left, ends[high] - ends[low:high])
            if smaller.max(initial=0) >= least:
                index = low + int(np.argmax(smaller))
                runs += [(low, index), (index + 1, high)]
                parents += [node, node]
        low_high = np.array(runs, np.int64)
        return cls(column, codes, low_high[:, 0], low_high[:, 1], np.array(parents, np.int64))

    def divide(self, node: int, index: int) -> None:
        """Give a run two children, with the values up to the place on the left; former children are forgotten."""
        low = np.array([self.low[node], index + 1])
        high = np.array([index, self.high[node]])
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
        members = ClassMembers(np.repeat(np.arange(len(low)), 2), len(low))
        shown = show_column(column, members, np.stack([first, last], axis=1).ravel())
        starred, penalties = shown.stars, shown.penalties
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

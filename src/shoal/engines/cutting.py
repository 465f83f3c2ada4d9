"""Cutting a table into blocks, Mondrian's way, from counts that many machines can add up.

Nothing here knows Spark: an executor counts its records into bins, the sums of all executors decide where to cut. Sums
do not depend on who counted what, so neither do the blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from shoal.encoding.types import Ints
from shoal.recodings.base import Column

_BINS = 256
"""A column of a block is counted in at most so many bins; a cut is made between two of them."""


@dataclass(frozen=True)
class CutTree:
    """Cuts: records whose code is at most ``indices`` go to node ``lefts``, others to the node after it.

    Examples
    --------
    >>> tree = CutTree().cut(0, column=1, index=4)
    >>> tree.leaves_of(np.array([[9, 4], [0, 5]]))
    array([1, 2])
    """

    columns: Ints = field(default_factory=lambda: np.array([-1]))
    """The column that is cut at each node, -1 for a leaf."""
    indices: Ints = field(default_factory=lambda: np.array([0]))
    lefts: Ints = field(default_factory=lambda: np.array([-1]))

    def cut(self, node: int, column: int, index: int) -> CutTree:
        """Return the tree with a leaf cut in two."""
        columns, indices, lefts = (np.append(one, [-1, -1]) for one in (self.columns, self.indices, self.lefts))
        columns[node], indices[node], lefts[node] = column, index, len(self.columns)
        return CutTree(columns, indices, lefts)

    def leaves_of(self, codes: npt.NDArray[np.integer]) -> Ints:
        """Return the leaf of each record."""
        at = np.zeros(len(codes), np.int64)
        inside = np.arange(len(codes)) if self.columns[0] >= 0 else np.zeros(0, np.int64)
        while len(inside):
            node = at[inside]
            right = codes[inside, self.columns[node]] > self.indices[node]
            at[inside] = self.lefts[node] + right
            inside = inside[self.columns[at[inside]] >= 0]
        return at


@dataclass(frozen=True)
class Block:
    """A leaf that may be cut further: the codes that it spans, what is in it, and what was tried in vain."""

    node: int
    lows: tuple[int, ...]
    highs: tuple[int, ...]
    combinations: int
    records: int
    refused: frozenset[int] = frozenset()

    def indices(self, columns: Sequence[Column]) -> tuple[Ints, ...]:
        """Return for each column where it may be cut: between values, or between the children of a label."""
        return tuple(
            np.zeros(0, np.int64) if index in self.refused else _cut_indices(column, low, high)
            for index, (column, low, high) in enumerate(zip(columns, self.lows, self.highs, strict=True))
        )

    def widths(self, columns: Sequence[Column]) -> list[float]:
        """Return how much of each column the block spans."""
        return [_width(*each) * each[0].weight for each in zip(columns, self.lows, self.highs, strict=True)]


@dataclass(frozen=True)
class BlockCut:
    """A proposal: the block, where it is cut, and what would be on both sides."""

    block: Block
    column: int
    index: int
    sides: tuple[tuple[int, int], tuple[int, int]]
    """Combinations and records on the left and on the right."""

    def halves(self, tree: CutTree) -> tuple[Block, Block]:
        """Return the two blocks that the cut, made in a tree already, leaves."""
        node = int(tree.lefts[self.block.node])
        highs, lows = list(self.block.highs), list(self.block.lows)
        highs[self.column], lows[self.column] = self.index, self.index + 1
        left = Block(node, self.block.lows, tuple(highs), *self.sides[0])
        return left, Block(node + 1, tuple(lows), self.block.highs, *self.sides[1])


def _cut_indices(column: Column, low: int, high: int) -> Ints:
    if high <= low:
        return np.zeros(0, np.int64)
    indices = np.arange(low, high)
    if column.form == "labels":
        joins = column.levels.joins[low:high]
        indices = indices[joins == joins.max()]
    if len(indices) >= _BINS:
        indices = indices[np.unique(np.linspace(0, len(indices) - 1, _BINS - 1).astype(np.int64))]
    return indices


def _width(column: Column, low: int, high: int) -> float:
    if high <= low:
        return 0.0
    if column.form == "labels":
        return float(column.levels.penalties[int(column.levels.joins[low:high].max()), low])
    domain = column.levels.domain
    if column.form == "ranges" and high < len(domain) and domain.span > 0:
        return (float(domain.values[high]) - float(domain.values[low])) / domain.span
    return (high - low + 1) / max(column.levels.size, 1)


def count_bins(
    tree: CutTree, indices: Mapping[int, tuple[Ints, ...]], codes: npt.NDArray[np.integer], times: Ints
) -> dict[tuple[int, int], tuple[Ints, Ints]]:
    """Count records into the bins of their block: (block, column) → combinations and records of each bin."""
    leaves = tree.leaves_of(codes)
    order = np.argsort(leaves, kind="stable")
    nodes, starts = np.unique(leaves[order], return_index=True)
    found = {}
    ends = np.append(starts[1:], len(order))
    for node, start, end in zip(nodes.tolist(), starts, ends[: len(nodes)], strict=True):
        rows = order[start:end]
        for column, cuts in enumerate(indices.get(node, ())):
            if len(cuts):
                bins = np.searchsorted(cuts, codes[rows, column])
                records = np.bincount(bins, times[rows], minlength=len(cuts) + 1)
                found[node, column] = (np.bincount(bins, minlength=len(cuts) + 1), records.astype(np.int64))
    return found


def propose_block_cut(
    block: Block,
    columns: Sequence[Column],
    indices: tuple[Ints, ...],
    counts: Mapping[tuple[int, int], tuple[Ints, Ints]],
    least: int,
) -> tuple[Block, BlockCut | None]:
    """Return the most even cut of the widest column that has one with enough records on both sides.

    The block is returned too, with the codes that it really spans.
    """
    block = _tighten(block, indices, counts)
    for column in sorted(range(len(columns)), key=lambda index: (-block.widths(columns)[index], index)):
        if (block.node, column) not in counts:
            continue
        combinations, records = counts[block.node, column]
        left, held = np.cumsum(combinations)[:-1], np.cumsum(records)[:-1]
        total, everyone = int(combinations.sum()), int(records.sum())
        allowed = (left > 0) & (left < total) & (held >= least) & (everyone - held >= least)
        if allowed.any():
            best = int(np.argmin(np.where(allowed, np.abs(2 * left - total), np.iinfo(np.int64).max)))
            sides = (int(left[best]), int(held[best])), (total - int(left[best]), everyone - int(held[best]))
            return block, BlockCut(block, column, int(indices[column][best]), sides)
    return block, None


def _tighten(block: Block, indices: tuple[Ints, ...], counts: Mapping[tuple[int, int], tuple[Ints, Ints]]) -> Block:
    """Leave out the outer bins in which nobody is."""
    lows, highs = list(block.lows), list(block.highs)
    for column, cuts in enumerate(indices):
        if (block.node, column) in counts:
            filled = np.flatnonzero(counts[block.node, column][0])
            lows[column] = int(cuts[filled[0] - 1]) + 1 if filled[0] else lows[column]
            highs[column] = int(cuts[filled[-1]]) if filled[-1] < len(cuts) else highs[column]
    return replace(block, lows=tuple(lows), highs=tuple(highs))

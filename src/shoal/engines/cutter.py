"""BlockCutter: cuts all blocks of a table that are too large, one cut each in a round, until none is or none can be
cut.

It decides from sums; who counts the records, and where they lie, is another's matter (:class:`BlockCounter`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Protocol

import numpy as np

from shoal.algorithms.base import Problem
from shoal.encoding.types import Codes, Ints
from shoal.engines.cutting import Block, BlockCut, CutTree, propose_block_cut
from shoal.frequencies.frequencies import Classes, Frequencies


class BlockCounter(Protocol):
    """Counts the records of a table that is being cut."""

    def count_all(self) -> tuple[int, int]:
        """Return how many combinations and how many records there are."""

    def count_bins(
        self, tree: CutTree, indices: Mapping[int, tuple[Ints, ...]]
    ) -> Mapping[tuple[int, int], tuple[Ints, Ints]]:
        """Return combinations and records of each bin: (block, column) → both."""

    def count_sensitive(self, tree: CutTree, nodes: Sequence[int]) -> tuple[Ints, Codes, Ints]:
        """Return the sensitive values that occur in some blocks: the block, the codes, and how often."""


@dataclass
class BlockCutter:
    """Cuts a table until each block has at most so many combinations, as far as promises allow."""

    counter: BlockCounter
    problem: Problem
    """What both sides of a cut must keep."""
    size: int
    tell: Callable[[int], None] = field(default=lambda blocks: None)
    """Told how many blocks there are, before each round."""
    tree: CutTree = field(default_factory=CutTree)
    done: list[Block] = field(default_factory=list)

    def __post_init__(self) -> None:
        columns = self.problem.columns
        tops = tuple(column.levels.size - 1 for column in columns)
        self.open = [Block(0, (0,) * len(columns), tops, *self.counter.count_all())]
        self.looks_at_values = any(set(model.needs) - {"counts"} for model in self.problem.models)

    def cut(self) -> None:
        """Cut round by round."""
        while self.open:
            self.done += [block for block in self.open if block.combinations <= self.size]
            self.open = [block for block in self.open if block.combinations > self.size]
            if self.open:
                self.tell(len(self.open) + len(self.done))
                self._cut_once()

    def _cut_once(self) -> None:
        columns, least = self.problem.columns, self.problem.least_records
        indices = {block.node: block.indices(columns) for block in self.open}
        counts = self.counter.count_bins(self.tree, indices)
        found = [propose_block_cut(block, columns, indices[block.node], counts, least) for block in self.open]
        self.done += [block for block, cut in found if cut is None]
        cuts = [cut for _, cut in found if cut is not None]
        tree = reduce(lambda grown, cut: grown.cut(cut.block.node, cut.column, cut.index), cuts, self.tree)
        self.open = []
        for cut, holds in zip(cuts, self._hold(tree, cuts), strict=True):
            if holds:
                self.tree = self.tree.cut(cut.block.node, cut.column, cut.index)
                self.open += cut.halves(self.tree)
            else:
                self.open.append(replace(cut.block, refused=cut.block.refused | {cut.column}))

    def _hold(self, tree: CutTree, cuts: Sequence[BlockCut]) -> list[bool]:
        """Return for each cut whether both sides, each as one class, keep every promise."""
        if not self.looks_at_values or not cuts:
            return [True] * len(cuts)
        sides = [int(tree.lefts[cut.block.node]) + right for cut in cuts for right in (0, 1)]
        nodes, sensitive, counts = self.counter.count_sensitive(tree, sides)
        frequencies = Frequencies(
            np.zeros((1, len(self.problem.columns)), np.int32), np.zeros(len(counts), np.int64), counts, sensitive
        )
        index = {node: number for number, node in enumerate(sides)}
        members = np.array([index[node] for node in nodes.tolist()], np.int64)
        held = self.problem.holds(Classes.of(frequencies, members, len(sides)))
        return [bool(both) for both in np.asarray(held.reshape(-1, 2).all(axis=1))]

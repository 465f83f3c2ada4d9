"""Branches: fix one column's level after the other, drop what cannot hold the best node."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shoal.algorithms.lattice.best import Best, round_significant
from shoal.algorithms.lattice.lattice import Lattice
from shoal.algorithms.lattice.walk import Shorts
from shoal.encoding.types import Floats, Ints

BATCH = 256
"""Branches that are split together."""
_MOST = 2_000_000
"""Open branches from which on only the deepest are split, so that memory stays bounded."""


class Branches:
    """The branches of the lattice that may still hold the best node.

    A branch decides the levels of the first columns; the others are free. Who is in too small a class when the free
    columns are left out is in one whatever they show, so a branch tells two things about all its nodes: how many
    records they suppress at least, and a loss that they do not go below. Branches that suppress too many or that
    cannot beat the best node so far are dropped; when none is left, the best node is proven to be the best.

    Columns with many values are decided first: they suppress most.
    """

    def __init__(self, lattice: Lattice, best: Best) -> None:
        self.lattice, self.best, self.problem = lattice, best, lattice.problem
        self.columns = lattice.order[::-1]
        self.nodes: Shorts = lattice.free[None, :]
        self.depths: Ints = np.zeros(1, np.int64)
        self.bounds: Floats = np.full((1, 1), -np.inf)
        self.absorbing = self.problem.absorbing
        self.bounded = True
        self.looks = 0

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def open_nodes(self) -> int:
        """How many nodes of the lattice are neither counted nor ruled out."""
        sizes = np.array([len(levels) for levels in self.lattice.choices], np.float64)[self.columns]
        below = np.append(np.cumprod(sizes[::-1])[::-1], 1.0)
        return int(below[self.depths].sum())

    @property
    def loss_bound(self) -> float | None:
        """A loss that no node goes below: that of the most hopeful branch, or of the best node."""
        if self.best.node is None:
            return None
        if not len(self):
            return self.best.loss
        hope = float(self.bounds[:, 0].min())
        if not np.isfinite(hope) or self.problem.loss.direction == "higher is better":
            return None
        return min(self.best.loss, hope)

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be used to drop branches."""
        names = [model.key() for model in self.problem.models if not model.absorbing]
        notes = [f"{', '.join(names)} may fail when classes are joined: pruned by the size of classes"] if names else []
        if not self.bounded:
            notes.append(f"no bound is known for {self.problem.loss.key()}: pruned by suppressed records")
        return tuple(notes)

    def follow(self) -> Iterator[None]:
        """Split the most hopeful branches, a batch at a time, until none is left; tell how far it is."""
        total, looked = self.lattice.size, self.best.looked
        self.best.take(self.lattice.look(self.lattice.top[None, :]))  # works if anything does
        self.best.looked = looked  # it is looked at again in its branch
        while len(self):
            self._split(self._chosen())
            self.drop()
            done = total - min(self.open_nodes, total)
            told = f"searching the lattice, {self.looks:,} nodes counted{self.best}{self._told_gap()}"
            self.problem.progress(told, done, total)
            yield

    def _told_gap(self) -> str:
        bound = self.loss_bound
        return "" if bound is None else f", gap {max(self.best.loss - bound, 0.0):.4f}"

    def _chosen(self) -> Ints:
        """Half of a batch are branches of the least bound, half the deepest, which soon give nodes to beat."""
        deepest = np.flatnonzero(self.depths == self.depths.max())
        hopeful = self._first(np.arange(len(self))) if len(self) < _MOST else deepest[:0]
        return np.union1d(hopeful, self._first(deepest))

    def _first(self, branches: Ints) -> Ints:
        """Half a batch of some branches: those of the least bound, then the deepest."""
        if len(branches) > BATCH:  # no need to sort what is far from the least
            bounds = self.bounds[branches, 0]
            branches = branches[bounds <= np.partition(bounds, BATCH)[BATCH]]
        rank = np.lexsort([-self.depths[branches], *self.bounds[branches].T[::-1]])
        return branches[rank[: BATCH // 2]]

    def _split(self, chosen: Ints) -> None:
        """Decide one more column of some branches, at each of its levels.

        They stay open until all that they split into is looked at: who is interrupted before has proven nothing.
        """
        nodes, depths = self.nodes[chosen], self.depths[chosen]
        columns = self.columns[depths]
        counts = np.array([len(levels) for levels in self.lattice.choices])[columns]
        parents = np.repeat(np.arange(len(nodes)), counts)
        children, deeper = nodes[parents], depths[parents] + 1
        levels = np.concatenate([self.lattice.choices[column] for column in columns.tolist()])
        children[np.arange(len(children)), columns[parents]] = levels
        self.looks += len(children)
        decided = deeper == len(self.columns)
        if decided.any():
            self.best.take(self.lattice.look(children[decided]))
        # branches that leave the same columns free share a smaller table
        added = [self._allowed(depth, children[deeper == depth]) for depth in np.unique(deeper[~decided]).tolist()]
        rest = np.setdiff1d(np.arange(len(self)), chosen)
        parts = [(self.nodes[rest], self.depths[rest], self.bounds[rest]), *added]
        new = [np.concatenate(arrays) for arrays in zip(*([p for p in parts if len(p[0])] or parts[:1]), strict=True)]
        self.nodes, self.depths, self.bounds = new

    def _allowed(self, depth: int, nodes: Shorts) -> tuple[Shorts, Ints, Floats]:
        """Return those branches of a depth that suppress few enough records, with their bounds."""
        least = self.problem.least_shown
        # where a class that complies may not once others join it, all that is sure is that small ones do not
        looked = self.lattice.look(nodes, self.problem.holds if self.absorbing else lambda own: own.records >= least)
        outcome = looked.outcome.optimistic(least)
        bounds = self.problem.loss.bounds(outcome)
        if bounds is None:
            self.bounded, bounds = False, np.full_like(self.problem.loss.ranks(outcome), -np.inf)
        allowed = looked.suppressed <= self.problem.most_suppressed
        return nodes[allowed], np.full(int(allowed.sum()), depth, np.int64), bounds[allowed]

    def drop(self) -> None:
        """Drop the branches that cannot beat the best node; equal ones stay, for ties."""
        if self.best.ranks is not None and len(self):
            hopes = round_significant(self.bounds)
            worse, open_ = np.zeros(len(self), bool), np.ones(len(self), bool)
            for hope, best in zip(hopes.T, self.best.ranks, strict=True):
                worse |= open_ & (hope > best)
                open_ &= hope == best
            self.nodes, self.depths, self.bounds = self.nodes[~worse], self.depths[~worse], self.bounds[~worse]

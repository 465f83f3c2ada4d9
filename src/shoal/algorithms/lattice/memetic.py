"""Memetic search: local optima of the lattice, and crosses of them that are improved in turn."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shoal.algorithms.lattice.best import Best, round_significant
from shoal.algorithms.lattice.lattice import Lattice
from shoal.algorithms.lattice.walk import Shorts
from shoal.encoding.types import Ints

Score = tuple[float, ...]
"""What nodes are compared by: the records suppressed beyond what is allowed, the ranks of the loss, then the levels."""

_DRAWN, _STARTS = 128, 6
"""Nodes that are drawn at random in the beginning, and how many of them are improved."""
_ELITE = 8
"""Local optima that are kept to be crossed."""
_CHILDREN = 12
"""Crosses of two of them, of which the best is improved."""
_TOGETHER = 12
"""Steps that lose less, each by itself, and are tried together."""
_FARTHEST = 2
"""Steps that a mutation moves a column, at most."""


class Memetic:
    """A search for a good node of a lattice of any size, that goes on as long as it is let.

    *Improve*: of a node's neighbours, one step up or down in one column, those that lose less are taken, alone or
    together, until none does. *Start*: the top is improved, and the best of some nodes drawn at all heights. *Cross*:
    each column of a child has the level of one of two local optima; some columns move besides; the best of some
    children is improved, and replaces the worst local optimum that is kept if it loses less.

    A node that suppresses more than is allowed counts as worse than all that do not, the more the worse; so it is
    improved until it is allowed. What is drawn depends on nothing but the lattice.

    References
    ----------
    Moscato, P. (1989). On evolution, search, optimization, genetic algorithms and martial arts: towards memetic
    algorithms. Caltech concurrent computation program report 826.
    """

    def __init__(self, lattice: Lattice, best: Best) -> None:
        self.lattice, self.best = lattice, best
        self.looks = 0
        self.sizes = np.array([len(levels) for levels in lattice.choices])
        self.draw = np.random.default_rng(0)
        self.scores: dict[bytes, Score] = {}
        self.elite: dict[bytes, tuple[Score, Shorts]] = {}

    def start(self) -> Iterator[None]:
        """Improve the top."""
        yield from self._improve(self.lattice.top)

    def follow(self) -> Iterator[None]:
        """Improve nodes drawn at random, then cross what is found, without end."""
        columns = len(self.sizes)
        shares = np.linspace(0.3, 0.95, _DRAWN)[:, None]  # of columns at their top
        drawn = self.draw.integers(0, self.sizes, (_DRAWN, columns))
        ranks = np.where(self.draw.random((_DRAWN, columns)) < shares, self.sizes - 1, drawn)
        nodes = self.lattice.at_ranks(ranks)
        scores = self._score(nodes)
        yield
        for index in sorted(range(_DRAWN), key=scores.__getitem__)[:_STARTS]:
            yield from self._improve(nodes[index])
        while True:
            children = self._cross()
            scores = self._score(children)
            self.looks += 1  # so that it ends even where all children are known
            yield
            yield from self._improve(children[scores.index(min(scores))])

    def _improve(self, node: Shorts) -> Iterator[None]:
        """Move to the best neighbours until none loses less, and keep the node if it is among the best."""
        (score,) = self._score(node[None, :])
        while True:
            around = np.concatenate([self.lattice.predecessors(node), self.lattice.successors(node)])
            if not len(around):
                break
            scores = self._score(around)
            yield
            better = sorted((own, index) for index, own in enumerate(scores) if own < score)
            if not better:
                break
            moved = _join_steps(node, around[[index for _, index in better[:_TOGETHER]]])
            scores = self._score(moved)
            score = min(scores)
            node = moved[scores.index(score)]
            yield
        self.elite[node.tobytes()] = score, node
        if len(self.elite) > _ELITE:
            del self.elite[max(self.elite, key=lambda key: self.elite[key][0])]

    def _cross(self) -> Shorts:
        """Return children of two local optima, with some columns moved."""
        elite = [
            self.lattice.ranks(node[None, :])[0] for _, node in sorted(self.elite.values(), key=lambda one: one[0])
        ]
        one, other = (elite[index] for index in self.draw.integers(0, len(elite), 2).tolist())
        shape = _CHILDREN, len(self.sizes)
        children = np.where(self.draw.random(shape) < 0.5, one, other)
        often = self.draw.integers(1, 4, _CHILDREN)[:, None] / len(self.sizes)
        moves = self.draw.integers(-_FARTHEST, _FARTHEST + 1, shape)
        children = children + np.where(self.draw.random(shape) < often, moves, 0)
        return self.lattice.at_ranks(np.clip(children, 0, self.sizes - 1))

    def _score(self, nodes: Shorts) -> list[Score]:
        """Return the score of each node, the lower the better; look at those that are new."""
        keys = [node.tobytes() for node in nodes]
        new = {key: index for index, key in enumerate(keys) if key not in self.scores}
        if new:
            self._look(nodes[list(new.values())])
        return [self.scores[key] for key in keys]

    def _look(self, nodes: Shorts) -> None:
        problem = self.best.problem
        looked = self.lattice.look(nodes)
        self.best.take(looked)
        self.looks += len(nodes)
        beyond: Ints = np.maximum(looked.suppressed - problem.most_suppressed, 0)
        ranks = round_significant(problem.loss.ranks(looked.outcome)).tolist()
        for node, over, rank in zip(nodes, beyond.tolist(), ranks, strict=True):
            self.scores[node.tobytes()] = (over, *rank, int(node.sum()), *node.tolist())
        problem.progress(f"searching the lattice, {self.best.looked:,} nodes counted{self.best}", 0, 0)


def _join_steps(node: Shorts, moved: Shorts) -> Shorts:
    """Return the node after the first step, after the first two, and so on; one step for each column."""
    joined: list[Shorts] = []
    columns: set[int] = set()
    for one in moved:
        column = int(np.flatnonzero(one != node)[0])
        if column not in columns:
            columns.add(column)
            last = (joined[-1] if joined else node).copy()
            last[column] = one[column]
            joined.append(last)
    return np.array(joined, np.int16)

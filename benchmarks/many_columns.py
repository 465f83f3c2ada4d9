"""Full-domain search of 16 and 24 columns: heuristic beside the ways in which ARX searches such lattices.

ARX's own figures for such tables are of tables that are not here. Its two ways are written down again from what is
published of them, upon our own way to count nodes, which is quicker; so they get the same CPU seconds and more nodes:

- *top-down* (Prasser et al. 2016, Lightning): the most promising node so far is expanded, from the top;
- *genetic* (Wan et al. 2021): levels of 100 nodes, crossed and mutated, the best fifth stays.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from itertools import count

import numpy as np

from benchmarks.results import Result, timed
from benchmarks.wide_tables import SHAPES, draw_table, wide_policy
from shoal.algorithms.base import Problem
from shoal.algorithms.full_domain.heuristic import Heuristic
from shoal.algorithms.lattice.best import Best
from shoal.algorithms.lattice.lattice import Lattice
from shoal.algorithms.lattice.memetic import Memetic, Score
from shoal.algorithms.lattice.walk import Shorts
from shoal.testing import encode_table

NAME = "many_columns"
_LOOKS = 6_000
_SIZE, _ELITE, _MUTATED = 100, 20, 0.2


def run() -> Iterator[Result]:
    """Yield the loss that heuristic reaches, and those of the other ways in the same CPU seconds."""
    for shape in SHAPES:
        table = draw_table(shape)
        for most in (1.0, 0.05, 0.0):
            policy = wide_policy(table, "heuristic", most=most)
            problem = encode_table(table, policy).problem(policy)
            Heuristic(looks=50).search(problem)  # loads the kernels
            time_taken, recoding = timed(lambda p=problem: Heuristic(looks=_LOOKS).search(p), 1)  # type: ignore[misc]
            assert recoding.proof is not None
            figure = f"{shape}, k=5, limit {most:.0%}: loss"
            for name, search in (("top-down", expand_from_the_top), ("genetic", breed)):
                theirs, nodes = _let_run(problem, search, time_taken.cpu)
                note = f"{time_taken.cpu:.1f} CPU s each; theirs {nodes:,} nodes; {recoding.proof}"
                yield Result(NAME, figure, recoding.proof.loss, "", peer=f"{name} (ours)", theirs=theirs, note=note)


class Scores(Memetic):
    """The scores of nodes, as heuristic has them."""

    def of(self, nodes: Shorts) -> list[Score]:
        """Return the score of each node."""
        return self._score(nodes)


def _let_run(problem: Problem, search: object, seconds: float) -> tuple[float, int]:
    best = Best(problem)
    scores, end = Scores(Lattice(problem), best), time.process_time() + seconds
    for _ in search(scores):  # type: ignore[operator]
        if time.process_time() > end:
            break
    return best.loss, best.looked


def expand_from_the_top(scores: Scores) -> Iterator[None]:
    """Expand the best node so far, again and again."""
    lattice, numbers = scores.lattice, count()
    heap, seen = [(scores.of(lattice.top[None, :])[0], next(numbers), lattice.top)], set[bytes]()
    while heap:
        _, _, node = heapq.heappop(heap)
        below = [one for one in lattice.predecessors(node) if one.tobytes() not in seen]
        seen.update(one.tobytes() for one in below)
        if below:
            for score, one in zip(scores.of(np.array(below)), below, strict=True):
                heapq.heappush(heap, (score, next(numbers), one))
            yield


def breed(scores: Scores) -> Iterator[None]:
    """Cross and mutate a population of nodes, generation after generation."""
    lattice, draw, sizes = scores.lattice, np.random.default_rng(0), scores.sizes
    nodes = draw.integers(0, sizes, (_SIZE, len(sizes)))
    nodes[0] = sizes - 1
    chances = np.arange(_SIZE, 0, -1) / np.arange(_SIZE + 1).sum()
    while True:
        ranked = scores.of(lattice.at_ranks(nodes))
        nodes = nodes[sorted(range(_SIZE), key=ranked.__getitem__)]
        yield
        parents = draw.choice(_SIZE, (2, _SIZE), p=chances)
        children = np.where(draw.random(nodes.shape) < 0.5, nodes[parents[0]], nodes[parents[1]])
        mutated = draw.random(nodes.shape) < _MUTATED / 5
        children = np.where(mutated, draw.integers(0, sizes, nodes.shape), children)
        nodes = np.concatenate([nodes[:_ELITE], children[_ELITE:]])

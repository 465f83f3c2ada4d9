"""Best: the best node so far of a search through the lattice, and what is proven about it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar

import numpy as np

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.lattice.lattice import Lattice, NodeOutcomes
from shoal.algorithms.lattice.walk import Shorts
from shoal.encoding.types import Bools, Floats
from shoal.errors import Infeasible, NotFound, examples
from shoal.recodings.base import Proof
from shoal.recodings.full_domain import FullDomain


class Best:
    """Keeps the node that loses least; ties go to the lower, then to the first node."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.node: Shorts | None = None
        """The best node so far, ``None`` before the first that suppresses few enough records."""
        self.ranks: Floats | None = None
        """What it is compared by."""
        self.loss = float("nan")
        self.looked = 0
        """How many nodes were looked at."""
        self.stopped = ""
        """Why the search ended early, if it did."""

    def take(self, looked: NodeOutcomes) -> Bools:
        """Consider some nodes; return which of them suppress few enough records, and not all."""
        self.looked += len(looked.nodes)
        allowed = looked.suppressed <= self.problem.most_suppressed
        if allowed.any():
            ranks = round_significant(self.problem.loss.ranks(looked.outcome)[allowed])
            nodes, losses = looked.nodes[allowed], np.asarray(self.problem.loss.totals(looked.outcome))[allowed]
            first = _find_first(ranks, nodes)
            if self.ranks is None or self._is_better(ranks[first], nodes[first]):
                self.node, self.ranks, self.loss = nodes[first], ranks[first], float(losses[first])
        return allowed

    def _is_better(self, ranks: Floats, node: Shorts) -> bool:
        assert self.ranks is not None and self.node is not None
        return _find_first(np.stack([self.ranks, ranks]), np.stack([self.node, node])) == 1

    def run(self, steps: Iterable[object]) -> None:
        """Take the steps of a search; Ctrl-C ends it with the best so far, if there is one."""
        try:
            for _ in steps:
                pass
        except KeyboardInterrupt:
            if self.node is None:
                raise
            self.stopped = "by the user"

    def __str__(self) -> str:
        return "" if self.node is None else f", best {self.loss:,.4f}"

    def recoding(self, lattice: Lattice, bound: float | None, notes: tuple[str, ...] = ()) -> FullDomain:
        """Return the recoding of the best node; ``bound`` is what no node goes below, ``None`` where nobody knows."""
        if self.node is None:
            raise explain_no_node(self.problem)
        return lattice.recoding(self.node, Proof(self.loss, bound, lattice.size, self.looked, self.stopped, notes))


def round_significant(values: Floats, digits: int = 12) -> Floats:
    """Round to so many digits, so that sums that differ only in their order are equal."""
    known = np.isfinite(values) & (values != 0.0)
    plain = np.where(known, values, 1.0)
    scale = 10.0 ** (digits - 1 - np.floor(np.log10(np.abs(plain))))
    return np.where(known, np.round(plain * scale) / scale, values)


def _find_first(ranks: Floats, nodes: Shorts) -> int:
    """The candidate that comes first: by its ranks, its height, its levels."""
    keys = [*nodes.T[::-1], nodes.sum(axis=1), *ranks.T[::-1]]
    return int(np.lexsort(keys)[0])


def explain_no_node(problem: Problem) -> Infeasible:
    """Say that no full-domain recoding keeps the models."""
    most = problem.max_suppressed
    reason = f"no full-domain recoding keeps the models with at most {most:,} records suppressed"
    return explain_failure(problem, reason, proven=True)


def explain_failure(problem: Problem, reason: str, *, proven: bool) -> Infeasible:
    """Say why a search found nothing, and which columns and boundaries stand in its way.

    ``proven``: that it found nothing shows that there is nothing of its kind.
    """
    if not problem.attainable:
        return problem.infeasible()
    fixed = [column.name for column in problem.columns if column.max_level == 0 and column.limits is None]
    bounded = [column for column in problem.columns if column.boundaries]
    if fixed:
        reason += f"; columns without a hierarchy can only be published as they are ({', '.join(fixed)})"
    if bounded:
        held = ", ".join(f"{column.name} (at {examples(column.boundaries)})" for column in bounded)
        reason += f"; boundaries hold back {held}"
    blocking = [*fixed, *(column.name for column in bounded)]
    return Infeasible(reason, blocking=blocking) if proven else NotFound(f"not found: {reason}", blocking=blocking)


class LatticeSearch(Algorithm):
    """A search through the lattice for the node that loses least."""

    needs_hierarchies: ClassVar[bool] = True
    looks_across: ClassVar[bool] = True

    def search(self, problem: Problem) -> FullDomain:
        """Look for the best node, unless it is certain that there is none."""
        if not problem.attainable:
            raise problem.infeasible()
        return self.find_node(Lattice(problem), Best(problem))

    @abstractmethod
    def find_node(self, lattice: Lattice, best: Best) -> FullDomain:
        """Return the recoding of the best node."""

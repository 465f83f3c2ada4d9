"""Exhaustive: look at every full-domain recoding and take the best."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.full_domain._best import Best
from shoal.algorithms.full_domain._lattice import Lattice, NodeOutcomes
from shoal.algorithms.full_domain.optimal import Optimal
from shoal.recodings.full_domain import FullDomain

_BLOCK = 1 << 12
"""Nodes that are looked at together."""


class Exhaustive(Algorithm):
    """Look at every full-domain recoding and take the one that loses least.

    Records in classes that do not comply are suppressed, up to the policy's ``max_suppressed``. The answer is
    the optimum of its kind, proven by having seen all the others; ties go to the lower, then the first node.

    Why it is safe: a node is taken only after every model was checked on every class that stays.

    Cost: one roll-up per node; each node is counted from the classes of a node below it, not from the table.

    References
    ----------
    Samarati, P. (2001). Protecting respondents' identities in microdata release. IEEE TKDE 13(6).
    Sweeney, L. (2002). Achieving k-anonymity privacy protection using generalization and suppression. IJUFKS 10(5).

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("hospital")
    >>> release = shoal.anonymize(table, policy.replace(algorithm=Exhaustive()))
    >>> release.attained, release.recoding.proof.proven
    ({'k-anonymity': 2}, True)
    """

    needs_hierarchies: ClassVar[bool] = True
    looks_across: ClassVar[bool] = True

    def trial(self) -> Optimal:
        """Optimal finds the same node sooner."""
        return Optimal()

    def search(self, problem: Problem) -> FullDomain:
        """Walk the lattice and keep the best node that suppresses few enough records."""
        if not problem.attainable:
            raise problem.infeasible()
        lattice, best = Lattice(problem), Best(problem)
        best.run(_consider(lattice, best))
        return best.recoding(lattice, None if best.stopped else best.loss)


def _consider(lattice: Lattice, best: Best) -> Iterator[None]:
    for looked in walk_lattice(lattice):
        best.take(looked)
        lattice.problem.progress(f"walking the lattice{best}", best.looked, lattice.size)
        yield


def walk_lattice(lattice: Lattice) -> Iterator[NodeOutcomes]:
    """Yield all nodes of a lattice, block after block."""
    lattice.require_walkable()
    for start in range(0, lattice.size, _BLOCK):
        yield lattice.look(lattice.nodes(start, start + _BLOCK))

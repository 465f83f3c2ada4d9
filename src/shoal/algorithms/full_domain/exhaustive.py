"""Exhaustive: look at every full-domain recoding and take the best."""

from __future__ import annotations

from collections.abc import Iterator

from shoal.algorithms.full_domain.optimal import Optimal
from shoal.algorithms.lattice.best import Best, LatticeSearch
from shoal.algorithms.lattice.lattice import Lattice, NodeOutcomes
from shoal.recodings.full_domain import FullDomain

_BLOCK = 1 << 12
"""Nodes that are looked at together."""


class Exhaustive(LatticeSearch):
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

    def trial(self) -> Optimal:
        """Optimal finds the same node sooner."""
        return Optimal()

    def find_node(self, lattice: Lattice, best: Best) -> FullDomain:
        """Walk the lattice and keep the best node that suppresses few enough records."""

        def consider(looked: NodeOutcomes) -> None:
            best.take(looked)
            lattice.problem.progress(f"walking the lattice{best}", best.looked, lattice.size)

        best.run(map(consider, walk_lattice(lattice)))
        return best.recoding(lattice, None if best.stopped else best.loss)


def walk_lattice(lattice: Lattice) -> Iterator[NodeOutcomes]:
    """Yield all nodes of a lattice, block after block."""
    lattice.require_walkable()
    for start in range(0, lattice.size, _BLOCK):
        yield lattice.look(lattice.nodes(start, start + _BLOCK))

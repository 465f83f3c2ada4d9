"""Optimal: the best full-domain recoding, proven without looking at most of them."""

from __future__ import annotations

from typing import ClassVar

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.full_domain._best import Best
from shoal.algorithms.full_domain._branch import Branches
from shoal.algorithms.full_domain._lattice import Lattice
from shoal.recodings.full_domain import FullDomain


class Optimal(Algorithm):
    """Find the best full-domain recoding, and prove it, by ruling most of the others out together.

    One column's level is decided after the other. What is decided already tells how many records every node of the
    branch suppresses and what it loses at least; branches that suppress too many or cannot beat the best node so
    far are dropped. It finds the node that ``exhaustive`` finds, for any loss and any models; only the time
    differs. Ctrl-C ends it with the best node so far and the gap that is still open.

    Why it is safe: a node is taken only after every model was checked on every class that stays. Why it is
    best: see :class:`~shoal.algorithms.full_domain._branch.Branches`.

    Cost: on Adult with nine columns it counts about one in a hundred of the 12,960 nodes.

    References
    ----------
    Land, A. H. and Doig, A. G. (1960). An automatic method of solving discrete programming problems. Econometrica 28.
    LeFevre, K., DeWitt, D. and Ramakrishnan, R. (2005). Incognito: efficient full-domain k-anonymity. SIGMOD: the
    subset property that the bounds rest on.

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("hospital")
    >>> print(shoal.anonymize(table, policy.replace(algorithm=Optimal())).recoding.proof)
    loss 0.2177, no node can go below 0.2177 (gap 0.0000): proven; looked at 180 of 270 nodes
    """

    needs_hierarchies: ClassVar[bool] = True
    looks_across: ClassVar[bool] = True
    footprint: ClassVar[int] = 500

    def search(self, problem: Problem) -> FullDomain:
        """Follow every branch that may hold the best node."""
        if not problem.attainable:
            raise problem.infeasible()
        lattice, best = Lattice(problem), Best(problem)
        branches = Branches(lattice, best)
        best.run(branches.follow())
        return best.recoding(lattice, branches.loss_bound, branches.notes)

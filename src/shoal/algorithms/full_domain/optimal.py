"""Optimal: the best full-domain recoding, proven without looking at most of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Annotated, ClassVar

from pydantic import Field

from shoal.algorithms.lattice.best import Best, LatticeSearch
from shoal.algorithms.lattice.branches import Branches
from shoal.algorithms.lattice.lattice import Lattice
from shoal.algorithms.lattice.memetic import Memetic
from shoal.recodings.full_domain import FullDomain

_LARGE = 1_000_000
"""Nodes of a lattice from which on a good node is looked for before branches are followed: in a smaller one they find
it themselves."""
_FIRST = 2_000
"""Looks that this takes."""


class Optimal(LatticeSearch):
    """Find the best full-domain recoding, and prove it, by ruling most of the others out together.

    One column's level is decided after the other. What is decided already tells how many records every node of the
    branch suppresses and what it loses at least; branches that suppress too many or cannot beat the best node so
    far are dropped. It finds the node that ``exhaustive`` finds, for any loss and any models; only the time
    differs. Ctrl-C, or the last of ``looks``, ends it with the best node so far and the gap that is still open.

    Why it is safe: a node is taken only after every model was checked on every class that stays. Why it is
    best: see :class:`~shoal.algorithms.lattice.branches.Branches`.

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
    loss 0.2177, no node can go below 0.2177 (gap 0.0000): proven; looked at 36 of 48 nodes
    """

    footprint: ClassVar[int] = 500
    starts_search: ClassVar[bool] = True

    looks: Annotated[int, Field(ge=1, strict=True)] | None = None
    """The most nodes and branches that are counted; without it the search goes on until the best node is proven."""

    def find_node(self, lattice: Lattice, best: Best) -> FullDomain:
        """Follow every branch that may hold the best node."""
        branches = Branches(lattice, best)
        best.run(self._limited(branches))
        return best.recoding(lattice, branches.loss_bound, branches.notes)

    def _limited(self, branches: Branches) -> Iterator[None]:
        """Take the steps that are allowed."""
        if branches.lattice.size > _LARGE:
            memetic = Memetic(branches.lattice, branches.best)
            for _ in chain(memetic.start(), memetic.follow()):
                yield
                if memetic.looks >= min(_FIRST, self.looks or _FIRST):
                    break
        for _ in branches.follow():
            yield
            if self.looks is not None and branches.looks >= self.looks and len(branches):
                branches.best.stopped = f"after {self.looks:,} looks"
                return

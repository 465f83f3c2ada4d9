"""Heuristic: the best full-domain recoding that can be found in some time, and how far from the best it may be."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Annotated, ClassVar

from pydantic import Field

from shoal.algorithms.lattice.best import Best, LatticeSearch
from shoal.algorithms.lattice.branches import Branches
from shoal.algorithms.lattice.lattice import Lattice
from shoal.algorithms.lattice.memetic import Memetic
from shoal.errors import Fault, NotFound
from shoal.recodings.full_domain import FullDomain

_WORK = 20_000_000_000
"""Cells that are counted where nobody says how many looks: about half a minute."""
_LEAST, _MOST = 1_000, 100_000
"""The looks that are allowed then, at least and at most."""
_PROVING = 4
"""One in so many looks goes to the branches, which raise the bound."""


class Heuristic(LatticeSearch):
    """Find the best full-domain recoding that some looks allow, and say how far from the best it may be.

    A memetic search: from the top, and from nodes drawn at random, it moves to neighbours that lose less until there
    is none; what it finds is crossed and improved again. A fourth of the looks goes to the search of ``optimal``, which
    raises the bound, and which is the whole search where the lattice is small: a gap of 0 means that it came to its
    end.

    Which node it finds within so many ``looks`` is always the same; ``seconds``, where they are given, depend on the
    machine. The first limit that is reached counts. More looks never find a worse node.

    Why it is safe: a node is taken only after every model was checked on every class that stays.

    Cost: as much as is allowed.

    References
    ----------
    Moscato, P. (1989). On evolution, search, optimization, genetic algorithms and martial arts: towards memetic
    algorithms. Caltech concurrent computation program report 826.
    Land, A. H. and Doig, A. G. (1960). An automatic method of solving discrete programming problems. Econometrica 28.
    Prasser, F. et al. (2016). Lightning: utility-driven anonymization of high-dimensional data. TDP 9(2).

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("hospital")
    >>> shoal.anonymize(table, policy.replace(algorithm=Heuristic(looks=500))).recoding.proof.gap
    0.0
    """

    footprint: ClassVar[int] = 500

    looks: Annotated[int, Field(ge=1, strict=True)] | None = None
    """The most nodes and branches that are counted; without it as many as take about half a minute, by the size of the
    table."""
    seconds: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] | None = None
    """The most time that is taken; without it there is no limit."""

    def trial(self) -> Heuristic:
        """A shorter search: what it attains the longer one attains too."""
        return Heuristic(looks=min(self.looks or _MOST, 2_000), seconds=min(self.seconds or 2.0, 2.0))

    def find_node(self, lattice: Lattice, best: Best) -> FullDomain:
        """Improve the top, then follow branches for the bound and cross local optima, as long as it is allowed.

        Raises
        ------
        NotFound
            The search ended early, with no node or only with the one that raises every column to its top.
        """
        branches, memetic = Branches(lattice, best), Memetic(lattice, best)
        best.run(self._limited(branches, memetic))
        if branches.looks:
            branches.drop()
        if not len(branches):
            best.stopped = ""
        if best.stopped and (best.node is None or (best.node == lattice.top).all()):
            looks = branches.looks + memetic.looks
            tried = f"{looks:,} of {lattice.size:,} nodes and branches counted, stopped {best.stopped}"
            what = "not found: a node that keeps the models and does not raise every column to its top"
            hint = "allow more looks or seconds, or use shoal, which recodes locally"
            raise NotFound(Fault(what, "algorithm", tried, hint))
        return best.recoding(lattice, branches.loss_bound, branches.notes)

    def _limited(self, branches: Branches, memetic: Memetic) -> Iterator[None]:
        """Take the steps that are allowed: at least one among the branches, for without it nothing is proven."""
        looks = self.looks or _allow_looks(memetic.lattice)
        deadline = time.monotonic() + (self.seconds or float("inf"))
        best, late = branches.best, f"after {self.seconds or 0.0:g} seconds"
        for _ in memetic.start():
            yield
            if time.monotonic() > deadline:
                break
        for _ in branches.follow():
            yield
            if time.monotonic() > deadline or branches.looks >= looks // _PROVING:
                break
        if not len(branches):
            return
        for _ in memetic.follow() if branches.looks + memetic.looks < looks else ():
            yield
            if time.monotonic() > deadline or branches.looks + memetic.looks >= looks:
                break
        best.stopped = late if time.monotonic() > deadline else f"after {looks:,} looks"


def _allow_looks(lattice: Lattice) -> int:
    """Return how many looks take about half a minute."""
    cells = lattice.problem.frequencies.tuples.size
    return max(min(_WORK // max(cells, 1), _MOST), _LEAST)

"""Heuristic: the best full-domain recoding that can be found in some time, and how far from the best it may be."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import takewhile
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.full_domain._best import Best
from shoal.algorithms.full_domain._branch import Branches
from shoal.algorithms.full_domain._lattice import Lattice
from shoal.errors import Fault, NotFound
from shoal.recodings.full_domain import FullDomain


class Heuristic(Algorithm):
    """Find the best full-domain recoding that some time allows, and say how far from the best it may be.

    The search of ``optimal``, ended after a number of nodes or of seconds: for lattices that are too large to be
    searched to the end. Branches of the least bound and the deepest ones are followed side by side: the first raise the
    bound, the others find nodes. The answer's proof holds the bound and the gap; a gap of 0 means that the search
    came to its end in time.

    Which node it finds within so many ``looks`` is always the same; within so many ``seconds`` it depends on the
    machine. The first limit that is reached counts.

    Why it is safe: a node is taken only after every model was checked on every class that stays.

    Cost: as much as is allowed.

    References
    ----------
    Land, A. H. and Doig, A. G. (1960). An automatic method of solving discrete programming problems. Econometrica 28.
    Prasser, F. et al. (2016). Lightning: utility-driven anonymization of high-dimensional data. TDP 9(2).

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("hospital")
    >>> shoal.anonymize(table, policy.replace(algorithm=Heuristic(looks=500))).recoding.proof.gap
    0.0
    """

    needs_hierarchies: ClassVar[bool] = True
    looks_across: ClassVar[bool] = True
    footprint: ClassVar[int] = 500

    looks: Annotated[int, Field(ge=1, strict=True)] = 100_000
    """The most nodes and branches that are counted."""
    seconds: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] = 60.0
    """The most time that is taken."""

    def trial(self) -> Heuristic:
        """A shorter search: what it attains the longer one attains too."""
        return Heuristic(looks=min(self.looks, 2_000), seconds=min(self.seconds, 2.0))

    def search(self, problem: Problem) -> FullDomain:
        """Go down from the top as far as that loses less, then follow the branches as long as it is allowed.

        Raises
        ------
        NotFound
            The search ended early, with no node or only with the one that raises every column to its top.
        """
        if not problem.attainable:
            raise problem.infeasible()
        lattice, best = Lattice(problem), Best(problem)
        branches = Branches(lattice, best)
        best.run(self._limited(branches))
        if best.stopped and (best.node is None or (best.node == np.array(lattice.heights)).all()):
            raise NotFound(self._tried(lattice, branches))
        return best.recoding(lattice, branches.loss_bound, branches.notes)

    def _limited(self, branches: Branches) -> Iterator[None]:
        """Take the steps that are allowed: at least one among the branches, for without it nothing is proven."""
        deadline = time.monotonic() + self.seconds
        for _ in takewhile(lambda _: time.monotonic() < deadline, _descend(branches)):
            yield
        for _ in branches.follow():
            if len(branches):
                if branches.looks >= self.looks:
                    branches.best.stopped = f"after {self.looks:,} looks"
                    return
                if time.monotonic() > deadline:
                    branches.best.stopped = f"after {self.seconds:g} seconds"
                    return
            yield

    def _tried(self, lattice: Lattice, branches: Branches) -> Fault:
        tried = f"{branches.looks:,} of {lattice.size:,} nodes and branches counted, stopped {branches.best.stopped}"
        what = "not found: a node that keeps the models and does not raise every column to its top"
        return Fault(what, "algorithm", tried, "allow more looks or seconds, or use shoal, which recodes locally")


def _descend(branches: Branches) -> Iterator[None]:
    """Lower one column after the other, each time the one that loses least, as long as the node complies.

    Branches decide column after column, and in a large lattice it takes long until one has decided them all; this finds
    a node that nothing just below it beats, after as many looks as there are columns for each step down.
    """
    lattice, best = branches.lattice, branches.best
    best.take(lattice.look(np.array([lattice.heights], np.int16)))
    before = None
    while best.node is not None and (before is None or (best.node != before).any()):
        before = best.node
        below = lattice.predecessors(before)
        branches.looks += len(below)
        if len(below):
            best.take(lattice.look(below))
        yield

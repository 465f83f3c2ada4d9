"""Samarati: the lowest height of the lattice at which a node complies, by binary search."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from shoal.algorithms.lattice.best import Best, LatticeSearch
from shoal.algorithms.lattice.lattice import Lattice
from shoal.recodings.full_domain import FullDomain


class Samarati(LatticeSearch):
    """Find the lowest height of the lattice at which a node complies, by binary search.

    The height of a node is the sum of its levels. If a node complies, so do all above it; so if no node of a height
    complies, none below does, and the search may halve the heights again and again. Of the nodes of the lowest
    height that comply, the one that loses least is taken. It is the least generalized, not the one that loses
    least of all: a step up in one column may cost more than two in others.

    Where models, boundaries or levels that do not nest break that rule, heights are tried one after the other from
    the bottom, and the proof's notes say so.

    Why it is safe: a node is taken only after every model was checked on every class that stays.

    Cost: the nodes of about log2 of the height many heights.

    References
    ----------
    Samarati, P. (2001). Protecting respondents' identities in microdata release. IEEE TKDE 13(6).

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("hospital")
    >>> shoal.anonymize(table, policy.replace(algorithm=Samarati())).recoding.levels
    {'date of birth': 2, 'gender': 0, 'zip code': 0, 'race': 0}
    """

    footprint: ClassVar[int] = 500

    def find_node(self, lattice: Lattice, best: Best) -> FullDomain:
        """Halve the heights, or climb them where halving would not be right."""
        lattice.require_walkable()
        best.run(_halve(lattice, best) if lattice.monotone else _climb(lattice, best))
        notes = () if lattice.monotone else ("compliance may end on the way up: heights were tried one by one",)
        return best.recoding(lattice, None, notes)


def _halve(lattice: Lattice, best: Best) -> Iterator[None]:
    low, high = 0, sum(lattice.heights)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _complies(lattice, middle, Best(lattice.problem), best) else (middle + 1, high)
        yield
    _complies(lattice, low, best, best)


def _climb(lattice: Lattice, best: Best) -> Iterator[None]:
    for height in range(sum(lattice.heights) + 1):
        if _complies(lattice, height, best, best):
            return
        yield


def _complies(lattice: Lattice, height: int, found: Best, best: Best) -> bool:
    """Look at all nodes of a height; return whether one complies."""
    before = found.node
    for nodes in lattice.at_height(height):
        found.take(lattice.look(nodes))
    best.looked += found.looked if found is not best else 0
    lattice.problem.progress(f"height {height}", best.looked, lattice.size)
    return found.node is not before

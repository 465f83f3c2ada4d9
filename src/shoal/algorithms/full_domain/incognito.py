"""Incognito: all minimal full-domain recodings, from those of ever larger sets of columns."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.lattice.best import Best, LatticeSearch, explain_no_node
from shoal.algorithms.lattice.lattice import Lattice
from shoal.algorithms.lattice.walk import Shorts
from shoal.recodings.full_domain import FullDomain

Columns = tuple[int, ...]
Levels = tuple[int, ...]
Survivors = dict[Columns, set[Levels]]
"""For each set of columns the levels at which the table complies when only these columns are published."""


class Incognito(LatticeSearch):
    """Find all minimal full-domain recodings, from those of ever larger sets of columns.

    *Subset property*: what does not comply with fewer columns does not comply with more. *Generalization property*:
    what complies still does when a column goes up. So the search starts with each column alone, and makes the
    candidates of every larger set from the survivors of its subsets; each set's lattice is climbed breadth first, and
    what is above a node that complies is marked, not counted. Of the minimal nodes that are left in the end (no
    node below them complies), the one that loses least is taken; the policy's share of records may be suppressed.

    Where models, boundaries or levels that do not nest break a property, it is not used, and the proof's notes say so.

    Why it is safe: a node is taken only after every model was checked on every class that stays.

    Cost: in the worst case the nodes of the lattices of all sets of columns.

    References
    ----------
    LeFevre, K., DeWitt, D. and Ramakrishnan, R. (2005). Incognito: efficient full-domain k-anonymity. SIGMOD.
    Sarrafi, M. (2017), Tables 2-10, 2-11 and Figure 2-6.

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("hospital")
    >>> shoal.anonymize(table, policy.replace(algorithm=Incognito())).recoding.levels
    {'date of birth': 2, 'gender': 0, 'zip code': 0, 'race': 0}
    """

    def find_node(self, lattice: Lattice, best: Best) -> FullDomain:
        """Take the minimal node that loses least."""
        lattice.require_walkable()
        minimal = self.minimal(lattice)
        if not len(minimal):
            raise explain_no_node(lattice.problem)
        best.take(lattice.look(minimal))
        notes = []
        if not _has_subset_property(lattice.problem):
            notes.append("models may fail when classes are joined: all columns were taken at once")
        if not lattice.monotone:
            notes.append("compliance may end on the way up: every candidate was counted")
        return best.recoding(lattice, None, tuple(notes))

    def minimal(self, lattice: Lattice) -> Shorts:
        """Return the nodes that comply and have no node below them that does."""
        *_, last = self.iterations(lattice)
        found = last[tuple(range(len(lattice.heights)))]
        lowest = [node for node in found if not any(tuple(below) in found for below in _below(lattice, node))]
        return np.array(sorted(lowest), np.int16).reshape(len(lowest), len(lattice.heights))

    def iterations(self, lattice: Lattice) -> Iterator[Survivors]:
        """Yield the survivors of all sets of one column, of two columns, and so on."""
        count = len(lattice.heights)
        survivors: Survivors = {}
        for size in range(1, count + 1) if _has_subset_property(lattice.problem) else (count,):
            before, survivors = survivors, {}
            for columns in combinations(range(count), size):
                candidates = list(_candidates(columns, lattice, before))
                survivors[columns] = set(_climb(lattice, columns, candidates))
            lattice.problem.progress(f"sets of {size} columns", size, count)
            yield survivors


def _has_subset_property(problem: Problem) -> bool:
    return problem.absorbing or (problem.monotone and not problem.max_suppressed)


def _candidates(columns: Columns, lattice: Lattice, before: Survivors) -> Iterator[Levels]:
    """Yield the nodes of a set of columns whose subsets with one column less all survived."""
    subsets = combinations(range(len(columns)), len(columns) - 1)
    known = [(indices, before.get(tuple(columns[index] for index in indices))) for indices in subsets]
    for levels in product(*(lattice.choices[column].tolist() for column in columns)):
        if all(found is None or tuple(levels[index] for index in indices) in found for indices, found in known):
            yield levels


def _climb(lattice: Lattice, columns: Columns, candidates: list[Levels]) -> Iterator[Levels]:
    """Yield the candidates that comply, height after height; what is above one of them is marked, not counted."""
    marked: set[Levels] = set()
    heights = np.array([sum(levels) for levels in candidates])
    for height in np.unique(heights).tolist():
        here = [levels for levels, own in zip(candidates, heights.tolist(), strict=True) if own == height]
        counted = [levels for levels in here if levels not in marked]
        complying = marked.intersection(here) | set(_find_complying(lattice, columns, counted))
        if lattice.monotone:
            marked.update(above for levels in complying for above in _above(lattice, columns, levels))
        yield from complying


def _find_complying(lattice: Lattice, columns: Columns, nodes: list[Levels]) -> Iterator[Levels]:
    if nodes:
        whole = np.repeat(lattice.free[None, :], len(nodes), axis=0)
        whole[:, columns] = nodes
        allowed = lattice.look(whole).suppressed <= lattice.problem.most_suppressed
        yield from (levels for levels, fits in zip(nodes, allowed.tolist(), strict=True) if fits)


def _above(lattice: Lattice, columns: Columns, levels: Levels) -> Iterator[Levels]:
    for index, (column, level) in enumerate(zip(columns, levels, strict=True)):
        higher = lattice.choices[column][lattice.choices[column] > level].tolist()
        if higher:
            yield (*levels[:index], higher[0], *levels[index + 1 :])


def _below(lattice: Lattice, levels: Levels) -> list[list[int]]:
    return lattice.predecessors(np.array(levels, np.int16)).tolist()  # type: ignore[no-any-return]

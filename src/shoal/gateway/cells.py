"""suppress_cells(): which cells of an aggregate are left out, so that nobody in a small one can be worked out."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from shoal.encoding.types import Bools, Ints

_MAX_SOLVED = 400
"""Cells that are left out for which the equations are solved."""


def suppress_cells(cells: Ints, persons: Ints, k: int, *, several: bool = False) -> Bools:
    """Return which cells are left out.

    A cell with fewer than k persons is left out. It could be worked out from a total (of all, or of any of the columns
    that are grouped by) and the cells beside it, so wherever some cell of a total is left out, the smallest
    others follow until at least two are, with k persons between them. Where several columns are grouped by, all totals
    together may still fix the figure of a small cell (a system of equations with one solution for it): then the
    smallest of all other cells follows. This is looked for among up to 400 cells that are left out.

    Parameters
    ----------
    cells
        A row for each cell, a column for each that is grouped by: the numbers of its values.
    persons
        How many persons each cell holds.
    several
        Whether a person may be in several cells: then only the largest of the cells left out is sure to count.

    Cost: a pass over the cells for each combination of columns, until nothing changes.

    References
    ----------
    Cox, L. H. (1980). Suppression methodology and statistical disclosure control. JASA 75(370).

    Examples
    --------
    The third cell is small; the total would give it back, so the next smallest goes with it:

    >>> suppress_cells(np.array([[0], [1], [2]]), np.array([7, 9, 1]), 3).tolist()
    [True, False, True]
    """
    suppressed = np.asarray(persons < k)
    width = cells.shape[1]
    totals = [_group_cells(cells[:, list(kept)]) for size in range(width) for kept in combinations(range(width), size)]
    before = -1
    while before != suppressed.sum():
        before = int(suppressed.sum())
        for groups in totals:
            for members in groups:
                _protect(suppressed, persons, members, k, several)
        if width > 1 and _is_solvable(suppressed, persons, [members for groups in totals for members in groups], k):
            shown = np.flatnonzero(~suppressed)
            suppressed[shown[np.argmin(persons[shown])]] = True
    return suppressed


def _group_cells(keys: Ints) -> list[Ints]:
    """Return the cells of each total."""
    if not keys.shape[1]:
        return [np.arange(len(keys))]
    _, of_cell = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(of_cell.ravel(), kind="stable")
    return np.split(order, np.flatnonzero(np.diff(of_cell.ravel()[order])) + 1)


def _protect(suppressed: Bools, persons: Ints, members: Ints, k: int, several: bool) -> None:
    """Leave out more cells of one total, if those that are left out could be worked out."""
    out = members[suppressed[members]]
    shown = members[~suppressed[members]].tolist() if len(out) else []
    smallest_first = sorted(shown, key=lambda cell: (persons[cell], cell))
    while smallest_first and (len(out) < 2 or (persons[out].max() if several else persons[out].sum()) < k):
        out = np.append(out, smallest_first.pop(0))
        suppressed[out[-1]] = True


def _is_solvable(suppressed: Bools, persons: Ints, totals: list[Ints], k: int) -> bool:
    """Whether the totals that are shown fix the figure of a small cell."""
    out = np.flatnonzero(suppressed)
    if not 0 < len(out) <= _MAX_SOLVED or suppressed.all():
        return False
    sums = [np.isin(out, members) for members in totals if persons[members].sum() >= k]
    equations = np.array([line for line in sums if line.any()], np.float64).reshape(-1, len(out))
    free = np.eye(len(out)) - np.linalg.pinv(equations) @ equations  # how far each figure may move by itself
    return bool((np.diag(free)[persons[out] < k] < 1e-9).any())

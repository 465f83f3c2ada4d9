"""hidden(): which cells of an aggregate are left out, so that nobody in a small one is told of or worked out."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from shoal.encoding.types import Bools, Ints

_LARGEST = 400
"""Cells that are left out for which the equations are solved."""


def hidden(cells: Ints, persons: Ints, k: int, *, several: bool = False) -> Bools:
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

    >>> hidden(np.array([[0], [1], [2]]), np.array([7, 9, 1]), 3).tolist()
    [True, False, True]
    """
    out = np.asarray(persons < k)
    width = cells.shape[1]
    totals = [_groups(cells[:, list(kept)]) for size in range(width) for kept in combinations(range(width), size)]
    before = -1
    while before != out.sum():
        before = int(out.sum())
        for groups in totals:
            for members in groups:
                _protect(out, persons, members, k, several)
        if width > 1 and _solved(out, persons, [members for groups in totals for members in groups], k):
            shown = np.flatnonzero(~out)
            out[shown[np.argmin(persons[shown])]] = True
    return out


def _groups(keys: Ints) -> list[Ints]:
    """Return the cells of each total."""
    if not keys.shape[1]:
        return [np.arange(len(keys))]
    _, of_cell = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(of_cell.ravel(), kind="stable")
    return np.split(order, np.flatnonzero(np.diff(of_cell.ravel()[order])) + 1)


def _protect(out: Bools, persons: Ints, members: Ints, k: int, several: bool) -> None:
    """Leave out more cells of one total, if those that are left out could be worked out."""
    gone = members[out[members]]
    more = sorted(members[~out[members]].tolist(), key=lambda cell: (persons[cell], cell)) if len(gone) else []
    while more and (len(gone) < 2 or (persons[gone].max() if several else persons[gone].sum()) < k):
        gone = np.append(gone, more.pop(0))
        out[gone[-1]] = True


def _solved(out: Bools, persons: Ints, totals: list[Ints], k: int) -> bool:
    """Whether the totals that are told fix the figure of a small cell."""
    gone = np.flatnonzero(out)
    if not 0 < len(gone) <= _LARGEST or out.all():
        return False
    told = [np.isin(gone, members) for members in totals if persons[members].sum() >= k]
    equations = np.array([line for line in told if line.any()], np.float64).reshape(-1, len(gone))
    free = np.eye(len(gone)) - np.linalg.pinv(equations) @ equations  # how far each figure may move by itself
    return bool((np.diag(free)[persons[gone] < k] < 1e-9).any())

"""Group equal rows of small integers: the GROUP BY of every search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.encoding.types import Ints

_LIMIT = 2**62


def group(columns: Sequence[npt.NDArray[np.integer]], sizes: Sequence[int]) -> tuple[Ints, Ints]:
    """Number equal rows, in lexicographic order.

    Parameters
    ----------
    columns
        One array of codes per column.
    sizes
        The codes of column ``j`` are below ``sizes[j]``.

    Returns
    -------
    The group of each row, and for each group one row that is in it.

    Examples
    --------
    >>> group([np.array([1, 0, 1]), np.array([2, 0, 2])], [2, 3])
    (array([1, 0, 1]), array([1, 0]))
    """
    if not columns:
        raise ValueError("group needs at least one column")
    key = columns[0].astype(np.int64)
    bound = max(int(sizes[0]), 1)
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        width = max(int(size), 1)
        if bound > _LIMIT // width:
            _, key = np.unique(key, return_inverse=True)
            bound = int(key.max(initial=0)) + 1
        key = key * width + column
        bound *= width
    if bound <= max(4 * len(key), 1 << 16):
        return _group_small(key, bound)
    _, rows, groups = np.unique(key, return_index=True, return_inverse=True)
    return groups.astype(np.int64), rows.astype(np.int64)


def number_values(values: npt.NDArray[np.generic]) -> Ints:
    """Number the distinct values in their order, and return the number of each.

    Examples
    --------
    >>> number_values(np.array([30, 10, 30]))
    array([1, 0, 1])
    """
    numbers: Ints = np.unique(values, return_inverse=True)[1].astype(np.int64)
    return numbers


def _group_small(key: Ints, bound: int) -> tuple[Ints, Ints]:
    # few possible keys: mark the ones that occur instead of sorting
    first = np.full(bound, -1, np.int64)
    first[key[::-1]] = np.arange(len(key) - 1, -1, -1)
    present = first >= 0
    numbers = np.cumsum(present) - 1
    return numbers[key], first[present]


def sort_distinct(keys: Ints, bound: int) -> Ints:
    """Return the keys that occur, each once, in order; all are below a bound.

    Examples
    --------
    >>> sort_distinct(np.array([5, 2, 5]), 6), sort_distinct(np.array([5, 2, 5]), 2**40)
    (array([2, 5]), array([2, 5]))
    """
    if bound <= 4 * len(keys) + (1 << 16):  # few are possible: mark those that occur instead of sorting
        occurs = np.zeros(bound, bool)
        occurs[keys] = True
        return np.flatnonzero(occurs)
    ordered: Ints = np.sort(keys)
    is_first = np.ones(len(ordered), bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_first]

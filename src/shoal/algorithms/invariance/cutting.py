"""cut_balanced(): the records of a signature in classes of near ones, each with all values equally often."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shoal.encoding.types import Floats, Ints

_FEW = 4
"""Classes of so many times the least units or fewer are cut in halves only."""


def cut_balanced(codes: Ints, scale: Floats, units: Ints, least: int) -> list[Ints]:
    """Cut the records of a signature again and again where the two parts lose least; near classes stand together.

    Parameters
    ----------
    codes
        The code of each record in each column.
    scale
        What a step between codes of each column costs.
    units
        ``units[value]``: the records with a value of the signature, as many for each.
    least
        The least number of records of each value in a class.

    Returns
    -------
    The records of each class.

    References
    ----------
    Xiao, X. and Tao, Y. (2007). m-invariance: towards privacy preserving re-publication of dynamic datasets. SIGMOD.

    Examples
    --------
    >>> ages = np.array([[20], [21], [60], [22], [61], [62]])
    >>> cut_balanced(ages, np.ones(1), np.array([[0, 2, 1], [3, 4, 5]]), 1)
    [array([0, 3]), array([1, 4]), array([2, 5])]
    """
    classes, open_parts = list[Ints](), [units]
    while open_parts:
        part = open_parts.pop()
        found = _best_cut(codes, scale, part, least) if part.shape[1] >= 2 * least else None
        if found is None:
            classes.append(part.ravel())
        else:
            open_parts += [found[1], found[0]]  # the lower part is cut first
    return classes


def _best_cut(codes: Ints, scale: Floats, part: Ints, least: int) -> tuple[Ints, Ints] | None:
    """Return the two parts that together lose least; nothing where all records are alike."""
    own = codes[part]
    low, high = own.min(axis=(0, 1)), own.max(axis=(0, 1))
    best, least_cost = None, np.inf
    for column in np.flatnonzero(high > low):
        keys = own[:, :, column]
        order = np.argsort(keys, axis=1, kind="stable")
        ordered = np.take_along_axis(part, order, axis=1)
        for place in _places(np.take_along_axis(keys, order, axis=1), least):
            lower, upper = ordered[:, :place], ordered[:, place:]
            cost = _cost(codes[lower], scale) + _cost(codes[upper], scale)
            if cost < least_cost:
                best, least_cost = (lower, upper), cost
    return best


def _places(keys: Ints, least: int) -> Iterator[int]:
    """Yield where a part may be cut: in the middle, and where the value in the middle begins and ends."""
    count = keys.shape[1]
    middle = count // 2
    yield middle
    if count <= _FEW * least:
        return
    below, upto = ((keys < keys[0, middle]).sum(axis=1), (keys <= keys[0, middle]).sum(axis=1))
    found = {int(below.min()), int(below.max()), int(upto.min()), int(upto.max())} - {middle}
    yield from sorted(place for place in found if least <= place <= count - least)


def _cost(codes: Ints, scale: Floats) -> float:
    """Return what a part loses: its ranges, for each of its records."""
    ranges: Ints = codes.max(axis=(0, 1)) - codes.min(axis=(0, 1))
    lost: float = codes.shape[0] * codes.shape[1] * float(ranges @ scale)
    return lost

"""How far a class is from the whole table at most, where some records have no value and may have any.

The distance from class to table is a norm of the difference of their distributions, so it is convex in whatever the
unknown records have: it is greatest where those of the class all have one value, and those of the rest all another.
Nobody has to try all pairs. What placing them changes is added up along the order, or from the values up to the root.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from shoal.encoding.types import Codes
from shoal.models._exact import Numbers

_States = tuple[Numbers, Numbers, Numbers, Numbers]
"""What is moved at most where no unknown record was placed yet, those of the class, those of the rest, and both."""
_Node = tuple[Numbers, _States]
"""What a label has too much, and what is moved at most in it and below."""


def bound_anywhere(extra: Numbers, gain: Numbers, loss: Numbers) -> Numbers:
    """Return what must be moved at most where any two values are as far apart.

    ``extra[class, value]`` is what a class has too much of a value, ``gain[class]`` and ``loss[class]`` are by how much
    its own unknown records raise that, and those of the rest lower it. There are at least two values.

    Examples
    --------
    >>> bound_anywhere(np.array([[3, -1]]), np.array([0]), np.array([2]))  # the two lower the other value
    array([3])
    """
    high, low = extra.max(axis=1), extra.min(axis=1)
    raised = _surplus(high + gain) - _surplus(high)
    lowered = _surplus(low) - _surplus(low - loss)
    worst: Numbers = _surplus(extra).sum(axis=1) + raised - lowered
    return worst


def bound_along_order(extra: Numbers, gain: Numbers, loss: Numbers) -> Numbers:
    """Return the same in steps from one value to the next, the values being in their order.

    Examples
    --------
    >>> bound_along_order(np.array([[2, -1, -1]]), np.array([0]), np.array([0]))
    array([3])
    """
    reached = np.cumsum(extra, axis=1)[:, :-1]
    none, own, rest, both = (_summed(reached + shift[:, None]) for shift in _shifts(gain, loss))
    own_first = own - both + np.maximum.accumulate(none - own, axis=1)
    rest_first = rest - both + np.maximum.accumulate(none - rest, axis=1)
    worst: Numbers = both[:, -1] + np.maximum(own_first.max(axis=1), rest_first.max(axis=1))
    return worst


def bound_between_labels(extra: Numbers, gain: Numbers, loss: Numbers, levels: Codes) -> Numbers:
    """Return the same in levels that records move up to the label that they share.

    ``levels[level, value]`` is the number of a value's label, from the values themselves up to below the top.

    Examples
    --------
    >>> levels = np.array([[0, 1, 2], [0, 0, 1]], np.int32)
    >>> bound_between_labels(np.array([[2, -1, -1]]), np.array([0]), np.array([0]), levels)
    array([3])
    """
    shifts = _shifts(gain, loss)
    nodes = {label: _with_surplus(None, much, shifts) for label, much in zip(levels[0].tolist(), extra.T, strict=True)}
    for below, above in pairwise(levels):
        joined = _joined(nodes, dict(zip(below.tolist(), above.tolist(), strict=True)))
        nodes = {label: _with_surplus(states, much, shifts) for label, (much, states) in joined.items()}
    _, (*_, worst) = _joined(nodes, dict.fromkeys(nodes, 0))[0]
    return worst


def _shifts(gain: Numbers, loss: Numbers) -> _States:
    return np.zeros_like(gain), gain, -loss, gain - loss


def _surplus(extra: Numbers) -> Numbers:
    result: Numbers = np.maximum(extra, 0)
    return result


def _summed(reached: Numbers) -> Numbers:
    """What was moved before each value."""
    start = np.zeros((len(reached), 1), reached.dtype)
    return np.concatenate([start, np.cumsum(np.abs(reached), axis=1)], axis=1)


def _with_surplus(states: _States | None, much: Numbers, shifts: _States) -> _Node:
    """Add what a label has too much."""
    none, own, rest, both = (_surplus(much + shift) for shift in shifts)
    if states is None:
        return much, (none, own, rest, both)
    return much, (states[0] + none, states[1] + own, states[2] + rest, states[3] + both)


def _joined(nodes: Mapping[int, _Node], parents: Mapping[int, int]) -> dict[int, _Node]:
    """Put the labels of a level under those of the next."""
    found: dict[int, _Node] = {}
    for label, (much, states) in nodes.items():
        others = found.get(parents[label])
        found[parents[label]] = (much, states) if others is None else (others[0] + much, _either(others[1], states))
    return found


def _either(one: _States, two: _States) -> _States:
    """Place the unknown records in one of two parts, or in each those of one kind."""
    own = np.maximum(one[1] + two[0], one[0] + two[1])
    rest = np.maximum(one[2] + two[0], one[0] + two[2])
    together = np.maximum(one[3] + two[0], one[0] + two[3])
    apart = np.maximum(one[1] + two[2], one[2] + two[1])
    return one[0] + two[0], own, rest, np.maximum(together, apart)

"""Boxes: what a class shows in each column, and what that costs.

A box is the least and the greatest code of each column, which decide its label or its range, and for columns that show
sets the codes themselves, as bits. Its cost is the weighted certainty penalty of one record.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

TABLE, RANGE, LABEL, SET = 0, 1, 2, 3
"""How a column's cost is found: looked up for few codes; from the values; from the levels; by counting bits."""


class Costs(NamedTuple):
    """What boxes cost, column by column; costs are weighted."""

    forms: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    """Where each column starts in ``numbers``."""
    numbers: npt.NDArray[np.float64]
    """TABLE: ``[least, greatest]`` cost. RANGE: values, not a number for the missing one. LABEL: ``[level, code]``."""
    label_starts: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int32]
    """LABEL: ``[level, code]`` numbers of labels."""
    heights: npt.NDArray[np.int64]
    single_starts: npt.NDArray[np.int64]
    singles: npt.NDArray[np.float64]
    """The cost of each code alone."""
    weights: npt.NDArray[np.float64]
    """The cost of a cell that shows nothing."""
    words: npt.NDArray[np.int64]
    """``words[column]``: the first word of a set's bits; the next column's is where they end."""
    wild: npt.NDArray[np.int64]
    """SET: the code that matches anything, -1 where there is none."""


@nb.njit(cache=True, nogil=True)
def bits_of(word):
    """Return how many bits of a word are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@nb.njit(cache=True, nogil=True)
def span_cost(costs, column, low, high):
    """Return what a column costs that shows all between two codes; not for sets."""
    form = costs.forms[column]
    size = costs.sizes[column]
    start = costs.starts[column]
    if form == TABLE:
        return costs.numbers[start + low * size + high]
    if low == high:
        return costs.singles[costs.single_starts[column] + low]
    if form == RANGE:
        width = costs.numbers[start + high] - costs.numbers[start + low]
        return costs.weights[column] if np.isnan(width) else width
    labels = costs.label_starts[column]
    for level in range(costs.heights[column]):
        if costs.labels[labels + level * size + low] == costs.labels[labels + level * size + high]:
            return costs.numbers[start + level * size + low]
    return costs.weights[column]


@nb.njit(cache=True, nogil=True)
def set_cost(costs, column, held, one, others, two):
    """Return what a column costs that shows the union of two sets: rows of words."""
    count = 0
    begin, end = costs.words[column], costs.words[column + 1]
    for word in range(begin, end):
        count += bits_of(held[one, word] | others[two, word])
    wild = costs.wild[column]
    if wild >= 0:
        word = begin + wild // 64
        if ((held[one, word] | others[two, word]) >> np.uint64(wild % 64)) & np.uint64(1):
            return costs.weights[column]
    return 0.0 if count < 2 else costs.weights[column] * count / costs.sizes[column]


@nb.njit(cache=True, nogil=True)
def rare_cost(costs, column, low, high, held, one, other_held, two):
    """Return what a column costs that is not looked up."""
    if costs.forms[column] == SET:
        return set_cost(costs, column, held, one, other_held, two)
    return span_cost(costs, column, low, high)


@nb.njit(inline="always")
def joined_cost(costs, lows, highs, held, one, other_lows, other_highs, other_held, two):
    """Return the cost of the least box that holds two boxes, given by arrays and rows; a record is a box."""
    total = 0.0
    # unsigned, because for signed numbers every look-up first asks whether it counts from the end
    one, two = np.uint64(one), np.uint64(two)
    for column in range(np.uint64(len(costs.forms))):
        low = min(lows[one, column], other_lows[two, column])
        high = max(highs[one, column], other_highs[two, column])
        if costs.forms[column] == TABLE:
            start, size = np.uint64(costs.starts[column]), np.uint64(costs.sizes[column])
            total += costs.numbers[start + np.uint64(low) * size + np.uint64(high)]
        else:
            total += rare_cost(costs, column, low, high, held, one, other_held, two)
    return total


@nb.njit(cache=True, nogil=True)
def own_cost(costs, lows, highs, held, one):
    """Return the cost of a box."""
    return joined_cost(costs, lows, highs, held, one, lows, highs, held, one)


@nb.njit(cache=True, nogil=True)
def join(lows, highs, held, one, other_lows, other_highs, other_held, two):
    """Widen a box so that it holds another one."""
    for column in range(lows.shape[1]):
        lows[one, column] = min(lows[one, column], other_lows[two, column])
        highs[one, column] = max(highs[one, column], other_highs[two, column])
    for word in range(held.shape[1]):
        held[one, word] |= other_held[two, word]


@nb.njit(cache=True, nogil=True)
def copy_box(lows, highs, held, one, other_lows, other_highs, other_held, two):
    """Make a box equal to another one."""
    for column in range(lows.shape[1]):
        lows[one, column] = other_lows[two, column]
        highs[one, column] = other_highs[two, column]
    for word in range(held.shape[1]):
        held[one, word] = other_held[two, word]

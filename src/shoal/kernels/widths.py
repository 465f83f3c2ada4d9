"""Boxes: what a class shows in each column, and what that costs.

A box is the least and the greatest position in each *slot*, which decide a label or a range, and for columns that show
sets the values themselves, as bits. Its cost is the weighted certainty penalty of one record. A column takes a slot, a
column with boundaries another one.

What is called for every pair of boxes calls nothing itself and finds all it needs in two arrays: that makes it ten
times as fast as functions that ask a column what it is. Callers hand over many boxes at a time (:func:`join_costs`):
then it is compiled once, not into each of them.

What kernels that make classes of units have in common: ``costs`` is what boxes cost; ``units``, ``weights`` and
``kinds`` are a box around each unit, its records, and a number for what the models look at in it (from 0, or -1 where
they only count records); ``least`` and ``spread`` are the fewest records and kinds of a class; ``members`` is the
class of each unit.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from shoal.encoding.types import Codes, Floats, Ints
from shoal.kernels.compiled import kernel

TABLE, LINE, SET, TREE = 0, 1, 2, 3
"""How a slot's cost is found: looked up for few codes; as the width of a range; by counting bits; from the levels."""
STRIDE = 4
"""Numbers of the layout for each slot."""


class Costs(NamedTuple):
    """What boxes cost, slot by slot, weighted. Slots are in the order of their forms."""

    lines: int
    """Slots below this one are looked up, from this one on they are widths."""
    sets: int
    trees: int
    slots: int
    layout: Ints
    """For each slot where it starts in ``numbers``; then for a TABLE its size; for a SET its first and last word; for
    a TREE its size, its height, and where the numbers of its labels start in this array: ``[level, code]``."""
    numbers: Floats
    """TABLE: costs ``[least, greatest]``. LINE: the cost of one step, of a cell that shows nothing, and what is added
    for not being a single position. SET: the cost of each count. TREE: costs ``[level, code]``."""


class Boxes(NamedTuple):
    """Many boxes; a record is a box."""

    lows: Codes
    """``lows[box, slot]``."""
    highs: Codes
    held: npt.NDArray[np.uint64]
    """``held[box, word]``: the values of sets, as bits."""


_COSTS = nb.types.NamedTuple((nb.i8, nb.i8, nb.i8, nb.i8, nb.i8[::1], nb.f8[::1]), Costs)
_BOXES = nb.types.NamedTuple((nb.i4[:, ::1], nb.i4[:, ::1], nb.u8[:, ::1]), Boxes)


@nb.njit(inline="always")
def count_bits(word):
    """Return how many bits of a word are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@nb.njit(inline="always")
def kind_bit(kind):
    """Return a kind as a bit, none for -1; kinds may share one, so that too few are counted rather than too many."""
    return np.uint64(0) if kind < 0 else np.uint64(1) << np.uint64(kind % 64)


@nb.njit(inline="always")
def span_cost(costs, slot, low, high):
    """Return what a slot costs that shows all between two positions; not for sets."""
    layout, numbers = costs.layout, costs.numbers
    start = layout[STRIDE * slot]
    if slot < costs.lines:
        return numbers[start + low * layout[STRIDE * slot + 1] + high]
    if slot < costs.sets:
        width = np.int64(high) - np.int64(low)
        return min(width * numbers[start] + (width > 0) * numbers[start + 2], numbers[start + 1])
    size, height, labels = layout[STRIDE * slot + 1], layout[STRIDE * slot + 2], layout[STRIDE * slot + 3]
    level = 0
    while level < height and layout[labels + level * size + low] != layout[labels + level * size + high]:
        level += 1
    return numbers[start + level * size + low]


@nb.njit(inline="always")
def joined_cost(costs, boxes, one, others, two):
    """Return the cost of the least box that holds two boxes."""
    layout, numbers = costs.layout, costs.numbers
    total = 0.0
    # unsigned, because for signed numbers every look-up first asks whether it counts from the end
    one, two = np.uint64(one), np.uint64(two)
    for slot in range(np.uint64(costs.lines)):
        low = min(boxes.lows[one, slot], others.lows[two, slot])
        high = max(boxes.highs[one, slot], others.highs[two, slot])
        at = np.uint64(STRIDE) * slot
        total += numbers[np.uint64(layout[at] + low * layout[at + np.uint64(1)] + high)]
    for slot in range(np.uint64(costs.lines), np.uint64(costs.sets)):
        low = np.int64(min(boxes.lows[one, slot], others.lows[two, slot]))
        high = np.int64(max(boxes.highs[one, slot], others.highs[two, slot]))
        at = np.uint64(layout[np.uint64(STRIDE) * slot])
        wide = (high - low) * numbers[at] + (high > low) * numbers[at + np.uint64(2)]
        total += min(wide, numbers[at + np.uint64(1)])
    for slot in range(np.uint64(costs.sets), np.uint64(costs.trees)):
        at = np.uint64(STRIDE) * slot
        count = np.uint64(layout[at])
        for word in range(np.uint64(layout[at + np.uint64(1)]), np.uint64(layout[at + np.uint64(2)])):
            count += count_bits(boxes.held[one, word] | others.held[two, word])
        total += numbers[count]
    for slot in range(np.uint64(costs.trees), np.uint64(costs.slots)):
        low = min(boxes.lows[one, slot], others.lows[two, slot])
        high = max(boxes.highs[one, slot], others.highs[two, slot])
        at = np.uint64(STRIDE) * slot
        size, labels = layout[at + np.uint64(1)], layout[at + np.uint64(3)]
        level = 0
        while (
            level < layout[at + np.uint64(2)]
            and layout[np.uint64(labels + level * size + low)] != layout[np.uint64(labels + level * size + high)]
        ):
            level += 1
        total += numbers[np.uint64(layout[at] + level * size + low)]
    return total


@kernel(nb.void(_COSTS, _BOXES, nb.i8, _BOXES, nb.i8[::1], nb.f8[::1]))
def join_costs(costs, boxes, one, others, chosen, found):
    """Fill in the cost of the least box that holds one box and each of the chosen others."""
    for index in range(len(chosen)):
        found[index] = joined_cost(costs, boxes, one, others, chosen[index])


@kernel(nb.f8(_COSTS, _BOXES, nb.i8))
def own_cost(costs, boxes, one):
    """Return the cost of a box."""
    return joined_cost(costs, boxes, one, boxes, one)


@kernel
def make_boxes(count, like):
    """Make room for some boxes with the slots of others."""
    slots = like.lows.shape[1]
    return Boxes(
        np.empty((count, slots), np.int32),
        np.empty((count, slots), np.int32),
        np.empty((count, like.held.shape[1]), np.uint64),
    )


@kernel
def take_boxes(boxes, chosen):
    """Return some of the boxes."""
    return Boxes(boxes.lows[chosen], boxes.highs[chosen], boxes.held[chosen])


@nb.njit(inline="always")
def clear_box(boxes, one):
    """Make a box that holds nothing: any other one replaces it."""
    boxes.lows[one, :] = 2147483647
    boxes.highs[one, :] = -2147483648
    boxes.held[one, :] = np.uint64(0)


@nb.njit(inline="always")
def join(boxes, one, others, two):
    """Widen a box so that it holds another one."""
    one, two = np.uint64(one), np.uint64(two)
    for slot in range(np.uint64(boxes.lows.shape[1])):
        boxes.lows[one, slot] = min(boxes.lows[one, slot], others.lows[two, slot])
        boxes.highs[one, slot] = max(boxes.highs[one, slot], others.highs[two, slot])
    for word in range(np.uint64(boxes.held.shape[1])):
        boxes.held[one, word] |= others.held[two, word]


@nb.njit(inline="always")
def copy_box(boxes, one, others, two):
    """Make a box equal to another one."""
    one, two = np.uint64(one), np.uint64(two)
    for slot in range(np.uint64(boxes.lows.shape[1])):
        boxes.lows[one, slot] = others.lows[two, slot]
        boxes.highs[one, slot] = others.highs[two, slot]
    for word in range(np.uint64(boxes.held.shape[1])):
        boxes.held[one, word] = others.held[two, word]


@kernel
def fill_boxes(units, weights, members, boxes, sizes):
    """Fill the boxes and sizes of classes; units of class -1 are in none."""
    sizes[:] = 0
    for own in range(len(sizes)):
        clear_box(boxes, own)
    for unit in range(len(members)):
        own = members[unit]
        if own >= 0:
            join(boxes, own, units, unit)
            sizes[own] += weights[unit]

"""Which box is cheapest to join: classes that grow, join and part, as boxes.

What a box is and costs is said in :mod:`shoal.kernels.widths`; here each box has its records too. A tuple is a box of
``codes`` and ``bits`` alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from shoal.kernels.widths import LABEL, RANGE, TABLE, bits_of, copy_box, join, joined_cost, own_cost


class Boxes(NamedTuple):
    """One row per box."""

    lows: npt.NDArray[np.int32]
    highs: npt.NDArray[np.int32]
    held: npt.NDArray[np.uint64]
    """The bits of the codes, where sets are shown."""
    costs: npt.NDArray[np.float64]
    records: npt.NDArray[np.int64]
    """0 where there is no box."""


@nb.njit(cache=True, nogil=True)
def extend(costs, boxes, a, codes, bits, one, records):
    """Add records of a tuple to box ``a``; a box without records is made of them alone."""
    lows, highs, held, paid, counts = boxes
    if counts[a] == 0:
        copy_box(lows, highs, held, a, codes, codes, bits, one)
    else:
        join(lows, highs, held, a, codes, codes, bits, one)
    paid[a] = own_cost(costs, lows, highs, held, a)
    counts[a] += records


@nb.njit(cache=True, nogil=True)
def enclose(costs, codes, bits, records, classes, boxes):
    """Make the box of each class out of the class and the records of each tuple."""
    boxes.records[:] = 0
    for one in range(len(codes)):
        extend(costs, boxes, classes[one], codes, bits, one, records[one])


@nb.njit(cache=True, nogil=True)
def merge(costs, boxes, a, b):
    """Let box ``a`` absorb box ``b``."""
    lows, highs, held, paid, counts = boxes
    join(lows, highs, held, a, lows, highs, held, b)
    paid[a] = own_cost(costs, lows, highs, held, a)
    counts[a] += counts[b]
    counts[b] = 0


@nb.njit(cache=True, nogil=True)
def least_rise(
    costs,
    boxes,
    a,  # the box that looks for another
    others,  # lows, highs and bits of the other boxes
    records,  # [other]: how many would cost what both boxes cost together; 0 for those not to be looked at
    before,  # [other]: what these records cost now
    first,  # the first of the others to be looked at
    last,  # the one after the last of them
    start,  # where to start looking; of equals the first is taken
):
    """Return the other box with which the summed cost of records rises least if box ``a`` joins it; -1 for none.

    With -1 for ``records`` that is the one with which box ``a`` costs most. What both cost is
    :func:`~shoal.kernels.widths.joined_cost`, written out: numba counts references to each array that is handed over
    or taken out of a tuple, which for one pair takes ten times as long as finding its cost.
    """
    forms, sizes, starts, numbers, label_starts, labels, heights, single_starts, singles, weights, words, wild = costs
    lows, highs, held = boxes.lows, boxes.highs, boxes.held
    other_lows, other_highs, other_held = others
    best, found = np.inf, -1
    for turn in range(first, last):
        b = start + turn - first
        if b >= last:
            b -= last - first
        paying, paid = records[b], before[b]
        if paying == 0:
            continue
        cost = 0.0
        for column in range(len(forms)):
            low = min(lows[a, column], other_lows[b, column])
            high = max(highs[a, column], other_highs[b, column])
            size, begin = sizes[column], starts[column]
            if forms[column] == TABLE:
                cost += numbers[begin + low * size + high]
            elif low == high:
                cost += singles[single_starts[column] + low]
            elif forms[column] == RANGE:
                width = numbers[begin + high] - numbers[begin + low]
                cost += weights[column] if np.isnan(width) else width
            elif forms[column] == LABEL:
                level, place = 0, label_starts[column]
                while level < heights[column] and labels[place + low] != labels[place + high]:
                    level += 1
                    place += size
                cost += numbers[begin + level * size + low]
            elif wild[column] >= 0 and high == size - 1:
                cost += weights[column]
            else:
                count = 0
                for word in range(words[column], words[column + 1]):
                    count += bits_of(held[a, word] | other_held[b, word])
                cost += weights[column] * count / size
            if paying * cost - paid >= best and paying > 0:
                break
        rise = paying * cost - paid
        if rise < best:
            best, found = rise, b
            if rise <= 0.0 and paying > 0:
                break
    return found


@nb.njit(cache=True, nogil=True)
def nearest(costs, boxes, a, codes, bits, records):
    """Return the tuple that raises the cost of box ``a`` least, the first of equals; -1 if none has records."""
    first, before = np.int64(0), np.full(len(codes), boxes.costs[a])
    return least_rise(costs, boxes, a, (codes, codes, bits), np.sign(records), before, first, len(codes), first)


@nb.njit(cache=True, nogil=True)
def furthest(costs, boxes, a, codes, bits, records):
    """Return the tuple that would cost most together with box ``a``, the first of equals; -1 if none has records."""
    first, before = np.int64(0), np.zeros(len(codes))
    return least_rise(costs, boxes, a, (codes, codes, bits), -np.sign(records), before, first, len(codes), first)


@nb.njit(cache=True, nogil=True)
def cheapest(costs, boxes, a, least, window):
    """Return the box that raises the summed cost of all records least by joining box ``a``; -1 for none.

    Where ``least`` is given and both have twice as many records, only as many of the other's records count as box
    ``a`` needs to have ``least``: the others can stay. At most ``window`` boxes around ``a`` are looked at.
    """
    lows, highs, held, paid, counts = boxes
    first, last = max(a - window // 2, 0), min(a + window // 2 + 1, len(counts))
    records, before = np.empty(last, np.int64), np.empty(last)
    mine = counts[a]
    for b in range(first, last):
        theirs = counts[b]
        if least > 0 and mine + theirs >= 2 * least:
            theirs = min(theirs, max(least - mine, 0))
        records[b] = mine + theirs if counts[b] > 0 and b != a else 0
        before[b] = mine * paid[a] + theirs * paid[b]
    return least_rise(costs, boxes, a, (lows, highs, held), records, before, first, last, a)


@nb.njit(cache=True, nogil=True)
def join_each(
    costs,
    boxes,
    queue,  # the boxes that need another, in this order
    window,  # at most so many boxes, from each one outwards, are looked at
    into,  # in and out: the box that absorbed each box, itself at first
):
    """Join each box of a queue with the cheapest other, unless it was joined already."""
    joined = np.zeros(len(into), np.bool_)
    for a in queue:
        if not joined[a]:
            b = cheapest(costs, boxes, a, 0, window)
            if b >= 0:
                merge(costs, boxes, a, b)
                into[b] = a
                joined[a] = joined[b] = True


@nb.njit(cache=True, nogil=True)
def bisect(
    costs,
    boxes,  # two boxes to work with; those of the parts afterwards
    codes,  # [tuple, column]: the tuples of a class, in the order in which they choose
    bits,  # [tuple, word]
    records,  # [tuple]
    rounds,  # how often to look for a tuple that is further away
    right,  # out [tuple]: whether the tuple goes to the second part
):
    """Part a class: find two tuples far apart, then let each other tuple go where it raises the cost less."""
    lows, highs, held, paid, counts = boxes
    first, second = np.int64(0), np.int64(1)  # as literals each would be compiled for itself
    seed = other = first
    for _ in range(rounds):
        seed = other
        counts[first] = 0
        extend(costs, boxes, first, codes, bits, seed, records[seed])
        other = furthest(costs, boxes, first, codes, bits, records)
        if other == seed:  # nothing is further away than the tuple itself
            other = second if seed == first else first
    counts[second] = 0
    extend(costs, boxes, second, codes, bits, other, records[other])
    right[seed], right[other] = False, True
    increase = np.empty(2)
    for one in range(len(codes)):
        if one in (seed, other):
            continue
        for side in range(2):
            joined = joined_cost(costs, lows, highs, held, side, codes, codes, bits, one)
            increase[side] = (counts[side] + records[one]) * joined - counts[side] * paid[side]
        right[one] = increase[1] < increase[0]
        extend(costs, boxes, second if right[one] else first, codes, bits, one, records[one])

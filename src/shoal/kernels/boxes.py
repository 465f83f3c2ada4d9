"""Which box is cheapest to join: classes that grow, join and part, as boxes.

What a box is and costs is said in :mod:`shoal.kernels.widths`; here each box has its records too. A tuple is a box.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.encoding.types import Codes, Floats, Ints
from shoal.kernels.compiled import kernel
from shoal.kernels.widths import copy_box, join, joined_cost


class Paid(NamedTuple):
    """Many boxes, what they cost, and their records."""

    lows: Codes
    highs: Codes
    held: npt.NDArray[np.uint64]
    costs: Floats
    records: Ints
    """0 where there is no box."""


@kernel
def extend(costs, boxes, a, tuples, one, records):
    """Add records of a tuple to box ``a``; a box without records is made of them alone."""
    if boxes.records[a] == 0:
        copy_box(boxes, a, tuples, one)
    else:
        join(boxes, a, tuples, one)
    boxes.costs[a] = joined_cost(costs, boxes, a, boxes, a)
    boxes.records[a] += records


@kernel
def enclose(costs, tuples, records, classes, boxes):
    """Make the box of each class out of the class and the records of each tuple."""
    boxes.records[:] = 0
    for one in range(len(classes)):
        extend(costs, boxes, classes[one], tuples, one, records[one])


@kernel
def merge(costs, boxes, a, b):
    """Let box ``a`` absorb box ``b``."""
    join(boxes, a, boxes, b)
    boxes.costs[a] = joined_cost(costs, boxes, a, boxes, a)
    boxes.records[a] += boxes.records[b]
    boxes.records[b] = 0


@kernel
def find_least_rise(
    costs,
    boxes,
    a,  # the box that looks for another
    others,  # the other boxes
    records,  # [other]: how many would cost what both boxes cost together; 0 for those not to be looked at
    before,  # [other]: what these records cost now
    first,  # the first of the others to be looked at
    last,  # the one after the last of them
    start,  # where to start looking; of equals the first is taken
):
    """Return the other box with which the summed cost of records rises least if box ``a`` joins it; -1 for none.

    With -1 for ``records`` that is the one with which box ``a`` costs most.
    """
    best, found = np.inf, -1
    for turn in range(first, last):
        b = start + turn - first
        if b >= last:
            b -= last - first
        if records[b] == 0:
            continue
        rise = records[b] * joined_cost(costs, boxes, a, others, b) - before[b]
        if rise < best:
            best, found = rise, b
            if rise <= 0.0 and records[b] > 0:
                break
    return found


@kernel
def find_nearest(
    costs,
    boxes,
    a,
    tuples,
    records,  # [tuple]: those without records are not looked at
    bounds,  # in and out [tuple]: what it costs with box ``a`` at least; 0 at first, kept while the box only grows
):
    """Return the tuple that raises the cost of box ``a`` least, the first of equals; -1 if none has records.

    A box that grows costs no less, so what a tuple cost before rules most of them out.
    """
    best, found = np.inf, -1
    for one in range(len(records)):
        if records[one] > 0 and bounds[one] < best:
            bounds[one] = cost = joined_cost(costs, boxes, a, tuples, one)
            if cost < best:
                best, found = cost, one
                if cost <= boxes.costs[a]:
                    break
    return found


@kernel
def find_furthest(costs, boxes, a, tuples, records):
    """Return the tuple that would cost most together with box ``a``, the first of equals; -1 if none has records."""
    first, before = np.int64(0), np.zeros(len(records))
    return find_least_rise(costs, boxes, a, tuples, -np.sign(records), before, first, len(records), first)


@kernel
def find_cheapest(costs, boxes, a, least, window):
    """Return the box that raises the summed cost of all records least by joining box ``a``; -1 for none.

    Where ``least`` is given and both have twice as many records, only as many of the other's records count as box
    ``a`` needs to have ``least``: the others can stay. At most ``window`` boxes around ``a`` are looked at.
    """
    paid, counts = boxes.costs, boxes.records
    first, last = max(a - window // 2, 0), min(a + window // 2 + 1, len(counts))
    records, before = np.empty(last, np.int64), np.empty(last)
    mine = counts[a]
    for b in range(first, last):
        theirs = counts[b]
        if least > 0 and mine + theirs >= 2 * least:
            theirs = min(theirs, max(least - mine, 0))
        records[b] = mine + theirs if counts[b] > 0 and b != a else 0
        before[b] = mine * paid[a] + theirs * paid[b]
    return find_least_rise(costs, boxes, a, boxes, records, before, first, last, a)


@kernel
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
            b = find_cheapest(costs, boxes, a, 0, window)
            if b >= 0:
                merge(costs, boxes, a, b)
                into[b] = a
                joined[a] = joined[b] = True


@kernel
def bisect(
    costs,
    boxes,  # two boxes to work with; those of the parts afterwards
    tuples,  # of a class, in the order in which they choose
    records,  # [tuple]
    rounds,  # how often to look for a tuple that is further away
    right,  # out [tuple]: whether the tuple goes to the second part
):
    """Part a class: find two tuples far apart, then let each other tuple go where it raises the cost less."""
    paid, counts = boxes.costs, boxes.records
    first, second = np.int64(0), np.int64(1)  # as literals each would be compiled for itself
    seed = other = first
    for _ in range(rounds):
        seed = other
        counts[first] = 0
        extend(costs, boxes, first, tuples, seed, records[seed])
        other = find_furthest(costs, boxes, first, tuples, records)
        if other == seed:  # nothing is further away than the tuple itself
            other = second if seed == first else first
    counts[second] = 0
    extend(costs, boxes, second, tuples, other, records[other])
    right[seed], right[other] = False, True
    increase = np.empty(2)
    for one in range(len(records)):
        if one in (seed, other):
            continue
        for side in range(2):
            joined = joined_cost(costs, boxes, side, tuples, one)
            increase[side] = (counts[side] + records[one]) * joined - counts[side] * paid[side]
        right[one] = increase[1] < increase[0]
        extend(costs, boxes, second if right[one] else first, tuples, one, records[one])

"""Recreate: new classes for the records of a block, with some chance."""

from __future__ import annotations

import numba as nb
import numpy as np

from shoal.kernels.blocks import draw_random
from shoal.kernels.compiled import kernel
from shoal.kernels.descent import SLACK
from shoal.kernels.widths import clear_box, count_bits, join, join_costs, kind_bit, make_boxes, own_cost, take_boxes


@kernel
def renumber(members):
    """Number the classes from 0; return how many there are."""
    number = np.full(members.max() + 1, -1, np.int64)
    count = 0
    for unit in range(len(members)):
        if number[members[unit]] < 0:
            number[members[unit]] = count
            count += 1
        members[unit] = number[members[unit]]
    return count


@kernel
def _distinct(units, members):
    """Number units that are the same, which must stand together; return the first of each, and how many."""
    first, count = np.empty(len(members), np.int64), 0
    for unit in range(len(members)):
        same = unit > 0
        for slot in range(units.lows.shape[1] if same else 0):
            same &= units.lows[unit, slot] == units.lows[unit - 1, slot]
            same &= units.highs[unit, slot] == units.highs[unit - 1, slot]
        for word in range(units.held.shape[1] if same else 0):
            same &= units.held[unit, word] == units.held[unit - 1, word]
        if not same:
            first[count] = unit
            count += 1
        members[unit] = count - 1
    return first[:count].copy(), count


@kernel
def gather(costs, units, weights, kinds, least, spread, state, noise, members):
    """Join the units that cost least together, two clusters at a time, until all have enough; return the number.

    The cost of a union counts per record of the clusters that lack records or kinds; a little noise makes another
    clustering each time. ``members``: out, the cluster of each unit.
    """
    first, count = _distinct(units, members)
    boxes, sizes, held = take_boxes(units, first), np.zeros(count, np.int64), np.zeros(count, np.uint64)
    for unit in range(len(members)):
        sizes[members[unit]] += weights[unit]
        held[members[unit]] |= kind_bit(kinds[unit])
    shake, paid, found, into = np.empty(count), np.empty(count), np.empty(count), np.arange(count)
    union, lacking = np.empty((count, count), np.float32), np.zeros(count, np.int64)
    for one in range(count):
        shake[one] = 1.0 + noise * draw_random(state) / 4294967296.0
        paid[one] = sizes[one] * own_cost(costs, boxes, one)
        lacking[one] = _lacking(sizes[one], held[one], least, spread)
        join_costs(costs, boxes, one, boxes, into[:one], found[:one])
        for two in range(one):
            union[one, two] = union[two, one] = found[two]
    alive = np.arange(count)
    nearest, score = np.full(count, -1, np.int64), np.full(count, np.inf)
    stale = np.ones(count, np.bool_)
    while True:
        small = -1
        for one in alive:
            if not lacking[one]:
                continue
            if stale[one]:
                stale[one], nearest[one], score[one] = False, -1, np.inf
                for two in alive:
                    rated = _rated(union, sizes, held, lacking, paid, shake, least, one, two)
                    if two != one and rated < score[one]:
                        nearest[one], score[one] = two, rated
            if small < 0 or score[one] < score[small]:
                small = one
        if small < 0 or nearest[small] < 0:
            break
        other = nearest[small]
        join(boxes, small, boxes, other)
        sizes[small] += sizes[other]
        held[small] |= held[other]
        lacking[small] = _lacking(sizes[small], held[small], least, spread)
        paid[small] = sizes[small] * own_cost(costs, boxes, small)
        into[other], stale[small] = small, True
        alive = alive[alive != other]
        join_costs(costs, boxes, small, boxes, alive, found)
        for index, one in enumerate(alive):
            if one == small:
                continue
            union[one, small] = union[small, one] = found[index]
            if nearest[one] == other or nearest[one] == small:
                stale[one] = True
            elif lacking[one] and not stale[one]:
                rated = _rated(union, sizes, held, lacking, paid, shake, least, one, small)
                if rated < score[one]:
                    nearest[one], score[one] = small, rated
    for unit in range(len(members)):
        own = members[unit]
        while into[own] != own:
            own = into[own]
        members[unit] = own
    return renumber(members)


@nb.njit(inline="always")
def _lacking(size, held, least, spread):
    """Return the records of a cluster that has too few of them, or too few kinds; 0 if it has enough."""
    return size if size < least or count_bits(held) < np.uint64(spread) else 0


@nb.njit(inline="always")
def _rated(union, sizes, held, lacking, paid, shake, least, one, two):
    """What joining two clusters costs per record that lacks something; nothing is gained where only a kind is missing
    and the other one does not bring it."""
    if sizes[one] >= least and held[one] | held[two] == held[one]:
        return np.inf
    growth = (sizes[one] + sizes[two]) * union[one, two] - paid[one] - paid[two]
    return (growth + 1e-9) * shake[two] * shake[one] / (lacking[one] + lacking[two])


@kernel
def split_large(costs, units, weights, kinds, members, classes, least, spread):
    """Split classes of twice the least size at the place that costs least, again and again; return the number."""
    own = 0
    while own < classes:
        inside = np.flatnonzero(members == own)
        records, chosen, index = weights[inside].sum(), -1, -1
        if records >= 2 * least and len(inside) > 1:
            chosen, index = _best_cut(costs, units, weights, kinds, inside, records, least, spread)
        if chosen < 0:
            own += 1
            continue
        members[_ranked(units.lows[:, chosen], inside)[index:]] = classes
        classes += 1
    return classes


@kernel
def _best_cut(costs, units, weights, kinds, inside, records, least, spread):
    """Return the slot and the place at which two parts of a class cost least; (-1, -1) if every cut costs more."""
    count = len(inside)
    box = make_boxes(1, units)
    clear_box(box, 0)
    for index in range(count):
        join(box, 0, units, inside[index])
    best = records * own_cost(costs, box, 0) + SLACK
    chosen, cut = -1, -1
    left = np.empty(count)
    for slot in range(units.lows.shape[1]):
        rank = _ranked(units.lows[:, slot], inside)
        size, held = np.int64(0), np.uint64(0)
        clear_box(box, 0)
        for index in range(count):
            unit = rank[index]
            join(box, 0, units, unit)
            size += weights[unit]
            held |= kind_bit(kinds[unit])
            enough = _lacking(size, held, least, spread) == 0
            left[index] = size * own_cost(costs, box, 0) if enough else np.inf
        size, held = np.int64(0), np.uint64(0)
        clear_box(box, 0)
        for index in range(count - 1, 0, -1):
            unit = rank[index]
            join(box, 0, units, unit)
            size += weights[unit]
            held |= kind_bit(kinds[unit])
            if left[index - 1] < np.inf and _lacking(size, held, least, spread) == 0:
                total = left[index - 1] + size * own_cost(costs, box, 0)
                if total < best:
                    best, chosen, cut = total, slot, index
    return chosen, cut


@kernel
def _ranked(positions, inside):
    """Return units in the order of their positions, equal ones as they are (there are few: by insertion)."""
    rank = inside.copy()
    for index in range(1, len(rank)):
        unit, at = rank[index], index
        while at > 0 and positions[rank[at - 1]] > positions[unit]:
            rank[at] = rank[at - 1]
            at -= 1
        rank[at] = unit
    return rank

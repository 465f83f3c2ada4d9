"""Descent: records change their classes, alone, in twos or over a third class, as long as that lowers the cost."""

from __future__ import annotations

import numba as nb
import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.widths import clear_box, copy_box, fill_boxes, join, join_costs, joined_cost, make_boxes, own_cost

SLACK = 1e-12
"""Sums that differ by less are the same."""


@kernel
def fill_rests(costs, units, members, own, rests, without, inside, rest):
    """Fill the box of a class without each of its units, and what it costs: from both ends of the list of units.

    ``rests``, ``without``: out, by unit, the box, and its cost (0 where nobody is left); ``inside``, ``rest``: room for
    the list of units, and for one box, that of the whole class afterwards.
    """
    count = 0
    for unit in range(len(members)):
        if members[unit] == own:
            inside[count] = unit
            count += 1
    clear_box(rest, 0)
    for index in range(count):
        copy_box(rests, inside[index], rest, 0)
        join(rest, 0, units, inside[index])
    clear_box(rest, 0)
    for index in range(count - 1, -1, -1):
        unit = inside[index]
        join(rests, unit, rest, 0)
        join(rest, 0, units, unit)
        without[unit] = own_cost(costs, rests, unit) if count > 1 else 0.0


@kernel
def descend(costs, units, weights, kinds, stay, members, classes, least, rounds):
    """Change classes as long as that lowers the cost; return the total cost.

    One unit leaves for another class, if its own has enough without it; or two units change places; or one leaves and
    a unit of a third class, that has enough, takes its place.

    A unit only leaves a class where so many others of its kind ``stay``, or for one of the same kind; units of kind -1
    may go anywhere. ``members`` are changed; there are so many ``classes``; all units are looked at in at most so many
    ``rounds``.
    """
    count = len(members)
    boxes, sizes = make_boxes(classes, units), np.zeros(classes, np.int64)
    fill_boxes(units, weights, members, boxes, sizes)
    cost = np.empty(classes)
    rests, without, inside = make_boxes(count, units), np.zeros(count), np.empty(count, np.int64)
    rest = make_boxes(1, units)
    for own in range(classes):
        cost[own] = own_cost(costs, boxes, own)
    if rounds == 0:
        return (sizes * cost).sum()
    for own in range(classes):
        fill_rests(costs, units, members, own, rests, without, inside, rest)
    room, found = np.empty(max(count, classes), np.int64), np.empty(max(count, classes))
    bound = np.zeros((classes, max(kinds.max() + 1, 0)), np.int64)
    for unit in range(count if bound.shape[1] else 0):
        bound[members[unit], kinds[unit]] += 1
    for _ in range(rounds):
        changed = False
        for unit in range(count):
            own = members[unit]
            to, partner = _best_change(
                costs, units, weights, kinds, stay, bound, members, boxes, sizes, cost, rests, without, least, unit,
                room, found,
            )  # fmt: skip
            if to < 0:
                continue
            changed = True
            third = members[partner] if partner >= 0 else to
            copy_box(boxes, own, rests, unit)
            _move(weights, kinds, bound, members, sizes, unit, to)
            if partner >= 0:
                copy_box(boxes, third, rests, partner)
                join(boxes, own, units, partner)
                _move(weights, kinds, bound, members, sizes, partner, own)
            join(boxes, to, units, unit)
            for moved in (own, to, third) if third != to else (own, to, -1):
                if moved >= 0:
                    cost[moved] = own_cost(costs, boxes, moved)
                    fill_rests(costs, units, members, moved, rests, without, inside, rest)
        if not changed:
            break
    return (sizes * cost).sum()


@nb.njit(inline="always")
def _move(weights, kinds, bound, members, sizes, unit, to):
    """Put a unit into another class."""
    own = members[unit]
    members[unit] = to
    sizes[own] -= weights[unit]
    sizes[to] += weights[unit]
    if kinds[unit] >= 0:
        bound[own, kinds[unit]] -= 1
        bound[to, kinds[unit]] += 1


@kernel
def _best_change(
    costs, units, weights, kinds, stay, bound, members, boxes, sizes, cost, rests, without, least, unit, chosen, found
):
    """Return the class that a unit had best go to, and the unit that takes its place; -1 where there is none.

    ``bound`` counts the kinds of each class; ``chosen`` and ``found`` are room for a number of each unit and class.
    """
    own, weight = members[unit], weights[unit]
    paid = sizes[own] * cost[own]
    best, to, partner = -SLACK, -1, -1
    free = _may_leave(kinds, stay, bound, members, unit)
    leaves = free and sizes[own] - weight >= least
    narrows = cost[own] - without[unit] > SLACK  # else nobody gains where it leaves
    if not narrows and not leaves:
        return to, partner
    # where it costs least
    target, growth = -1, np.inf
    if free:
        for other in range(len(sizes)):
            chosen[other] = other
        join_costs(costs, units, unit, boxes, chosen[: len(sizes)], found)
        for other in range(len(sizes)):
            rise = (sizes[other] + weight) * found[other] - sizes[other] * cost[other]
            if other != own and rise < growth:
                target, growth = other, rise
    if leaves:
        gain = growth + (sizes[own] - weight) * without[unit] - paid
        if gain < best:
            best, to = gain, target
    if not narrows:
        return to, partner
    # who might take its place: no box costs less than without the one that joins it
    count = 0
    for other in range(len(members)):
        theirs = members[other]
        mine = sizes[own] - weight + weights[other]
        if theirs == own or mine < least:
            continue
        same, leaves = kinds[other] == kinds[unit], _may_leave(kinds, stay, bound, members, other)
        if not (same or (free and leaves)):
            continue
        left = sizes[theirs] - weights[other]
        hope = mine * without[unit] - paid - sizes[theirs] * cost[theirs]
        swaps = left + weight >= least and hope + (left + weight) * without[other] < best
        gives = free and leaves and left >= least and theirs != target and hope + left * without[other] + growth < best
        if swaps or gives:
            chosen[count] = other
            count += 1
    join_costs(costs, rests, unit, units, chosen[:count], found)
    swaps_left = 0
    for index in range(count):
        other = chosen[index]
        theirs = members[other]
        left = sizes[theirs] - weights[other]
        rest = (sizes[own] - weight + weights[other]) * found[index] - paid - sizes[theirs] * cost[theirs]
        leaves = _may_leave(kinds, stay, bound, members, other)
        if free and leaves and left >= least and theirs != target and rest + left * without[other] + growth < best:
            best, to, partner = rest + left * without[other] + growth, target, other
        if left + weight >= least and rest + (left + weight) * without[other] < best:
            chosen[swaps_left], found[swaps_left] = other, rest
            swaps_left += 1
    for index in range(swaps_left):
        other = chosen[index]
        theirs = members[other]
        left = sizes[theirs] - weights[other] + weight
        if found[index] + left * without[other] < best:
            wider = joined_cost(costs, units, unit, rests, other)
            if found[index] + left * wider < best:
                best, to, partner = found[index] + left * wider, theirs, other
    return to, partner


@nb.njit(inline="always")
def _may_leave(kinds, stay, bound, members, unit):
    """Return whether a unit may leave its class for nobody of its own kind."""
    return kinds[unit] < 0 or bound[members[unit], kinds[unit]] > stay

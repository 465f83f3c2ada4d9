"""Large-neighbourhood search that sees the models: every move keeps all classes complying."""

from __future__ import annotations

import numba as nb
import numpy as np

from shoal.kernels.blocks import draw_random, start_random
from shoal.kernels.compiled import kernel
from shoal.kernels.compose import compose_pool, place_rest
from shoal.kernels.composition import add, complies_with, count_held
from shoal.kernels.descent import SLACK, fill_rests
from shoal.kernels.recreate import renumber
from shoal.kernels.widths import (
    copy_box,
    fill_boxes,
    join,
    join_costs,
    joined_cost,
    make_boxes,
    own_cost,
    take_boxes,
)

_MANY = 2000
"""Units of a block above which it is left as it is: every pair of units is looked at."""
_NOISE = 1.0
"""How far chance may change what is nearest, as a share."""
_ROUNDS = 4
"""How often a descent looks at all units of a block, at most."""


@kernel
def exchange_blocks(
    costs, units, places, kinds, conditions, listed, unit_starts, class_of, first, last, worth, seed, turn, improved
):
    """Improve blocks of classes that comply, each on its own; classes of a block are numbered anew.

    Parameters are those of :func:`~shoal.kernels.neighbourhood.improve_blocks`. ``improved``: out, like ``class_of``:
    classes that cost no more and comply. In every other turn classes of dear blocks are composed anew as well.
    """
    for block in range(first, last):
        begin, end = unit_starts[block], unit_starts[block + 1]
        improved[begin:end] = class_of[begin:end]
        if end - begin > _MANY:
            continue
        inside = listed[begin:end]
        own_units, own_places, own_kinds = take_boxes(units, inside), places[inside], kinds[inside]
        renumber(own_kinds)
        now = class_of[begin:end].copy()
        classes = renumber(now)
        state = start_random(seed, turn, block)
        cost = exchange(costs, own_units, own_places, own_kinds, conditions, now, classes, _ROUNDS)
        improved[begin:end] = now
        if turn % 2 or cost <= worth * (end - begin) * draw_random(state) / 4294967296.0 + SLACK:
            continue  # little is lost here
        other = np.full(end - begin, -1, np.int64)
        found = _compose(costs, own_units, own_places, own_kinds, conditions, state, other)
        if (
            found
            and exchange(costs, own_units, own_places, own_kinds, conditions, other, found, _ROUNDS) <= cost + SLACK
        ):
            improved[begin:end] = other


@kernel
def _compose(costs, units, places, kinds, conditions, state, members):
    """Compose classes of all units of a block around random seeds; return how many, 0 where a unit fits in none."""
    order = np.arange(len(members))
    for index in range(len(order) - 1, 0, -1):
        other = draw_random(state) % (index + 1)
        order[index], order[other] = order[other], order[index]
    least = conditions.least
    quota = 0.25 + 0.75 * draw_random(state) / 4294967296.0
    data = (costs, units, places, kinds, conditions)
    classes = compose_pool(*data, order.copy(), least, quota, _NOISE, state, members, 0)
    if classes == 0:
        return 0
    rest = order[members[order] < 0]
    alone = len(rest) + 1
    while 0 < len(rest) < alone:  # classes that took others may take more
        alone = len(rest)
        near = np.zeros(alone, np.int64)
        place_rest(costs, units, places, conditions, rest, near, classes, members, classes)
        rest = rest[members[rest] < 0]
    return classes if len(rest) == 0 else 0


@kernel
def exchange(costs, units, places, kinds, conditions, members, classes, rounds):
    """Change classes as long as that lowers the cost and keeps them complying; return the total cost.

    One unit leaves for another class; or two change places; or one leaves and a unit of a third class takes its place.
    ``members`` are changed; all units are looked at in at most so many ``rounds``.
    """
    count = len(members)
    boxes, sizes = make_boxes(classes, units), np.zeros(classes, np.int64)
    fill_boxes(units, np.ones(count, np.int64), members, boxes, sizes)
    held, cost = count_held(conditions, places, members, classes), np.empty(classes)
    rests, without, inside = make_boxes(count, units), np.zeros(count), np.empty(count, np.int64)
    rest = make_boxes(1, units)
    for own in range(classes):
        cost[own] = own_cost(costs, boxes, own)
        fill_rests(costs, units, members, own, rests, without, inside, rest)
    room, found = np.empty(max(count, classes), np.int64), np.empty(max(count, classes))
    for _ in range(rounds):
        changed = False
        for unit in range(count):
            own = members[unit]
            to, partner = _best_change(
                costs, units, places, kinds, conditions, held, members, boxes, sizes, cost, rests, without, unit, room,
                found,
            )  # fmt: skip
            if to < 0:
                continue
            changed = True
            third = members[partner] if partner >= 0 else to
            copy_box(boxes, own, rests, unit)
            _move(places, held, members, sizes, unit, to)
            if partner >= 0:
                copy_box(boxes, third, rests, partner)
                join(boxes, own, units, partner)
                _move(places, held, members, sizes, partner, own)
            join(boxes, to, units, unit)
            for moved in (own, to, third) if third != to else (own, to, -1):
                if moved >= 0:
                    cost[moved] = own_cost(costs, boxes, moved)
                    fill_rests(costs, units, members, moved, rests, without, inside, rest)
        if not changed:
            break
    return (sizes * cost).sum()


@nb.njit(inline="always")
def _move(places, held, members, sizes, unit, to):
    """Put a unit into another class."""
    own = members[unit]
    members[unit] = to
    sizes[own] -= 1
    sizes[to] += 1
    add(held, own, places, unit, -1)
    add(held, to, places, unit, 1)


@kernel
def _best_change(
    costs, units, places, kinds, conditions, held, members, boxes, sizes, cost, rests, without, unit, chosen, found
):
    """Return the class that a unit had best go to, and the unit that takes its place; -1 where there is none.

    What a change saves is asked first, and only then whether the classes comply with it.
    """
    own = members[unit]
    paid, best, to, partner = sizes[own] * cost[own], -SLACK, -1, -1
    narrows = cost[own] - without[unit] > SLACK  # else nobody gains where it leaves
    leaves = sizes[own] > conditions.least and complies_with(conditions, held, sizes[own], own, places, -1, unit)
    if not narrows and not leaves:
        return to, partner
    # where it costs least
    target, growth = -1, np.inf
    for other in range(len(sizes)):
        chosen[other] = other
    join_costs(costs, units, unit, boxes, chosen[: len(sizes)], found)
    for other in range(len(sizes)):
        rise = (sizes[other] + 1) * found[other] - sizes[other] * cost[other]
        if other != own and rise < growth and complies_with(conditions, held, sizes[other], other, places, unit, -1):
            target, growth = other, rise
    if leaves and growth + (sizes[own] - 1) * without[unit] - paid < best:
        best, to = growth + (sizes[own] - 1) * without[unit] - paid, target
    if not narrows:
        return to, partner
    # who might take its place: no box costs less than without the one that joins it
    count = 0
    for other in range(len(members)):
        theirs = members[other]
        if theirs == own:
            continue
        hope = sizes[own] * without[unit] - paid - sizes[theirs] * cost[theirs]
        swaps = hope + sizes[theirs] * without[other] < best
        gives = target >= 0 and theirs != target and hope + (sizes[theirs] - 1) * without[other] + growth < best
        if swaps or gives:
            chosen[count] = other
            count += 1
    join_costs(costs, rests, unit, units, chosen[:count], found)
    for index in range(count):
        other = chosen[index]
        theirs, same = members[other], kinds[other] == kinds[unit]
        base = sizes[own] * found[index] - paid - sizes[theirs] * cost[theirs]
        swapped = base + sizes[theirs] * without[other]
        given = base + (sizes[theirs] - 1) * without[other] + growth
        gives = target >= 0 and theirs != target and given < best and sizes[theirs] > conditions.least
        if swapped < best:
            swapped = base + sizes[theirs] * joined_cost(costs, units, unit, rests, other)
        if swapped >= best and not gives:
            continue
        if not (same or complies_with(conditions, held, sizes[own], own, places, other, unit)):
            continue
        if swapped < best and (same or complies_with(conditions, held, sizes[theirs], theirs, places, unit, other)):
            best, to, partner = swapped, theirs, other
        if gives and given < best and complies_with(conditions, held, sizes[theirs], theirs, places, -1, other):
            best, to, partner = given, target, other
    return to, partner

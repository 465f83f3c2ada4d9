"""Compose classes: the nearest records first, as far as what a class already has may still take them."""

from __future__ import annotations

import numpy as np

from shoal.kernels.blocks import draw_random, start_random
from shoal.kernels.compiled import kernel
from shoal.kernels.composition import add, complies_with, count_held, may_comply
from shoal.kernels.recreate import renumber
from shoal.kernels.widths import copy_box, fill_boxes, join, join_costs, make_boxes, own_cost

GOLDEN = 0.6180339887498949
"""Multiples of it, without their whole parts, scatter what stands together evenly."""
_PATIENCE = 4
"""So many seeds in turn that no class forms around, and the others are left."""


@kernel
def find_size(conditions, places, unit, least, most):
    """Return the size from which on a class may hold a unit; more than ``most`` where that is none up to there."""
    held = np.zeros((1, conditions.width), np.int32)
    add(held, 0, places, unit, 1)
    planned = least
    while planned <= most and not may_comply(conditions, held[0], 1, planned):
        planned += max(1, planned // 16)
    return planned


@kernel
def _fill(
    costs, units, places, kinds, conditions, pool, seed, planned, noise, state, allowed, held, box, found, members, own
):
    """Let a class form around a unit of the pool, of the planned size; return whether it does, else all are free."""
    held[:] = 0
    unit, size = pool[seed], 1
    add(held, 0, places, unit, 1)
    copy_box(box, 0, units, unit)
    members[unit] = own
    while size < planned:
        allowed[:] = -1  # not asked yet
        join_costs(costs, box, 0, units, pool, found)
        paid, best, chosen = own_cost(costs, box, 0), np.inf, -1
        for index in range(len(pool)):
            unit = pool[index]
            if members[unit] >= 0:
                continue
            rated = found[index] - paid + 1e-6
            if noise > 0.0:
                rated *= 1.0 + noise * draw_random(state) / 4294967296.0
            if rated >= best:
                continue
            kind = kinds[index]
            if allowed[kind] < 0:
                add(held, 0, places, unit, 1)
                allowed[kind] = may_comply(conditions, held[0], size + 1, planned)
                add(held, 0, places, unit, -1)
            if allowed[kind] == 1:
                best, chosen = rated, unit
        if chosen < 0:
            break
        members[chosen] = own
        add(held, 0, places, chosen, 1)
        join(box, 0, units, chosen)
        size += 1
    if size == planned and may_comply(conditions, held[0], size, size):
        return True
    for unit in pool:
        if members[unit] == own:
            members[unit] = -1
    return False


@kernel
def compose_pool(costs, units, places, kinds, conditions, pool, planned, quota, noise, state, members, classes):
    """Form classes of units of a pool, as long as some form; return how many there are then.

    Seeds are taken in the order of the pool; a class that cannot hold its seed otherwise is larger than ``planned``.
    It ends where a share ``quota`` of the pool is in classes. ``members``: in and out, the class of each unit, -1 for
    those in none; ``classes``: how many there are already.
    """
    own_kinds = kinds[pool]
    width = renumber(own_kinds)
    allowed, found = np.empty(width, np.int8), np.empty(len(pool))
    held, box = np.zeros((1, conditions.width), np.int32), make_boxes(1, units)
    seed, failed = 0, 0
    enough = int(np.floor(len(pool) * (1.0 - quota)))
    while len(pool) >= conditions.least and seed < len(pool) > enough and failed < _PATIENCE:
        size = find_size(conditions, places, pool[seed], planned, len(pool))
        formed = size <= len(pool) and _fill(
            costs, units, places, own_kinds, conditions, pool, seed, size, noise, state, allowed, held, box, found,
            members, classes,
        )  # fmt: skip
        if not formed:
            seed, failed = seed + 1, failed + 1
            continue
        classes, failed, left, before = classes + 1, 0, 0, seed
        for index in range(len(pool)):
            if members[pool[index]] < 0:
                pool[left], own_kinds[left] = pool[index], own_kinds[index]
                left += 1
            elif index < before:
                seed -= 1
        pool, own_kinds = pool[:left], own_kinds[:left]
    return classes


@kernel
def compose_sequence(costs, units, places, kinds, conditions, order, needed, planned, quota, chunk, members):
    """Form classes of neighbours in a sequence, out of one stretch after the other; return how many.

    In each stretch those are seeds first that need the largest classes (``needed``, by kind), then such from all over
    the stretch; a share ``quota`` of its units is put into classes, for the last ones find nobody near who is let in.
    """
    classes, state, chunks = 0, start_random(0, 0, 0), max(len(order) // chunk, 1)
    for own in range(chunks if len(order) > 0 else 0):
        pool = order[own * len(order) // chunks : (own + 1) * len(order) // chunks]
        scattered = (np.arange(len(pool)) * GOLDEN) % 1.0
        rank = np.argsort(scattered - needed[kinds[pool]], kind="mergesort")
        classes = compose_pool(
            costs, units, places, kinds, conditions, pool[rank], planned, quota, 0.0, state, members, classes
        )
    return classes


@kernel
def place_rest(costs, units, places, conditions, rest, near, window, members, classes):
    """Let each unit of the rest join the class that complies with it and costs least; return how many found none.

    It looks at ``window`` classes around the class that it is ``near``, and at all where none of these takes it.
    """
    boxes, sizes = make_boxes(classes, units), np.zeros(classes, np.int64)
    fill_boxes(units, np.ones(len(members), np.int64), members, boxes, sizes)
    held = count_held(conditions, places, members, classes)
    every, found, cost = np.arange(classes), np.empty(classes), np.empty(classes)
    for own in range(classes):
        cost[own] = own_cost(costs, boxes, own)
    alone = 0
    for index in range(len(rest)):
        unit, to = rest[index], -1
        begin = max(min(near[index] - window // 2, classes - window), 0)
        for first, last in ((begin, min(begin + window, classes)), (0, classes)):
            join_costs(costs, units, unit, boxes, every[first:last], found)
            growth = np.inf
            for own in range(first, last):
                rise = (sizes[own] + 1) * found[own - first] - sizes[own] * cost[own]
                if rise < growth and complies_with(conditions, held, sizes[own], own, places, unit, -1):
                    growth, to = rise, own
            if to >= 0 or last - first == classes:
                break
        if to < 0:
            alone += 1
            continue
        members[unit] = to
        sizes[to] += 1
        add(held, to, places, unit, 1)
        join(boxes, to, units, unit)
        cost[to] = own_cost(costs, boxes, to)
    return alone

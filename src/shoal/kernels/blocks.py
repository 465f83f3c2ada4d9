"""Blocks of neighbours, drawn at random: what is taken apart together."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.widths import join_costs, own_cost, span_cost


@kernel
def draw_random(state):
    """Return the next number of a stream, from 0 to 2**32 - 1 (xorshift)."""
    word = state[0]
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    word ^= word << np.uint64(17)
    state[0] = word
    return np.int64(word >> np.uint64(32))


@kernel
def start_random(seed, turn, block):
    """Return the stream of random numbers of a block: the same whoever works on it."""
    word = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(turn) * np.uint64(0xBF58476D1CE4E5B9)
    word ^= np.uint64(block) * np.uint64(0x94D049BB133111EB) + np.uint64(0x2545F4914F6CDD1D)
    word ^= word >> np.uint64(31)
    state = np.empty(1, np.uint64)
    state[0] = word if word else np.uint64(1)
    for _ in range(4):
        draw_random(state)
    return state


@kernel
def split_cells(costs, points, most, seed, turn, order, starts):
    """Split boxes into cells of at most so many neighbours: a random slot, wide ones more often, a random place within.

    ``order``, ``starts``: out, the boxes, cell after cell, and where each cell starts. Returns the number of cells.
    """
    count = len(points.lows)
    state = start_random(seed, turn, -1)
    for point in range(count):
        order[point] = point
    stack = np.empty((128, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, count
    height, cells = 1, 0
    while height > 0:
        height -= 1
        begin, end = stack[height, 0], stack[height, 1]
        if end - begin <= most or height > 120:
            starts[cells] = begin
            cells += 1
            continue
        slot = _draw_slot(costs, points, order[begin:end], state)
        share = 0.35 + 0.3 * draw_random(state) / 4294967296.0
        middle = begin + max(1, min(end - begin - 1, np.int64(share * (end - begin))))
        _part(points.lows[:, slot], order[begin:end], middle - begin, state)
        stack[height, 0], stack[height, 1] = middle, end
        stack[height + 1, 0], stack[height + 1, 1] = begin, middle
        height += 2
    starts[cells] = count
    return cells


@kernel
def _draw_slot(costs, points, chosen, state):
    """Draw a slot, one that costs much over all chosen points more often."""
    slots = points.lows.shape[1]
    widths = np.empty(slots)
    for slot in range(slots):
        low, high = points.lows[chosen[0], slot], points.highs[chosen[0], slot]
        for point in chosen[1:]:
            low, high = min(low, points.lows[point, slot]), max(high, points.highs[point, slot])
        if low == high:
            widths[slot] = 0.0
        elif costs.sets <= slot < costs.trees:
            # about half of all values are left: the cost of a set follows from its bits, which are not counted here
            widths[slot] = costs.numbers[costs.layout[4 * slot] : costs.layout[4 * slot] + high + 1][-1] / 2
        else:
            widths[slot] = span_cost(costs, slot, low, high)
    drawn = widths.sum() * draw_random(state) / 4294967296.0
    slot = 0
    while slot < slots - 1 and drawn >= widths[slot]:
        drawn -= widths[slot]
        slot += 1
    return slot


@kernel
def _part(positions, chosen, middle, state):
    """Put the points of the least positions first, so many of them; chance decides among equals (quickselect)."""
    keys = np.empty(len(chosen), np.int64)
    for index in range(len(chosen)):
        keys[index] = np.int64(positions[chosen[index]]) * 4294967296 + draw_random(state)
    first, last = 0, len(chosen) - 1
    while first < last:
        pivot, low, high = keys[(first + last) // 2], first, last
        while low <= high:
            while keys[low] < pivot:
                low += 1
            while keys[high] > pivot:
                high -= 1
            if low <= high:
                keys[low], keys[high] = keys[high], keys[low]
                chosen[low], chosen[high] = chosen[high], chosen[low]
                low += 1
                high -= 1
        if middle <= high:
            last = high
        elif middle >= low:
            first = low
        else:
            break


@kernel
def find_blocks(costs, boxes, listed, cell_starts, first, last, most, seed, turn, begins):
    """Divide the classes of each cell into blocks: a random class, and those that it would cost least to join.

    ``listed``, ``cell_starts``: in and out, the classes, cell after cell, then block after block in each, and where
    each cell starts; ``first``, ``last``: the cells to divide; ``most``: the most classes of a block; ``begins``: out,
    whether a block begins with this listed class.
    """
    for cell in range(first, last):
        state = start_random(seed, turn, cell)
        own = listed[cell_starts[cell] : cell_starts[cell + 1]]
        cost, rated = np.empty(len(own)), np.empty(len(own))
        for index in range(len(own) - 1, 0, -1):
            other = draw_random(state) % (index + 1)
            own[index], own[other] = own[other], own[index]
        for index in range(len(own)):
            cost[index] = own_cost(costs, boxes, own[index])
        index = 0
        while index < len(own):
            # from here on all are free; the first one asks who is near
            begins[cell_starts[cell] + index] = True
            join_costs(costs, boxes, own[index], boxes, own[index + 1 :], rated[index + 1 :])
            for other in range(index + 1, len(own)):
                growth = 2 * rated[other] - cost[index] - cost[other]
                rated[other] = (growth + 1e-6) * (1.0 + draw_random(state) / 4294967296.0)
            end = min(index + most, len(own))
            index += 1
            while index < end:
                nearest = index + np.argmin(rated[index:])
                own[index], own[nearest] = own[nearest], own[index]
                cost[index], cost[nearest] = cost[nearest], cost[index]
                rated[nearest] = rated[index]
                begins[cell_starts[cell] + index] = False
                index += 1

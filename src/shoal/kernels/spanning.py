"""A minimum spanning tree over tuples, cut and mended into classes (Ramana et al. 2013)."""

from __future__ import annotations

import numpy as np

from shoal.kernels.boxes import find_least_rise, merge
from shoal.kernels.compiled import kernel
from shoal.kernels.widths import joined_cost, span_cost


@kernel
def fill_distances(costs, slot, lows, highs, code, most, row):
    """Fill in how far each code of a slot is from one of them: what both cost together.

    The costs are those of :func:`shoal.algorithms.local.spanning_tree.weigh_by_effort`; what costs more than the
    ``most`` that all slots can cost is above a boundary: there is no way.
    """
    for other in range(len(row)):
        cost = span_cost(costs, slot, min(lows[code], lows[other]), max(highs[code], highs[other]))
        row[other] = 0.0 if other == code else cost if cost <= most else np.inf


@kernel
def span(
    costs,
    lows,  # all slots' [code]: its position
    highs,
    starts,  # [slot + 1]: where each slot's codes start
    most,  # what all slots cost at most within the boundaries
    indices,  # [slot, position]: where the slot starts + the code of the tuple at that position; reordered
    tuples,  # [position]: the tuple there; reordered
    parents,  # [position]: the tuple of the tree that is nearest to it, -1 for none; reordered
    lengths,  # [position]: how far that is; reordered
    begin,  # the positions before this one are in the tree, in the order in which they joined it
    end,  # stop when this many are
):
    """Grow a minimum spanning tree (Prim): the tuple nearest to the tree joins it, of equals the first.

    No distance is kept: each step works out one row per slot, from the tuple that joined last to every code. A
    tuple that no way leads to starts a tree of its own.
    """
    slots, count = indices.shape
    row = np.empty(len(lows))
    for position in range(begin, end):
        if position > 0:
            for j in range(slots):
                here, there = starts[j], starts[j + 1]
                code = indices[j, position - 1] - here
                fill_distances(costs, j, lows[here:there], highs[here:there], code, most, row[here:there])
            for i in range(position, count):
                distance = 0.0
                for j in range(slots):
                    distance += row[indices[j, i]]
                if distance < lengths[i]:
                    lengths[i] = distance
                    parents[i] = tuples[position - 1]
        nearest = position
        for i in range(position + 1, count):
            if lengths[i] < lengths[nearest] or (lengths[i] == lengths[nearest] and tuples[i] < tuples[nearest]):
                nearest = i
        tuples[position], tuples[nearest] = tuples[nearest], tuples[position]
        parents[position], parents[nearest] = parents[nearest], parents[position]
        lengths[position], lengths[nearest] = lengths[nearest], lengths[position]
        for j in range(slots):
            indices[j, position], indices[j, nearest] = indices[j, nearest], indices[j, position]


@kernel("void(i8[::1],i8[::1],i8[::1],i8,b1[::1])")
def remove_allowable(
    parents,  # [node]: where the edge of the node leads, an earlier node; -1 for a root
    queue,  # the nodes with an edge, longest edge first
    records,  # [node]
    least,
    removed,  # out [node]: whether its edge is removed
):
    """Remove edges, longest first, where both sides keep enough records (Laszlo and Mukherjee 2005)."""
    under = records.copy()
    for node in range(len(parents) - 1, 0, -1):
        if parents[node] >= 0:
            under[parents[node]] += under[node]
    removed[:] = False
    for node in queue:
        if under[node] < least:
            continue
        root = node
        while parents[root] >= 0 and not removed[root]:
            root = parents[root]
        if under[root] - under[node] < least:
            continue
        removed[node] = True
        above = parents[node]
        while True:
            under[above] -= under[node]
            if above == root:
                break
            above = parents[above]


@kernel
def join_classes(
    costs,
    boxes,  # of the classes: changed
    poor,  # [class]: whether it breaks a model
    first,  # [class]: the first of the classes that it may join
    last,  # [class]: the one after the last of them
    least,  # a class of fewer records breaks a model
    most,  # what a class costs at most within the boundaries
    by_increase,  # whether the increase of the loss is least, or the penalty of the joined class
    into,  # out [class]: the class that it is part of now
    alone,  # out [class]: whether there was none that it may join
):
    """Let each poor class join another, scanning all: one round of steps 16 to 20 of the paper.

    A class that was joined and is large enough waits for its models to be looked at again. No class joins another
    across a boundary.
    """
    paid, counts = boxes.costs, boxes.records
    joined = np.zeros(len(into), np.bool_)
    for c in range(len(into)):
        into[c], alone[c] = c, False
    for c in range(len(into)):
        if not poor[c] or into[c] != c or (joined[c] and counts[c] >= least):
            continue
        records, before = np.zeros(last[c], np.int64), np.zeros(last[c])
        for d in range(first[c], last[c]):
            if counts[d] > 0 and d != c:
                records[d] = counts[c] + counts[d] if by_increase else 1
                before[d] = counts[c] * paid[c] + counts[d] * paid[d] if by_increase else 0.0
        d = find_least_rise(costs, boxes, c, boxes, records, before, first[c], last[c], first[c])
        if d < 0 or joined_cost(costs, boxes, c, boxes, d) > 2.0 * most:
            alone[c] = True
            continue
        merge(costs, boxes, d, c)
        into[c], joined[d] = d, True
    for c in range(len(into)):
        while into[into[c]] != into[c]:
            into[c] = into[into[c]]

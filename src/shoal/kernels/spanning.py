"""A minimum spanning tree over tuples, cut and mended into classes (Ramana et al. 2013)."""

from __future__ import annotations

import numba as nb
import numpy as np

LABELS, RANGES, SETS = 0, 1, 2
"""How a column is published, which decides how far apart two of its values are and what a class loses."""

UNLIMITED = 1 << 30
"""The limit of codes in columns without boundaries."""


@nb.njit("void(i8,i4[::1],f8[::1],i4[::1],i8,f8,i8,f8[::1])", cache=True, nogil=True)
def hierarchical_distances(
    form,  # LABELS, RANGES or SETS
    joins,  # [code]: lowest level at which this code and the next share a label
    points,  # [code]: the value as a share of the column's range; not a number for the missing one
    limits,  # [code]: highest level that the code may be shown at
    height,  # the lowest level at which all values share a label
    weight,
    code,
    distance,  # out [code]
):
    """Tell how far each value of a column is from one of them.

    The effort of a value is its way up to what both share (eq. 1): the levels it climbs over the height of the
    tree, or the share of the range between the two. Both values make it (eq. 3). Where it leads beyond a boundary
    there is no way.
    """
    distance[code] = 0.0
    for step in (-1, 1):
        level, other = 0, code + step
        while 0 <= other < len(joins):
            level = max(level, joins[min(other, other - step)])
            if level > min(limits[code], limits[other]):
                effort = np.inf
            elif form == RANGES:
                effort = abs(points[other] - points[code])
                if np.isnan(effort):
                    effort = 1.0
            else:
                effort = min(level / height, 1.0)
            distance[other] = 2.0 * effort * weight
            other += step


@nb.njit(
    "void(i4[:,::1],i8[::1],i8[::1],f8[::1],i8,i8,i8[::1],i8[::1],i4[::1],f8[::1],i4[::1],i8[::1],f8[::1])",
    cache=True,
    nogil=True,
)
def span(
    places,  # [column, position]: the column's offset + the code of the tuple at that position; reordered
    tuples,  # [position]: the tuple there; reordered
    parents,  # [position]: the tuple of the tree that is nearest to it, -1 for none; reordered
    lengths,  # [position]: how far that is; reordered
    begin,  # the positions before this one are in the tree, in the order in which they joined it
    end,  # stop when this many are
    forms,  # [column]
    offsets,  # [column + 1]: where each column's codes start
    joins,  # [code]
    points,  # [code]
    limits,  # [code]
    heights,  # [column]
    weights,  # [column]
):
    """Grow a minimum spanning tree (Prim): the tuple nearest to the tree joins it, of equals the first.

    No distance is kept: each step works out one row per column, from the tuple that joined last to every value. A
    tuple that no way leads to starts a tree of its own.
    """
    columns, count = places.shape
    row = np.empty(offsets[columns], np.float64)
    for position in range(begin, end):
        if position > 0:
            for j in range(columns):
                low, high = offsets[j], offsets[j + 1]
                hierarchical_distances(
                    forms[j],
                    joins[low:high],
                    points[low:high],
                    limits[low:high],
                    heights[j],
                    weights[j],
                    places[j, position - 1] - low,
                    row[low:high],
                )
            for i in range(position, count):
                distance = 0.0
                for j in range(columns):
                    distance += row[places[j, i]]
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
        for j in range(columns):
            places[j, position], places[j, nearest] = places[j, nearest], places[j, position]


@nb.njit("void(i8[::1],i8[::1],i8[::1],i8,b1[::1])", cache=True, nogil=True)
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


@nb.njit(
    "void(i4[:,::1],i8[::1],i8[::1],i8[::1],b1[::1],i8[::1],i8[::1],"
    "i8[::1],i8[::1],i4[::1],f8[::1],i8[::1],f8[::1],f8[::1],i4[::1],i8,b1,i8[::1],b1[::1])",
    cache=True,
    nogil=True,
)
def join_classes(
    codes,  # [column, tuple]
    order,  # tuples, class after class
    starts,  # [class + 1]: where each class starts in order
    records,  # [class]: changed
    poor,  # [class]: whether it breaks a model
    first,  # [class]: the first of the classes that it may join
    last,  # [class]: the one after the last of them
    forms,  # [column]
    offsets,  # [column + 1]
    joins,  # [code]
    penalties,  # all columns' [level, code] penalties, flat
    penalty_offsets,  # [column]: where each column's penalties start
    points,  # [code]
    weights,  # [column]
    limits,  # [code]
    least,  # a class of fewer records breaks a model
    by_increase,  # whether the increase of the loss is least, or the penalty of the joined class
    into,  # out [class]: the class that it is part of now
    alone,  # out [class]: whether there was none that it may join
):
    """Let each poor class join another, scanning all: one round of steps 16 to 20 of the paper.

    A class that was joined and is large enough waits for its models to be looked at again. A class is known by its
    least and greatest code per column, the level at which these share a label, and its lowest limit; where sets
    are published also by its distinct values, a linked list of tuples. Columns are added up until they exceed the
    best so far.
    """
    columns, tuples = codes.shape
    count = len(starts) - 1
    low = np.empty((columns, count), np.int32)
    high = np.empty((columns, count), np.int32)
    level = np.zeros((columns, count), np.int32)
    limit = np.full((columns, count), UNLIMITED, np.int32)
    distinct = np.zeros((columns, count), np.int32)
    head = np.full((columns, count), -1, np.int32)
    follows = np.full((columns, tuples), -1, np.int32)
    holder = np.full(offsets[columns], -1, np.int64)  # the last class that was found to hold a value
    penalty = np.zeros(count, np.float64)
    between = np.empty(offsets[columns], np.int32)
    joined = np.zeros(count, np.bool_)
    for c in range(count):
        into[c], alone[c] = c, False
        for j in range(columns):
            begin, size, own = offsets[j], offsets[j + 1] - offsets[j], penalty_offsets[j]
            lo = hi = codes[j, order[starts[c]]]
            for i in range(starts[c], starts[c + 1]):
                t = order[i]
                code = codes[j, t]
                lo, hi = min(lo, code), max(hi, code)
                limit[j, c] = min(limit[j, c], limits[begin + code])
                if forms[j] == SETS and holder[begin + code] != c:
                    holder[begin + code] = c
                    distinct[j, c] += 1
                    follows[j, t] = head[j, c]
                    head[j, c] = t
            for code in range(lo, hi):
                level[j, c] = max(level[j, c], joins[begin + code])
            low[j, c], high[j, c] = lo, hi
            if forms[j] == LABELS or lo == hi:
                lost = penalties[own + level[j, c] * size + lo]
            elif forms[j] == RANGES:
                lost = points[begin + hi] - points[begin + lo]
                if np.isnan(lost):
                    lost = 1.0
            else:
                lost = max(distinct[j, c] / size, penalties[own + hi])
            penalty[c] += weights[j] * lost
    holder[:] = -1
    for c in range(count):
        if not poor[c] or into[c] != c or (joined[c] and records[c] >= least):
            continue
        for j in range(columns):  # the level that the class shares with each value
            begin = offsets[j]
            between[begin + low[j, c]] = top = 0
            for code in range(low[j, c] + 1, offsets[j + 1] - begin):
                between[begin + code] = top = max(top, joins[begin + code - 1])
            top = 0
            for code in range(low[j, c] - 1, -1, -1):
                between[begin + code] = top = max(top, joins[begin + code])
            t = head[j, c]
            while t >= 0:
                holder[begin + codes[j, t]] = c
                t = follows[j, t]
        best, together, partner = np.inf, 0.0, -1
        for d in range(first[c], last[c]):
            if into[d] != d or d == c:
                continue
            share, before = 1.0, 0.0
            if by_increase:
                share = float(records[c] + records[d])
                before = records[c] * penalty[c] + records[d] * penalty[d]
            total = 0.0
            for j in range(columns):
                begin, size, own = offsets[j], offsets[j + 1] - offsets[j], penalty_offsets[j]
                lo, hi = min(low[j, c], low[j, d]), max(high[j, c], high[j, d])
                top = max(between[begin + low[j, d]], level[j, c], level[j, d])
                if top > min(limit[j, c], limit[j, d]):
                    total = np.inf
                    break
                if forms[j] == LABELS or lo == hi:
                    lost = penalties[own + top * size + lo]
                elif forms[j] == RANGES:
                    lost = points[begin + hi] - points[begin + lo]
                    if np.isnan(lost):
                        lost = 1.0
                else:
                    held = distinct[j, c]
                    t = head[j, d]
                    while t >= 0:
                        held += holder[begin + codes[j, t]] != c
                        t = follows[j, t]
                    lost = max(held / size, penalties[own + hi])
                total += weights[j] * lost
                if total * share - before >= best:
                    break
            if total * share - before < best:
                best, together, partner = total * share - before, total, d
        if partner < 0:
            alone[c] = True
            continue
        d = partner
        for j in range(columns):
            begin = offsets[j]
            level[j, d] = max(between[begin + low[j, d]], level[j, c], level[j, d])
            low[j, d], high[j, d] = min(low[j, c], low[j, d]), max(high[j, c], high[j, d])
            limit[j, d] = min(limit[j, c], limit[j, d])
            t = head[j, d]
            while t >= 0:
                holder[begin + codes[j, t]] = d
                t = follows[j, t]
            t = head[j, c]
            while t >= 0:
                following = follows[j, t]
                if holder[begin + codes[j, t]] != d:
                    follows[j, t] = head[j, d]
                    head[j, d] = t
                    distinct[j, d] += 1
                t = following
        penalty[d] = together
        records[d] += records[c]
        into[c], joined[d] = d, True
    for c in range(count):
        while into[into[c]] != into[c]:
            into[c] = into[into[c]]

"""Walk through the boxes that classes may lie in, for lower bounds on what a local recoding loses.

A box is one step of each column's *ladder* (a partition of its values: the values as they are, their labels, …, all of
them) and a *window* of the line, the column whose classes show ranges. A class of at least k records lies in the box of
its steps and its window, and costs at least as much as the box.
"""

from __future__ import annotations

import numba as nb
import numpy as np

_WINDOWS = "void(i4[::1],i8,i8,f8[::1],i8[::1],i8,f8,b1,f8[::1],i8[::1],i8[::1],f8[::1])"
_MEANS = (
    "void(i4[::1],i8,i8,f8[::1],i8[::1],i8,f8,b1,f8[::1],f8,f8[::1],i4[:,::1],i4[:,::1],"
    "f8[::1],i8[::1],i4[::1],f8[:,::1],i8[::1],i4[:,::1],i4[:,::1])"
)
_WALK = (
    "i8(i4[:,::1],i8[::1],f8[::1],i8,i8[::1],i8[:,::1],i4[::1],f8[::1],b1[:,::1],b1,f8,i8,"
    "f8[::1],f8[::1],i4[:,::1],i4[:,::1])"
)


@nb.njit(_WINDOWS, cache=True, nogil=True)
def _narrowest_windows(
    group,  # tuples, in the order of the line
    begin,  # where the group starts
    end,
    points,  # [tuple]: its place on the line
    counts,  # [tuple]: records
    least,  # the fewest records of a class
    cost,  # of the box without its window
    flat,  # whether the window does not matter
    lowest,  # in, out [tuple]: what the cheapest box costs
    ends,  # scratch [tuple]
    queue,  # scratch [tuple]
    widths,  # scratch [tuple]
):
    """Lower what each tuple of a group pays to the narrowest window that holds it and enough records."""
    size = end - begin
    if flat or points[group[begin]] == points[group[end - 1]]:
        for i in range(begin, end):
            lowest[group[i]] = min(lowest[group[i]], cost)
        return
    # ends[i]: the first place at which a window that starts at i holds enough; size: none does
    held, j = np.int64(0), 0
    for i in range(size):
        while j < size and held < least:
            held += counts[group[begin + j]]
            j += 1
        if held < least:
            ends[i] = size
        else:
            ends[i] = j - 1
            widths[i] = points[group[begin + j - 1]] - points[group[begin + i]]
        held -= counts[group[begin + i]]
    head, tail, before = 0, 0, -1
    for t in range(size):
        if ends[t] < size:
            while tail > head and widths[queue[tail - 1]] >= widths[t]:
                tail -= 1
            queue[tail] = t
            tail += 1
        while before + 1 <= t and ends[before + 1] < t:
            before += 1  # the last window that ends before t: it is stretched to t
        while head < tail and queue[head] <= before:
            head += 1
        best = np.inf
        if head < tail:
            best = widths[queue[head]]
        if before >= 0:
            best = min(best, points[group[begin + t]] - points[group[begin + before]])
        lowest[group[begin + t]] = min(lowest[group[begin + t]], cost + best)


@nb.njit(_MEANS, cache=True, nogil=True)
def _largest_means(
    group,  # tuples, in the order of the line
    begin,
    end,
    points,  # [tuple]
    counts,  # [tuple]
    least,  # the fewest records of a class
    cost,  # of the box without its window
    flat,  # whether the window does not matter
    shares,  # [tuple]: what each record is to pay
    reach,  # boxes that cost more than this times the largest share are not looked at
    ratios,  # in, out [tuple]: the largest ratio so far
    bound_ids,  # in, out [tuple, place]: who is in the class that has it
    bound_counts,  # in, out [tuple, place]: how many of their records are
    top_shares,  # scratch [least]: the largest shares of the window, the largest first
    top_counts,  # scratch [least]
    top_ids,  # scratch [least]
    sums,  # scratch [3, tuple]: of each block of the window
    stops,  # scratch [tuple]
    block_ids,  # scratch [tuple, place]: the largest shares at the end of each block
    block_counts,  # scratch
):
    """Raise each tuple's ratio to the largest of (mean of the class) / (cost of the box) over its classes here.

    The class of a tuple in a box that has the largest mean is the tuple with those of the largest shares.
    """
    wanted = bound_ids.shape[1]
    highest = np.float64(0.0)
    for i in range(begin, end):
        highest = max(highest, shares[group[i]])
    most = highest * reach
    start = begin
    while start < end:
        origin = points[group[start]]
        filled, in_top, held = 0, np.int64(0), np.int64(0)
        block, j = 0, start
        while j < end:
            width = cost if flat else cost + points[group[j]] - origin
            if width >= most:
                break
            place = points[group[j]]
            while j < end and (flat or points[group[j]] == place):
                t = group[j]
                held += counts[t]
                share = shares[t]
                if share > 0.0 and (in_top < least or share > top_shares[filled - 1]):
                    at = filled
                    while at > 0 and top_shares[at - 1] < share:
                        at -= 1
                    for move in range(filled, at, -1):
                        top_shares[move] = top_shares[move - 1]
                        top_counts[move] = top_counts[move - 1]
                        top_ids[move] = top_ids[move - 1]
                    top_shares[at] = share
                    top_counts[at] = min(counts[t], least)
                    top_ids[at] = t
                    in_top += top_counts[at]
                    filled += 1
                    while in_top > least:
                        over = min(in_top - least, top_counts[filled - 1])
                        top_counts[filled - 1] -= over
                        in_top -= over
                        if top_counts[filled - 1] == 0:
                            filled -= 1
                j += 1
            stops[block] = j
            sums[0, block] = -1.0
            if held >= least and filled > 0:
                total = 0.0
                for at in range(filled):
                    total += top_shares[at] * top_counts[at]
                short = total - (top_shares[filled - 1] if in_top == least else 0.0)
                if width > 0.0:
                    scale = 1.0 / (least * width)
                    sums[0, block], sums[1, block], sums[2, block] = total * scale, short * scale, scale
                else:
                    sums[0, block], sums[1, block], sums[2, block] = np.inf, np.inf, 0.0
                for at in range(min(filled, wanted)):
                    block_ids[block, at] = top_ids[at]
                    block_counts[block, at] = top_counts[at]
                if filled < wanted:
                    block_ids[block, filled] = -1
            block += 1
        # backwards: a tuple is in every window that ends behind it
        whole, short, scale, chosen = -1.0, -1.0, -1.0, -1
        for b in range(block - 1, -1, -1):
            if sums[0, b] >= 0.0:
                if sums[0, b] > whole:
                    whole, chosen = sums[0, b], b
                short = max(short, sums[1, b])
                scale = max(scale, sums[2, b])
            if chosen < 0:
                continue
            for i in range(start if b == 0 else stops[b - 1], stops[b]):
                t = group[i]
                if shares[t] <= 0.0:
                    continue
                ratio = min(whole, short + shares[t] * scale)
                if ratio > ratios[t]:
                    ratios[t] = ratio
                    for at in range(wanted):
                        bound_ids[t, at] = block_ids[chosen, at]
                        bound_counts[t, at] = block_counts[chosen, at]
                        if block_ids[chosen, at] < 0:
                            break
        if flat:
            break
        while start < end and points[group[start]] == origin:
            start += 1


@nb.njit(_WALK, cache=True, nogil=True)
def walk_boxes(
    codes,  # [column, tuple]: in the order of the line
    counts,  # [tuple]: records
    points,  # [tuple]: its place on the line, as a cost; ascending
    least,  # the fewest records of a class
    steps,  # [column]: the steps of its ladder
    offsets,  # [column, step]: where a step starts in labels and costs
    labels,  # [code] for each step: the number of its label
    costs,  # [code] for each step: what the label costs
    flats,  # [column, step]: whether the step leaves the line out
    by_mean,  # whether means are asked for, else cheapest boxes
    reach,  # with means: boxes that cost more than this times the largest share in them are not looked at
    budget,  # how many tuples to look at, over all boxes
    limits,  # [tuple]: the shares; without means, in and out: what the cheapest box costs
    ratios,  # in, out [tuple]: with means, the largest ratio of mean share to cost
    bound_ids,  # in, out [tuple, place]: with means, who is in the class that has it
    bound_counts,  # in, out [tuple, place]: how many of their records are
):
    """Look at every box that may matter; return what is left of the budget, negative where it was not enough.

    Where it was not enough, the cheapest boxes are still no higher than they are (boxes that were not looked into count
    as if they held enough); ratios are not known.

    Boxes are found from the first column to the last: each step divides the tuples of the box so far. A part is left
    out where it holds too few records, where it costs what everyone in it is known to pay already, and where an
    earlier step, which costs no more, holds all of it too.
    """
    columns, size = codes.shape
    longest = 1
    for column in range(columns):
        for step in range(steps[column]):
            begin = offsets[column, step]
            for code in range(offsets[column, step + 1] - begin):
                longest = max(longest, labels[begin + code] + 1)
    slots = np.full(longest, -1, np.int32)
    buffers = np.empty((columns + 1, size), np.int32)
    heads = np.empty((columns + 1, size + 1), np.int32)  # where the parts of a step start in the next buffer
    part_costs = np.empty((columns + 1, size), np.float64)
    part_of = np.empty(size, np.int32)
    part_counts = np.empty(size, np.int64)
    part_sizes = np.empty(size, np.int64)
    part_limits = np.empty(size, np.float64)
    parts = np.zeros(columns + 1, np.int64)
    part = np.zeros(columns + 1, np.int64)
    step_at = np.zeros(columns + 1, np.int64)
    begins = np.zeros(columns + 2, np.int64)
    ends = np.zeros(columns + 2, np.int64)
    spent = np.zeros(columns + 2, np.float64)
    flat = np.zeros(columns + 2, np.bool_)
    scratch_ends = np.empty(size, np.int64)
    scratch_queue = np.empty(size, np.int64)
    scratch_widths = np.empty(size, np.float64)
    top_shares = np.empty(least + 1, np.float64)
    top_counts = np.empty(least + 1, np.int64)
    top_ids = np.empty(least + 1, np.int32)
    sums = np.empty((3, size if by_mean else 0), np.float64)
    stops = np.empty(size if by_mean else 0, np.int64)
    block_ids = np.empty((size if by_mean else 0, bound_ids.shape[1]), np.int32)
    block_counts = np.empty((size if by_mean else 0, bound_ids.shape[1]), np.int32)
    total = np.int64(0)
    for i in range(size):
        buffers[0, i] = i
        total += counts[i]
    if total < least:
        return budget
    ends[0] = size
    step_at[0] = -1
    column = 0
    while column >= 0:
        if column == columns:  # a whole box
            budget -= ends[column] - begins[column]
            if by_mean:
                _largest_means(
                    buffers[column], begins[column], ends[column], points, counts, least, spent[column], flat[column],
                    limits, reach, ratios, bound_ids, bound_counts, top_shares, top_counts, top_ids, sums, stops,
                    block_ids, block_counts,
                )  # fmt: skip
            else:
                _narrowest_windows(
                    buffers[column], begins[column], ends[column], points, counts, least, spent[column], flat[column],
                    limits, scratch_ends, scratch_queue, scratch_widths,
                )  # fmt: skip
            column -= 1
            continue
        if step_at[column] >= 0 and part[column] < parts[column]:  # the next part of this step
            p = part[column]
            part[column] += 1
            cost = part_costs[column, p]
            if cost == np.inf:
                continue
            if not by_mean:  # others may be known to pay less by now
                active = False
                for i in range(heads[column, p], heads[column, p + 1]):
                    active |= limits[buffers[column + 1, i]] > cost
                if not active:
                    continue
            begins[column + 1], ends[column + 1] = heads[column, p], heads[column, p + 1]
            spent[column + 1] = cost
            flat[column + 1] = flat[column] or flats[column, step_at[column]]
            step_at[column + 1] = -1
            column += 1
            continue
        step_at[column] += 1
        step = step_at[column]
        if step >= steps[column]:
            column -= 1
            continue
        # divide the box by the labels of the step
        begin, end = begins[column], ends[column]
        budget -= end - begin
        if budget < 0:
            if by_mean:
                return budget
            for i in range(begin, end):
                t = buffers[column, i]
                limits[t] = min(limits[t], spent[column])
            step_at[column] = steps[column]
            parts[column] = 0
            continue
        offset = offsets[column, step]
        found = 0
        for i in range(begin, end):
            t = buffers[column, i]
            label = labels[offset + codes[column, t]]
            if slots[label] < 0:
                slots[label] = found
                part_counts[found], part_sizes[found], part_limits[found] = 0, 0, 0.0
                part_costs[column, found] = spent[column] + costs[offset + codes[column, t]]
                found += 1
            slot = slots[label]
            part_of[i - begin] = slot
            part_counts[slot] += counts[t]
            part_sizes[slot] += 1
            part_limits[slot] = max(part_limits[slot], limits[t])
        for i in range(begin, end):
            slots[labels[offset + codes[column, buffers[column, i]]]] = -1
        kept, at = 0, 0
        for p in range(found):
            cost = part_costs[column, p]
            enough = part_limits[p] * reach if by_mean else part_limits[p]
            if part_counts[p] < least or cost >= enough:
                part_counts[p] = -1
            else:
                part_counts[p] = at
                heads[column, kept] = at
                part_costs[column, kept] = cost
                at += part_sizes[p]
                kept += 1
        heads[column, kept] = at
        for i in range(begin, end):
            slot = part_of[i - begin]
            if part_counts[slot] >= 0:
                buffers[column + 1, part_counts[slot]] = buffers[column, i]
                part_counts[slot] += 1
        for p in range(kept):  # leave out what an earlier step holds too
            first, last = heads[column, p], heads[column, p + 1]
            head = buffers[column + 1, first]
            held = False
            for other in range(column, -1, -1):
                chosen = offsets[other, step_at[other]]
                code = codes[other, head]
                for lower in range(step_at[other] - 1, -1, -1):
                    here = offsets[other, lower]
                    if costs[here + code] > costs[chosen + code]:
                        continue
                    if flats[other, step_at[other]] and not flats[other, lower]:
                        continue
                    label = labels[here + code]
                    same = True
                    for i in range(last - 1, first, -1):
                        if labels[here + codes[other, buffers[column + 1, i]]] != label:
                            same = False
                            break
                    if same:
                        held = True
                        break
                if held:
                    part_costs[column, p] = np.inf
                    break
        parts[column], part[column] = kept, 0
    return budget

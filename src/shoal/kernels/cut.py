"""Propose one cut for each region of a multidimensional partition (Mondrian)."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.widths import STRIDE, bits_of, clear, join, new_boxes, span_cost


@kernel
def slot_cost(costs, boxes, one, slot):
    """Return what a slot of a box costs."""
    if slot < costs.sets or slot >= costs.trees:
        return span_cost(costs, slot, boxes.lows[one, slot], boxes.highs[one, slot])
    at = STRIDE * slot
    count = np.uint64(0)
    for word in range(costs.layout[at + 1], costs.layout[at + 2]):
        count += bits_of(boxes.held[one, word])
    return costs.numbers[costs.layout[at] + np.int64(count)]


@kernel
def propose_cuts(
    costs,
    boxes,  # around each tuple
    codes,  # [slot, tuple]: by which it is cut
    counts,  # [tuple]: records
    order,  # tuples, region after region
    starts,  # [region + 1]: where each region starts in order
    tried,  # [region, slot]: whether a cut there was tried and refused
    joins,  # [code]: lowest level at which this code and the next share a label
    join_starts,  # [slot + 1]: where each slot's codes start in joins; none where any two values may be parted
    least,  # the fewest records of a part
    chosen,  # out [region]: the slot to cut, -1 for none
    cut,  # out [region]: codes up to this one go left
):
    """Choose for each region the widest slot that has a cut with enough records on both sides.

    The cut is the one with the most even parts among the allowed ones: between any two values where ranges or
    value sets are published; between two children of the lowest common ancestor where labels are. A region above a
    boundary is widest in the slot of its boundaries.
    """
    slots = codes.shape[0]
    histogram, box = np.zeros(codes.max() + 1, np.int64), new_boxes(1, boxes)
    width = np.empty(slots, np.float64)
    low = np.empty(slots, np.int64)
    high = np.empty(slots, np.int64)
    top = np.empty(slots, np.int64)
    for r in range(len(starts) - 1):
        begin, end = starts[r], starts[r + 1]
        chosen[r] = -1
        total = 0
        for i in range(begin, end):
            total += counts[order[i]]
        if total < 2 * least:
            continue
        clear(box, 0)
        for i in range(begin, end):
            join(box, 0, boxes, order[i])
        for j in range(slots):
            lo, hi = codes[j, order[begin]], codes[j, order[begin]]
            for i in range(begin + 1, end):
                c = codes[j, order[i]]
                lo = min(lo, c)
                hi = max(hi, c)
            low[j], high[j], top[j] = lo, hi, -1
            width[j] = -1.0
            if lo == hi or tried[r, j]:
                continue
            if join_starts[j] < join_starts[j + 1]:
                for c in range(lo, hi):
                    top[j] = max(top[j], joins[join_starts[j] + c])
            width[j] = slot_cost(costs, box, 0, j)
        for _ in range(slots):
            j = np.argmax(width)
            if width[j] < 0.0:
                break
            best, index, left = 0, -1, 0
            if high[j] - low[j] <= 4 * (end - begin) + 64:
                for i in range(begin, end):
                    t = order[i]
                    histogram[codes[j, t]] += counts[t]
                for c in range(low[j], high[j]):
                    left += histogram[c]
                    even = min(left, total - left)
                    if even > best and (top[j] < 0 or joins[join_starts[j] + c] == top[j]):
                        best, index = even, c
                for i in range(begin, end):
                    histogram[codes[j, order[i]]] = 0
            else:
                region = order[begin:end]
                values = np.empty(end - begin, np.int64)
                for i in range(end - begin):
                    values[i] = codes[j, region[i]]
                ranked = np.argsort(values)
                for i in range(end - begin - 1):
                    left += counts[region[ranked[i]]]
                    c, following = values[ranked[i]], values[ranked[i + 1]]
                    even = min(left, total - left)
                    if c == following or even <= best:
                        continue
                    allowed = top[j] < 0
                    gap = c
                    while not allowed and gap < following:
                        allowed = joins[join_starts[j] + gap] == top[j]
                        gap += 1
                    if allowed:
                        best, index = even, c
            if best >= least:
                chosen[r], cut[r] = j, index
                break
            width[j] = -1.0

"""Propose one cut for each region of a multidimensional partition (Mondrian)."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.descent import SLACK
from shoal.kernels.widths import STRIDE, clear_box, count_bits, join, make_boxes, span_cost


@kernel
def slot_cost(costs, boxes, one, slot):
    """Return what a slot of a box costs."""
    if slot < costs.sets or slot >= costs.trees:
        return span_cost(costs, slot, boxes.lows[one, slot], boxes.highs[one, slot])
    at = STRIDE * slot
    count = np.uint64(0)
    for word in range(costs.layout[at + 1], costs.layout[at + 2]):
        count += count_bits(boxes.held[one, word])
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
    boundary is widest in the slot of its boundaries. Among slots that are equally wide (all are, at first, where a
    table has every value) the one whose values are most uneven is chosen, by their entropy: what is rare there is cut
    off while classes are large. The first one is chosen only where these are equal too.
    """
    slots = codes.shape[0]
    histogram, box = np.zeros(codes.max() + 1, np.int64), make_boxes(1, boxes)
    width = np.empty(slots, np.float64)
    low, high, top = np.empty(slots, np.int64), np.empty(slots, np.int64), np.empty(slots, np.int64)
    for r in range(len(starts) - 1):
        region = order[starts[r] : starts[r + 1]]
        chosen[r] = -1
        total = 0
        for t in region:
            total += counts[t]
        if total < 2 * least:
            continue
        clear_box(box, 0)
        for t in region:
            join(box, 0, boxes, t)
        for j in range(slots):
            lo, hi = codes[j, region[0]], codes[j, region[0]]
            for t in region[1:]:
                lo, hi = min(lo, codes[j, t]), max(hi, codes[j, t])
            low[j], high[j], top[j] = lo, hi, -1
            width[j] = -1.0
            if lo == hi or tried[r, j]:
                continue
            if join_starts[j] < join_starts[j + 1]:
                for c in range(lo, hi):
                    top[j] = max(top[j], joins[join_starts[j] + c])
            width[j] = slot_cost(costs, box, 0, j)
        widest, least_bits = -1.0, np.inf
        for _ in range(slots):
            j = np.argmax(width)
            if width[j] < max(widest - SLACK, 0.0):
                break
            own_joins = joins[join_starts[j] : join_starts[j + 1]]
            best, index = _find_even_cut(
                codes[j], counts, region, total, low[j], high[j], own_joins, top[j], histogram
            )  # fmt: skip
            if best >= least:
                bits = _find_entropy(codes[j], counts, region, total, low[j], high[j], histogram)
                if bits < least_bits - SLACK:
                    chosen[r], cut[r], least_bits = j, index, bits
                widest = max(widest, width[j])
            width[j] = -1.0


@kernel
def _find_even_cut(positions, counts, region, total, low, high, joins, top, histogram):
    """Return the records of the smaller part at the most even cut of a slot, and the last code that goes left."""
    best, index, left = 0, -1, 0
    if high - low <= 4 * len(region) + 64:
        for t in region:
            histogram[positions[t]] += counts[t]
        for c in range(low, high):
            left += histogram[c]
            even = min(left, total - left)
            if even > best and (top < 0 or joins[c] == top):
                best, index = even, c
        for t in region:
            histogram[positions[t]] = 0
        return best, index
    values = positions[region].astype(np.int64)
    ranked = np.argsort(values)
    for i in range(len(region) - 1):
        left += counts[region[ranked[i]]]
        c, following = values[ranked[i]], values[ranked[i + 1]]
        even = min(left, total - left)
        if c == following or even <= best:
            continue
        allowed = top < 0
        gap = c
        while not allowed and gap < following:
            allowed = joins[gap] == top
            gap += 1
        if allowed:
            best, index = even, c
    return best, index


@kernel
def _find_entropy(positions, counts, region, total, low, high, histogram):
    """Return the entropy of the values of a slot, in bits."""
    bits, held = 0.0, 0
    if high - low <= 4 * len(region) + 64:
        for t in region:
            histogram[positions[t]] += counts[t]
        for c in range(low, high + 1):
            if histogram[c] > 0:
                bits -= histogram[c] / total * np.log2(histogram[c] / total)
                histogram[c] = 0
        return bits
    values = positions[region].astype(np.int64)
    ranked = np.argsort(values)
    for i in range(len(region)):
        held += counts[region[ranked[i]]]
        if i + 1 == len(region) or values[ranked[i + 1]] != values[ranked[i]]:
            bits -= held / total * np.log2(held / total)
            held = 0
    return bits

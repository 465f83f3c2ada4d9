"""Propose one cut for each region of a multidimensional partition (Mondrian)."""

from __future__ import annotations

import numba as nb
import numpy as np

LABELS, RANGES, SETS = 0, 1, 2
"""How a column is published, which decides what a region's width is and where it may be cut."""

UNLIMITED = 1 << 30
"""The limit of codes in columns without boundaries."""
BEYOND = 1e9
"""Added to the width of a column that is above a boundary."""

_SIGNATURE = (
    "void(i4[:,::1],i8[::1],i8[::1],i8[::1],b1[:,::1],"
    "i8[::1],i8[::1],i4[::1],f8[::1],i8[::1],f8[::1],f8[::1],i4[::1],i8,i4[::1],i4[::1])"
)


@nb.njit(_SIGNATURE, cache=True, nogil=True)
def propose_cuts(
    codes,  # [column, tuple]: codes of the quasi-identifiers
    counts,  # [tuple]: records
    order,  # tuples, region after region
    starts,  # [region + 1]: where each region starts in order
    tried,  # [region, column]: whether a cut there was tried and refused
    forms,  # [column]: LABELS, RANGES or SETS
    offsets,  # [column + 1]: where each column's codes start in joins and points
    joins,  # [code]: lowest level at which this code and the next share a label
    penalties,  # all columns' [level, code] penalties, flat
    penalty_offsets,  # [column]: where each column's penalties start
    points,  # [code]: the value as a share of the column's range; not a number for the missing one
    weights,  # [column]
    limits,  # [code]: highest level that the code may be shown at
    least,  # the fewest records of a part
    chosen,  # out [region]: the column to cut, -1 for none
    cut,  # out [region]: codes up to this one go left
):
    """Choose for each region the widest column that has a cut with enough records on both sides.

    The cut is the one with the most even parts among the allowed ones: between any two values where ranges or
    value sets are published; between two children of the lowest common ancestor where labels are.
    """
    columns = codes.shape[0]
    largest = 0
    for j in range(columns):
        largest = max(largest, offsets[j + 1] - offsets[j])
    histogram = np.zeros(largest, np.int64)
    width = np.empty(columns, np.float64)
    low = np.empty(columns, np.int64)
    high = np.empty(columns, np.int64)
    top = np.empty(columns, np.int64)
    by_label = np.empty(columns, np.bool_)
    for r in range(len(starts) - 1):
        begin, end = starts[r], starts[r + 1]
        chosen[r] = -1
        total = 0
        for i in range(begin, end):
            total += counts[order[i]]
        if total < 2 * least:
            continue
        for j in range(columns):
            lo, hi = codes[j, order[begin]], codes[j, order[begin]]
            limit = limits[offsets[j] + lo]
            for i in range(begin + 1, end):
                c = codes[j, order[i]]
                lo = min(lo, c)
                hi = max(hi, c)
                limit = min(limit, limits[offsets[j] + c])
            low[j], high[j], top[j] = lo, hi, 0
            by_label[j] = forms[j] == LABELS
            width[j] = -1.0
            if lo == hi or tried[r, j]:
                continue
            size = offsets[j + 1] - offsets[j]
            if forms[j] == LABELS or limit < UNLIMITED:
                for c in range(lo, hi):
                    top[j] = max(top[j], joins[offsets[j] + c])
            if forms[j] == LABELS:
                width[j] = penalties[penalty_offsets[j] + top[j] * size + lo]
            elif forms[j] == RANGES:
                spread = points[offsets[j] + hi] - points[offsets[j] + lo]
                width[j] = 1.0 if np.isnan(spread) else spread
            else:
                distinct = 0
                for i in range(begin, end):
                    c = codes[j, order[i]]
                    distinct += histogram[c] == 0
                    histogram[c] = 1
                for i in range(begin, end):
                    histogram[codes[j, order[i]]] = 0
                width[j] = distinct / size
            width[j] *= weights[j]
            if top[j] > limit:
                # above a boundary: cut here first, and between the labels below
                width[j] += BEYOND
                by_label[j] = True
        for _ in range(columns):
            j = np.argmax(width)
            if width[j] < 0.0:
                break
            best, place, left = 0, -1, 0
            if high[j] - low[j] <= 4 * (end - begin) + 64:
                for i in range(begin, end):
                    t = order[i]
                    histogram[codes[j, t]] += counts[t]
                for c in range(low[j], high[j]):
                    left += histogram[c]
                    even = min(left, total - left)
                    if even > best and (not by_label[j] or joins[offsets[j] + c] == top[j]):
                        best, place = even, c
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
                    allowed = not by_label[j]
                    gap = c
                    while not allowed and gap < following:
                        allowed = joins[offsets[j] + gap] == top[j]
                        gap += 1
                    if allowed:
                        best, place = even, c
            if best >= least:
                chosen[r], cut[r] = j, place
                break
            width[j] = -1.0

"""Boxes: what a class of records would show in each column, what that costs, and which boxes are cheapest to join.

A box holds, for each column, the least and the greatest code of its records (codes are in hierarchy order, so these
decide the lowest common ancestor and the range), the set of its codes where value sets are published, and the
lowest level that a boundary allows. Its cost in a column is the certainty penalty of what it would show, times the
column's weight.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

LABELS, RANGES, SETS = 0, 1, 2
"""How a column is published."""
BEYOND = 1e6
"""Added to the cost of a box that shows a value above its boundary: such a class will be suppressed."""

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]


class Space(NamedTuple):
    """The columns as flat arrays."""

    forms: Ints
    """``[column]``: LABELS, RANGES or SETS."""
    sizes: Ints
    """``[column]``: how many codes there are."""
    heights: Ints
    """``[column]``: the top level."""
    places: Ints
    """``[column]``: where the column's codes start in ``values`` and ``limits``."""
    starts: Ints
    """``[column]``: where the column's levels start in ``labels`` and ``penalties``."""
    words: Ints
    """``[column + 1]``: where the column's words start in a box's ``bits``; none unless value sets are published."""
    labels: Codes
    """All columns' ``[level, code]``: the number of the label."""
    penalties: Floats
    """All columns' ``[level, code]``: the penalty of the label."""
    values: Floats
    """``[code]``: the value; not a number for the missing one."""
    spans: Floats
    """``[column]``: the greatest value less the least."""
    limits: Codes
    """``[code]``: the highest level that the code may be shown at."""
    weights: Floats
    """``[column]``."""
    wild: npt.NDArray[np.bool_]
    """``[column]``: whether the last code is a missing value that matches anything."""


class Boxes(NamedTuple):
    """One row per box."""

    low: Codes
    high: Codes
    distinct: Codes
    """How many codes the box has, where value sets are published."""
    limit: Codes
    bits: npt.NDArray[np.uint64]
    """Which codes the box has, where value sets are published."""
    costs: Floats
    """``[box, column]``: the weighted penalty."""
    records: Ints
    """0 where there is no box."""


_i8, _i4, _f8, _b1, _u8 = nb.int64[::1], nb.int32[::1], nb.float64[::1], nb.boolean[::1], nb.uint64[:, ::1]
_CODES, _COSTS = nb.int32[:, ::1], nb.float64[:, ::1]
SPACE = nb.types.NamedTuple((_i8, _i8, _i8, _i8, _i8, _i8, _i4, _f8, _f8, _f8, _i4, _f8, _b1), Space)
BOXES = nb.types.NamedTuple((_CODES, _CODES, _CODES, _CODES, _u8, _COSTS, _i8), Boxes)


# Helpers take numbers and few arrays, not the tuples above: numba counts references to each array that it hands over.


@nb.njit(nogil=True)
def _level(labels, start, size, height, low, high):
    """Return the lowest level at which two codes share a label."""
    for level in range(height):
        if labels[start + level * size + low] == labels[start + level * size + high]:
            return level
    return height


@nb.njit(nogil=True)
def _cost(form, size, height, start, place, span, weight, wild, labels, penalties, values, low, high, distinct, limit):
    """Return the weighted penalty of what a box shows in a column."""
    if form == SETS:
        if distinct < 2:
            penalty = penalties[start + low]
        elif wild and high == size - 1:
            penalty = 1.0
        else:
            penalty = distinct / size
    elif low == high:
        penalty = penalties[start + low]
    elif form == RANGES:
        spread = values[place + high] - values[place + low]
        penalty = spread / span if span > 0.0 else 0.0
        if np.isnan(spread):  # a missing value among others
            penalty = 1.0
    else:
        penalty = penalties[start + _level(labels, start, size, height, low, high) * size + low]
    if limit < height and _level(labels, start, size, height, low, high) > limit:
        return penalty * weight + BEYOND
    return penalty * weight


@nb.njit(nogil=True)
def _has(bits, a, word, code):
    """Return whether a code is in a box's set, whose words start at ``word``."""
    return (bits[a, word + (code >> 6)] >> np.uint64(code & 63)) & np.uint64(1) != np.uint64(0)


@nb.njit(nogil=True)
def _popcount(word):
    """Return how many bits are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@nb.njit(nogil=True)
def _new_codes(bits, word, a, b, low, high):
    """Return how many codes, between two of them, box ``b`` has and box ``a`` has not."""
    count = 0
    for place in range(word + (low >> 6), word + (high >> 6) + 1):
        count += _popcount(bits[b, place] & ~bits[a, place])
    return count


@nb.njit(nb.void(SPACE, BOXES, nb.int64, _i4, nb.int64), cache=True, nogil=True)
def extend(space, boxes, a, codes, records):
    """Add records of one tuple to box ``a``; a box without records is made of them alone."""
    forms, sizes, heights, places, starts, words, labels, penalties, values, spans, limits, weights, wild = space
    lows, highs, distinct, limit, bits, costs, counts = boxes
    fresh = counts[a] == 0
    if fresh:
        bits[a, :] = 0
    for j in range(len(codes)):
        code = codes[j]
        own = limits[places[j] + code]
        if fresh:
            lows[a, j] = highs[a, j] = code
            limit[a, j] = own
            distinct[a, j] = 0
        if forms[j] == SETS and not _has(bits, a, words[j], code):
            bits[a, words[j] + (code >> 6)] |= np.uint64(1) << np.uint64(code & 63)
            distinct[a, j] += 1
        lows[a, j] = min(lows[a, j], code)
        highs[a, j] = max(highs[a, j], code)
        limit[a, j] = min(limit[a, j], own)
        costs[a, j] = _cost(
            forms[j], sizes[j], heights[j], starts[j], places[j], spans[j], weights[j], wild[j],
            labels, penalties, values, lows[a, j], highs[a, j], distinct[a, j], limit[a, j],
        )  # fmt: skip
    counts[a] += records


@nb.njit(nb.void(SPACE, _CODES, _i8, _i8, _i8, BOXES), cache=True, nogil=True)
def enclose(
    space,
    codes,  # [tuple, column]
    records,  # [tuple]
    order,  # tuples, class after class
    starts,  # [class + 1]: where each class starts in order
    boxes,  # out: the box of each class
):
    """Make the box of each class."""
    for a in range(len(starts) - 1):
        boxes.records[a] = 0
        for i in range(starts[a], starts[a + 1]):
            extend(space, boxes, a, codes[order[i]], records[order[i]])


@nb.njit(nb.void(SPACE, BOXES, nb.int64, nb.int64), cache=True, nogil=True)
def merge(space, boxes, a, b):
    """Let box ``a`` absorb box ``b``."""
    forms, sizes, heights, places, starts, words, labels, penalties, values, spans, _, weights, wild = space
    lows, highs, distinct, limit, bits, costs, counts = boxes
    for j in range(len(forms)):
        if forms[j] == SETS:
            distinct[a, j] += _new_codes(bits, words[j], a, b, lows[b, j], highs[b, j])
            for word in range(words[j], words[j + 1]):
                bits[a, word] |= bits[b, word]
        lows[a, j] = min(lows[a, j], lows[b, j])
        highs[a, j] = max(highs[a, j], highs[b, j])
        limit[a, j] = min(limit[a, j], limit[b, j])
        costs[a, j] = _cost(
            forms[j], sizes[j], heights[j], starts[j], places[j], spans[j], weights[j], wild[j],
            labels, penalties, values, lows[a, j], highs[a, j], distinct[a, j], limit[a, j],
        )  # fmt: skip
    counts[a] += counts[b]
    counts[b] = 0


@nb.njit(nb.int64(SPACE, BOXES, nb.int64, _CODES, _i8, nb.boolean), cache=True, nogil=True)
def extreme(
    space,
    boxes,
    a,
    codes,  # [tuple, column]
    records,  # [tuple]: those without records are not looked at
    most,  # whether to look for the greatest rise instead of the least
):
    """Return the tuple that raises the cost of box ``a`` least, or most, by joining; -1 for none.

    Of equals the first is taken. What each code of a column would cost is worked out once, where a column has fewer
    codes than there are tuples.
    """
    forms, sizes, heights, places, starts, words, labels, penalties, values, spans, limits, weights, wild = space
    lows, highs, distinct, limit, bits, costs, _ = boxes
    columns, count = codes.shape[1], len(codes)
    tables = np.full(columns, -1, np.int64)
    room = 0
    for j in range(columns):
        if sizes[j] <= count:
            tables[j] = room
            room += sizes[j]
    table = np.empty(room)
    for j in range(columns):
        for code in range(sizes[j] if tables[j] >= 0 else 0):
            new = forms[j] == SETS and not _has(bits, a, words[j], code)
            table[tables[j] + code] = _cost(
                forms[j], sizes[j], heights[j], starts[j], places[j], spans[j], weights[j], wild[j],
                labels, penalties, values, min(lows[a, j], code), max(highs[a, j], code),
                distinct[a, j] + new, min(limit[a, j], limits[places[j] + code]),
            ) - costs[a, j]  # fmt: skip
    best, found = np.inf, -1
    for t in range(count):
        if records[t] == 0:
            continue
        rise = 0.0
        for j in range(columns):
            code = codes[t, j]
            if tables[j] >= 0:
                rise += table[tables[j] + code]
            else:
                new = forms[j] == SETS and not _has(bits, a, words[j], code)
                rise += _cost(
                    forms[j], sizes[j], heights[j], starts[j], places[j], spans[j], weights[j], wild[j],
                    labels, penalties, values, min(lows[a, j], code), max(highs[a, j], code),
                    distinct[a, j] + new, min(limit[a, j], limits[places[j] + code]),
                ) - costs[a, j]  # fmt: skip
            if rise >= best and not most:
                break
        if most:
            rise = -rise
        if rise < best:
            best, found = rise, t
            if rise <= 0.0 and not most:
                break
    return found


@nb.njit(nb.int64(SPACE, BOXES, nb.int64, nb.int64, nb.int64), cache=True, nogil=True)
def cheapest(space, boxes, a, least, window):
    """Return the box that raises the summed cost of all records least by joining box ``a``; -1 for none.

    Where ``least`` is given and both have twice as many records, only as many of the other's records count as box
    ``a`` needs to have ``least``: the others can stay. Boxes are looked at from ``a`` outwards, at most ``window`` of
    them; of equals the first is taken.
    """
    forms, sizes, heights, places, starts, words, labels, penalties, values, spans, _, weights, wild = space
    lows, highs, distinct, limit, bits, costs, counts = boxes
    best, found, seen = np.inf, -1, 0
    mine = counts[a]
    for turn in range(2 * max(a, len(counts) - 1 - a)):
        b = a - 1 - turn // 2 if turn % 2 == 0 else a + 1 + turn // 2
        if b < 0 or b >= len(counts) or counts[b] == 0:
            continue
        theirs = counts[b]
        if least > 0 and mine + theirs >= 2 * least:
            theirs = min(theirs, max(least - mine, 0))
        increase = 0.0
        for j in range(len(forms)):
            low, high = min(lows[a, j], lows[b, j]), max(highs[a, j], highs[b, j])
            held = np.int64(1)
            if forms[j] == SETS:  # count in the narrower box what the other has not
                if highs[a, j] - lows[a, j] < highs[b, j] - lows[b, j]:
                    held = distinct[b, j] + _new_codes(bits, words[j], b, a, lows[a, j], highs[a, j])
                else:
                    held = distinct[a, j] + _new_codes(bits, words[j], a, b, lows[b, j], highs[b, j])
            joined = _cost(
                forms[j], sizes[j], heights[j], starts[j], places[j], spans[j], weights[j], wild[j],
                labels, penalties, values, low, high, held, min(limit[a, j], limit[b, j]),
            )  # fmt: skip
            increase += mine * (joined - costs[a, j]) + theirs * (joined - costs[b, j])
            if increase >= best:
                break
        if increase < best:
            best, found = increase, b
        seen += 1
        if best <= 0.0 or seen == window:
            break
    return found


@nb.njit(nb.void(SPACE, BOXES, _i8, nb.int64, _i8), cache=True, nogil=True)
def join_each(
    space,
    boxes,
    queue,  # the boxes that need another, in this order
    window,  # at most so many boxes, from each one outwards, are looked at
    into,  # in and out: the box that absorbed each box, itself at first
):
    """Join each box of a queue with the cheapest other, unless it was joined already."""
    joined = np.zeros(len(into), np.bool_)
    for a in queue:
        if not joined[a]:
            b = cheapest(space, boxes, a, 0, window)
            if b >= 0:
                merge(space, boxes, a, b)
                into[b] = a
                joined[a] = joined[b] = True


@nb.njit(nb.void(SPACE, BOXES, _CODES, _i8, nb.int64, _b1), cache=True, nogil=True)
def bisect(
    space,
    boxes,  # two boxes to work with; those of the parts afterwards
    codes,  # [tuple, column]: the tuples of a class, in the order in which they choose
    records,  # [tuple]
    rounds,  # how often to look for a tuple that is further away
    right,  # out [tuple]: whether the tuple goes to the second part
):
    """Part a class: find two tuples far apart, then let each other tuple go where it raises the cost less."""
    forms, sizes, heights, places, starts, words, labels, penalties, values, spans, limits, weights, wild = space
    lows, highs, distinct, limit, bits, costs, counts = boxes
    seed, other = 0, 0
    for turn in range(rounds):
        if turn > 0:
            seed = other
        counts[0] = 0
        extend(space, boxes, 0, codes[seed], records[seed])
        other = extreme(space, boxes, 0, codes, records, True)
        if other == seed:  # nothing is further away than the tuple itself
            other = 1 if seed == 0 else 0
    counts[1] = 0
    extend(space, boxes, 1, codes[other], records[other])
    right[seed], right[other] = False, True
    for t in range(len(codes)):
        if t in (seed, other):
            continue
        increase = np.zeros(2)
        for side in range(2):
            for j in range(len(forms)):
                code = codes[t, j]
                held = distinct[side, j]
                if forms[j] == SETS and not _has(bits, side, words[j], code):
                    held += 1
                joined = _cost(
                    forms[j], sizes[j], heights[j], starts[j], places[j], spans[j], weights[j], wild[j],
                    labels, penalties, values, min(lows[side, j], code), max(highs[side, j], code), held,
                    min(limit[side, j], limits[places[j] + code]),
                )  # fmt: skip
                increase[side] += (counts[side] + records[t]) * joined - counts[side] * costs[side, j]
        right[t] = increase[1] < increase[0]
        extend(space, boxes, 1 if right[t] else 0, codes[t], records[t])

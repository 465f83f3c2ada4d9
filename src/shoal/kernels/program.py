"""The best way to cut a sequence of records into classes, by dynamic programming."""

from __future__ import annotations

import numba as nb
import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.widths import count_bits, kind_bit, span_cost

_LONG = 50
"""How many times the fewest records a run may have where it waits for a rare kind."""
_FINE = 1000
"""Places to cut within the fewest records of a run: where those are more, not every unit is one."""


@kernel
def cut_sequence(costs, units, weights, kinds, order, least, spread, members):
    """Cut a sequence into runs of at least so many records, with the least total cost.

    A run that could be cut in two costs no less than its parts, so only shorter ones are tried: fewer than twice as
    many records, or three times where units are of several records, and more where kinds are rare. Time is linear in
    the number of units times ``least``, or times twice ``_FINE`` where that is less: large runs end at every so many
    records only, which is why a run is tried until that many more could be cut off.

    ``order``: the units, in sequence; ``members``: out, the run of each. Returns the cost, and how many units were
    looked at.
    """
    count, slots = len(order), units.lows.shape[1]
    grain, whole, reached, looked = max(least // _FINE, 1), weights.sum(), np.int64(0), 0
    most = count if spread < 2 else _LONG * least + 1000
    best = np.full(count + 1, np.inf)
    start = np.zeros(count + 1, np.int64)
    best[0] = 0.0
    low, high = np.empty(slots, np.int32), np.empty(slots, np.int32)
    held, paid = np.empty(units.held.shape[1], np.uint64), np.empty(slots)
    for end in range(1, count + 1):
        before, reached = reached, reached + weights[order[end - 1]]
        between = before // grain == reached // grain or whole - reached < least
        if reached < least or (between and end < count):
            continue  # no run ends here
        low[:], high[:], held[:], paid[:] = 2147483647, -2147483648, np.uint64(0), 0.0
        cost, records, last = 0.0, np.int64(0), np.int64(0)
        seen = np.uint64(0)
        for begin in range(end - 1, max(end - 1 - most, -1), -1):
            unit = order[begin]
            looked += 1
            records += weights[unit]
            seen |= kind_bit(kinds[unit])
            for slot in range(slots):
                if costs.sets <= slot < costs.trees:
                    now = _widened(costs, slot, held, units.held[unit])
                elif units.lows[unit, slot] < low[slot] or units.highs[unit, slot] > high[slot]:
                    low[slot] = min(low[slot], units.lows[unit, slot])
                    high[slot] = max(high[slot], units.highs[unit, slot])
                    now = span_cost(costs, slot, low[slot], high[slot])
                else:
                    continue
                cost += now - paid[slot]
                paid[slot] = now
            enough = records - last >= least and count_bits(seen) >= np.uint64(spread)
            if (enough or last > 0) and best[begin] < np.inf:
                total = best[begin] + records * cost
                if total < best[end]:
                    best[end], start[end] = total, begin
            if enough and records - last >= least + grain - 1 and last > 0:
                break  # two parts, each with enough
            if enough and last == 0:
                last, seen = records, np.uint64(0)  # the fewest records that a part at this end could have
    if best[count] == np.inf:
        for index in range(count):
            members[order[index]] = 0
        return best[count], looked
    runs, end = 0, count
    while end > 0:
        for index in range(start[end], end):
            members[order[index]] = runs
        end = start[end]
        runs += 1
    return best[count], looked


@nb.njit(inline="always")
def _widened(costs, slot, held, more):
    """Widen the set of a slot, and return what it costs then."""
    at = 4 * slot
    count = np.uint64(costs.layout[at])
    for word in range(costs.layout[at + 1], costs.layout[at + 2]):
        held[word] |= more[word]
        count += count_bits(held[word])
    return costs.numbers[count]


@kernel
def sort_as_snake(codes, columns, labels, starts, order):
    """Sort records by keys, one after the other; every other group of equal ones runs backwards.

    So the ends of neighbouring groups meet. Records with the same keys stay in the order in which they are given.

    ``codes[record, column]``; ``columns``: that of each key; ``labels``, ``starts``: the label of each code, key after
    key, numbered from 0, and where each key's start; ``order``: in and out, the records.
    """
    count = len(order)
    ends, room = np.empty(count, np.int64), np.empty(count, np.int64)
    drawn, other = np.empty(count, np.int64), np.empty(count, np.int64)
    groups = 1 if count else 0
    ends[0:groups] = count
    for key in range(len(columns)):
        own, column = labels[starts[key] : starts[key + 1]], columns[key]
        size = 0
        for label in own:
            size = max(size, label + 1)
        tally = np.zeros(size + 1, np.int64)
        begin, made = 0, 0
        for group in range(groups):
            end = ends[group]
            for index in range(begin, end):
                label = own[codes[order[index], column]]
                drawn[index] = size - 1 - label if group % 2 else label
            _sort_by_label(order, drawn, begin, end, tally, other)
            for index in range(begin + 1, end):
                if drawn[index] != drawn[index - 1]:
                    room[made] = index
                    made += 1
            room[made] = end
            made += 1
            begin = end
        groups = made
        ends[:groups] = room[:groups]


@nb.njit(inline="always")
def _sort_by_label(order, drawn, begin, end, tally, other):
    """Sort a stretch of the order by its labels, stably: few by insertion, many by counting, unless labels are more."""
    if end - begin <= 24:
        for index in range(begin + 1, end):
            label, record, at = drawn[index], order[index], index
            while at > begin and drawn[at - 1] > label:
                drawn[at], order[at] = drawn[at - 1], order[at - 1]
                at -= 1
            drawn[at], order[at] = label, record
        return
    if end - begin < len(tally) // 16:
        rank = np.argsort(drawn[begin:end], kind="mergesort")
        order[begin:end], drawn[begin:end] = order[begin:end][rank], drawn[begin:end][rank]
        return
    tally[:] = 0
    for index in range(begin, end):
        tally[drawn[index] + 1] += 1
    for label in range(1, len(tally)):
        tally[label] += tally[label - 1]
    for index in range(begin, end):
        at = begin + tally[drawn[index]]
        tally[drawn[index]] += 1
        other[at] = order[index]
    # tally now tells where each label ends
    label = 0
    for index in range(begin, end):
        while begin + tally[label] <= index:
            label += 1
        order[index], drawn[index] = other[index], label

"""The best way to cut a sequence of records into classes, by dynamic programming."""

from __future__ import annotations

import numba as nb
import numpy as np

from shoal.kernels.widths import SET, TABLE, set_cost, span_cost


@nb.njit(cache=True, nogil=True)
def cut_sequence(costs, codes, bits, weights, order, least, members):
    """Cut a sequence into runs of at least so many records, with the least total cost; return that cost.

    A run that could be cut in two costs no less than its parts, so only shorter ones are tried: fewer than twice as
    many records, or three times where units are of several records. Time is linear in the number of units times
    ``least``.

    Parameters
    ----------
    costs
        What boxes cost.
    codes, bits, weights
        ``codes[unit, column]``, ``bits[unit, word]`` and the records of each unit.
    order
        The units, in sequence.
    least
        The fewest records of a run.
    members
        Out: the run of each unit.
    """
    count, columns = len(order), codes.shape[1]
    best = np.full(count + 1, np.inf)
    start = np.zeros(count + 1, np.int64)
    best[0] = 0.0
    low, high = np.empty(columns, np.int32), np.empty(columns, np.int32)
    held, own_cost = np.empty((1, bits.shape[1]), np.uint64), np.empty(columns)
    for end in range(1, count + 1):
        unit = order[end - 1]
        cost = 0.0
        for column in range(columns):
            low[column] = high[column] = codes[unit, column]
            own_cost[column] = costs.singles[costs.single_starts[column] + codes[unit, column]]
            cost += own_cost[column]
        for word in range(bits.shape[1]):
            held[0, word] = bits[unit, word]
        records, last = weights[unit], np.int64(0)
        for begin in range(end - 1, -1, -1):
            if begin < end - 1:
                # only the columns that the next unit widens change
                unit = order[begin]
                for column in range(columns):
                    code = codes[unit, column]
                    if low[column] <= code <= high[column] and costs.forms[column] != SET:
                        continue
                    low[column], high[column] = min(low[column], code), max(high[column], code)
                    if costs.forms[column] == SET:
                        widened = False
                        for word in range(costs.words[column], costs.words[column + 1]):
                            widened |= (held[0, word] | bits[unit, word]) != held[0, word]
                            held[0, word] |= bits[unit, word]
                        if not widened:
                            continue
                        now = set_cost(costs, column, held, 0, held, 0)
                    elif costs.forms[column] == TABLE:
                        now = costs.numbers[costs.starts[column] + low[column] * costs.sizes[column] + high[column]]
                    else:
                        now = span_cost(costs, column, low[column], high[column])
                    cost += now - own_cost[column]
                    own_cost[column] = now
                records += weights[unit]
            if records >= least and best[begin] < np.inf:
                total = best[begin] + records * cost
                if total < best[end]:
                    best[end], start[end] = total, begin
            if records >= least and last == 0:
                last = records  # the fewest records that a part at this end could have
            if last > 0 and records - last >= least:
                break
    if best[count] == np.inf:
        for place in range(count):
            members[order[place]] = 0
        return best[count]
    runs, end = 0, count
    while end > 0:
        for place in range(start[end], end):
            members[order[place]] = runs
        end = start[end]
        runs += 1
    return best[count]

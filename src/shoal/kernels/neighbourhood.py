"""Large-neighbourhood search: take some classes apart, put their records together anew, keep it if it is not worse."""

from __future__ import annotations

import numba as nb
import numpy as np

from shoal.kernels.program import cut_sequence
from shoal.kernels.widths import SET, copy_box, join, joined_cost, own_cost, span_cost

_SLACK = 1e-12
_MANY = 2000
"""Units of a block above which it is left as it is: every pair of units is looked at."""


@nb.njit(cache=True, nogil=True)
def next_random(state):
    """Return the next number of a stream, from 0 to 2**32 - 1 (xorshift)."""
    word = state[0]
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    word ^= word << np.uint64(17)
    state[0] = word
    return np.int64(word >> np.uint64(32))


@nb.njit(cache=True, nogil=True)
def seeded(seed, turn, block):
    """Return the stream of random numbers of a block: the same whoever works on it."""
    word = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(turn) * np.uint64(0xBF58476D1CE4E5B9)
    word ^= np.uint64(block) * np.uint64(0x94D049BB133111EB) + np.uint64(0x2545F4914F6CDD1D)
    word ^= word >> np.uint64(31)
    state = np.empty(1, np.uint64)
    state[0] = word if word else np.uint64(1)
    for _ in range(4):
        next_random(state)
    return state


@nb.njit(cache=True, nogil=True)
def split_blocks(costs, codes, most, seed, turn, order, starts):
    """Split points into blocks of neighbours: a random column, wide ones more often, a random place in the middle.

    Parameters
    ----------
    codes
        ``codes[point, column]``.
    most
        The most points of a block.
    order, starts
        Out: the points, block after block, and where each block starts.

    Returns
    -------
    The number of blocks.
    """
    count, columns = codes.shape
    state = seeded(seed, turn, -1)
    for point in range(count):
        order[point] = point
    stack = np.empty((128, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, count
    height, blocks = 1, 0
    widths = np.empty(columns)
    while height > 0:
        height -= 1
        begin, end = stack[height, 0], stack[height, 1]
        if end - begin <= most or height > 120:
            starts[blocks] = begin
            blocks += 1
            continue
        total = 0.0
        for column in range(columns):
            low, high = codes[order[begin], column], codes[order[begin], column]
            for place in range(begin + 1, end):
                low = min(low, codes[order[place], column])
                high = max(high, codes[order[place], column])
            if costs.forms[column] == SET:
                widths[column] = costs.weights[column] * (0.0 if low == high else 0.5)
            else:
                widths[column] = span_cost(costs, column, low, high) if low < high else 0.0
            total += widths[column]
        drawn = total * next_random(state) / 4294967296.0
        chosen = 0
        while chosen < columns - 1 and drawn >= widths[chosen]:
            drawn -= widths[chosen]
            chosen += 1
        keys = np.empty(end - begin, np.int64)
        for place in range(begin, end):
            keys[place - begin] = np.int64(codes[order[place], chosen]) * 4294967296 + next_random(state)
        rank = np.argsort(keys)
        part = order[begin:end].copy()
        for place in range(end - begin):
            order[begin + place] = part[rank[place]]
        share = 0.35 + 0.3 * next_random(state) / 4294967296.0
        middle = begin + max(1, min(end - begin - 1, np.int64(share * (end - begin))))
        stack[height, 0], stack[height, 1] = middle, end
        stack[height + 1, 0], stack[height + 1, 1] = begin, middle
        height += 2
    starts[blocks] = count
    return blocks


@nb.njit(cache=True, nogil=True)
def fill_boxes(codes, bits, weights, members, lows, highs, held, sizes):
    """Fill the boxes and sizes of classes; units of class -1 are in none."""
    sizes[:] = 0
    for unit in range(len(members)):
        own = members[unit]
        if own < 0:
            continue
        if sizes[own] == 0:
            copy_box(lows, highs, held, own, codes, codes, bits, unit)
        else:
            join(lows, highs, held, own, codes, codes, bits, unit)
        sizes[own] += weights[unit]


@nb.njit(cache=True, nogil=True)
def _without(costs, codes, bits, members, own, without, inside, rest_lows, rest_highs, rest_held, before):
    """Fill the box of a class without each of its units, and what it costs: from both ends of the list of units."""
    count = 0
    for unit in range(len(members)):
        if members[unit] == own:
            inside[count] = unit
            count += 1
    before_lows, before_highs, before_held = before
    before_lows[0, :] = 2147483647  # a box of nothing: any other one replaces it
    before_highs[0, :] = -1
    before_held[0, :] = 0
    for place in range(count):
        copy_box(rest_lows, rest_highs, rest_held, inside[place], before_lows, before_highs, before_held, 0)
        join(before_lows, before_highs, before_held, 0, codes, codes, bits, inside[place])
    before_lows[0, :] = 2147483647
    before_highs[0, :] = -1
    before_held[0, :] = 0
    for place in range(count - 1, -1, -1):
        unit = inside[place]
        join(rest_lows, rest_highs, rest_held, unit, before_lows, before_highs, before_held, 0)
        join(before_lows, before_highs, before_held, 0, codes, codes, bits, unit)
        without[unit] = own_cost(costs, rest_lows, rest_highs, rest_held, unit) if count > 1 else 0.0


@nb.njit(cache=True, nogil=True)
def descend(costs, codes, bits, weights, members, classes, least, rounds):
    """Move and swap units between classes as long as that lowers the cost; return the total cost."""
    count, columns = codes.shape
    words = bits.shape[1]
    lows, highs = np.empty((classes, columns), np.int32), np.empty((classes, columns), np.int32)
    held, sizes = np.empty((classes, words), np.uint64), np.zeros(classes, np.int64)
    fill_boxes(codes, bits, weights, members, lows, highs, held, sizes)
    cost = np.empty(classes)
    rest_lows, rest_highs = np.empty((count, columns), np.int32), np.empty((count, columns), np.int32)
    rest_held, without, inside = np.empty((count, words), np.uint64), np.zeros(count), np.empty(count, np.int64)
    before = (np.empty((1, columns), np.int32), np.empty((1, columns), np.int32), np.empty((1, words), np.uint64))
    for own in range(classes):
        cost[own] = own_cost(costs, lows, highs, held, own)
        _without(costs, codes, bits, members, own, without, inside, rest_lows, rest_highs, rest_held, before)
    for _ in range(rounds):
        changed = False
        for unit in range(count):
            own = members[unit]
            weight = weights[unit]
            paid = sizes[own] * cost[own]
            best, to, partner = -_SLACK, -1, -1
            # one alone leaves
            if sizes[own] - weight >= least:
                spared = paid - (sizes[own] - weight) * without[unit]
                for target in range(classes):
                    if target != own:
                        wider = joined_cost(costs, lows, highs, held, target, codes, codes, bits, unit)
                        gain = (sizes[target] + weight) * wider - sizes[target] * cost[target] - spared
                        if gain < best:
                            best, to = gain, target
            # or two change places; the one that leaves must have widened its class
            if cost[own] - without[unit] > _SLACK:
                for other in range(count):
                    target = members[other]
                    mine, theirs = sizes[own] - weight + weights[other], sizes[target] - weights[other] + weight
                    if target == own or mine < least or theirs < least:
                        continue
                    hope = mine * without[unit] + theirs * without[other] - paid - sizes[target] * cost[target]
                    if hope >= best:
                        continue
                    wider = joined_cost(costs, rest_lows, rest_highs, rest_held, unit, codes, codes, bits, other)
                    hope += mine * (wider - without[unit])
                    if hope >= best:
                        continue
                    wider = joined_cost(costs, rest_lows, rest_highs, rest_held, other, codes, codes, bits, unit)
                    hope += theirs * (wider - without[other])
                    if hope < best:
                        best, to, partner = hope, target, other
            if to < 0:
                continue
            changed = True
            members[unit] = to
            sizes[own] -= weight
            sizes[to] += weight
            copy_box(lows, highs, held, own, rest_lows, rest_highs, rest_held, unit)
            if partner >= 0:
                members[partner] = own
                sizes[to] -= weights[partner]
                sizes[own] += weights[partner]
                copy_box(lows, highs, held, to, rest_lows, rest_highs, rest_held, partner)
                join(lows, highs, held, own, codes, codes, bits, partner)
            join(lows, highs, held, to, codes, codes, bits, unit)
            for moved in (own, to):
                cost[moved] = own_cost(costs, lows, highs, held, moved)
                _without(costs, codes, bits, members, moved, without, inside, rest_lows, rest_highs, rest_held, before)
        if not changed:
            break
    return (sizes * cost).sum()


@nb.njit(cache=True, nogil=True)
def _gather(costs, codes, bits, weights, least, state, noise, members):
    """Join the units that cost least together, two clusters at a time, until none is too small; return the number.

    The cost of a union counts per record that is no longer in too small a cluster; a little noise makes another
    clustering each time.
    """
    first, count = _distinct(codes, members)
    lows, highs, held = codes[first], codes[first], bits[first]
    sizes = np.zeros(count, np.int64)
    for unit in range(len(codes)):
        sizes[members[unit]] += weights[unit]
    alive, shake, paid = np.ones(count, np.bool_), np.empty(count), np.empty(count)
    into = np.arange(count)
    union = np.empty((count, count), np.float32)
    for one in range(count):
        shake[one] = 1.0 + noise * next_random(state) / 4294967296.0
        paid[one] = sizes[one] * own_cost(costs, lows, highs, held, one)
        for two in range(one):
            union[one, two] = joined_cost(costs, lows, highs, held, one, lows, highs, held, two)
            union[two, one] = union[one, two]
    nearest, score, stale = np.full(count, -1, np.int64), np.full(count, np.inf), np.ones(count, np.bool_)
    while True:
        small = -1
        for one in range(count):
            if not alive[one] or sizes[one] >= least:
                continue
            if stale[one]:
                stale[one], nearest[one], score[one] = False, -1, np.inf
                for two in range(count):
                    if alive[two] and two != one:
                        growth = (sizes[one] + sizes[two]) * union[one, two] - paid[one] - paid[two]
                        poor = sizes[one] + (sizes[two] if sizes[two] < least else 0)
                        rated = (growth + 1e-9) * shake[two] * shake[one] / poor
                        if rated < score[one]:
                            nearest[one], score[one] = two, rated
            if small < 0 or score[one] < score[small]:
                small = one
        if small < 0 or nearest[small] < 0:
            break
        other = nearest[small]
        join(lows, highs, held, small, lows, highs, held, other)
        sizes[small] += sizes[other]
        paid[small] = sizes[small] * own_cost(costs, lows, highs, held, small)
        alive[other], stale[small] = False, True
        for one in range(count):
            if into[one] == other:
                into[one] = small
            if not alive[one] or one == small:
                continue
            union[one, small] = joined_cost(costs, lows, highs, held, one, lows, highs, held, small)
            union[small, one] = union[one, small]
            if nearest[one] == other or nearest[one] == small:
                stale[one] = True
            elif sizes[one] < least and not stale[one]:
                growth = (sizes[one] + sizes[small]) * union[one, small] - paid[one] - paid[small]
                poor = sizes[one] + (sizes[small] if sizes[small] < least else 0)
                rated = (growth + 1e-9) * shake[small] * shake[one] / poor
                if rated < score[one]:
                    nearest[one], score[one] = small, rated
    for unit in range(len(codes)):
        members[unit] = into[members[unit]]
    return _renumber(members)


@nb.njit(cache=True, nogil=True)
def _distinct(codes, members):
    """Number units with the same codes, which must stand together; return the first of each, and how many."""
    first, count = np.empty(len(codes), np.int64), 0
    for unit in range(len(codes)):
        same = unit > 0
        for column in range(codes.shape[1] if same else 0):
            same &= codes[unit, column] == codes[unit - 1, column]
        if not same:
            first[count] = unit
            count += 1
        members[unit] = count - 1
    return first[:count].copy(), count


@nb.njit(cache=True, nogil=True)
def _renumber(members):
    """Number the classes from 0; return how many there are."""
    number = np.full(members.max() + 1, -1, np.int64)
    count = 0
    for unit in range(len(members)):
        if number[members[unit]] < 0:
            number[members[unit]] = count
            count += 1
        members[unit] = number[members[unit]]
    return count


@nb.njit(cache=True, nogil=True)
def _regrow(costs, codes, bits, weights, least, state, members):
    """Grow classes one after the other from a random unit, always by the unit that widens them least."""
    count, columns = codes.shape
    members[:] = -1
    left, classes = weights.sum(), 0
    most = left // least
    lows, highs = np.empty((most, columns), np.int32), np.empty((most, columns), np.int32)
    held, sizes = np.empty((most, bits.shape[1]), np.uint64), np.zeros(most, np.int64)
    while left >= least:
        seed = next_random(state) % count
        while members[seed] >= 0:
            seed = (seed + 1) % count
        copy_box(lows, highs, held, classes, codes, codes, bits, seed)
        members[seed] = classes
        sizes[classes] = weights[seed]
        while sizes[classes] < least:
            best, chosen = np.inf, -1
            for unit in range(count):
                if members[unit] < 0:
                    cost = joined_cost(costs, lows, highs, held, classes, codes, codes, bits, unit)
                    if cost < best:
                        best, chosen = cost, unit
            members[chosen] = classes
            sizes[classes] += weights[chosen]
            join(lows, highs, held, classes, codes, codes, bits, chosen)
        left -= sizes[classes]
        classes += 1
    for unit in range(count):
        if members[unit] < 0:
            best, chosen = np.inf, 0
            for own in range(classes):
                cost = (sizes[own] + weights[unit]) * joined_cost(
                    costs, lows, highs, held, own, codes, codes, bits, unit
                )
                cost -= sizes[own] * own_cost(costs, lows, highs, held, own)
                if cost < best:
                    best, chosen = cost, own
            members[unit] = chosen
            sizes[chosen] += weights[unit]
            join(lows, highs, held, chosen, codes, codes, bits, unit)
    return classes


@nb.njit(cache=True, nogil=True)
def _cut_at_random(costs, codes, bits, weights, least, state, members):
    """Sort by the columns in a random order and cut the sequence."""
    count, columns = codes.shape
    shuffled = np.arange(columns)
    for place in range(columns - 1, 0, -1):
        other = next_random(state) % (place + 1)
        shuffled[place], shuffled[other] = shuffled[other], shuffled[place]
    rank = np.arange(count)
    for place in range(columns):
        key = codes[:, shuffled[place]][rank]
        if next_random(state) % 2:
            key = -key
        rank = rank[np.argsort(key, kind="mergesort")]
    cut_sequence(costs, codes, bits, weights, rank, least, members)
    return _renumber(members)


@nb.njit(cache=True, nogil=True)
def improve_blocks(
    costs, codes, bits, weights, listed, unit_starts, class_of, first, last, least, worth, seed, turn, members
):
    """Improve blocks of classes, each on its own; classes of a block are numbered anew from 0.

    Parameters
    ----------
    codes, bits, weights
        ``codes[unit, column]``, ``bits[unit, word]`` and the records of each unit.
    listed
        Units, block after block.
    unit_starts
        Where each block's units start.
    class_of
        ``class_of[place]``: the class of each listed unit within its block.
    first, last
        The blocks to improve.
    least
        The fewest records of a class.
    worth
        The cost per record from which on a block is always taken apart; below it the less often the less it costs.
    members
        Out: like ``class_of``.
    """
    for block in range(first, last):
        begin, end = unit_starts[block], unit_starts[block + 1]
        units = listed[begin:end]
        if end - begin > _MANY:
            members[begin:end] = class_of[begin:end]
            continue
        own_codes, own_bits, own_weights = codes[units], bits[units], weights[units]
        now = class_of[begin:end].copy()
        classes = _renumber(now)
        state = seeded(seed, turn, block)
        cost = descend(costs, own_codes, own_bits, own_weights, now, classes, least, 8 if turn % 3 == 0 else 0)
        if cost <= worth * own_weights.sum() * next_random(state) / 4294967296.0 + _SLACK:  # little is lost here
            members[begin:end] = now
            continue
        other = np.empty(end - begin, np.int64)
        draw = next_random(state) % 10
        if draw < 7:
            found = _gather(costs, own_codes, own_bits, own_weights, least, state, 1.0, other)
        elif draw < 9:
            found = _regrow(costs, own_codes, own_bits, own_weights, least, state, other)
        else:
            found = _cut_at_random(costs, own_codes, own_bits, own_weights, least, state, other)
        found = split_large(costs, own_codes, own_bits, own_weights, other, found, least)
        changed = descend(costs, own_codes, own_bits, own_weights, other, found, least, 8)
        members[begin:end] = other if changed <= cost + _SLACK else now


@nb.njit(cache=True, nogil=True)
def split_large(costs, codes, bits, weights, members, classes, least):
    """Split classes of twice the least size at the place that costs least, again and again; return the number."""
    own = 0
    while own < classes:
        records, units = np.int64(0), 0
        for unit in range(len(members)):
            if members[unit] == own:
                records += weights[unit]
                units += 1
        if records < 2 * least or units < 2:
            own += 1
            continue
        inside = np.empty(units, np.int64)
        units = 0
        for unit in range(len(members)):
            if members[unit] == own:
                inside[units] = unit
                units += 1
        chosen, place = _best_cut(costs, codes, bits, weights, inside, records, least)
        if chosen < 0:
            own += 1
            continue
        rank = np.argsort(codes[:, chosen][inside], kind="mergesort")
        for after in range(place, units):
            members[inside[rank[after]]] = classes
        classes += 1
    return classes


@nb.njit(cache=True, nogil=True)
def _best_cut(costs, codes, bits, weights, inside, records, least):
    """Return the column and the place at which two parts of a class cost least; (-1, -1) if every cut costs more."""
    units, columns = len(inside), codes.shape[1]
    lows, highs = np.empty((1, columns), np.int32), np.empty((1, columns), np.int32)
    held = np.empty((1, bits.shape[1]), np.uint64)
    copy_box(lows, highs, held, 0, codes, codes, bits, inside[0])
    for place in range(1, units):
        join(lows, highs, held, 0, codes, codes, bits, inside[place])
    best = records * own_cost(costs, lows, highs, held, 0) + _SLACK
    chosen, cut = -1, -1
    left = np.empty(units)
    for column in range(columns):
        rank = np.argsort(codes[:, column][inside], kind="mergesort")
        size = np.int64(0)
        copy_box(lows, highs, held, 0, codes, codes, bits, inside[rank[0]])
        for place in range(units):
            unit = inside[rank[place]]
            join(lows, highs, held, 0, codes, codes, bits, unit)
            size += weights[unit]
            left[place] = size * own_cost(costs, lows, highs, held, 0) if size >= least else np.inf
        size = np.int64(0)
        copy_box(lows, highs, held, 0, codes, codes, bits, inside[rank[units - 1]])
        for place in range(units - 1, 0, -1):
            unit = inside[rank[place]]
            join(lows, highs, held, 0, codes, codes, bits, unit)
            size += weights[unit]
            if size >= least and left[place - 1] < np.inf:
                total = left[place - 1] + size * own_cost(costs, lows, highs, held, 0)
                if total < best:
                    best, chosen, cut = total, column, place
    return chosen, cut


@nb.njit(cache=True, nogil=True)
def choose_neighbours(costs, codes, bits, weights, members, failing, into):
    """Point each failing class to the neighbour, in the order of the classes, that it costs less to join.

    A class that another one joins stays where it is, even if it fails itself: the two may comply.
    """
    classes = len(failing)
    lows, highs = np.empty((classes, codes.shape[1]), np.int32), np.empty((classes, codes.shape[1]), np.int32)
    held, sizes = np.empty((classes, bits.shape[1]), np.uint64), np.zeros(classes, np.int64)
    fill_boxes(codes, bits, weights, members, lows, highs, held, sizes)
    joined = np.zeros(classes, np.bool_)
    for own in range(classes):
        if not failing[own] or joined[own]:
            continue
        best, chosen = np.inf, -1
        for other in (own - 1, own + 1):
            if 0 <= other < classes:
                growth = (sizes[own] + sizes[other]) * joined_cost(
                    costs, lows, highs, held, own, lows, highs, held, other
                )
                growth -= sizes[other] * own_cost(costs, lows, highs, held, other)
                if growth < best:
                    best, chosen = growth, other
        if chosen >= 0:
            # a class that was joined already takes the new one along
            into[own] = into[chosen]
            joined[into[own]] = True


@nb.njit(cache=True, nogil=True)
def spare(costs, codes, bits, weights, records, order, starts, least, allowed, members):
    """Suppress (class -1) units that cost the others of their class more than they lose, the most costly first.

    Parameters
    ----------
    records
        The records of each unit, of which ``allowed`` may be suppressed.
    order, starts
        The units, class after class, and where each class starts.
    members
        In and out: the class of each unit.
    """
    classes, columns = len(starts) - 1, codes.shape[1]
    nothing = costs.weights.sum()
    most = np.diff(starts).max()
    live, own_members = np.empty(most, np.int64), np.zeros(most, np.int64)
    rest_lows, rest_highs = np.empty((most, columns), np.int32), np.empty((most, columns), np.int32)
    rest_held, without, inside = np.empty((most, bits.shape[1]), np.uint64), np.zeros(most), np.empty(most, np.int64)
    one = (np.empty((1, columns), np.int32), np.empty((1, columns), np.int32), np.empty((1, bits.shape[1]), np.uint64))
    gains, units = np.empty(classes), np.empty(classes, np.int64)
    stale = np.ones(classes, np.bool_)
    while allowed > 0:
        for own in range(classes):
            if not stale[own]:
                continue
            stale[own], gains[own], units[own] = False, 0.0, -1
            count, size, held_records = 0, np.int64(0), np.int64(0)
            for place in range(starts[own], starts[own + 1]):
                if members[order[place]] >= 0:
                    live[count] = order[place]
                    count += 1
                    size += weights[order[place]]
                    held_records += records[order[place]]
            if size <= least:
                continue
            own_codes, own_bits = codes[live[:count]], bits[live[:count]]
            _without(
                costs,
                own_codes,
                own_bits,
                own_members[:count],
                0,
                without,
                inside,
                rest_lows,
                rest_highs,
                rest_held,
                one,
            )
            paid = held_records * own_cost(costs, one[0], one[1], one[2], 0)  # the box of all of them
            for place in range(count):
                unit = live[place]
                if size - weights[unit] < least:
                    continue
                rest = (held_records - records[unit]) * without[place]
                gain = (paid - rest) / records[unit] - nothing
                if gain > gains[own]:
                    gains[own], units[own] = gain, unit
        taken = False
        for own in np.argsort(-gains, kind="mergesort"):
            if gains[own] <= _SLACK:
                break
            if records[units[own]] <= allowed:
                members[units[own]] = -1
                allowed -= records[units[own]]
                stale[own], taken = True, True
        if not taken:
            break

"""Grouping tuples around centres of at least k records: near tuples, and a search by ruin and recreate."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel


@kernel("void(i8[:,::1], f8[::1], i8[::1], i8[::1], i8, i8[:,::1], f8[:,::1])")
def note_neighbours(codes, weights, order, rows, window, near, apart):
    """Note for each row the nearest others among those that stand so near in an order; ``near`` holds the best so far.

    ``rows[tuple]`` is the row of ``near`` that a tuple has, -1 for those that are neither looked for nor noted. Equally
    near ones are noted by their number, so that the order in which they are met does not matter.
    """
    count, columns, room = len(order), codes.shape[1], near.shape[1]
    for place in range(count):
        one = order[place]
        own = rows[one]
        if own < 0:
            continue
        for other_place in range(max(place - window, 0), min(place + window + 1, count)):
            other = rows[order[other_place]]
            if other < 0 or other == own:
                continue
            distance = 0.0
            for column in range(columns):
                if codes[one, column] != codes[order[other_place], column]:
                    distance += weights[column]
            last = near[own, room - 1]
            if last >= 0 and (distance, other) >= (apart[own, room - 1], last):
                continue
            known = False
            for index in range(room):
                if near[own, index] == other:
                    known = True
                    break
                if near[own, index] < 0:
                    break
            if known:
                continue
            index = room - 1
            while index > 0 and (
                near[own, index - 1] < 0 or (distance, other) < (apart[own, index - 1], near[own, index - 1])
            ):
                near[own, index], apart[own, index] = near[own, index - 1], apart[own, index - 1]
                index -= 1
            near[own, index], apart[own, index] = other, distance


@kernel("void(i8[:,::1], f8[::1], i8[::1], i8[::1], u1[::1], i8, i8[::1], f8[::1])")
def note_hosts(codes, weights, order, rows, hosts, window, host, apart):
    """Note for each row the nearest host among so many that stand before and after it in an order."""
    count, columns = len(order), codes.shape[1]
    seen = np.full(window, -1, np.int64)
    for step in (1, -1):
        seen[:] = -1
        latest = 0
        for index in range(count):
            one = order[index] if step == 1 else order[count - 1 - index]
            if hosts[one]:
                seen[latest] = one
                latest = (latest + 1) % window
            own = rows[one]
            if own < 0:
                continue
            for other in seen:
                if other < 0:
                    continue
                distance = 0.0
                for column in range(columns):
                    if codes[one, column] != codes[other, column]:
                        distance += weights[column]
                if host[own] < 0 or (distance, other) < (apart[own], host[own]):
                    host[own], apart[own] = other, distance


@kernel
def _leave(row, counts, centre, mass, costs, head, after, before):
    """Take a tuple out of the group that it is in."""
    own = centre[row]
    if own >= 0:
        mass[own] -= counts[row]
        if before[row] >= 0:
            after[before[row]] = after[row]
        else:
            head[own] = after[row]
        if after[row] >= 0:
            before[after[row]] = before[row]
    costs[row] = 0.0


@kernel
def _join(row, to, cost, counts, centre, mass, costs, head, after, before):
    """Put a tuple, which is in no group, into that of a centre; -1 is that of its host."""
    centre[row], costs[row] = to, cost
    before[row] = after[row] = -1
    if to >= 0:
        mass[to] += counts[row]
        after[row] = head[to]
        if head[to] >= 0:
            before[head[to]] = row
        head[to] = row


@kernel
def _weigh_opening(row, k, counts, near, apart, lending, lender, room, centre, mass, costs, taken, rates):
    """Return what it costs more if a tuple becomes a centre, and how many records are lent; ``taken`` fills up.

    Its group takes all who come nearer by that, then whoever costs least for each record, until there are k.
    """
    taken[:] = -1
    own = centre[row]
    if own == row or (own >= 0 and mass[own] - counts[row] < k):
        return np.inf, 0
    need, change, places = k - counts[row], -costs[row], near.shape[1]
    candidates = 0
    for index in range(places):
        other = near[row, index]
        if other < 0:
            break
        rates[index] = np.inf
        at = centre[other]
        if at == other or (at >= 0 and mass[at] - counts[other] < k):
            continue
        more = counts[other] * apart[row, index] - costs[other]
        if more < -1e-9:
            left = mass[at] - counts[other] if at >= 0 else k
            if at >= 0:  # others who leave the same group were promised first
                if at == own:
                    left -= counts[row]
                for earlier in range(index):
                    if taken[earlier] >= 0 and centre[taken[earlier]] == at:
                        left -= counts[taken[earlier]]
            if left >= k:
                taken[index] = other
                need -= counts[other]
                change += more
                continue
        rates[index] = more / counts[other]
        candidates += 1
    lent = 0
    free = room[lender[row]] if lender[row] >= 0 else 0
    while need > 0:
        best, chosen = np.inf, -1
        for index in range(places):
            if near[row, index] < 0:
                break
            if taken[index] < 0 and rates[index] < best:
                best, chosen = rates[index], index
        if lent < free and lending[row] <= best:
            lent += 1
            need -= 1
            change += lending[row]
            continue
        if chosen < 0:
            return np.inf, 0
        other = near[row, chosen]
        at, left = centre[other], k
        if at >= 0:
            left = mass[at] - counts[other]
            if at == own:
                left -= counts[row]
            for earlier in range(places):
                if taken[earlier] >= 0 and centre[taken[earlier]] == at:
                    left -= counts[taken[earlier]]
        rate = rates[chosen]
        rates[chosen] = np.inf
        if left < k:
            continue
        taken[chosen] = other
        need -= counts[other]
        change += rate * counts[other]
    return change, lent


@kernel
def _note(row, centre, marked, log, length):
    """Remember where a tuple was before the round."""
    if not marked[row]:
        marked[row] = True
        log[length, 0], log[length, 1] = row, centre[row]
        length += 1
    return length


@kernel("f8(i8, i8[::1], i8[:,::1], f8[:,::1], f8[::1], f8[::1], i8[::1], i8[::1], i8, i8, i8[::1], i8[::1])")
def group_around_centres(k, counts, near, apart, hosting, lending, lender, room, rounds, seed, centre, lent):
    """Group tuples around centres of at least k records, and return what that costs.

    Tuple by tuple: it stays with its host (``centre`` -1, at ``hosting`` for each record), is a centre itself, or is
    with another tuple that is one. A host may lend records to a centre (``lending`` each, ``room`` of each host), which
    ``lent`` counts. A round takes the groups around some tuple apart, lets each member go where it is cheapest, and
    opens centres again, the greatest gain first; it is undone where it costs more (simulated annealing).
    """
    n, places = len(counts), near.shape[1]
    mass, costs = np.zeros(n, np.int64), counts * hosting
    head, after, before = np.full(n, -1, np.int64), np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    centre[:], lent[:] = -1, 0
    taken, kept, rates = np.full(places, -1, np.int64), np.full(places, -1, np.int64), np.empty(places)
    marked, log = np.zeros(n, np.bool_), np.empty((n, 2), np.int64)
    shut, shut_lent = np.empty(n, np.int64), np.empty(n, np.int64)
    opened, displaced = np.empty(n, np.int64), np.empty(n, np.int64)
    total = costs.sum()
    state = np.uint64(seed * 2654435761 + 88172645463325252)
    least, best_centre, best_lent = total, centre.copy(), lent.copy()
    for turn in range(-3 * n, rounds):
        was, length, shuts, opens, count = total, 0, 0, 0, 0
        if turn < 0:  # first each tuple in turn is tried as a centre
            displaced[0] = (turn + 3 * n) % n
            count = 1
        else:
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            about = np.int64(state % np.uint64(n))
            wide = 2 + np.int64((state >> np.uint64(32)) % np.uint64(8))
            for index in range(-1, min(wide, places)):
                row = about if index < 0 else near[about, index]
                if row < 0:
                    break
                own = centre[row]
                if own < 0:
                    if not marked[row]:
                        length = _note(row, centre, marked, log, length)
                        displaced[count] = row
                        count += 1
                    continue
                shut[shuts], shut_lent[shuts] = own, lent[own]
                shuts += 1
                total -= lent[own] * lending[own]
                if lent[own] > 0:
                    room[lender[own]] += lent[own]
                    mass[own] -= lent[own]
                    lent[own] = 0
                while head[own] >= 0:
                    member = head[own]
                    length = _note(member, centre, marked, log, length)
                    total -= costs[member]
                    _leave(member, counts, centre, mass, costs, head, after, before)
                    _join(
                        member, -1, counts[member] * hosting[member], counts, centre, mass, costs, head, after, before
                    )
                    total += costs[member]
                    displaced[count] = member
                    count += 1
            for index in range(count):  # to the nearest centre that is still there
                row = displaced[index]
                for place in range(places):
                    other = near[row, place]
                    if other < 0:
                        break
                    if centre[other] == other:
                        cost = counts[row] * apart[row, place]
                        if cost < costs[row]:
                            total -= costs[row]
                            _leave(row, counts, centre, mass, costs, head, after, before)
                            _join(row, other, cost, counts, centre, mass, costs, head, after, before)
                            total += cost
                        break
        while True:
            gain, chosen, borrowed = -1e-9, -1, 0
            for index in range(count):
                row = displaced[index]
                change, more = _weigh_opening(
                    row, k, counts, near, apart, lending, lender, room, centre, mass, costs, taken, rates
                )
                if change < gain:
                    gain, chosen, borrowed = change, row, more
                    kept[:] = taken
            if chosen < 0:
                break
            length = _note(chosen, centre, marked, log, length)
            total -= costs[chosen]
            _leave(chosen, counts, centre, mass, costs, head, after, before)
            _join(chosen, chosen, 0.0, counts, centre, mass, costs, head, after, before)
            opened[opens] = chosen
            opens += 1
            for index in range(places):
                other = kept[index]
                if other >= 0:
                    length = _note(other, centre, marked, log, length)
                    total -= costs[other]
                    _leave(other, counts, centre, mass, costs, head, after, before)
                    cost = counts[other] * apart[chosen, index]
                    _join(other, chosen, cost, counts, centre, mass, costs, head, after, before)
                    total += cost
            if borrowed > 0:
                lent[chosen] = borrowed
                room[lender[chosen]] -= borrowed
                mass[chosen] += borrowed
                total += borrowed * lending[chosen]
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        warmth = 0.0 if turn < 0 else 0.7 * (1.0 - turn / rounds) ** 2
        chance = (np.float64(state >> np.uint64(11)) + 1.0) / 9007199254740993.0
        if total > was + 1e-9 and total > was - warmth * np.log(chance):
            for index in range(opens):
                own = opened[index]
                if lent[own] > 0:
                    room[lender[own]] += lent[own]
                    mass[own] -= lent[own]
                    lent[own] = 0
            for index in range(length):
                row = log[index, 0]
                _leave(row, counts, centre, mass, costs, head, after, before)
                centre[row] = -2
            for index in range(length):
                row, own = log[index, 0], log[index, 1]
                cost = counts[row] * hosting[row]
                if own == row:
                    cost = 0.0
                elif own >= 0:
                    cost = np.inf
                _join(row, own, cost, counts, centre, mass, costs, head, after, before)
            for index in range(length):  # distances to centres are in one of the two lists
                row, own = log[index, 0], log[index, 1]
                if own >= 0 and own != row:
                    for place in range(places):
                        if near[row, place] == own:
                            costs[row] = counts[row] * apart[row, place]
                        if near[own, place] == row:
                            costs[row] = counts[row] * apart[own, place]
            for index in range(shuts - 1, -1, -1):
                own = shut[index]
                if shut_lent[index] > 0:
                    lent[own] = shut_lent[index]
                    room[lender[own]] -= lent[own]
                    mass[own] += lent[own]
            total = was
        for index in range(length):
            marked[log[index, 0]] = False
        if total < least - 1e-9:
            least = total
            best_centre[:], best_lent[:] = centre, lent
    centre[:], lent[:] = best_centre, best_lent
    return least

"""Prices of records that no class can pay: what classes of k records lose at least, by linear programming duality.

Each record has a price. What a class has *left* is its squared error less the prices of its records. Where no class has
less than nothing left, the prices together are a lower bound. These kernels look for the class of a record that has
least left, by branch and bound, and lower prices by subgradients.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel


@kernel("void(f8[:,::1],i8,f8[::1],i8[::1],i8,f8[::1])")
def add_distances(points, one, out, some, count, start):
    """Fill in the squared distances from a record to some others, each added to what stands at the start."""
    for at in range(count):
        distance = 0.0
        for f in range(points.shape[1]):
            step = points[one, f] - points[some[at], f]
            distance += step * step
        out[at] = start[at] + distance


@kernel("i8(f8[::1],i8,i8,f8,f8[::1],i8[::1])")
def keep_promising(
    values,  # [rank]: what each of some records adds at least
    count,  # of the first so many
    wanted,  # so many are looked for
    room,  # together they add less
    kept,  # out [number]: what the records add that may be among them, in order
    order,  # out [number]: these records
):
    """Keep the records with which the least of the others still find room, in the order of what they add; return how
    many they are."""
    least = np.full(wanted, np.inf)
    for at in range(count):
        place = wanted - 1
        if values[at] >= least[place]:
            continue
        while place > 0 and least[place - 1] > values[at]:
            least[place] = least[place - 1]
            place -= 1
        least[place] = values[at]
    room -= least[: wanted - 1].sum()
    many = 0
    for at in range(count):
        if values[at] < room:
            kept[many], order[many] = values[at], at
            many += 1
    if many < wanted:
        return 0
    ranks = np.argsort(kept[:many], kind="mergesort")
    kept[:many] = kept[:many][ranks]
    order[:many] = order[:many][ranks]
    return many


@kernel("i8(f8[::1],f8[:,::1],i8,i8,f8,i8[::1],i8,f8[::1],i8[::1],i8[::1],f8[::1],f8[::1])")
def narrow(
    prices,
    near,
    size,  # of the class
    wanted,  # so many records are still looked for
    room,  # together they add less
    others,  # [rank]: the records that may be
    count,  # the first so many of them
    far,  # [rank]: their squared distances to all that are chosen; changed
    order,  # room [rank]
    kept,  # out [rank]: those that may still be
    sums,  # out [rank]: their distances
    values,  # out [rank]: what each adds at least
):
    """Keep the records that may be in a class with those that are chosen; return how many they are."""
    distances = far[:count].copy()
    for j in range(count):
        far[j] = distances[j] / size - prices[others[j]] + near[others[j], wanted - 1] / (2.0 * size)
    many = keep_promising(far, count, wanted, room, values, order)
    for j in range(many):
        kept[j], sums[j] = others[order[j]], distances[order[j]]
    return many


@kernel("f8(f8[:,::1],f8[::1],f8[:,::1],i8[::1],i8,i8,f8[::1],i8,f8,i8[::1],i8[:,::1],f8[:,::1],f8[:,::1],i8[::1])")
def search_class(
    points,  # [record, feature]
    prices,  # [record]
    near,  # [record, number]: the sum of the squared distances to so many nearest others
    others,  # [rank]: records that may be in the class beside the first one
    root,  # the first one
    size,  # of the class
    far,  # [rank]: how far the others are from the root, squared
    most,  # so many others are looked at, those that seem best
    best,  # only classes that have less left are looked for
    budget,  # [1]: how many more distances may be measured; changed
    lists,  # room [depth, rank]
    sums,  # room [depth, rank]: squared distances to all that are chosen
    values,  # room [depth, rank]: what a record adds at least
    chosen,  # out [number]: the class, or the records of the best hope of one; its first entry is -1 without
):
    """Look for the class of a root and size that has least left; return a lower bound of that, at most ``best``.

    A class of n records with squared distances T between two of them loses the sum of T over n. Beside those that are
    chosen, each other record adds its distances to these over n, less its price, and half of its distances to those
    that are still to come: as many as these are, at least the sum of so many nearest.
    """
    chosen[0] = -1
    picked = np.empty(size, np.int64)
    picked[0] = root
    pos, counts, paid = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size)
    room_v, room_o = np.empty(len(others)), np.empty(len(others), np.int64)
    bound = best
    count = len(others)
    for at in range(count):
        other = others[at]
        room_v[at] = far[at] / size - prices[other] + near[other, size - 2] / (2.0 * size)
    paid[0] = -prices[root]
    many = keep_promising(room_v, count, size - 1, best - paid[0], values[0], room_o)
    if many > most:  # those that are left out
        bound = paid[0] + values[0, most] + values[0, : size - 2].sum()
        for at in range(size - 2):
            chosen[1 + at] = others[room_o[at]]
        chosen[0], chosen[size - 1] = root, others[room_o[most]]
        many = most
    for at in range(many):
        lists[0, at], sums[0, at] = others[room_o[at]], far[room_o[at]]
    counts[0] = many
    depth = 0
    while depth >= 0:
        wanted = size - 1 - depth
        at = pos[depth]
        hope = paid[depth]
        if at + wanted <= counts[depth]:
            for ahead in range(wanted):
                hope += values[depth, at + ahead]
        if at + wanted > counts[depth] or hope >= best:
            depth -= 1
            continue
        if budget[0] < 0:  # nothing below here is looked at any more
            if hope < bound:
                bound = hope
                chosen[: depth + 1] = picked[: depth + 1]
                chosen[depth + 1 : size] = lists[depth, at : at + wanted]
            depth -= 1
            continue
        pos[depth] += 1
        one = lists[depth, at]
        picked[depth + 1] = one
        if wanted == 1:
            best = hope
            if hope < bound:
                bound = hope
                chosen[:size] = picked
            continue
        left, below = counts[depth] - at - 1, depth + 1
        budget[0] -= left
        paid[below] = paid[depth] + sums[depth, at] / size - prices[one]
        add_distances(points, one, room_v, lists[depth, at + 1 :], left, sums[depth, at + 1 :])
        kept = narrow(
            prices, near, size, wanted - 1, best - paid[below], lists[depth, at + 1 :], left, room_v, room_o,
            lists[below], sums[below], values[below],
        )  # fmt: skip
        counts[below], pos[below] = kept, 0
        depth = below
    return bound


@kernel("i8(f8[:,::1],f8[::1],f8[:,::1],i8[::1],i8,i8,i8,f8[::1],i8[:,::1],f8[::1])")
def price_classes(
    points,  # [record, feature]
    prices,  # [record]
    near,  # [record, number]: the sum of the squared distances to so many nearest others
    order,  # [rank]: the records; a class belongs to its first one
    k,
    most,  # so many others of a class are looked at
    budget,  # distances that may be measured for each record
    left,  # out [record]: what its classes have left at least, 0 or less
    found,  # out [number, 2k - 1]: classes that may have less than nothing left, filled up with -1
    losses,  # out [number]: what they lose at least
):
    """Look for the classes that have less than nothing left, for each record and size; return how many were found."""
    records, largest = len(points), 2 * k - 1
    most = min(most, records)
    lists, sums, values = (
        np.empty((largest, most), np.int64),
        np.empty((largest, most)),
        np.empty((largest, records)),
    )
    chosen, spent, many = np.empty(largest, np.int64), np.empty(1, np.int64), 0
    far, zeros = np.empty(records), np.zeros(records)
    for rank in range(records):
        root, others = order[rank], order[rank + 1 :]
        left[root] = 0.0
        add_distances(points, root, far, others, len(others), zeros)
        spent[0] = budget
        for size in range(k, largest + 1):
            least = search_class(
                points, prices, near, others, root, size, far, most, left[root], spent, lists, sums, values, chosen
            )
            if least < left[root]:
                left[root] = least
                found[many] = -1
                found[many, :size] = chosen[:size]
        if left[root] < 0.0:
            losses[many] = left[root]
            for member in found[many]:
                losses[many] += prices[member] if member >= 0 else 0.0
            many += 1
    return many


@kernel("f8(i8[:,::1],f8[::1],i8[::1],i8,f8,i8,f8[::1],f8[::1],f8[::1],f8[::1])")
def raise_prices(
    classes,  # [number, 2k - 1]: some classes, filled up with -1
    errors,  # [number]: what each loses
    roots,  # [number]: the record that each belongs to, in order
    many,  # so many of the classes
    goal,  # what all prices together may reach at most, about
    steps,
    low,  # [record]: no price goes below
    high,  # [record]: or above
    prices,  # [record]: changed
    best,  # out [record]: the best of the prices
):
    """Raise prices by subgradients, as far as some classes let them; return what they are worth by these classes.

    What prices are worth is their sum, and for each record what that one of its classes has left that has least, if it
    is less than nothing.
    """
    records = len(prices)
    slope, smooth = np.empty(records), np.zeros(records)
    worth, stalled, pace = -np.inf, 0, 1.0
    for _ in range(steps):
        total = prices.sum()
        slope[:] = 1.0
        at = 0
        while at < many:
            root, least, which = roots[at], 0.0, -1
            while at < many and roots[at] == root:
                have = errors[at]
                for member in classes[at]:
                    if member < 0:
                        break
                    have -= prices[member]
                if have < least:
                    least, which = have, at
                at += 1
            if which >= 0:
                total += least
                for member in classes[which]:
                    if member < 0:
                        break
                    slope[member] -= 1.0
        if total > worth:
            worth, stalled = total, 0
            best[:] = prices
        else:
            stalled += 1
            if stalled == 20:
                stalled, pace = 0, pace * 0.7
        norm = 0.0
        for i in range(records):
            smooth[i] = 0.7 * smooth[i] + slope[i]
            norm += (high[i] - low[i]) * smooth[i] * smooth[i]
        if norm == 0.0 or goal <= total:
            break
        length = pace * (goal - total) / norm
        for i in range(records):
            prices[i] = min(max(prices[i] + length * (high[i] - low[i]) * smooth[i], low[i]), high[i])
    return worth

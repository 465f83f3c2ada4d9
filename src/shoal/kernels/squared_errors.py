"""Classes taken apart and made anew, with less squared error: ruin and recreate, and a descent by moves and exchanges.

All that happens among the few classes of a step is worked out from the squared distances between their records: what a
class of n records with distances T from each of them loses is the sum of T over 2n, and what it gains or loses with one
record more or less follows from T too. So a step costs no more where there are many columns, once these are known.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.blocks import draw_random
from shoal.kernels.compiled import kernel


@kernel("void(f8[:,::1],i8[::1],i8,f8[:,::1])")
def measure_distances(
    points,  # [record, feature]
    some,  # the records that are looked at
    many,  # the first so many of them
    far,  # out [i, j]: the squared distance between two of them
):
    """Work out the squared distances between some records."""
    features = points.shape[1]
    for i in range(many):
        far[i, i] = 0.0
        for j in range(i):
            distance = 0.0
            for f in range(features):
                step = points[some[i], f] - points[some[j], f]
                distance += step * step
            far[i, j] = far[j, i] = distance


@kernel("void(f8[:,::1],i8,i8[::1],i8,f8[:,::1],f8[::1],i8[::1])")
def add_up(
    far,
    many,
    labels,  # [i]: the class of each record, from 0
    count,  # so many classes
    sums,  # out [i, class]: the distances from each record to those of a class
    losses,  # out [class]: its squared error
    sizes,  # out [class]
):
    """Work out what each of some classes loses."""
    sums[:many, :count] = 0.0
    losses[:count], sizes[:count] = 0.0, 0
    for i in range(many):
        sizes[labels[i]] += 1
        for j in range(many):
            sums[i, labels[j]] += far[i, j]
    for i in range(many):
        losses[labels[i]] += sums[i, labels[i]] / (2.0 * sizes[labels[i]])


@kernel("void(f8[:,::1],i8,i8,i8,f8,u8[::1],i8[::1],f8[::1])")
def recreate(
    far,
    many,
    count,  # so many classes
    k,
    noise,  # how much a distance may seem larger than it is
    state,
    labels,  # out [i]
    total,  # room [i]: the distances to all that have no class
):
    """Make classes of k anew: each about the record that seems farthest from all that have none; who is left joins the
    class whose records are nearest on the average, and has room for one more."""
    for i in range(many):
        labels[i] = -1
        total[i] = 0.0
        for j in range(many):
            total[i] += far[i, j]
    for c in range(count):
        first, most = -1, -1.0
        for i in range(many):
            if labels[i] < 0:
                seems = total[i] * (1.0 + noise * draw_random(state) / 4294967296.0)
                if seems > most:
                    first, most = i, seems
        added = first
        for _ in range(k):
            labels[added] = c
            nearest, least = -1, np.inf
            for i in range(many):
                total[i] -= far[added, i]
            for i in range(many):
                if labels[i] < 0 and far[first, i] < least:
                    nearest, least = i, far[first, i]
            added = nearest
    sizes = np.full(count, k)
    for i in range(many):
        if labels[i] >= 0:
            continue
        best, least = -1, np.inf
        for c in range(count):
            if sizes[c] >= 2 * k - 1:
                continue
            distance = 0.0
            for j in range(many):
                if labels[j] == c:
                    distance += far[i, j]
            if distance / sizes[c] < least:
                best, least = c, distance / sizes[c]
        labels[i] = best
        sizes[best] += 1


@kernel("void(f8[:,::1],i8,i8,i8,i8,f8[:,::1],f8[::1],i8[::1],i8[::1])")
def shift(far, many, i, here, there, sums, losses, sizes, labels):
    """Move a record from one class to another."""
    losses[here] -= (sums[i, here] - losses[here]) / (sizes[here] - 1)
    losses[there] += (sums[i, there] - losses[there]) / (sizes[there] + 1)
    sizes[here] -= 1
    sizes[there] += 1
    labels[i] = there
    for j in range(many):
        sums[j, here] -= far[i, j]
        sums[j, there] += far[i, j]


@kernel("f8(f8[:,::1],i8,i8,i8,f8[:,::1],f8[::1],i8[::1],i8[::1])")
def lower_errors(far, many, count, k, sums, losses, sizes, labels):
    """Move records between classes, and exchange two, as long as that takes squared error away; return what is left.

    A record changes its class where the two classes together lose less then, and both keep k to 2k - 1 records; or two
    records change theirs for each other's.
    """
    quiet, i, least = 0, 0, -1e-12 * losses[:count].sum()
    while quiet < many:
        here = labels[i]
        best, gain, partner = -1, least, -1
        if sizes[here] > k:
            less = (sums[i, here] - losses[here]) / (sizes[here] - 1)
            for there in range(count):
                if there != here and sizes[there] < 2 * k - 1:
                    change = (sums[i, there] - losses[there]) / (sizes[there] + 1) - less
                    if change < gain:
                        best, gain, partner = there, change, -1
        for j in range(many):
            there = labels[j]
            if there == here:
                continue
            out, into = sizes[here], sizes[there]
            change = (sums[j, here] - sums[i, here]) / out + (sums[i, there] - sums[j, there]) / into
            change -= far[i, j] * (1.0 / out + 1.0 / into)
            if change < gain:
                best, gain, partner = there, change, j
        if best < 0:
            quiet += 1
        else:
            quiet = 0
            shift(far, many, i, here, best, sums, losses, sizes, labels)
            if partner >= 0:
                shift(far, many, partner, best, here, sums, losses, sizes, labels)
        i = i + 1 if i + 1 < many else 0
    left = 0.0
    for c in range(count):
        left += losses[c]
    return left


@kernel("i8(i4[:,::1],i8[::1],i8,i8,i8[::1])")
def gather_classes(near, classes, center, wanted, some):
    """Find the classes nearest to a record, at most so many: its own, and those of its neighbours; return how many."""
    some[0] = classes[center]
    found = 1
    for neighbour in near[center]:
        if found == wanted:
            break
        c = classes[neighbour]
        known = False
        for number in range(found):
            known = known or some[number] == c
        if not known:
            some[found] = c
            found += 1
    return found


@kernel("f8(f8[:,::1],i4[:,::1],i8,i8,f8,f8,f8,f8,f8,u8[::1],i8[::1])")
def improve_classes(
    points,  # [record, feature]
    near,  # [record, rank]: some records that lie near it, nearest first
    k,
    steps,
    usual,  # what a class loses on the average
    hot,  # what a step may lose at first, as a share of that
    cold,  # and at last
    skew,  # how far costly classes may lose more: 0 as others, 1 in proportion to what they lose
    noise,  # how much a distance may seem larger than it is
    state,  # of the random numbers
    classes,  # [record]: changed; each class has k to 2k - 1 records
):
    """Take a few classes apart that lie near each other, and make them anew, again and again; return what was saved.

    What comes out is taken if it loses less, or little more: less and less, as in simulated annealing.
    """
    records, most = len(classes), 2 * k - 1
    slots = records // k + 1
    members, held = np.empty((slots, most), np.int64), np.zeros(slots, np.int64)
    for i in range(records):
        members[classes[i], held[classes[i]]] = i
        held[classes[i]] += 1
    widest = max(2, min(6, 120 // k))
    room = widest * most
    some, chosen = np.empty(room, np.int64), np.empty(room // k + 1, np.int64)
    far, sums = np.empty((room, room)), np.empty((room, room // k + 1))
    labels, losses, total = np.empty(room, np.int64), np.empty(room // k + 1), np.empty(room)
    sizes = np.empty(room // k + 1, np.int64)
    free, spare = np.empty(slots, np.int64), 0
    for c in range(slots):
        if held[c] == 0:
            free[spare] = c
            spare += 1
    saved = 0.0
    for step in range(steps):
        warmth = hot * (cold / hot) ** (step / steps)
        wanted = 2 + int(draw_random(state) / 4294967296.0 * (widest - 1))
        found = gather_classes(near, classes, int(draw_random(state) / 4294967296.0 * records), wanted, chosen)
        if found < 2:
            continue
        many = 0
        for number in range(found):
            for i in range(held[chosen[number]]):
                some[many] = members[chosen[number], i]
                labels[many] = number
                many += 1
        measure_distances(points, some, many, far)
        add_up(far, many, labels, found, sums, losses, sizes)
        before = losses[:found].sum()
        count = many // k
        if count > 1 and (count - 1) * most >= many and draw_random(state) / 4294967296.0 < 0.3:
            count -= 1
        if count > found + spare:
            count = found
        recreate(far, many, count, k, noise, state, labels, total)
        add_up(far, many, labels, count, sums, losses, sizes)
        after = lower_errors(far, many, count, k, sums, losses, sizes, labels)
        if after > before and after - before >= -warmth * usual * max(1.0, before / usual) ** skew * np.log(
            1.0 - draw_random(state) / 4294967296.0
        ):
            continue
        saved += before - after
        for number in range(found, count):
            spare -= 1
            chosen[number] = free[spare]
        for number in range(count, found):
            free[spare] = chosen[number]
            spare += 1
            held[chosen[number]] = 0
        for number in range(count):
            held[chosen[number]] = 0
        for i in range(many):
            c = chosen[labels[i]]
            classes[some[i]] = c
            members[c, held[c]] = some[i]
            held[c] += 1
    return saved

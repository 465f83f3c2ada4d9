"""Classes of at least k records that lie near each other: MDAV and V-MDAV, and the best classes of one column."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel


@kernel("void(f8[:,::1],f8[::1],i8,f8[::1])")
def square_distances(
    points,  # [feature, record]
    center,  # [feature]
    count,  # of the first so many records
    out,  # out [record]
):
    """Fill in how far records are from a point, squared."""
    for i in range(count):
        out[i] = 0.0
    for j in range(len(center)):
        row, c = points[j], center[j]
        for i in range(count):
            step = row[i] - c
            out[i] += step * step


@kernel("i8(f8[::1],i8)")
def find_farthest(distances, count):
    """Return the first of the farthest of some records."""
    best = 0
    for i in range(1, count):
        if distances[i] > distances[best]:
            best = i
    return best


@kernel("void(f8[::1],i8,i8[::1],f8[::1])")
def select_nearest(
    distances,
    count,  # of the first so many records
    nearest,  # out [rank]: the nearest records, nearest first; of equals the first
    far,  # out [rank]: how far they are
):
    """Find the nearest of some records."""
    size = len(nearest)
    far[:] = np.inf
    for i in range(count):
        distance = distances[i]
        if distance >= far[size - 1]:
            continue
        at = size - 1
        while at > 0 and far[at - 1] > distance:
            far[at], nearest[at] = far[at - 1], nearest[at - 1]
            at -= 1
        far[at], nearest[at] = distance, i


@kernel("i8(f8[:,::1],i8[::1],i8[::1],i8,f8[::1])")
def take_out(points, order, chosen, count, total):
    """Move the chosen of the first so many records behind these, in the order of their places; return how many are
    left. What they add to the total of each feature is taken off it."""
    places = np.sort(chosen)
    for number in range(len(places) - 1, -1, -1):
        count -= 1
        at = places[number]
        order[at], order[count] = order[count], order[at]
        for j in range(len(points)):
            total[j] -= points[j, at]
            points[j, at], points[j, count] = points[j, count], points[j, at]
    return count


@kernel("void(f8[:,::1],i8,i8[::1])")
def mdav(
    points,  # [feature, record]: changed
    k,
    classes,  # out [record]
):
    """Put records into classes: k about the farthest from the centroid, and k about the farthest from that one.

    No memory but that of the records: those that have a class are moved behind the others, so that each step looks at
    the others alone.
    """
    features, count = points.shape
    order = np.arange(count)
    total, center = np.empty(features), np.empty(features)
    for j in range(features):
        total[j] = points[j].sum()
    distances, far, nearest = np.empty(count), np.empty(k), np.empty(k, np.int64)
    number = 0
    while count >= 2 * k:
        pair = count >= 3 * k
        for j in range(features):
            center[j] = total[j] / count
        square_distances(points, center, count, distances)
        center[:] = points[:, find_farthest(distances, count)]
        square_distances(points, center, count, distances)
        other = points[:, find_farthest(distances, count)].copy()
        select_nearest(distances, count, nearest, far)
        for at in nearest:
            classes[order[at]] = number
        count = take_out(points, order, nearest, count, total)
        number += 1
        if pair:
            square_distances(points, other, count, distances)
            select_nearest(distances, count, nearest, far)
            for at in nearest:
                classes[order[at]] = number
            count = take_out(points, order, nearest, count, total)
            number += 1
    for at in range(count):
        classes[order[at]] = number


@kernel("void(f8[:,::1],i8,f8,i8[::1])")
def v_mdav(
    points,  # [feature, record]: changed
    k,
    gamma,  # a record joins a class if it is nearer to it than gamma times its way to the others
    classes,  # out [record]
):
    """Put records into classes of k to 2k - 1: k about the farthest from the centroid of all, and whoever lies nearer
    to these than to all who have no class; those that are left join the class with the nearest centroid."""
    features, count = points.shape
    records = count
    order = np.arange(count)
    total, center, point = np.zeros(features), np.empty(features), np.empty(features)
    for j in range(features):
        center[j] = points[j].sum() / count
    sums, sizes = np.zeros((records // k + 1, features)), np.zeros(records // k + 1)
    distances, far, nearest = np.empty(count), np.empty(k), np.empty(k, np.int64)
    gap, from_center = np.empty(count), np.empty(count)
    one = np.empty(1, np.int64)
    number = 0
    while count >= k:
        square_distances(points, center, count, from_center)
        point[:] = points[:, find_farthest(from_center, count)]
        square_distances(points, point, count, distances)
        select_nearest(distances, count, nearest, far)
        for at in nearest:
            classes[order[at]] = number
            sums[number] += points[:, at]
        sizes[number] = k
        count = take_out(points, order, nearest, count, total)
        gap[:count] = np.inf
        for member in range(count, count + k):
            point[:] = points[:, member]
            square_distances(points, point, count, distances)
            for i in range(count):
                gap[i] = min(gap[i], distances[i])
        while count > 1 and sizes[number] < 2 * k - 1:
            at = np.argmin(gap[:count])
            point[:] = points[:, at]
            square_distances(points, point, count, distances)
            distances[at] = np.inf
            if np.sqrt(gap[at]) >= gamma * np.sqrt(distances[:count].min()):
                break
            distances[at] = 0.0
            for i in range(count):
                gap[i] = min(gap[i], distances[i])
            classes[order[at]] = number
            sums[number] += point
            sizes[number] += 1
            one[0] = at
            gap[at] = gap[count - 1]
            count = take_out(points, order, one, count, total)
        number += 1
    for at in range(count):
        best, least = 0, np.inf
        for c in range(number):
            distance = 0.0
            for j in range(features):
                step = points[j, at] - sums[c, j] / sizes[c]
                distance += step * step
            if distance < least:
                best, least = c, distance
        classes[order[at]] = best


@kernel("f8(f8[::1],f8[::1],i8,i8[::1])")
def partition_line(
    values,  # [record]: in order
    weights,  # [record]: positive
    k,
    ends,  # out [record]: where the class that ends before record + 1 begins, on the best way there
):
    """Cut numbers in order into classes of k to 2k - 1 with the least squared error: the shortest way (Hansen and
    Mukherjee 2003); return that error.

    The error of a class grows value by value from its mean (Welford), so that no large numbers are subtracted.
    """
    count = len(values)
    least = np.full(count + 1, np.inf)
    least[0] = 0.0
    for end in range(k, count + 1):
        mean, error, total = 0.0, 0.0, 0.0
        for start in range(end - 1, max(end - 2 * k, -1), -1):
            weight = weights[start]
            total += weight
            step = values[start] - mean
            mean += step * weight / total
            error += weight * step * (values[start] - mean)
            if end - start >= k and least[start] + error < least[end]:
                least[end] = least[start] + error
                ends[end - 1] = start
    return least[count]

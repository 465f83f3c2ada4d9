"""Merging neighbours: in which order the boundaries between values fall. Shared by the on-the-fly builders."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from shoal.encoding.domains import Domain
from shoal.encoding.types import Floats, Ints
from shoal.hierarchies import _ranges
from shoal.hierarchies._steps import Step

Cost = Callable[[float, float, float, float], float]
"""Cost of merging two neighbours: their centres and their numbers of records."""


def find_falling_order(values: Floats, records: Ints, cost: Cost) -> Ints:
    """Return when each boundary between neighbours falls if the cheapest pair is merged first; ties go left.

    ``order[i]`` is the turn at which value ``i`` and value ``i + 1`` come into one node.
    """
    count = len(values)
    order = np.zeros(max(count - 1, 0), np.int64)
    # a value that no record has, for it is declared or of the population only, weighs as much as one that occurs once
    centre, weight = values.astype(float).tolist(), np.maximum(records, 1).astype(float).tolist()
    left, right = list(range(-1, count - 1)), list(range(1, count + 1))
    version = [0] * count
    heap = [(cost(centre[i], centre[i + 1], weight[i], weight[i + 1]), i, 0, 0) for i in range(count - 1)]
    heapq.heapify(heap)
    edge = list(range(count))  # the last value of the node that starts here
    turn = 0
    while heap:
        _, first, seen, seen_next = heapq.heappop(heap)
        second = right[first] if version[first] == seen else count
        if second >= count or version[second] != seen_next:
            continue  # one of the two was merged meanwhile
        order[edge[first]] = turn
        turn += 1
        total = weight[first] + weight[second]
        centre[first] = (centre[first] * weight[first] + centre[second] * weight[second]) / total
        weight[first], edge[first], right[first] = total, edge[second], right[second]
        version[first] += 1
        version[second] = -1
        if right[first] < count:
            left[right[first]] = first
        for one in (left[first], first):
            two = right[one] if one >= 0 else count
            if two < count:
                price = cost(centre[one], centre[two], weight[one], weight[two])
                heapq.heappush(heap, (price, one, version[one], version[two]))
    return order


def cut(order: Ints, parts: int) -> Ints:
    """Return the first value of each node when so many are left."""
    standing = np.flatnonzero(order >= len(order) - (parts - 1))
    return np.append(0, standing + 1).astype(np.int64)


def yield_range_steps(domain: Domain, heads: list[Ints]) -> Iterator[Step]:
    """Yield levels whose ranges start at these values."""
    for level in heads:
        if len(level) > 1:
            yield _ranges.step(domain, [_exact(domain, int(head)) for head in level])


def _exact(domain: Domain, code: int) -> Fraction:
    value = domain.values[code]
    return Fraction(int(value)) if _ranges.whole(domain) else _ranges.exact(float(value))


def halve_repeatedly(count: int) -> list[int]:
    """Return how many nodes the levels have: half as many each time, down to two."""
    sizes = []
    while count > 2:
        count = (count + 1) // 2
        sizes.append(count)
    return sizes

"""Pairs of places in an order that exchange what stands there."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel

_SIGNATURE = "i8[::1](f8[::1],i8)"


@kernel(_SIGNATURE)
def choose_partners(numbers, reach):
    """Return for each place the free one that it exchanges with, at most so far above it; its own where none is left.

    Who is free is held in a Fenwick tree: how many are up to a place, and which one is the n-th of them, takes time
    with the logarithm of the places.
    """
    places = len(numbers)
    partners = np.arange(places)
    tree = np.zeros(places + 1, np.int64)
    for node in range(1, places + 1):
        tree[node] = node & -node
    top = 1
    while top * 2 <= places:
        top *= 2
    free = np.ones(places, np.bool_)
    for place in range(places):
        if not free[place]:
            continue
        free[place] = False
        node = place + 1
        while node <= places:
            tree[node] -= 1
            node += node & -node
        before, end = 0, place + 1
        while end > 0:
            before += tree[end]
            end -= end & -end
        ahead, end = -before, min(place + reach + 1, places)
        while end > 0:
            ahead += tree[end]
            end -= end & -end
        if ahead <= 0:
            continue
        left, other, step = before + min(int(numbers[place] * ahead), ahead - 1), 0, top
        while step > 0:
            if other + step <= places and tree[other + step] <= left:
                other += step
                left -= tree[other]
            step //= 2
        free[other] = False
        node = other + 1
        while node <= places:
            tree[node] -= 1
            node += node & -node
        partners[place], partners[other] = other, place
    return partners

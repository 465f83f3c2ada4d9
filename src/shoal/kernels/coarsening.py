"""Pieces: the units of each class, put together by a few where they stand side by side."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.program import cut_sequence
from shoal.kernels.widths import take_boxes


@kernel
def cut_pieces(costs, units, weights, order, starts, least, pieces):
    """Cut each class, a stretch of the order, into pieces of at least so many records that cost least.

    ``order``: the units, class after class; ``starts``: where each class starts; ``pieces``: out, the piece of each
    unit, numbered from 0 along the order. Returns how many there are.
    """
    count = np.int64(0)
    for own in range(len(starts) - 1):
        inside = order[starts[own] : starts[own + 1]]
        size = len(inside)
        if size == 0:
            continue
        found = np.zeros(size, np.int64)
        cut_sequence(
            costs, take_boxes(units, inside), weights[inside], np.full(size, -1), np.arange(size), least, 0, found
        )
        for index in range(size):
            pieces[inside[index]] = count + found[index]
        count += found.max() + 1
    return count

"""Find the tuples that are nearest to a first one (similarity-based clustering)."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel


@kernel("i8(i8[::1],f8[::1],i8,i8,f8)")
def _add(heap, far, size, t, total):
    """Put a tuple into the heap; later tuples are farther than equally near earlier ones."""
    i = size
    while i > 0:
        up = (i - 1) // 2
        if total < far[up] or (total == far[up] and t < heap[up]):
            break
        heap[i], far[i] = heap[up], far[up]
        i = up
    heap[i], far[i] = t, total
    return size + 1


@kernel("i8(i8[::1],f8[::1],i8)")
def _drop(heap, far, size):
    """Take the farthest tuple out of the heap."""
    size -= 1
    t, total = heap[size], far[size]
    i = 0
    while 2 * i + 1 < size:
        down = 2 * i + 1
        if down + 1 < size and (
            far[down + 1] > far[down] or (far[down + 1] == far[down] and heap[down + 1] > heap[down])
        ):
            down += 1
        if total > far[down] or (total == far[down] and t > heap[down]):
            break
        heap[i], far[i] = heap[down], far[down]
        i = down
    heap[i], far[i] = t, total
    return size


@kernel("i8(i4[:,::1],i8[::1],f8[::1],i8[::1],i8,i8[::1])")
def choose_nearest(
    codes,  # [tuple, column]: codes of the quasi-identifiers
    left,  # [tuple]: records that are in no class yet
    distances,  # [code], column after column: how far each value is from the first tuple's, weighted
    offsets,  # [column]: where each column's codes start in distances
    wanted,  # records
    chosen,  # out [least of wanted and tuples]: the nearest tuples, in order; equally near ones in theirs
):
    """Choose the nearest tuples that have enough records together; return how many they are.

    A heap keeps the nearest so far, the farthest on top: it is dropped while the others have enough records.
    """
    room = min(wanted, len(codes))
    heap = np.empty(room, np.int64)
    far = np.empty(room, np.float64)
    size, held = 0, 0
    for t in range(len(codes)):
        if left[t] == 0:
            continue
        full = held >= wanted
        total = 0.0
        for j in range(codes.shape[1]):
            total += distances[offsets[j] + codes[t, j]]
            if full and total >= far[0]:
                break
        if full and total >= far[0]:  # equally near tuples stay in their order
            continue
        if size == room:  # every tuple has a record at least, so the top is not needed
            held -= left[heap[0]]
            size = _drop(heap, far, size)
        size = _add(heap, far, size, t, total)
        held += left[t]
        while held - left[heap[0]] >= wanted:
            held -= left[heap[0]]
            size = _drop(heap, far, size)
    count = size
    while size:
        chosen[size - 1] = heap[0]
        size = _drop(heap, far, size)
    return count

"""What any k records of a growing window show at least, in the columns that a box leaves open.

A box may say of a column only "several values", at what the cheapest of them cost. The records at hand tell more: k of
them need so many different values, or lie so far apart. That is at least what a class among them shows, and it only
falls as the window grows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba as nb
import numpy as np

from shoal.kernels.compiled import kernel

SETS, RANGES = 1, 2
"""What an open column shows."""
LISTED = 512
"""Tuples of a window whose order in a column is kept; beyond that the column counts as at its least."""


class BoxSpace(NamedTuple):
    """The boxes of a table: a part of one partition of each column, and a window of the line."""

    codes: Any  # [column, tuple]: in the order of the line
    counts: Any  # [tuple]: records
    points: Any  # [tuple]: its place on the line, as a cost; ascending
    least: int  # the fewest records of a class
    partitions: Any  # [column]: how many partitions it has
    offsets: Any  # [column, partition]: where a partition starts in labels and costs
    labels: Any  # [code] for each partition: the number of its label
    costs: Any  # [code] for each partition: what the label costs
    partition_kinds: Any  # [column, partition]: FLAT, OPEN or neither (0)
    shown: Any  # [column]: SETS or RANGES where a partition is open
    units: Any  # [column]: of sets, what a value costs
    places: Any  # [column, code]: of ranges, as a cost


class Open(NamedTuple):
    """The open columns of a box, and what the records of a window show there."""

    size: Any  # [1]: how many there are; all that follows is for each of them
    columns: Any
    floors: Any  # what the box has them cost already
    settled: Any  # no more than that is needed, and so for every larger window
    tally: Any  # […, code]: records of each value, of sets
    having: Any  # […, count]: values that have so many records (k at most)
    listed: Any  # […, rank]: the tuples of ranges, in their order
    weights: Any  # […, rank]: how many records they have
    lengths: Any  # how many ranks; of sets, the most records of a value (k at most)
    widths: Any  # how near each other k of the records are


def make_open_room(boxes: BoxSpace) -> Open:
    """Return room for the open columns of any box."""
    columns = len(boxes.partitions)
    rows = columns if boxes.shown.any() else 0
    return Open(
        np.zeros(1, np.int64),
        np.zeros(columns, np.int64),
        np.zeros(columns, np.float64),
        np.zeros(columns, np.bool_),
        np.zeros((rows, boxes.places.shape[1]), np.int64),
        np.zeros((rows, boxes.least + 1), np.int64),
        np.zeros((rows, LISTED), np.float64),
        np.zeros((rows, LISTED), np.int64),
        np.zeros(columns, np.int64),
        np.full(columns, np.inf),
    )


@kernel
def grow(boxes, open_, member):
    """Let the window grow by a tuple; return the work done."""
    work = 0
    for at in range(open_.size[0]):
        if open_.settled[at]:
            continue
        column = open_.columns[at]
        code = boxes.codes[column, member]
        if boxes.shown[column] == RANGES:
            work += _list(open_, at, boxes.places[column, code], boxes.counts[member], boxes.least)
            continue
        before = min(open_.tally[at, code], boxes.least)
        open_.tally[at, code] += boxes.counts[member]
        after = min(open_.tally[at, code], boxes.least)
        open_.having[at, before] -= 1
        open_.having[at, after] += 1
        open_.lengths[at] = max(open_.lengths[at], after)
        work += 2
    return work


@nb.njit(inline="always")
def _list(open_, at, index, count, least):
    """Put a tuple into the order of a column, and see whether k records are nearer each other now."""
    listed, weights, rank = open_.listed[at], open_.weights[at], open_.lengths[at]
    if rank == len(listed):
        open_.settled[at] = True
        return 1
    open_.lengths[at] += 1
    size = open_.lengths[at]
    while rank > 0 and listed[rank - 1] > index:
        listed[rank], weights[rank] = listed[rank - 1], weights[rank - 1]
        rank -= 1
    listed[rank], weights[rank] = index, count
    work = 2 + (size - rank) // 2
    low, high, held = rank, rank, count  # only stretches with the new one can be nearer
    while True:
        while held < least and high + 1 < size:
            high += 1
            held += weights[high]
        while high > rank and held - weights[high] >= least:
            held -= weights[high]
            high -= 1
        work += 1
        if held >= least:
            open_.widths[at] = min(open_.widths[at], listed[high] - listed[low])
            if high == rank:
                return work
        if low == 0:
            return work
        low -= 1
        held += weights[low]


@kernel
def measure_excess(boxes, open_):
    """Return what any k records of the window cost more than the box says."""
    total = 0.0
    for at in range(open_.size[0]):
        if open_.settled[at]:
            continue
        column = open_.columns[at]
        cost = open_.widths[at]
        if boxes.shown[column] == SETS:
            cost = _values(open_.having[at], open_.lengths[at], boxes.least) * boxes.units[column]
        if cost > open_.floors[at]:
            total += cost - open_.floors[at]
        else:
            open_.settled[at] = True
    return total


@nb.njit(inline="always")
def _values(having, most, least):
    """The fewest values that have k records between them."""
    missing, values = least, 0
    for size in range(most, 0, -1):
        if missing <= 0:
            break
        taken = min(having[size], (missing + size - 1) // size)
        values += taken
        missing -= taken * size
    return values


@kernel
def reset_window(boxes, open_, group, begin, end):
    """Make ready for another window than that of the given tuples; return the work done."""
    for at in range(open_.size[0]):
        open_.settled[at], open_.lengths[at], open_.widths[at] = False, 0, np.inf
        if boxes.shown[open_.columns[at]] == SETS:
            open_.having[at, :] = 0
            for i in range(begin, end):
                open_.tally[at, boxes.codes[open_.columns[at], group[i]]] = 0
    return open_.size[0] * (2 + boxes.least // 8 + (end - begin) // 2)

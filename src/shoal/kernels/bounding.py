"""Walk through the boxes that classes may lie in, for lower bounds on what a local recoding loses.

A box is a part of one *partition* of each column's values (the values as they are, their labels, …, all of them) and a
*window* of the line, the column whose classes show ranges. A class of at least k records lies in the box of its
partitions and its window, and costs at least as much as the box. A partition may be *open*: then what the records of
the window need in that column counts too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba as nb
import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.spread import BoxSpace, Open, make_open_room
from shoal.kernels.windows import WindowRoom, find_narrowest_windows, insert_price, scan_windows

FLAT, OPEN = 1, 2
"""Kinds of partitions: the line does not count; what the records need in the column does. 0 is neither."""


class BoxParts(NamedTuple):
    """The box at hand, column by column, and the parts that its next partition divides it into."""

    members: Any  # [column, place]: the tuples of the box before this column's partition, part by part
    heads: Any  # [column, part]: where the parts of this column's partition start among the next members
    costs: Any  # [column, part]
    many: Any  # [column]: parts of the partition
    next: Any  # [column]: the part to look at next
    partitions: Any  # [column]: the partition
    begins: Any  # [column]: where the box before this column's partition starts among its members
    ends: Any
    spent: Any  # [column]: what it costs
    slots: Any  # [label]: the part of a label, -1 for none
    labels: Any  # [part]: its label
    slot_of: Any  # [place]: the part of each member
    sizes: Any  # [2, part]: records, tuples
    limits: Any  # [2, part]: the highest limit, the smallest ratio


class Room(NamedTuple):
    """What a walk writes on."""

    parts: BoxParts
    scan: WindowRoom
    open: Open | None
    """``None`` where what records need in open columns is not counted: that is compiled only when it is asked for."""


def make_walk_room(boxes: BoxSpace, wanted: int, counting: bool) -> Room:
    """Return room for walks.

    ``wanted``: how many members of a class are written down; ``counting``: whether open columns count.
    """
    columns, size = boxes.codes.shape
    parts = BoxParts(
        np.tile(np.arange(size, dtype=np.int32), (columns + 1, 1)),
        np.empty((columns + 1, size + 1), np.int64),
        np.empty((columns + 1, size), np.float64),
        np.zeros(columns + 1, np.int64),
        np.zeros(columns + 1, np.int64),
        np.full(columns + 1, -1, np.int64),
        np.zeros(columns + 1, np.int64),
        np.full(columns + 1, size, np.int64),
        np.zeros(columns + 1, np.float64),
        np.full(int(boxes.labels.max(initial=0)) + 1, -1, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty((2, size), np.int64),
        np.empty((2, size), np.float64),
    )
    scan = WindowRoom(
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty((3, size), np.float64),
        np.empty(boxes.least + 1, np.float64),
        np.empty(boxes.least + 1, np.int64),
        np.empty(boxes.least + 1, np.int32),
        np.empty((size, wanted), np.int32),
        np.empty((size, wanted), np.int32),
    )
    return Room(parts, scan, make_open_room(boxes) if counting else None)


@kernel
def _divide(boxes, parts, column, by_mean, limits, raised):
    """Divide the box by a partition; keep the parts that hold enough records and may still tell something."""
    here = boxes.offsets[column, parts.partitions[column]]
    members, codes = parts.members[column], boxes.codes[column]
    begin, end = parts.begins[column], parts.ends[column]
    records, tuples, highest, smallest = parts.sizes[0], parts.sizes[1], parts.limits[0], parts.limits[1]
    found = 0
    for i in range(begin, end):
        t = members[i]
        label = boxes.labels[here + codes[t]]
        slot = parts.slots[label]
        if slot < 0:
            slot = found
            parts.slots[label] = slot
            parts.labels[slot] = label
            records[slot], tuples[slot], highest[slot], smallest[slot] = 0, 0, 0.0, np.inf
            parts.costs[column, slot] = parts.spent[column] + boxes.costs[here + codes[t]]
            found += 1
        parts.slot_of[i - begin] = slot
        records[slot] += boxes.counts[t]
        tuples[slot] += 1
        highest[slot] = max(highest[slot], limits[t])
        if by_mean and limits[t] > 0.0:
            smallest[slot] = min(smallest[slot], raised.ratios[t])
    kept, at = 0, 0
    for p in range(found):
        parts.slots[parts.labels[p]] = -1
        box_cost = parts.costs[column, p]
        most = highest[p] / smallest[p] if by_mean else highest[p]
        if records[p] < boxes.least or box_cost >= most:
            records[p] = -1
            continue
        records[p] = at
        parts.heads[column, kept], parts.costs[column, kept] = at, box_cost
        at += tuples[p]
        kept += 1
    parts.heads[column, kept] = at
    for i in range(begin, end if kept else begin):
        slot = parts.slot_of[i - begin]
        if records[slot] >= 0:
            parts.members[column + 1, records[slot]] = members[i]
            records[slot] += 1
    parts.many[column], parts.next[column] = kept, 0


@kernel
def _held_before(boxes, parts, column, first, last):
    """Look for an earlier partition that costs no more and holds all of a part; return the work, negative if found."""
    members, work = parts.members[column + 1], 1
    for other in range(column, -1, -1):
        partition, codes = parts.partitions[other], boxes.codes[other]
        code, kind = codes[members[first]], boxes.partition_kinds[other, partition]
        box_cost = boxes.costs[boxes.offsets[other, partition] + code]
        for lower in range(partition - 1, -1, -1):
            here, its = boxes.offsets[other, lower], boxes.partition_kinds[other, lower]
            if boxes.costs[here + code] > box_cost or not (its in (kind, FLAT) or (its == 0 and kind == OPEN)):
                continue
            label = boxes.labels[here + code]
            i = last - 1
            while i > first and boxes.labels[here + codes[members[i]]] == label:
                i -= 1
            work += last - i
            if i == first:
                return -work
    return work


@kernel
def _most(boxes, members, first, last, raised, scan):
    """Return the cost from which on a box of these tuples raises no ratio: its largest mean over the smallest."""
    filled, in_top, total, smallest = 0, np.int64(0), 0.0, np.inf
    for i in range(first, last):
        t = members[i]
        price = raised.prices[t]
        if price > 0.0:
            smallest = min(smallest, raised.ratios[t])
            if in_top < boxes.least or price > scan.top_prices[filled - 1]:
                filled = insert_price(scan, t, price, boxes.counts[t], filled, boxes.least)
                in_top = min(in_top + boxes.counts[t], np.int64(boxes.least))
    for at in range(filled):
        total += scan.top_prices[at] * scan.top_counts[at]
    return total / (boxes.least * smallest)


@nb.njit(inline="always")
def _opened(boxes, parts, open_):
    """Note the open columns of a whole box; return whether its windows do not matter."""
    columns, flat = len(boxes.partitions), False
    members, first, last = parts.members[columns], parts.begins[columns], parts.ends[columns]
    if open_ is not None:
        open_.size[0] = 0
    for column in range(columns):
        kind = boxes.partition_kinds[column, parts.partitions[column]]
        flat |= kind == FLAT
        if open_ is not None and kind == OPEN:
            at = open_.size[0]
            offset = boxes.offsets[column, parts.partitions[column]]
            open_.columns[at], open_.floors[at] = column, boxes.costs[offset + boxes.codes[column, members[first]]]
            open_.size[0] += 1
    return flat or boxes.points[members[first]] == boxes.points[members[last - 1]]


@kernel
def walk_boxes(boxes, parts, scan, open_, by_mean, budget, limits, raised):
    """Look at every box that may matter; return what is left of the budget, in about tuples looked at.

    Where that is negative, the walk was given up and nothing is known. Without means, lower what each tuple pays (the
    limits) to its cheapest box; boxes that cost what the limits say at first are not looked for. With means, raise the
    ratio of each tuple (whose limits are the prices) to the largest of its classes, from what it is at first.

    Boxes are found from the first column to the last: each partition divides the tuples of the box so far. A part is
    left out where it holds too few records, where it costs what everyone in it is known to pay already (with means:
    where its largest prices raise no ratio), and where an earlier partition, which costs no more, holds all of it too.
    """
    columns, column = len(boxes.partitions), np.int64(0)
    parts.partitions[0], parts.many[0], parts.next[0] = -1, 0, 0
    while column >= 0 and budget >= 0:
        if parts.next[column] >= parts.many[column]:  # on to the next partition
            parts.partitions[column] += 1
            if parts.partitions[column] == boxes.partitions[column]:
                column -= 1
                continue
            _divide(boxes, parts, column, by_mean, limits, raised)
            budget -= parts.ends[column] - parts.begins[column] + 8
            continue
        p = parts.next[column]
        parts.next[column] += 1
        first, last, box_cost = parts.heads[column, p], parts.heads[column, p + 1], parts.costs[column, p]
        members, most, i = parts.members[column + 1], -np.inf, first
        if by_mean:
            most = _most(boxes, members, first, last, raised, scan)
            budget -= last - first
        while most <= box_cost and i < last and not by_mean:  # others may be known to pay less by now
            most = limits[members[i]]
            i += 1
        if box_cost >= most:
            continue
        work = _held_before(boxes, parts, column, first, last)
        budget -= abs(work) // 2
        if work < 0:
            continue
        parts.begins[column + 1], parts.ends[column + 1], parts.spent[column + 1] = first, last, box_cost
        if column + 1 < columns:
            column += 1
            parts.partitions[column], parts.many[column], parts.next[column] = -1, 0, 0
            continue
        flat = _opened(boxes, parts, open_)
        scanned = flat or by_mean
        if open_ is not None:
            scanned |= open_.size[0] > 0
        if scanned:
            most = most if by_mean else 0.0
            budget -= scan_windows(
                boxes, open_, members, first, last, box_cost, flat, by_mean, most, limits, raised, scan, budget
            )
        else:
            budget -= find_narrowest_windows(boxes, members, first, last, box_cost, limits, scan)
    return budget

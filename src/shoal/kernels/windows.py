"""Scan the windows of the line in one box: the cheapest that holds a tuple, and the largest prices in any.

Every scan returns the work it did (in about tuples that it looked at), so that a budget bounds all of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba as nb
import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.spread import grow, measure_excess, reset_window


class WindowRoom(NamedTuple):
    """Room for a scan: of tuples, or of the blocks of equal places that a window consists of."""

    stops: Any
    ends: Any
    sums: Any  # [3, …]
    top_prices: Any  # [k]: the largest prices of the window, the largest first
    top_counts: Any  # [k]
    top_ids: Any  # [k]
    block_ids: Any  # [block, place]: the largest prices at the end of each block
    block_counts: Any


class Ratios(NamedTuple):
    """What keeps prices from growing."""

    prices: Any  # [tuple]: what each record is to pay
    ratios: Any  # [tuple]: the largest ratio so far of a mean price to the cost of the box
    ids: Any  # [tuple, place]: who is in the class that has it
    counts: Any  # [tuple, place]: how many of their records are


@kernel
def find_narrowest_windows(boxes, group, begin, end, cost, lowest, scan):
    """Lower what each tuple of a group pays to the narrowest window that holds it and enough records."""
    size, points, least = end - begin, boxes.points, boxes.least
    ends, queue, widths = scan.ends, scan.stops, scan.sums[0]
    # ends[i]: the first place at which a window that starts at i holds enough; size: none does
    held, j = np.int64(0), 0
    for i in range(size):
        while j < size and held < least:
            held += boxes.counts[group[begin + j]]
            j += 1
        if held < least:
            ends[i] = size
        else:
            ends[i] = j - 1
            widths[i] = points[group[begin + j - 1]] - points[group[begin + i]]
        held -= boxes.counts[group[begin + i]]
    head, tail, before = 0, 0, -1
    for t in range(size):
        if ends[t] < size:
            while tail > head and widths[queue[tail - 1]] >= widths[t]:
                tail -= 1
            queue[tail] = t
            tail += 1
        while before + 1 <= t and ends[before + 1] < t:
            before += 1  # the last window that ends before t: it is stretched to t
        while head < tail and queue[head] <= before:
            head += 1
        best = np.inf
        if head < tail:
            best = widths[queue[head]]
        if before >= 0:
            best = min(best, points[group[begin + t]] - points[group[begin + before]])
        lowest[group[begin + t]] = min(lowest[group[begin + t]], cost + best)
    return 2 * size


@nb.njit(inline="always")
def _stretch(boxes, group, begin, end, cost, lowest, ends):
    """Lower what tuples behind windows pay to the width from the last window that ends before them."""
    before = begin - 1
    for t in range(begin, end):
        while before + 1 <= t and ends[before + 1] <= t:
            before += 1
        if before >= begin:
            box_cost = cost + boxes.points[group[t]] - boxes.points[group[before]]
            lowest[group[t]] = min(lowest[group[t]], box_cost)


@kernel
def insert_price(scan, member, price, count, filled, least):
    """Put a tuple among the largest prices, of at most k records; return how many tuples are there now."""
    prices, counts, ids = scan.top_prices, scan.top_counts, scan.top_ids
    at = filled
    while at > 0 and prices[at - 1] < price:
        prices[at], counts[at], ids[at] = prices[at - 1], counts[at - 1], ids[at - 1]
        at -= 1
    prices[at], counts[at], ids[at] = price, min(count, least), member
    filled += 1
    over = -least
    for index in range(filled):
        over += counts[index]
    while over > 0:
        dropped = min(over, counts[filled - 1])
        counts[filled - 1] -= dropped
        over -= dropped
        if counts[filled - 1] == 0:
            filled -= 1
    return filled


@nb.njit(inline="always")
def _telling(group, begin, end, by_mean, most, limits, raised):
    """Return the cost from which on a window of the group tells nothing, and the smallest ratio that may be raised."""
    smallest = np.inf
    for i in range(begin, end):
        if by_mean and raised.prices[group[i]] > 0.0:
            smallest = min(smallest, raised.ratios[group[i]])
        if not by_mean:
            most = max(most, limits[group[i]])
    return most, smallest


@kernel
def scan_windows(boxes, open_, group, begin, end, cost, flat, by_mean, most, limits, raised, scan, budget):
    """Look at all windows that cost less than ``most``, with what their records need in the open columns.

    Without means, lower what each tuple pays to its cheapest window. A window grows until the open columns need no more
    than the box says; from there on only its width counts: such a window is stretched to the tuples behind it.

    With means, raise each tuple's ratio to the largest of (mean of the class) / (cost of the box) over its classes
    here. The class of a tuple that has the largest mean is the tuple with those of the largest prices.
    """
    least, prices = boxes.least, raised.prices
    work, start = end - begin, begin
    most, smallest = _telling(group, begin, end, by_mean, most, limits, raised)
    while start < end and work <= budget:
        origin = boxes.points[group[start]]
        block, j, held, done, telling = 0, start, np.int64(0), False, False
        filled, in_top, total = 0, np.int64(0), 0.0
        while j < end and not done:
            index = boxes.points[group[j]]
            box_cost = cost if flat else cost + index - origin
            if box_cost >= most:
                break
            while j < end and (flat or boxes.points[group[j]] == index):
                t = group[j]
                held += boxes.counts[t]
                if by_mean and prices[t] > 0.0 and (in_top < least or prices[t] > scan.top_prices[filled - 1]):
                    filled = insert_price(scan, t, prices[t], boxes.counts[t], filled, least)
                    total, in_top = 0.0, np.int64(0)
                    for at in range(filled):
                        total += scan.top_prices[at] * scan.top_counts[at]
                        in_top += scan.top_counts[at]
                    work += 2 + filled // 4
                if open_ is not None:
                    work += grow(boxes, open_, t)
                j += 1
            scan.stops[block], scan.sums[0, block] = j, -1.0 if by_mean else np.inf
            if held >= least and (not by_mean or total > smallest * least * box_cost):
                over = 0.0
                if open_ is not None:
                    over = measure_excess(boxes, open_)
                if not by_mean:
                    scan.sums[0, block], done, telling = box_cost + over, over == 0.0, True
                elif total > smallest * least * (box_cost + over):
                    work += _note(scan, block, filled, total, in_top, least, box_cost + over)
                    telling = True
            block += 1
        work += 8 + (j - start) // 2
        if open_ is not None:
            work += reset_window(boxes, open_, group, start, j)
        if telling and by_mean:
            work += _raise_ratios(group, start, block, raised, scan)
        elif telling:
            _lower(group, start, block, limits, scan)
        while start < end and (flat or boxes.points[group[start]] == origin):
            scan.ends[start] = j  # the first tuple behind; to reach it costs too much where the window is not done
            start += 1
    if not (by_mean or flat) and work <= budget:
        _stretch(boxes, group, begin, end, cost, limits, scan.ends)
    return work


@nb.njit(inline="always")
def _lower(group, start, blocks, limits, scan):
    """Lower what the tuples of all windows from one start pay: a tuple is in every one that ends behind it."""
    best = np.inf
    for b in range(blocks - 1, -1, -1):
        best = min(best, scan.sums[0, b])
        for i in range(start if b == 0 else scan.stops[b - 1], scan.stops[b]):
            limits[group[i]] = min(limits[group[i]], best)


@nb.njit(inline="always")
def _note(scan, block, filled, total, in_top, least, box_cost):
    """Write down the ratio at the end of a block, and of whom; return the work done."""
    short = total - (scan.top_prices[filled - 1] if in_top == least else 0.0)
    scale = 1.0 / (least * box_cost) if box_cost > 0.0 else 0.0
    scan.sums[0, block] = total * scale if box_cost > 0.0 else np.inf
    scan.sums[1, block] = short * scale if box_cost > 0.0 else np.inf
    scan.sums[2, block] = scale
    wanted = scan.block_ids.shape[1]
    for at in range(min(filled, wanted)):
        scan.block_ids[block, at] = scan.top_ids[at]
        scan.block_counts[block, at] = scan.top_counts[at]
    if filled < wanted:
        scan.block_ids[block, filled] = -1
    return 2 + min(filled, wanted) // 8


@nb.njit(inline="always")
def _raise_ratios(group, start, blocks, raised, scan):
    """Raise the ratios of the tuples of all windows from one start: a tuple is in every one that ends behind it."""
    whole, short, scale, chosen, wanted = -1.0, -1.0, -1.0, -1, raised.ids.shape[1]
    work = (scan.stops[blocks - 1] - start) // 2
    for b in range(blocks - 1, -1, -1):
        if scan.sums[0, b] >= 0.0:
            if scan.sums[0, b] > whole:
                whole, chosen = scan.sums[0, b], b
            short = max(short, scan.sums[1, b])
            scale = max(scale, scan.sums[2, b])
        if chosen < 0:
            continue
        for i in range(start if b == 0 else scan.stops[b - 1], scan.stops[b]):
            t = group[i]
            if raised.prices[t] <= 0.0:
                continue
            ratio = min(whole, short + raised.prices[t] * scale)
            if ratio <= raised.ratios[t]:
                continue
            raised.ratios[t] = ratio
            for at in range(wanted):
                raised.ids[t, at] = scan.block_ids[chosen, at]
                raised.counts[t, at] = scan.block_counts[chosen, at]
                if scan.block_ids[chosen, at] < 0:
                    break
            work += 2 + wanted // 8
    return work

"""How far the values of each class are from those of the whole table, as whole numbers."""

from __future__ import annotations

import numpy as np

from shoal.encoding.types import Codes, Ints
from shoal.frequencies.frequencies import Histogram
from shoal.kernels.group import group
from shoal.models._exact import Numbers, roomy


def measure_between_labels(histogram: Histogram, table: Histogram, levels: Codes) -> tuple[Numbers, int]:
    """Return for each class what must be moved to make its values those of the table, and what that is counted in.

    The earth mover's distance of a class with n records to a table with N is the first number by n N times the second.
    A record that moves within a label of level i moves i of the levels' steps, so what must be moved is, for each
    level, what the labels of the class have too much. One level of values is the variational distance.
    """
    whole, own = int(table.known[0]), histogram.known
    kind = roomy(whole, whole, len(levels))
    result = np.zeros(histogram.count, kind)
    for numbers in levels:
        labels = numbers[histogram.values].astype(np.int64)
        width = int(numbers.max(initial=0)) + 1
        pairs, rows = group([histogram.classes, labels], [max(histogram.count, 1), width])
        held = np.bincount(pairs, histogram.counts, minlength=len(rows)).astype(np.int64).astype(kind)
        of_table = np.bincount(numbers[table.values], table.counts, minlength=width).astype(np.int64)
        classes = histogram.classes[rows]
        surplus = held * whole - of_table[labels[rows]].astype(kind) * own[classes]
        np.add.at(result, classes, np.maximum(surplus, 0))
    return result, len(levels)


def measure_along_order(histogram: Histogram, table: Histogram, ranks: Ints) -> tuple[Numbers, int]:
    """Return the same where values have an order, and a record moves one step from a value to the next.

    What must be moved over each step is the difference of the two cumulated distributions. Between two values of a
    class its own stays the same and that of the table rises, so it is summed by look-up: the cost is that of the
    entries, however many values the table has.
    """
    whole, steps = int(table.known[0]), len(table.values) - 1
    turn = np.argsort(ranks[table.values], kind="stable")
    index = np.empty(len(ranks), np.int64)
    index[table.values[turn]] = np.arange(len(turn))
    kind = roomy(whole, whole, len(turn) + 1)
    reached = np.cumsum(table.counts[turn])
    summed = np.append(0, np.cumsum(reached.astype(kind)))
    at = index[histogram.values]
    order = np.lexsort([at, histogram.classes])
    at, classes = at[order], histogram.classes[order]
    own = histogram.known.astype(kind)[classes]
    ends = np.cumsum(histogram.counts[order])
    held = (ends - np.append(0, ends)[histogram.starts[:-1]][classes]).astype(kind)
    first = np.diff(classes, prepend=-1) > 0
    until = np.where(np.append(first[1:], True), len(turn), np.append(at[1:], 0))
    crossing = np.searchsorted(reached, (held * whole // np.maximum(own, 1)).astype(np.int64), "right")
    crossing = np.clip(crossing, at, until)
    ahead = held * whole * (crossing - at) - own * (summed[crossing] - summed[at])
    behind = own * (summed[until] - summed[crossing]) - held * whole * (until - crossing)
    before = np.where(first, own * summed[at], 0)
    result = np.zeros(histogram.count, kind)
    np.add.at(result, classes, ahead + behind + before)
    return result, max(steps, 1)

"""Plain twins of the compiled kernels: slow, obvious, and what tests compare them with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2
from typing import Any

import numpy as np
import numpy.typing as npt

LABELS, RANGES = 0, 1
UNLIMITED, BEYOND = 1 << 30, 1e9


def propose_cut(
    region: npt.NDArray[np.int32],
    counts: npt.NDArray[np.int64],
    tried: Sequence[bool],
    columns: Sequence[dict[str, Any]],
    least: int,
) -> tuple[int, int]:
    """Return the column and place of the cut that :func:`shoal.kernels.cut.propose_cuts` proposes for a region.

    Parameters
    ----------
    region
        ``region[tuple, column]``: codes.
    counts
        Records of each tuple.
    tried
        Columns that are out of the question.
    columns
        For each column ``form``, ``joins``, ``penalties`` (by level and code), ``points``, ``size``,
        ``weight``, ``limits``.
    least
        The fewest records of a part.

    Returns
    -------
    The column and the last code that goes left; (-1, -1) where there is no cut.
    """
    widths = [
        (_width(region[:, place], column), -place)
        for place, column in enumerate(columns)
        if not tried[place] and len(set(region[:, place])) > 1
    ]
    for _, place in sorted(widths, reverse=True):
        cut = _best_place(region[:, -place], counts, columns[-place], least)
        if cut is not None:
            return -place, cut
    return -1, -1


def _top(codes: npt.NDArray[np.int32], column: dict[str, Any]) -> int:
    return max(int(column["joins"][code]) for code in range(int(codes.min()), int(codes.max())))


def _width(codes: npt.NDArray[np.int32], column: dict[str, Any]) -> float:
    low, high = int(codes.min()), int(codes.max())
    if column["form"] == LABELS:
        width = float(column["penalties"][_top(codes, column)][low])
    elif column["form"] == RANGES:
        spread = float(column["points"][high] - column["points"][low])
        width = 1.0 if np.isnan(spread) else spread
    else:
        width = len(set(codes.tolist())) / column["size"]
    return width * float(column["weight"]) + (BEYOND if _is_beyond(codes, column) else 0.0)


def _is_beyond(codes: npt.NDArray[np.int32], column: dict[str, Any]) -> bool:
    limit = int(column["limits"][codes].min())
    return limit < UNLIMITED and _top(codes, column) > limit


def _best_place(
    codes: npt.NDArray[np.int32], counts: npt.NDArray[np.int64], column: dict[str, Any], least: int
) -> int | None:
    best, place = least - 1, None
    for cut in range(int(codes.min()), int(codes.max())):
        by_label = column["form"] == LABELS or _is_beyond(codes, column)
        if by_label and column["joins"][cut] != _top(codes, column):
            continue
        left = int(counts[codes <= cut].sum())
        even = min(left, int(counts.sum()) - left)
        if even > best:
            best, place = even, cut
    return place


Row = tuple[tuple[int, ...], bool, int]
"""A row of a rolled-up table: the number of the label of each column, whether it is above a boundary, its kind."""


def raised(
    table: Mapping[Row, int], place: int, labels: Sequence[int], beyond: Sequence[bool]
) -> tuple[dict[Row, int], dict[Row, Row]]:
    """Return the table that :func:`shoal.kernels.roll.raise_wide` makes of a table, and where each row went.

    Parameters
    ----------
    table
        Records of each row.
    place
        The column that gets new labels.
    labels, beyond
        The new number of each label, and whether it is above a boundary.
    """
    above: dict[Row, int] = {}
    members: dict[Row, Row] = {}
    for row, count in table.items():
        numbers, marked, kind = row
        number = numbers[place]
        new = (*numbers[:place], int(labels[number]), *numbers[place + 1 :])
        members[row] = (new, marked or bool(beyond[number]), kind)
        above[members[row]] = above.get(members[row], 0) + count
    return above, members


def table_at(
    values: Mapping[tuple[tuple[int, ...], int], int], node: Sequence[int], columns: Sequence[dict[str, Any]]
) -> dict[Row, int]:
    """Return the table that :func:`shoal.kernels.roll.roll_up` writes for a node, straight from the values.

    Parameters
    ----------
    values
        Records of each combination of values and kind.
    node
        The level of each column; one above its top is a column that is free.
    columns
        For each column ``codes`` (by level and value) and ``limits`` (by value, ``None`` where it has no boundaries).
    """
    table: dict[Row, int] = {}
    for (codes, kind), count in values.items():
        numbers, marked = [], False
        for code, level, column in zip(codes, node, columns, strict=True):
            free = level == len(column["codes"])
            numbers.append(0 if free else int(column["codes"][level][code]))
            marked |= not free and column["limits"] is not None and level > column["limits"][code]
        row = (tuple(numbers), marked, kind)
        table[row] = table.get(row, 0) + count
    return table


def sums_of(
    classes: Sequence[tuple[tuple[int, ...], int, bool]], costs: Sequence[Sequence[Mapping[int, float]]]
) -> dict[str, Any]:
    """Return what :func:`shoal.kernels.roll.sum_up` adds up for a node.

    Parameters
    ----------
    classes
        Labels, records, and whether it is kept, of each class.
    costs
        ``costs[cost][place][label]``: what a record with the label adds.
    """
    out = sum(size for _, size, kept in classes if not kept)
    hidden: list[dict[int, int]] = [{} for _ in costs[0]]
    for labels, size, kept in classes:
        for place, label in enumerate(labels if not kept else ()):
            hidden[place][label] = hidden[place].get(label, 0) + size
    return {
        "suppressed": out,
        "classes": sum(kept for _, _, kept in classes),
        "squares": sum(size**2 for _, size, kept in classes if kept),
        "all_squares": sum(size**2 for _, size, _ in classes),
        "kept": [
            [
                sum(size * places[place][labels[place]] for labels, size, kept in classes if kept)
                for place in range(len(places))
            ]
            for places in costs
        ],
        "apart": [sum(size * log2(out / size) for size in counted.values()) for counted in hidden],
    }


def hierarchical_distance(column: dict[str, Any], first: int, second: int) -> float:
    """Return how far apart two codes are: :func:`shoal.kernels.spanning.hierarchical_distances`."""
    low, high = min(first, second), max(first, second)
    if low == high:
        return 0.0
    level = max(int(column["joins"][code]) for code in range(low, high))
    if level > min(column["limits"][low], column["limits"][high]):
        return float("inf")
    effort = min(level / int(column["height"]), 1.0)
    if column["form"] == RANGES:
        share = float(column["points"][high] - column["points"][low])
        effort = 1.0 if np.isnan(share) else share
    return 2.0 * effort * float(column["weight"])


def distance_matrix(tuples: npt.NDArray[np.int32], columns: Sequence[dict[str, Any]]) -> npt.NDArray[np.float64]:
    """Return the distances of all pairs of tuples, Definition 7 of Ramana et al. (2013)."""
    return np.array(
        [
            [sum(hierarchical_distance(c, int(a[j]), int(b[j])) for j, c in enumerate(columns)) for b in tuples]
            for a in tuples
        ]
    )


def grow_tree(distances: npt.NDArray[np.float64]) -> tuple[list[int], list[int], list[float]]:
    """Return the order in which nodes join a minimum spanning tree, and their edges: ``spanning.span``."""
    joined: list[int] = []
    parents: list[int] = []
    lengths: list[float] = []
    while len(joined) < len(distances):
        ways = [
            min(((distances[other, node], place, other) for place, other in enumerate(joined)), default=None)
            for node in range(len(distances))
        ]
        left = [node for node in range(len(distances)) if node not in joined]
        reach = {node: way[0] if (way := ways[node]) else np.inf for node in left}
        nearest = min(left, key=lambda node: (reach[node], node))
        way = ways[nearest]
        has_edge = way is not None and way[0] < np.inf
        joined.append(nearest)
        parents.append(way[2] if way is not None and has_edge else -1)
        lengths.append(float(reach[nearest]))
    return joined, parents, lengths


def allowable_edges(parents: Sequence[int], queue: Sequence[int], records: Sequence[int], least: int) -> set[int]:
    """Return the edges that ``spanning.remove_allowable`` removes."""
    removed: set[int] = set()

    def part(node: int) -> int:
        while parents[node] >= 0 and node not in removed:
            node = parents[node]
        return node

    for edge in queue:
        removed.add(edge)
        sizes = {part(node): 0 for node in range(len(parents))}
        for node, count in enumerate(records):
            sizes[part(node)] += count
        if min(sizes[part(edge)], sizes[part(parents[edge])]) < least:
            removed.remove(edge)
    return removed


def class_penalty(tuples: npt.NDArray[np.int32], columns: Sequence[dict[str, Any]]) -> float:
    """Return the weighted certainty penalty of a class, infinite where it is beyond a boundary."""
    total = 0.0
    for place, column in enumerate(columns):
        codes = tuples[:, place]
        low, high, level = int(codes.min()), int(codes.max()), 0
        if low < high:
            level = _top(codes, column)
        if level > int(column["limits"][codes].min()):
            return float("inf")
        if column["form"] == LABELS or low == high:
            lost = float(column["penalties"][level][low])
        elif column["form"] == RANGES:
            spread = float(column["points"][high] - column["points"][low])
            lost = 1.0 if np.isnan(spread) else spread
        else:
            lost = max(len(set(codes.tolist())) / column["size"], float(column["penalties"][0][high]))
        total += column["weight"] * lost
    return total


def join_poor(
    classes: Sequence[npt.NDArray[np.int32]],
    records: Sequence[int],
    poor: Sequence[bool],
    reach: Sequence[tuple[int, int]],
    columns: Sequence[dict[str, Any]],
    least: int,
    by_increase: bool,
) -> tuple[list[int], list[bool]]:
    """Return what each class is part of after a round, and which had none to join: ``spanning.join_classes``."""
    held = dict(enumerate(classes))
    sizes = list(records)
    into, alone, joined = list(range(len(classes))), [False] * len(classes), set()
    for number in range(len(classes)):
        if not poor[number] or number not in held or (number in joined and sizes[number] >= least):
            continue
        best, partner = float("inf"), -1
        for other in range(*reach[number]):
            if other not in held or other == number:
                continue
            cost = class_penalty(np.vstack([held[number], held[other]]), columns)
            if by_increase:
                own = [sizes[c] * class_penalty(held[c], columns) for c in (number, other)]
                cost = cost * (sizes[number] + sizes[other]) - (own[0] + own[1])
            if cost < best:
                best, partner = cost, other
        if partner < 0:
            alone[number] = True
            continue
        held[partner] = np.vstack([held.pop(number), held[partner]])
        sizes[partner] += sizes[number]
        joined.add(partner)
        into = [partner if c == number else c for c in into]
    return into, alone


def nearest(
    codes: npt.NDArray[np.int32],
    left: npt.NDArray[np.int64],
    distances: npt.NDArray[np.float64],
    offsets: npt.NDArray[np.int64],
    wanted: int,
) -> list[int]:
    """Return the tuples that :func:`shoal.kernels.similarity.nearest` chooses, the nearest first."""
    ranked = sorted(
        (sum(float(distances[offset + code]) for offset, code in zip(offsets, row, strict=True)), number)
        for number, row in enumerate(codes)
        if left[number]
    )
    chosen: list[int] = []
    for _, number in ranked:
        if left[chosen].sum() >= wanted:
            break
        chosen.append(number)
    return chosen


Box = Sequence[Sequence[int]]
"""The tuples of a class, as codes."""


def box_costs(box: Box, columns: Sequence[dict[str, Any]]) -> list[float]:
    """Return the weighted penalty of a class in each column, as :mod:`shoal.kernels.boxes` has it.

    A column is given by ``form``, ``size``, ``labels`` and ``penalties`` (by level and code), ``values``, ``span``,
    ``limits``, ``weight`` and ``wild``.
    """
    return [_box_cost(sorted({codes[place] for codes in box}), column) for place, column in enumerate(columns)]


def _box_cost(codes: list[int], column: dict[str, Any]) -> float:
    low, high = codes[0], codes[-1]
    top = len(column["labels"]) - 1
    level = next(level for level in range(top + 1) if level == top or _alike(column["labels"][level], low, high))
    if len(codes) == 1:
        penalty = float(column["penalties"][0][low])
    elif column["form"] == LABELS:
        penalty = float(column["penalties"][level][low])
    elif column["form"] == RANGES:
        spread = float(column["values"][high] - column["values"][low])
        penalty = 1.0 if np.isnan(spread) else (spread / column["span"] if column["span"] > 0 else 0.0)
    else:
        penalty = 1.0 if column["wild"] and high == column["size"] - 1 else len(codes) / column["size"]
    beyond = level > min(int(column["limits"][code]) for code in codes)
    return penalty * float(column["weight"]) + (1e6 if beyond else 0.0)


def _alike(labels: Sequence[int], one: int, other: int) -> bool:
    return bool(labels[one] == labels[other])


def extreme(box: Box, tuples: Box, records: Sequence[int], columns: Sequence[dict[str, Any]], most: bool) -> int:
    """Return what :func:`shoal.kernels.boxes.extreme` returns."""
    now = box_costs(box, columns)
    best, found = float("inf"), -1
    for place, codes in enumerate(tuples):
        if records[place]:
            rise = 0.0
            for cost, before in zip(box_costs([*box, codes], columns), now, strict=True):
                rise += cost - before
            rise = -rise if most else rise
            if rise < best:
                best, found = rise, place
    return found


def cheapest(
    boxes: Sequence[Box], records: Sequence[int], a: int, columns: Sequence[dict[str, Any]], least: int, window: int
) -> int:
    """Return what :func:`shoal.kernels.boxes.cheapest` returns."""
    others = sorted((b for b in range(len(boxes)) if b != a and records[b]), key=lambda b: (abs(b - a), b))
    best, found = float("inf"), -1
    mine = box_costs(boxes[a], columns) if boxes[a] else []
    for b in others[:window]:
        moved = records[b]
        if least and records[a] + moved >= 2 * least:
            moved = min(moved, max(least - records[a], 0))
        increase = 0.0
        theirs, joined = box_costs(boxes[b], columns), box_costs([*boxes[a], *boxes[b]], columns)
        for cost, one, other in zip(joined, mine, theirs, strict=True):
            increase += records[a] * (cost - one) + moved * (cost - other)
        if increase < best:
            best, found = increase, b
    return found


def join_each(
    boxes: Sequence[Box],
    records: Sequence[int],
    queue: Sequence[int],
    columns: Sequence[dict[str, Any]],
    window: int,
) -> list[int]:
    """Return which box absorbed each box, as :func:`shoal.kernels.boxes.join_each` has it."""
    into, joined = list(range(len(boxes))), set[int]()
    boxes, records = [list(box) for box in boxes], list(records)
    for a in queue:
        b = cheapest(boxes, records, a, columns, 0, window) if a not in joined else -1
        if b >= 0:
            boxes[a], boxes[b] = [*boxes[a], *boxes[b]], []
            records[a], records[b] = records[a] + records[b], 0
            into[b] = a
            joined |= {a, b}
    return into


def bisect(tuples: Box, records: Sequence[int], columns: Sequence[dict[str, Any]], rounds: int) -> list[bool]:
    """Return which tuples go to the second part, as :func:`shoal.kernels.boxes.bisect` has it."""
    seed, other = 0, 0
    for turn in range(rounds):
        seed = other if turn else 0
        other = extreme([tuples[seed]], tuples, records, columns, True)
        if other == seed:
            other = 0 if seed else 1
    parts: list[list[Sequence[int]]] = [[tuples[seed]], [tuples[other]]]
    sizes = [records[seed], records[other]]
    right = [place == other for place in range(len(tuples))]
    for place, codes in enumerate(tuples):
        if place not in (seed, other):
            increases = []
            for part, size in zip(parts, sizes, strict=True):
                increase = 0.0
                before, after = box_costs(part, columns), box_costs([*part, codes], columns)
                for cost, now in zip(after, before, strict=True):
                    increase += (size + records[place]) * cost - size * now
                increases.append(increase)
            right[place] = increases[1] < increases[0]
            parts[right[place]].append(codes)
            sizes[right[place]] += records[place]
    return right


def total_cost(members: Sequence[int], tuples: Box, records: Sequence[int], columns: Sequence[dict[str, Any]]) -> float:
    """Return what classes cost that are given by the class of each unit: :func:`shoal.kernels.neighbourhood.descend`.

    Columns as for :func:`box_costs`; a unit of class -1 is suppressed and costs all weights.
    """
    total = 0.0
    for own in set(members):
        inside = [unit for unit, other in enumerate(members) if other == own]
        if own < 0:
            cost = sum(float(column["weight"]) for column in columns)
        else:
            cost = sum(box_costs([tuples[unit] for unit in inside], columns))
        total += sum(records[unit] for unit in inside) * cost
    return total


def best_cut(tuples: Box, records: Sequence[int], columns: Sequence[dict[str, Any]], least: int) -> float:
    """Return the least cost of all ways to cut a sequence: :func:`shoal.kernels.program.cut_sequence`."""
    best = [0.0] + [np.inf] * len(tuples)
    for end in range(1, len(tuples) + 1):
        for begin in range(end):
            size = sum(records[begin:end])
            if size >= least:
                best[end] = min(best[end], best[begin] + size * sum(box_costs(tuples[begin:end], columns)))
    return float(best[-1])


def growth(
    one: Sequence[int], other: Sequence[int], tuples: Box, records: Sequence[int], columns: Sequence[dict[str, Any]]
) -> float:
    """Return what all cost more if one class of units joins another one: ``neighbourhood.choose_neighbours``."""
    costs = [
        sum(records[unit] for unit in units) * sum(box_costs([tuples[unit] for unit in units], columns))
        for units in ([*one, *other], one, other)
    ]
    return costs[0] - costs[1] - costs[2]

"""Plain twins of :mod:`shoal.kernels.boxes`, and what all that look for boxes share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

LABELS, RANGES, SETS = 0, 1, 2
"""How a column is published."""


UNLIMITED = 1 << 30


Box = Sequence[Sequence[int]]
"""The tuples of a class, as codes."""


def box_costs(box: Box, columns: Sequence[dict[str, Any]]) -> list[float]:
    """Return the weighted penalty of a class in each column, as :mod:`shoal.kernels.boxes` has it.

    A column is given by ``form``, ``size``, ``labels`` and ``penalties`` (by level and code), ``points``, ``limits``,
    ``weight``, ``wild`` and what it costs to be ``beyond`` a boundary.
    """
    return [column_cost(sorted({codes[index] for codes in box}), column) for index, column in enumerate(columns)]


def column_cost(codes: list[int], column: dict[str, Any]) -> float:
    """Return the weighted penalty of a class in a column, by its distinct codes in order."""
    low, high = codes[0], codes[-1]
    top = len(column["labels"]) - 1
    level = next(level for level in range(top + 1) if level == top or _alike(column["labels"][level], low, high))
    if len(codes) == 1:
        penalty = float(column["penalties"][0][low])
    elif column["form"] == LABELS:
        penalty = float(column["penalties"][level][low])
    elif column["form"] == RANGES:
        spread = float(column["points"][high] - column["points"][low])
        penalty = 1.0 if np.isnan(spread) else spread
    else:
        penalty = 1.0 if column["wild"] and high == column["size"] - 1 else len(codes) / column["size"]
    beyond = level > min(int(column["limits"][code]) for code in codes)
    return penalty * float(column["weight"]) + (float(column["beyond"]) if beyond else 0.0)


def _alike(labels: Sequence[int], one: int, other: int) -> bool:
    return bool(labels[one] == labels[other])


def box_cost(box: Box, columns: Sequence[dict[str, Any]]) -> float:
    """Return the weighted penalty of a class."""
    return sum(box_costs(box, columns))


def with_each(box: Box, tuples: Box, records: Sequence[int], columns: Sequence[dict[str, Any]]) -> dict[int, float]:
    """Return what a class would cost with each tuple that has records."""
    return {index: box_cost([*box, codes], columns) for index, codes in enumerate(tuples) if records[index]}


def nearest_to(box: Box, tuples: Box, records: Sequence[int], columns: Sequence[dict[str, Any]]) -> int:
    """Return what :func:`shoal.kernels.boxes.nearest` returns."""
    found = with_each(box, tuples, records, columns)
    return min(found, key=lambda index: (found[index], index), default=-1)


def furthest_from(box: Box, tuples: Box, records: Sequence[int], columns: Sequence[dict[str, Any]]) -> int:
    """Return what :func:`shoal.kernels.boxes.furthest` returns."""
    found = with_each(box, tuples, records, columns)
    return min(found, key=lambda index: (-found[index], index), default=-1)


def cheapest(
    boxes: Sequence[Box], records: Sequence[int], a: int, columns: Sequence[dict[str, Any]], least: int, window: int
) -> int:
    """Return what :func:`shoal.kernels.boxes.cheapest` returns."""
    around = range(max(a - window // 2, 0), min(a + window // 2 + 1, len(boxes)))
    rises = {}
    for b in sorted((b for b in around if b != a and records[b]), key=lambda b: (b < a, b)):
        moved = records[b]
        if least and records[a] + moved >= 2 * least:
            moved = min(moved, max(least - records[a], 0))
        before = records[a] * box_cost(boxes[a], columns) + moved * box_cost(boxes[b], columns)
        rises[b] = (records[a] + moved) * box_cost([*boxes[a], *boxes[b]], columns) - before
    return min(rises, key=lambda b: rises[b], default=-1)


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
        other = furthest_from([tuples[seed]], tuples, records, columns)
        if other == seed:
            other = 0 if seed else 1
    parts: list[list[Sequence[int]]] = [[tuples[seed]], [tuples[other]]]
    sizes = [records[seed], records[other]]
    right = [index == other for index in range(len(tuples))]
    for index, codes in enumerate(tuples):
        if index not in (seed, other):
            increases = []
            for part, size in zip(parts, sizes, strict=True):
                wider = (size + records[index]) * box_cost([*part, codes], columns)
                increases.append(wider - size * box_cost(part, columns))
            right[index] = increases[1] < increases[0]
            parts[right[index]].append(codes)
            sizes[right[index]] += records[index]
    return right

"""Plain twins of the compiled kernels: slow, obvious, and what tests compare them with."""

from __future__ import annotations

from collections.abc import Sequence
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

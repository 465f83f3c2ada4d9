"""Plain twins of the compiled kernels: slow, obvious, and what tests compare them with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
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


def cheapest_boxes(
    codes: npt.NDArray[np.int32],
    counts: npt.NDArray[np.int64],
    points: npt.NDArray[np.float64],
    ladders: Sequence[Sequence[tuple[npt.NDArray[np.int32], npt.NDArray[np.float64], bool]]],
    least: int,
) -> list[float]:
    """Return what the cheapest box of each tuple costs: see :func:`shoal.kernels.bounding.walk_boxes`.

    ``codes[tuple, column]``; a ladder is steps of (label by code, cost by code, whether the line does not count).
    """
    lowest = [np.inf] * len(counts)
    for cost, members in _boxes(codes, counts, points, ladders, least):
        for member in members:
            lowest[member] = min(lowest[member], cost)
    return lowest


def largest_ratios(
    codes: npt.NDArray[np.int32],
    counts: npt.NDArray[np.int64],
    points: npt.NDArray[np.float64],
    ladders: Sequence[Sequence[tuple[npt.NDArray[np.int32], npt.NDArray[np.float64], bool]]],
    least: int,
    shares: npt.NDArray[np.float64],
) -> tuple[list[float], list[float]]:
    """Return for each tuple the largest ratio of a mean share to the cost of the box, over boxes that hold it.

    First of classes that the tuple is in, then of any classes; the kernel's ratio lies between the two.
    """
    own, anyone = [0.0] * len(counts), [0.0] * len(counts)
    for cost, members in _boxes(codes, counts, points, ladders, least):
        listed = sorted((float(shares[m]) for m in members for _ in range(int(counts[m]))), reverse=True)
        whole, short = sum(listed[:least]), sum(listed[: least - 1])
        for member in members:
            if shares[member] > 0:
                held = min(whole, short + float(shares[member]))
                own[member] = max(own[member], held / (least * cost) if cost > 0 else np.inf)
                anyone[member] = max(anyone[member], whole / (least * cost) if cost > 0 else np.inf)
    return own, anyone


def _boxes(
    codes: npt.NDArray[np.int32],
    counts: npt.NDArray[np.int64],
    points: npt.NDArray[np.float64],
    ladders: Sequence[Sequence[tuple[npt.NDArray[np.int32], npt.NDArray[np.float64], bool]]],
    least: int,
) -> Iterator[tuple[float, list[int]]]:
    """Every box that holds enough records: its cost, and its tuples."""
    for steps in product(*ladders):
        groups: dict[tuple[int, ...], list[int]] = {}
        for member, row in enumerate(codes.tolist()):
            key = tuple(int(step[0][code]) for step, code in zip(steps, row, strict=True))
            groups.setdefault(key, []).append(member)
        for members in groups.values():
            first = codes[members[0]].tolist()
            cost = sum(float(step[1][code]) for step, code in zip(steps, first, strict=True))
            if any(step[2] for step in steps):
                windows = [(0.0, members)]
            else:
                places = sorted({float(points[m]) for m in members})
                windows = [
                    (high - low, [m for m in members if low <= points[m] <= high])
                    for low in places
                    for high in places
                    if low <= high
                ]
            for width, inside in windows:
                if counts[inside].sum() >= least:
                    yield cost + width, inside

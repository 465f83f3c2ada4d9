"""Plain twins of :mod:`shoal.kernels.bounding`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import numpy.typing as npt


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

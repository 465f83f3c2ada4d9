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

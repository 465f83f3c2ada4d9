"""Plain twin of :mod:`shoal.kernels.cut`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from tests.kernels.plain.boxes import LABELS, column_cost


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
        As for :func:`box_costs`, and ``joins``; boundaries are columns of their own.
    least
        The fewest records of a part.

    Returns
    -------
    The column and the last code that goes left; (-1, -1) where there is no cut.
    """
    widths = [
        (column_cost(sorted(set(region[:, index].tolist())), column), -index)
        for index, column in enumerate(columns)
        if not tried[index] and len(set(region[:, index])) > 1
    ]
    allowed = []
    for width, index in sorted(widths, reverse=True):
        cut = _best_place(region[:, -index], counts, columns[-index], least)
        if cut is not None:
            allowed.append((-width, _find_entropy(region[:, -index], counts), -index, cut))
    return min(allowed)[2:] if allowed else (-1, -1)


def _find_entropy(codes: npt.NDArray[np.int32], counts: npt.NDArray[np.int64]) -> float:
    """The entropy of a column's values, rounded so that equal ones are equal."""
    shares = np.array([counts[codes == code].sum() for code in set(codes.tolist())]) / counts.sum()
    return round(-float((shares * np.log2(shares)).sum()), 9)


def _top(codes: npt.NDArray[np.int32], column: dict[str, Any]) -> int:
    return max(int(column["joins"][code]) for code in range(int(codes.min()), int(codes.max())))


def _best_place(
    codes: npt.NDArray[np.int32], counts: npt.NDArray[np.int64], column: dict[str, Any], least: int
) -> int | None:
    best, index = least - 1, None
    for cut in range(int(codes.min()), int(codes.max())):
        if column["form"] == LABELS and column["joins"][cut] != _top(codes, column):
            continue
        left = int(counts[codes <= cut].sum())
        even = min(left, int(counts.sum()) - left)
        if even > best:
            best, index = even, cut
    return index

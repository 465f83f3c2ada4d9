"""What the kernels of microaggregation do, written as in the papers: slow, and plain."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Points = npt.NDArray[np.float64]


def mdav(points: Points, k: int) -> list[set[int]]:
    """Return the classes of MDAV, in the order in which they are made."""
    left, classes = list(range(len(points))), []

    def nearest(center: Points) -> set[int]:
        return set(sorted(left, key=lambda record: float(((points[record] - center) ** 2).sum()))[:k])

    def farthest(center: Points) -> int:
        return max(left, key=lambda record: float(((points[record] - center) ** 2).sum()))

    while len(left) >= 2 * k:
        first = points[farthest(points[left].mean(axis=0))]
        other = points[farthest(first)]
        for center in (first, other) if len(left) >= 3 * k else (first,):
            classes.append(nearest(center))
            left = [record for record in left if record not in classes[-1]]
    return [*classes, set(left)]


def error(points: Points, classes: npt.NDArray[np.int64]) -> float:
    """Return the squared error of classes."""
    parts = [points[classes == number] for number in np.unique(classes)]
    return float(sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts))


def nearest(points: Points, many: int) -> list[list[float]]:
    """Return the squared distances from each record to its nearest others."""
    far = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    return [sorted(np.delete(row, place))[:many] for place, row in enumerate(far)]

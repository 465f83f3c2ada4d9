"""What the kernels of microaggregation do, written as in the papers: slow, and plain."""

from __future__ import annotations

from itertools import combinations

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


def least_left(points: Points, prices: Points, order: npt.NDArray[np.int64], k: int) -> Points:
    """Return for each record the least that a class of k to 2k - 1 has left of which it is the first, or 0."""
    left = np.zeros(len(points))
    for rank, root in enumerate(order):
        for size in range(k, 2 * k):
            for others in combinations(order[rank + 1 :], size - 1):
                members = np.array([root, *others])
                has = ((points[members] - points[members].mean(axis=0)) ** 2).sum() - prices[members].sum()
                left[root] = min(left[root], has)
    return left


def least_error(points: Points, k: int) -> float:
    """Return the squared error of the best classes of at least k, of all that there are."""

    def best(rest: tuple[int, ...]) -> float:
        if not rest:
            return 0.0
        found = np.inf
        for size in range(k, len(rest) + 1):
            if 0 < len(rest) - size < k:
                continue
            for others in combinations(rest[1:], size - 1):
                members = [rest[0], *others]
                mine = float(((points[members] - points[members].mean(axis=0)) ** 2).sum())
                if mine < found:
                    found = min(found, mine + best(tuple(one for one in rest if one not in members)))
        return found

    return best(tuple(range(len(points))))

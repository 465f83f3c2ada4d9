"""bound_sse(): what no classes of at least k records have less squared error than; proven."""

from __future__ import annotations

import numpy as np

from shoal.encoding.types import Floats, Ints
from shoal.perturbations._dual_bound import count_rounds, raise_dual_bound

_MOST = 4e10
"""So many differences of features are looked at, at most: some ten seconds."""
_ROUNDING = 1 - 1e-9
"""What is left of a bound that the last digits of its sums cannot make too large."""


def bound_sse(points: Floats, k: int, classes: Ints) -> float | None:
    """Return a proven lower bound of the squared error of all partitions into classes of at least k.

    The first one: a class of m records loses the sum of the squared distances of its pairs over m. Each of its records
    has m - 1 others in it, whose distances are no less than those of its m - 1 nearest; half of that over m is its
    share, and it grows with m. So all partitions lose at least the sum of all records' squared distances to their k - 1
    nearest, over 2k. Where there is time, these shares are raised (``raise_dual_bound``).

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> round(bound_sse(points, 2, np.array([0, 0, 1, 1])), 6)
    1.0
    """
    from shoal.kernels.nearest_records import list_nearest

    records, features = points.shape
    if not features or records < k:
        return 0.0
    if float(records) * records * features > _MOST:
        return None
    rounds = count_rounds(records, features) if records >= 2 * k else 0
    many = min(2 * k - 2 if rounds else k - 1, records - 1)
    near, far = np.empty((records, many), np.int32), np.empty((records, many))
    list_nearest(points, near, far)
    least = float(far[:, : k - 1].sum()) / (2 * k)
    if rounds and least > 0:
        least = max(least, raise_dual_bound(points, k, classes, far, rounds))
    return least * _ROUNDING

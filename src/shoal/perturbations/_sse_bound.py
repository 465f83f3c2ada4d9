"""bound_sse(): what no classes of at least k records have less squared error than; proven."""

from __future__ import annotations

import numpy as np

from shoal.encoding.types import Floats

_MOST = 4e10
"""So many differences of features are looked at, at most: some ten seconds."""


def bound_sse(points: Floats, k: int) -> float | None:
    """Return a proven lower bound of the squared error of all partitions into classes of at least k."""
    from shoal.kernels.nearest_records import list_nearest

    records, features = points.shape
    if not features or records < k:
        return 0.0
    if float(records) * records * features > _MOST:
        return None
    near, far = np.empty((records, k - 1), np.int32), np.empty((records, k - 1))
    list_nearest(points, near, far)
    return float(far.sum()) / (2 * k)

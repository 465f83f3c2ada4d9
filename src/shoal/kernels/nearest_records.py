"""The nearest records of each record, without a table of all distances."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.microaggregate import select_nearest, square_distances


@kernel("void(f8[:,::1],i4[:,::1],f8[:,::1])")
def list_nearest(
    points,  # [record, feature]
    near,  # out [record, rank]: the other records that are nearest, nearest first
    far,  # out [record, rank]: their squared distances
):
    """Find the nearest others of each record, by looking at all of them."""
    records, many = near.shape
    columns = np.ascontiguousarray(points.T)
    distances, nearest = np.empty(records), np.empty(many, np.int64)
    for i in range(records):
        square_distances(columns, points[i], records, distances)
        distances[i] = np.inf
        select_nearest(distances, records, nearest, far[i])
        near[i] = nearest

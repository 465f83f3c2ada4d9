"""Chances of one over a size, summed up for people."""

from __future__ import annotations

import numpy as np

from shoal.encoding.types import Ints


def compute_chances(sizes: Ints, records: Ints, least: int) -> dict[str, float]:
    """Return the chances ``1 / sizes`` over all records: the worst, the mean, quantiles, the share above 1/least.

    Sizes are compared as whole numbers. A quantile is the chance that so many of the records do not exceed.

    Examples
    --------
    >>> compute_chances(np.array([1, 4, 5]), np.array([1, 4, 5]), 5)
    {'max': 1.0, 'mean': 0.3, 'unique': 0.1, 'median': 0.2, 'p95': 1.0, 'above': 0.5}
    """
    total = int(records.sum())
    if not total:
        return dict.fromkeys(("max", "mean", "unique", "median", "p95", "above"), 0.0)
    order = np.argsort(-sizes, kind="stable")  # the least chance first
    reached = np.cumsum(records[order]) * 100
    median, high = (int(sizes[order][np.searchsorted(reached, share * total)]) for share in (50, 95))
    mean = len(sizes) / total if sizes is records else float((records / sizes).sum()) / total
    return {
        "max": 1.0 / int(sizes[records > 0].min()),
        "mean": mean,
        "unique": int(records[sizes == 1].sum()) / total,
        "median": 1.0 / median,
        "p95": 1.0 / high,
        "above": int(records[sizes < least].sum()) / total,
    }

"""Distances of empirical distribution functions, in one and in several dimensions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.encoding.types import Floats

POINTS = 256
"""At how many records two distributions of several columns are compared."""


@dataclass(frozen=True)
class Distance:
    """How far two empirical distribution functions are apart; 0 where they are the same."""

    largest: float
    """The largest difference (Woo's U_m)."""
    mean_square: float
    """The mean of the squared differences (Woo's U_s)."""
    points: int
    """At how many records they were compared."""


def distance(original: Floats, published: Floats, *, points: int | None = POINTS, seed: int = 0) -> Distance:
    """Compare the distribution functions of two tables of numbers, ``[record, column]``.

    The function of a table at a point is the share of its records that are no greater than the point in any column. It
    is compared at the records of both tables: at all of them in one dimension; in several at some, drawn by the seed
    (``points=None`` takes all). Those see no more than the largest difference.

    The cost is a sort in one dimension, in several that of comparing each record with each point.

    References
    ----------
    Woo, M.-J., Reiter, J. P., Oganian, A. and Karr, A. F. (2009). Global measures of data utility for microdata masked
    for disclosure limitation. Journal of Privacy and Confidentiality 1(1), 2.2.
    Hussien et al. (2015), 2.7.2.

    Examples
    --------
    >>> one, other = np.array([[1.0], [2], [3], [4]]), np.array([[1.5], [1.5], [3.5], [3.5]])
    >>> distance(one, other)
    Distance(largest=0.25, mean_square=0.046875, points=8)
    """
    if not len(original) or not len(published):
        raise ValueError("a distribution needs records")
    pooled = np.concatenate([original, published])
    if original.shape[1] == 1:
        at, held = np.unique(pooled[:, 0], return_counts=True)
        gaps = _reached(original[:, 0], at) - _reached(published[:, 0], at)
    else:
        at = _draw(pooled, points, seed)
        gaps, held = _dominated(original, at) - _dominated(published, at), np.ones(len(at), np.int64)
    return Distance(float(np.abs(gaps).max()), float(held @ gaps**2) / float(held.sum()), int(held.sum()))


def _reached(values: Floats, at: Floats) -> Floats:
    return np.asarray(np.searchsorted(np.sort(values), at, side="right") / len(values))


def _draw(pooled: Floats, points: int | None, seed: int) -> Floats:
    if points is None or len(pooled) <= points:
        return pooled
    return pooled[np.sort(np.random.default_rng(seed).choice(len(pooled), points, replace=False))]


def _dominated(values: Floats, at: Floats) -> Floats:
    """The share of records that are at most each point in every column."""
    columns = np.ascontiguousarray(values.T)
    shares = np.empty(len(at))
    for number, point in enumerate(at):
        below = columns[0] <= point[0]
        for column, limit in zip(columns[1:], point[1:], strict=True):
            below &= column <= limit
        shares[number] = np.count_nonzero(below) / len(values)
    return shares

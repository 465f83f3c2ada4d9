"""Cluster utility (U_cluster): do clusters of the pooled records hold as many original as published ones?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from shoal.encoding.types import Floats, Ints
from shoal.utility.statistics.threads import one_blas_thread

Points = npt.NDArray[np.float32]
Rows = Callable[[Ints], Points]
"""Gives some records as numbers, ``[record, feature]``."""

CLUSTERS, ROUNDS = 20, 25
_SAMPLE, _BLOCK, _CANDIDATES = 5_000, 1 << 15, 4


@dataclass(frozen=True)
class Clustering:
    """Cluster utility, and how it came about."""

    utility: float
    """U_cluster: 0 where every cluster holds original and published records alike."""
    clusters: int
    constant: float
    """The share of original records in all: what each cluster holds if nothing changed."""


def cluster_utility(
    original: npt.ArrayLike, published: npt.ArrayLike, *, weights: Literal["size", "equal"] = "size"
) -> Clustering:
    """Return Σ W (n_original / n - c)² over clusters, given the records of both tables in each.

    c is the share of original records in all. A cluster weighs W = its share of all records, or 1 / g for g clusters.

    References
    ----------
    Woo, M.-J. et al. (2009). Global measures of data utility for microdata masked for disclosure limitation. Journal of
    Privacy and Confidentiality 1(1), 2.1.
    Hussien et al. (2015), 2.7.1.

    Examples
    --------
    >>> cluster_utility([10, 30], [30, 10])  # 1/2 (1/4 - 1/2)² + 1/2 (3/4 - 1/2)²
    Clustering(utility=0.0625, clusters=2, constant=0.5)
    """
    one, other = np.asarray(original, np.float64), np.asarray(published, np.float64)
    pooled = one + other
    held = pooled > 0
    if not held.any():
        raise ValueError("clusters need records")
    constant = float(one.sum() / pooled.sum())
    shares = pooled[held] / pooled.sum() if weights == "size" else np.full(int(held.sum()), 1.0 / held.sum())
    utility = float(shares @ (one[held] / pooled[held] - constant) ** 2)
    return Clustering(utility, int(held.sum()), constant)


@one_blas_thread
def find_clusters(
    original: tuple[Rows, int], published: tuple[Rows, int], *, clusters: int = CLUSTERS, seed: int = 0
) -> Clustering:
    """Cluster two tables together by k-means and return their cluster utility.

    The centres are found on a sample of both, drawn by the seed; then every record goes to its nearest centre.
    """
    rng = np.random.default_rng(seed)
    tables = (original, published)
    drawn = [rows(np.sort(rng.choice(count, min(count, _SAMPLE), replace=False))) for rows, count in tables]
    centres = place_centres(np.concatenate(drawn), clusters, rng)
    held = [
        sum(
            np.bincount(
                assign_to_centres(rows(np.arange(at, min(at + _BLOCK, count))), centres), minlength=len(centres)
            )
            for at in range(0, count, _BLOCK)
        )
        for rows, count in tables
    ]
    return cluster_utility(held[0], held[1])


def assign_to_centres(points: Points, centres: Points) -> npt.NDArray[np.intp]:
    """Return for each point the centre that is nearest."""
    return np.asarray(np.argmin((centres**2).sum(axis=1) - 2.0 * (points @ centres.T), axis=1))


def place_centres(points: Points, clusters: int, rng: np.random.Generator) -> Points:
    """Return the centres that k-means ends at."""
    centres = _choose_centres(points, clusters, rng)
    for _ in range(ROUNDS if len(centres) > 1 else 0):
        members = assign_to_centres(points, centres)
        order = np.argsort(members, kind="stable")
        counts = np.bincount(members, minlength=len(centres))
        filled = counts > 0
        starts = (np.cumsum(counts) - counts)[filled]
        moved = centres.copy()
        moved[filled] = np.add.reduceat(points[order], starts, axis=0) / counts[filled, None]
        if np.allclose(moved, centres, atol=1e-6):
            break
        centres = moved
    return centres


def _choose_centres(points: Points, clusters: int, rng: np.random.Generator) -> Points:
    """Draw centres that are far from each other: of a few candidates each time the one that most points are near to.

    Arthur, D. and Vassilvitskii, S. (2007). k-means++: the advantages of careful seeding. SODA.
    """
    chosen = [int(rng.integers(len(points)))]
    gaps = _measure_gaps(points, chosen[0])
    while len(chosen) < clusters and gaps.any():  # there may be fewer different points than clusters
        drawn = rng.choice(len(points), _CANDIDATES, p=gaps / gaps.sum()).tolist()
        nearer = {index: np.minimum(gaps, _measure_gaps(points, index)) for index in drawn}
        chosen.append(min(nearer, key=lambda index: float(nearer[index].sum())))
        gaps = nearer[chosen[-1]]
    return points[chosen]


def _measure_gaps(points: Points, index: int) -> Floats:
    """The squared distance of all points from one of them."""
    return np.asarray(((points - points[index]) ** 2).sum(axis=1), np.float64)

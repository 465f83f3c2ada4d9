"""Eigenvalues of the correlations, before and after: is the shape of the cloud of records kept?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.encoding.types import Floats
from shoal.utility.statistics.threads import one_blas_thread


@dataclass(frozen=True)
class EigenvalueChange:
    """How far the eigenvalues of the correlation matrix moved, the greatest beside the greatest."""

    relative: float
    """The sum of |before - after| / before over the eigenvalues that are not zero (sdcMicro's ``eigen``)."""
    absolute: float
    """The sum of |before - after| over all, as a share of the sum before."""
    zero: int
    """How many eigenvalues of the original are zero but for rounding: its columns say each other. They have no relative
    change, and are left out of it; sdcMicro divides by what rounding left of them, which may even be negative."""


@one_blas_thread
def compare_eigenvalues(original: Floats, published: Floats) -> EigenvalueChange | None:
    """Return how far the eigenvalues moved; ``None`` with fewer than two columns that vary in the original.

    Both are ``[record, column]`` without missing numbers; their records need not belong together. A column that does
    not vary any more has no correlations and an eigenvalue of zero.

    References
    ----------
    Templ, M. (2017). Statistical disclosure control for microdata. Springer, 5.

    Examples
    --------
    Two columns that said the same (eigenvalues 2 and 0) say nothing of each other any more (1 and 1):

    >>> before = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    >>> after = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> compare_eigenvalues(before, after)
    EigenvalueChange(relative=0.5, absolute=1.0, zero=1)
    """
    varies = np.ptp(original, axis=0) > 0.0 if len(original) else np.zeros(original.shape[1], bool)
    if np.count_nonzero(varies) < 2 or len(published) < 2:
        return None
    before, after = (_eigenvalues(table[:, varies]) for table in (original, published))
    least = before[0] * len(before) * float(np.finfo(np.float64).eps) * 8
    known = before > least
    gaps = np.abs(before - after)
    return EigenvalueChange(
        float((gaps[known] / before[known]).sum()),
        float(gaps.sum() / before.sum()),
        int(np.count_nonzero(~known)),
    )


def _eigenvalues(table: Floats) -> Floats:
    """Return the eigenvalues of the correlation matrix, the greatest first, none below zero."""
    centred = table - table.mean(axis=0)
    scale = np.sqrt((centred**2).mean(axis=0))
    scaled = np.divide(centred, scale, out=np.zeros_like(centred), where=scale > 0.0)
    found = np.linalg.eigvalsh(scaled.T @ scaled / len(table))
    return np.maximum(found[::-1], 0.0)

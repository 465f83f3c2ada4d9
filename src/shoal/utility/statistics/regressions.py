"""Regressions of each number column on the others, before and after: would an analyst conclude the same?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.encoding.types import Floats
from shoal.utility.statistics.threads import one_blas_thread

_NORMAL = 1.959963984540054
"""Of the estimates 95 % lie within so many standard errors."""


@dataclass(frozen=True)
class RegressionChange:
    """One column as explained by the others, in both tables."""

    column: str
    explained: tuple[float, float]
    """The share of its variance that the others explain (R²), before and after."""
    overlap: float | None
    """The mean over all coefficients of how far their 95 % intervals overlap: 1 where they are the same, below 0 where
    they are apart; ``None`` where one fits without an error."""


@one_blas_thread
def compare_regressions(names: Sequence[str], original: Floats, published: Floats) -> tuple[RegressionChange, ...]:
    """Regress each column that varies on the others, by least squares, and compare the coefficients.

    Both tables are ``[record, column]`` without missing numbers; their records need not belong together. Numbers are
    in standard deviations of the original. Of columns that say each other the shortest solution is taken.

    References
    ----------
    Karr, A. F., Kohnen, C. N., Oganian, A., Reiter, J. P. and Sanil, A. P. (2006). A framework for evaluating the
    utility of data altered to protect confidentiality. The American Statistician 60(3) (the overlap).

    Examples
    --------
    >>> x = np.arange(20.0)
    >>> table = np.stack([x, x + np.resize([1.0, -1.0], 20)], axis=1)
    >>> [(one.column, round(one.overlap, 6)) for one in compare_regressions(("a", "b"), table, table)]
    [('a', 1.0), ('b', 1.0)]
    """
    varies = np.ptp(original, axis=0) > 0.0 if len(original) else np.zeros(original.shape[1], bool)
    chosen = np.flatnonzero(varies)
    if len(chosen) < 2 or min(len(original), len(published)) <= len(chosen) + 1:
        return ()
    mean, scale = original[:, chosen].mean(axis=0), original[:, chosen].std(axis=0)
    tables = [(table[:, chosen] - mean) / scale for table in (original, published)]
    return tuple(_compare(names[column], index, tables) for index, column in enumerate(chosen.tolist()))


def _compare(name: str, index: int, tables: Sequence[Floats]) -> RegressionChange:
    (before, errors, explained), (after, others, kept) = (_regress(table, index) for table in tables)
    if min(float(errors.min()), float(others.min())) <= 0.0:
        return RegressionChange(name, (explained, kept), None)
    low = np.maximum(before - _NORMAL * errors, after - _NORMAL * others)
    high = np.minimum(before + _NORMAL * errors, after + _NORMAL * others)
    shared = (high - low) / (2 * _NORMAL)
    return RegressionChange(name, (explained, kept), float(((shared / errors + shared / others) / 2).mean()))


def _regress(table: Floats, index: int) -> tuple[Floats, Floats, float]:
    """Return the coefficients of the other columns, their standard errors, and the share of variance explained."""
    centred = table - table.mean(axis=0)
    target, others = centred[:, index], np.delete(centred, index, axis=1)
    inverse = np.linalg.pinv(others.T @ others, rcond=1e-12, hermitian=True)
    found = inverse @ (others.T @ target)
    rest, total = float(((target - others @ found) ** 2).sum()), float((target**2).sum())
    if rest <= 1e-12 * total:
        rest = 0.0
    variance = rest / (len(table) - table.shape[1])
    return found, np.sqrt(np.maximum(np.diag(inverse), 0.0) * variance), 1.0 - rest / total if total else 0.0

"""Additive noise: what was added is normal with the declared covariance; exact chi-square tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np
import polars as pl

from shoal.encoding.types import Bools, Floats
from shoal.guarantees.base import NO_RECORDS, PerturbedView, PromiseTest

LEVEL = 1e-9
"""The chance that an honest release fails, at most: shared out over all tests (Bonferroni)."""


def test(view: PerturbedView, *, share: float, method: str, outliers: float = 1.0) -> Iterator[PromiseTest]:
    """Yield whether what was added has the declared variances and covariances.

    Made independent by what is declared, the noise of each column and of each pair of columns is a sum of squares of
    normal numbers, whose distribution is known exactly.
    """
    asks = f"Has the noise the declared variances and covariances (chi-square tests, level {LEVEL:g} for all together)?"
    if view.original is None:
        yield PromiseTest(name="covariance", asks=asks, not_run=NO_RECORDS)
        return
    held, shown = (_matrix(frame, view.published.columns) for frame in (view.original, view.published))
    if np.isnan(held).any() or np.isnan(shown).any():
        yield PromiseTest(name="covariance", asks=asks, got="values that are no numbers")
        return
    middle, centered = held.mean(axis=0), held - held.mean(axis=0)
    noise = (shown - middle) * np.sqrt(1 + share) - centered if method == "preserving" else shown - held
    covariance = np.atleast_2d(centered.T @ centered) / (len(held) - 1) * share
    if method == "additive":
        covariance = np.diag(np.diag(covariance))
    root = np.linalg.cholesky(covariance)
    normal = np.linalg.solve(root, noise.T).T
    far = _is_far(held) if outliers > 1 else np.zeros(held.shape, bool)
    normal = normal / np.sqrt(np.where(far, outliers, 1.0))
    sums: dict[str, Floats] = dict(zip(view.published.columns, normal.T, strict=True))
    for (one, left), (other, right) in combinations(zip(view.published.columns, normal.T, strict=True), 2):
        sums[f"{one} and {other}"] = (left + right) / np.sqrt(2)
    for name, column, is_far in zip(view.published.columns, normal.T, far.T, strict=True):
        sums |= {f"{name}, far out": column[is_far], f"{name}, elsewhere": column[~is_far]} if is_far.any() else {}
    false = _find_unlikely(sums)
    yield PromiseTest(name="covariance", asks=asks, holds=not false, got="; ".join(false))


test.__test__ = False  # type: ignore[attr-defined]  # pytest: it is none


def _matrix(frame: pl.DataFrame, names: list[str]) -> Floats:
    columns = [frame[name].alias("values").cast(pl.Float64, strict=False).fill_null(np.nan) for name in names]
    return np.stack([column.to_numpy() for column in columns], axis=1)


def _is_far(held: Floats) -> Bools:
    """Return which values are more than three times as far from the median as is usual in a normal column."""
    middle = np.median(held, axis=0)
    usual = 1.4826 * np.median(np.abs(held - middle), axis=0)
    return np.asarray(np.abs(held - middle) / np.where(usual > 0, usual, np.inf) > 3.0)


def _find_unlikely(normal: Mapping[str, Floats]) -> list[str]:
    """Return which numbers that should be normal have a variance that is not one."""
    from scipy.stats import chi2

    room = LEVEL / (2 * len(normal))
    squares = {name: (float((numbers**2).sum()), len(numbers)) for name, numbers in normal.items()}
    return [
        f"{name}: {total / count:.4g} times what is declared"
        for name, (total, count) in squares.items()
        if not room <= chi2.cdf(total, count) or not room <= chi2.sf(total, count)
    ]

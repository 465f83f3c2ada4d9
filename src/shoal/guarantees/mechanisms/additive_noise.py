"""Additive noise: what was added is normal with the declared covariance; exact chi-square tests."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import polars as pl

from shoal.encoding.types import Floats
from shoal.guarantees.base import NO_RECORDS, PerturbedView, PromiseTest

LEVEL = 1e-9
"""The chance that an honest release fails, at most: shared out over all tests (Bonferroni)."""


def test(view: PerturbedView, *, share: float, method: str) -> Iterator[PromiseTest]:
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
    sums: dict[tuple[str, ...], float] = {
        (name,): float((column**2).sum()) for name, column in zip(view.published.columns, normal.T, strict=True)
    }
    for (one, left), (other, right) in combinations(zip(view.published.columns, normal.T, strict=True), 2):
        sums[one, other] = float(((left + right) ** 2).sum() / 2)
    false = _find_unlikely(sums, len(held))
    yield PromiseTest(name="covariance", asks=asks, holds=not false, got="; ".join(false))


test.__test__ = False  # type: ignore[attr-defined]  # pytest: it is none


def _matrix(frame: pl.DataFrame, names: list[str]) -> Floats:
    columns = [frame[name].alias("values").cast(pl.Float64, strict=False).fill_null(np.nan) for name in names]
    return np.stack([column.to_numpy() for column in columns], axis=1)


def _find_unlikely(sums: dict[tuple[str, ...], float], records: int) -> list[str]:
    from scipy.stats import chi2

    room = LEVEL / (2 * len(sums))
    return [
        f"{' and '.join(names)}: {total / records:.4g} times what is declared"
        for names, total in sums.items()
        if not room <= chi2.cdf(total, records) or not room <= chi2.sf(total, records)
    ]

"""Transition: each value became another by a matrix of chances; exact binomial tests of every cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from shoal.encoding.types import Bools, Floats, Ints
from shoal.guarantees.base import NO_RECORDS, PerturbedView, PromiseTest

LEVEL = 1e-9
"""The chance that an honest release fails, at most: shared out over all cells of all columns (Bonferroni)."""


def test(
    view: PerturbedView,
    *,
    invariant: bool,
    within: Sequence[str] = (),
    retain: float | None = None,
    matrix: Mapping[str, Mapping[str, float]] | None = None,
) -> Iterator[PromiseTest]:
    """Yield whether what each value became is what the matrix lets expect.

    How often a value becomes another follows a binomial distribution, given how often there is that value. Its tails
    are worked out exactly, and the level of all of these tests together is :data:`LEVEL`.
    """
    asks = f"Do values become others as often as the matrix says (binomial tests, level {LEVEL:g} for all together)?"
    if view.original is None:
        yield PromiseTest(name="transitions", asks=asks, not_run=NO_RECORDS)
        return
    strata = _number([view.original[name] for name in within], view.published.height)
    faults, cells = [], 0
    found: list[tuple[str, float]] = []
    for name in view.published.columns:
        texts, before, after = _codes(view.original[name], view.published[name])
        if (before < 0).tolist() != (after < 0).tolist():
            faults.append(f"{name}: missing values are not where they were")
            continue
        chances = _chances(texts, retain, matrix)
        for rows in _split(strata, before >= 0):
            counts = _count(before[rows], after[rows], len(texts))
            expected = _go_and_return(chances, counts.sum(axis=1)) if invariant else chances
            least = _least_tail(counts, expected)
            cells += int(counts.size)
            found.append((name, least))
    faults += [f"{name}: a chance of {least:.3g}" for name, least in found if least < LEVEL / max(cells, 1)]
    yield PromiseTest(name="transitions", asks=asks, holds=not faults, got="; ".join(faults))


test.__test__ = False  # type: ignore[attr-defined]  # pytest: it is none


def _split(strata: Ints, held: Bools) -> list[Ints]:
    """Return the records of each stratum that hold a value."""
    rows = np.flatnonzero(held)
    rows = rows[np.argsort(strata[rows], kind="stable")]
    return np.split(rows, np.flatnonzero(np.diff(strata[rows])) + 1)


def _number(columns: Sequence[pl.Series], records: int) -> Ints:
    numbers = np.zeros(records, np.int64)
    for column in columns:
        ranks = column.alias("values").rank("dense").fill_null(0).cast(pl.Int64).to_numpy()
        numbers = np.unique(numbers * (int(ranks.max(initial=0)) + 1) + ranks, return_inverse=True)[1].astype(np.int64)
    return numbers


def _codes(original: pl.Series, published: pl.Series) -> tuple[list[str], Ints, Ints]:
    """Return the values of the original, in order, and the place of each record's value among them; one that is none of
    them is after the last."""
    held = original.alias("values").drop_nulls().unique().sort()
    shown = published.alias("values").cast(held.dtype, strict=False)
    place = {value: index for index, value in enumerate(held.to_list())}

    def code(column: pl.Series) -> Ints:
        codes = column.replace_strict(place, default=len(place), return_dtype=pl.Int64) if len(place) else column
        return np.where(column.is_null().to_numpy(), -1, codes.cast(pl.Int64).fill_null(-1).to_numpy())

    physical = held.to_physical() if held.dtype.is_temporal() else held
    texts = [str(value).lower() if isinstance(value, bool) else str(value) for value in physical.to_list()]
    return texts, code(original.alias("values")), code(shown)


def _chances(texts: list[str], retain: float | None, matrix: Mapping[str, Mapping[str, float]] | None) -> Floats:
    size = len(texts)
    if retain is not None:
        return np.eye(size) * retain + (1 - np.eye(size)) * (1 - retain) / max(size - 1, 1)
    said = matrix or {}
    chances = np.array([[said.get(one, {}).get(other, 0.0) for other in texts] for one in texts]).reshape(size, size)
    for row in range(size):
        if not chances[row].sum():
            chances[row, row] = 1.0
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def _go_and_return(chances: Floats, totals: Ints) -> Floats:
    """Return the matrix that keeps the expected counts: there by the chances, and back."""
    size = len(chances)
    whole = np.zeros((size, size))
    reached = totals @ chances
    for middle in range(size):
        if reached[middle] > 0:
            back = totals * chances[:, middle] / reached[middle]
            whole += np.outer(chances[:, middle], back)
    return whole


def _count(before: Ints, after: Ints, size: int) -> Ints:
    """Return how often each value became each; the last column is for values that nobody had."""
    return np.bincount(before * (size + 1) + after, minlength=size * (size + 1)).reshape(size, size + 1)


def _least_tail(counts: Ints, expected: Floats) -> float:
    """Return the least chance of any cell, from both sides."""
    from scipy.stats import binom

    size = len(counts)
    expected = np.concatenate([np.clip(expected, 0, 1), np.zeros((size, 1))], axis=1)
    totals = np.repeat(counts.sum(axis=1)[:, None], size + 1, axis=1)
    if not totals.any():
        return 1.0
    low, high = binom.cdf(counts, totals, expected), binom.sf(counts - 1, totals, expected)
    return float(2 * np.minimum(low, high).min())

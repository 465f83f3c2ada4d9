"""Grid: each number is a multiple of a base, and no farther than half of it from what it was."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from shoal.guarantees.base import NO_RECORDS, PerturbedView, PromiseTest
from shoal.guarantees.mechanisms._columns import as_numbers, is_no_number, name_false

_CLOSE = 1e-14
"""How far a quotient may be from a whole number, as a share of it: what is lost where numbers are written."""


def test(view: PerturbedView, *, base: float) -> Iterator[PromiseTest]:
    """Yield whether all numbers lie on the grid, and each is the nearest point to its own."""
    off = {name: _is_off(view.published[name], base) for name in view.published.columns}
    asks = f"Is each number a multiple of {base:g}?"
    yield PromiseTest(name="grid", asks=asks, holds=not name_false(off), got=name_false(off))
    asks = "Is each number the multiple nearest to its original value?"
    if view.original is None:
        yield PromiseTest(name="nearest", asks=asks, not_run=NO_RECORDS)
        return
    far = {name: _is_far(view.published[name], view.original[name], base) for name in view.published.columns}
    yield PromiseTest(name="nearest", asks=asks, holds=not name_false(far), got=name_false(far))


test.__test__ = False  # type: ignore[attr-defined]  # pytest: it is none


def _is_off(shown: pl.Series, base: float) -> pl.Series:
    points = as_numbers(shown) / base
    off = (points - points.round()).abs() > _CLOSE * points.abs()
    return off.fill_null(value=False) | is_no_number(shown)


def _is_far(shown: pl.Series, held: pl.Series, base: float) -> pl.Series:
    after, before = as_numbers(shown), as_numbers(held)
    far = (after - before).abs() > base / 2 + _CLOSE * before.abs()
    return far.fill_null(value=False) | (after.is_null() != held.is_null())

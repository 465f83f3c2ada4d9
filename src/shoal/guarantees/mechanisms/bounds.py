"""Bounds: no number lies beyond them; those that did became the bound, and all others are as they were."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from shoal.guarantees.base import NO_RECORDS, PerturbedView, PromiseTest
from shoal.guarantees.mechanisms._columns import as_numbers, is_no_number, name_false


def test(view: PerturbedView, *, bottom: float | None = None, top: float | None = None) -> Iterator[PromiseTest]:
    """Yield whether all numbers lie within the bounds, and each is its own one or the bound that stands for it."""
    names = view.published.columns
    beyond = {name: _is_beyond(view.published[name], bottom, top) for name in names}
    asks = "Does no number lie beyond the bounds?"
    yield PromiseTest(name="bounds", asks=asks, holds=not name_false(beyond), got=name_false(beyond))
    asks = "Is each number its own one, or the bound that stands for it?"
    if view.original is None:
        yield PromiseTest(name="inner values", asks=asks, not_run=NO_RECORDS)
        return
    other = {name: _is_other(view.published[name], view.original[name], bottom, top) for name in names}
    yield PromiseTest(name="inner values", asks=asks, holds=not name_false(other), got=name_false(other))


test.__test__ = False  # type: ignore[attr-defined]  # pytest: it is none


def _is_beyond(shown: pl.Series, bottom: float | None, top: float | None) -> pl.Series:
    beyond, column = is_no_number(shown), as_numbers(shown)
    if bottom is not None:
        beyond |= (column < bottom).fill_null(value=False)
    if top is not None:
        beyond |= (column > top).fill_null(value=False)
    return beyond


def _is_other(shown: pl.Series, held: pl.Series, bottom: float | None, top: float | None) -> pl.Series:
    """Return where something else is shown; compared value by value, not with the clip of the method."""
    after, before = as_numbers(shown), as_numbers(held)
    expected = before
    if top is not None:
        expected = expected.set((before > top).fill_null(value=False), top)
    if bottom is not None:
        expected = expected.set((before < bottom).fill_null(value=False), bottom)
    return after.ne_missing(expected)

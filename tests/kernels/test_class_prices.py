"""The kernels of the dual bound do as their plain twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.plain import microaggregating as plain

from shoal.kernels.class_prices import price_classes, raise_prices

SEEDS = st.integers(0, 2**32 - 1)
Array = np.ndarray[Any, Any]


def price(points: Array, prices: Array, order: Array, k: int, most: int, budget: int) -> tuple[Array, Array, Array]:
    far = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    near = np.cumsum(np.sort(far, axis=1)[:, : 2 * k - 1], axis=1)
    left, found = np.empty(len(points)), np.empty((len(points), 2 * k - 1), np.int64)
    losses = np.empty(len(points))
    many = price_classes(points, prices, near, order, k, most, budget, left, found, losses)
    return left, found[:many], losses[:many]


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(2, 3), st.integers(6, 9))
def test_the_class_with_least_left_is_found(seed: int, k: int, records: int) -> None:
    rng = np.random.default_rng(seed)
    points = np.round(rng.lognormal(size=(records, 2)), 1)  # some of them equal
    prices, order = rng.normal(0.5, 0.5, records), rng.permutation(records)
    left, found, losses = price(points, prices, order, k, records, 10**9)
    expected = plain.least_left(points, prices, order, k)
    assert left == pytest.approx(expected, abs=1e-9)
    for row, loss in zip(found, losses, strict=True):
        members = row[row >= 0]
        assert loss == pytest.approx(((points[members] - points[members].mean(axis=0)) ** 2).sum(), abs=1e-9)
        root = min(members, key=order.tolist().index)
        assert loss - prices[members].sum() == pytest.approx(expected[root], abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(2, 3), st.integers(6, 9), st.integers(2, 9), st.integers(0, 12))
def test_a_search_cut_short_claims_no_more(seed: int, k: int, records: int, most: int, budget: int) -> None:
    """Few others looked at, few distances measured: what is left is never said to be more than it is."""
    rng = np.random.default_rng(seed)
    points, prices, order = rng.normal(size=(records, 3)), rng.normal(1, 1, records), rng.permutation(records)
    left, found, losses = price(points, prices, order, k, max(most, 2 * k - 1), budget)
    assert (left <= plain.least_left(points, prices, order, k) + 1e-9).all()
    for row, loss in zip(found, losses, strict=True):
        members = row[row >= 0]
        assert len(set(members)) == len(members) >= k
        assert loss <= ((points[members] - points[members].mean(axis=0)) ** 2).sum() + 1e-9


def test_prices_are_raised_to_what_classes_pay() -> None:
    """Two classes of two records, each of which loses one: the four prices together reach two, and no more."""
    classes, losses, roots = np.array([[0, 1, -1], [2, 3, -1]]), np.ones(2), np.array([0, 2])
    prices, best, room = np.zeros(4), np.empty(4), np.full(4, 10.0)
    worth = raise_prices(classes, losses, roots, 2, 2.0, 300, -room, room, prices, best)
    assert worth == pytest.approx(2.0, abs=1e-3)
    held = raise_prices(classes, losses, roots, 2, 2.0, 300, np.zeros(4), np.full(4, 0.25), np.zeros(4), best)
    assert held == pytest.approx(1.0)

"""The bound of the squared error: never more than the optimum, and close to it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.perturbations import _dual_bound
from shoal.perturbations._sse_bound import bound_sse
from shoal.perturbations.mdav import Mdav
from shoal.perturbations.optimal_univariate import cut_line
from tests.kernels.plain.microaggregating import error, least_error


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(4, 9), st.integers(1, 3), st.booleans())
def test_never_more_than_the_optimum(seed: int, k: int, records: int, features: int, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    points = rng.lognormal(0, 1.5, (records, features))
    points = np.round(points) if ties else points
    optimum = least_error(points, k) if records >= k else 0.0
    bound = bound_sse(points, k, np.zeros(records, np.int64))
    assert bound is not None and bound <= optimum + 1e-12


def test_it_comes_near_the_optimum_of_small_tables() -> None:
    """On the average; the bound of pairs alone has half of it. Nine records cannot be cut into pairs: a gap stays."""
    rng, reached = np.random.default_rng(5), []
    for _ in range(12):
        points = rng.lognormal(size=(9, 2))
        reached.append((bound_sse(points, 2, np.zeros(9, np.int64)) or 0.0) / least_error(points, 2))
    assert max(reached) <= 1.0 and np.mean(reached) > 0.9


@pytest.mark.parametrize("k", [2, 3, 5, 10])
def test_never_more_than_the_best_classes_of_one_column(k: int) -> None:
    rng = np.random.default_rng(k)
    for values in (rng.lognormal(0, 2, 150), np.round(rng.normal(0, 5, 150)), rng.uniform(0, 1, 40)):
        points = values[:, None].copy()
        classes = cut_line(values, np.ones(len(values)), k)
        bound, optimum = bound_sse(points, k, classes), error(points, classes)
        assert bound is not None and 0.6 * optimum < bound <= optimum + 1e-12


@pytest.mark.parametrize("budget", [0, 50, 5000])
def test_it_is_one_whatever_the_effort(monkeypatch: pytest.MonkeyPatch, budget: int) -> None:
    monkeypatch.setattr(_dual_bound, "_BUDGET", budget)
    monkeypatch.setattr(_dual_bound, "_MOST", 8)
    rng = np.random.default_rng(1)
    points = rng.lognormal(size=(9, 2))
    bound = bound_sse(points, 3, np.zeros(9, np.int64))
    assert bound is not None and bound <= least_error(points, 3) + 1e-12


def test_close_to_what_is_lost() -> None:
    rng = np.random.default_rng(2)
    points = rng.normal(size=(400, 3)) ** 3
    classes = Mdav(columns=["a"], k=3).partition(points, np.ones(400), rng)
    bound = bound_sse(points, 3, classes)
    assert bound is not None and error(points, classes) / bound < 1.3
    assert bound == bound_sse(points, 3, classes)


def test_large_tables_keep_the_bound_of_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _dual_bound.count_rounds(5_000, 10) < _dual_bound.count_rounds(1_000, 10)
    monkeypatch.setattr(_dual_bound, "_WORK", 1.0)
    points = np.array([[0.0], [1.0], [3.0], [10.0], [11.0], [13.0]])
    bound = bound_sse(points, 3, np.array([0, 0, 0, 1, 1, 1]))
    assert bound == pytest.approx(2 * (1 + 9 + 1 + 4 + 4 + 9) / 6)

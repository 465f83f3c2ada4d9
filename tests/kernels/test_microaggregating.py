"""The kernels of microaggregation do as their plain twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.plain import microaggregating as plain

from shoal.kernels import microaggregate, squared_errors
from shoal.kernels.nearest_records import list_nearest

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(2, 5), st.integers(5, 60))
def test_mdav(seed: int, k: int, records: int) -> None:
    points = np.random.default_rng(seed).normal(size=(records, 3))
    classes = np.empty(records, np.int64)
    microaggregate.mdav(np.ascontiguousarray(points.T), k, classes)
    found = [set(np.flatnonzero(classes == number).tolist()) for number in range(int(classes.max()) + 1)]
    assert found == plain.mdav(points, k)


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(1, 6), st.integers(8, 40))
def test_list_nearest(seed: int, many: int, records: int) -> None:
    points = np.random.default_rng(seed).normal(size=(records, 2))
    near, far = np.empty((records, many), np.int32), np.empty((records, many))
    list_nearest(points, near, far)
    assert far == pytest.approx(np.array(plain.nearest(points, many)))
    assert ((points[near] - points[:, None]) ** 2).sum(axis=2) == pytest.approx(far)


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(2, 4), st.integers(2, 6), st.integers(0, 3))
def test_descend_counts_what_is_left(seed: int, k: int, count: int, extra: int) -> None:
    rng = np.random.default_rng(seed)
    many = k * count + min(extra, count * (k - 1))
    points = np.round(rng.normal(size=(many, 2)), 1)  # some of them equal
    far, sums = np.empty((many, many)), np.empty((many, count))
    labels, losses, sizes, total = np.empty(many, np.int64), np.empty(count), np.empty(count, np.int64), np.empty(many)
    squared_errors.measure_distances(points, np.arange(many), many, far)
    squared_errors.recreate(far, many, count, k, 1.0, np.array([seed + 1], np.uint64), labels, total)
    before = plain.error(points, labels)
    squared_errors.add_up(far, many, labels, count, sums, losses, sizes)
    assert losses.sum() == pytest.approx(before)
    left = squared_errors.lower_errors(far, many, count, k, sums, losses, sizes, labels)
    assert left == pytest.approx(plain.error(points, labels), abs=1e-9) and left <= before + 1e-9
    assert np.bincount(labels, minlength=count).min() >= k and np.bincount(labels).max() < 2 * k


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.integers(2, 5), st.integers(12, 80))
def test_improve_classes_counts_what_it_saves(seed: int, k: int, records: int) -> None:
    points = np.random.default_rng(seed).lognormal(size=(records, 2))
    classes = np.empty(records, np.int64)
    microaggregate.mdav(np.ascontiguousarray(points.T), k, classes)
    near, far = np.empty((records, 9), np.int32), np.empty((records, 9))
    list_nearest(points, near, far)
    before = plain.error(points, classes)
    state = np.array([seed + 1], np.uint64)
    saved = squared_errors.improve_classes(points, near, k, 200, 1.0, 0.1, 0.001, 0.5, 1.0, state, classes)
    sizes = np.bincount(classes)
    assert before - saved == pytest.approx(plain.error(points, classes))
    assert sizes[sizes > 0].min() >= k and sizes.max() < 2 * k

"""The compiled kernel finds the distances that its plain twin finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.plain.nearest import price

from shoal.algorithms.bounds import neighbour_bound
from shoal.kernels.nearest import cost_nearest


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 6, 1_024]))
def test_the_nearest_that_are_enough(seed: int, together: int) -> None:
    random = np.random.default_rng(seed)
    rows, columns = int(random.integers(1, 30)), int(random.integers(1, 6))
    sizes = random.integers(1, 6, columns)
    tuples = np.unique(random.integers(0, sizes, (rows, columns)), axis=0).astype(np.int32)
    counts = random.integers(1, 4, len(tuples))
    costs = [random.random((size, size)) * (1 - np.eye(size) * random.integers(0, 2)) for size in sizes.tolist()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbour_bound, "_COMBINATIONS", together)
        members, *groups = neighbour_bound._group_columns(tuples)
    asked = random.integers(0, len(tuples), 5)
    needs = random.integers(1, int(counts.sum()) + 1, 5)
    flat, offsets = np.concatenate([cost.ravel() for cost in costs]), np.append(0, np.cumsum(sizes**2)[:-1])
    prices = np.zeros(5)
    left = cost_nearest(members, counts, flat, offsets, sizes, *groups, asked, needs, 10**9, prices)
    expected = [
        price(own, need, tuples, counts, costs) for own, need in zip(asked.tolist(), needs.tolist(), strict=True)
    ]
    assert prices == pytest.approx(expected)
    assert 0 < left < 10**9
    assert cost_nearest(members, counts, flat, offsets, sizes, *groups, asked, needs, 0, np.zeros(5)) < 0

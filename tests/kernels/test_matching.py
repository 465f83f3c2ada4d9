"""The compiled count of matching persons is that of its plain twin."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.plain.matching import count_matches

from shoal.frequencies.populations import Population


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_twin(seed: int) -> None:
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 9, size=random.integers(1, 5)).tolist()
    tuples = np.stack([random.integers(0, size, 30) for size in sizes], axis=1).astype(np.int32)
    counts = random.integers(1, 6, 30).astype(np.int64)
    covers = [random.random((int(random.integers(1, 6)), size)) < 0.6 for size in sizes]
    shown = [random.integers(0, len(cover), 12) for cover in covers]
    found = Population(tuples, counts).matching(shown, covers)
    assert found.tolist() == count_matches(shown, covers, tuples, counts)

"""The compiled kernel chooses what its plain twin chooses."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.plain import similarity as plain

from shoal.kernels.similarity import choose_nearest


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_twin(seed: int) -> None:
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 6, size=random.integers(1, 5))
    count = int(random.integers(1, 60))
    codes = np.stack([random.integers(0, size, count) for size in sizes], axis=1).astype(np.int32)
    left = random.integers(0, 4, count).astype(np.int64)
    left[random.integers(0, count)] = 1
    # few different distances, so that many tuples are equally near
    distances = random.choice([0.0, 0.25, 0.5, 1.0, 1 / 3], size=int(sizes.sum()))
    offsets = np.cumsum([0, *sizes[:-1]]).astype(np.int64)
    wanted = int(random.integers(1, left.sum() + 1))
    chosen = np.empty(min(wanted, count), np.int64)
    found = choose_nearest(codes, left, distances, offsets, wanted, chosen)
    assert chosen[:found].tolist() == plain.nearest(codes, left, distances, offsets, wanted)
    assert left[chosen[:found]].sum() >= wanted > left[chosen[: found - 1]].sum()

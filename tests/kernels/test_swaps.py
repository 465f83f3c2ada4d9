"""Partners are those of the plain twin."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.plain.swaps import choose_partners as choose_plainly

from shoal.kernels.swaps import choose_partners


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 70), st.integers(1, 80), st.integers(0, 2**32 - 1))
def test_twin(places: int, reach: int, seed: int) -> None:
    numbers = np.random.default_rng(seed).random(places)
    assert choose_partners(numbers, reach).tolist() == choose_plainly(numbers.tolist(), reach)

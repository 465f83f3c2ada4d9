"""The compiled kernel proposes what its plain twin proposes."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.plain.cut import propose_cut
from tests.kernels.units import Case

from shoal.kernels.cut import propose_cuts


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_twin(seed: int) -> None:
    case = Case(seed, 36, bounded=True)
    codes, random = case.slots.codes(case.tuples), case.random
    slots, count = codes.shape
    counts = random.integers(1, 5, count)
    order = random.permutation(count).astype(np.int64)
    regions = min(count, 3)
    starts = np.array([0, *np.sort(random.choice(np.arange(1, count), regions - 1, replace=False)), count])
    tried = random.random((regions, slots)) < 0.2
    chosen, cut = np.empty(regions, np.int32), np.full(regions, -1, np.int32)
    joins = case.slots.joins(case.columns)
    propose_cuts(case.costs, case.units, codes, counts, order, starts, tried, *joins, case.least, chosen, cut)
    for region in range(regions):
        inside = order[starts[region] : starts[region + 1]]
        asked = (codes.T[inside], counts[inside], tried[region].tolist(), case.by_slot, case.least)
        index, expected = propose_cut(*asked)
        assert chosen[region] == index
        if index >= 0:
            codes_there = codes[index, inside]
            # between two codes that occur any place is the same cut
            left, wanted = codes_there <= cut[region], codes_there <= expected
            assert (left == wanted).all()

"""The compiled search for groups: near tuples as by comparing all, and costs that are those of what it answers."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.plain.centres import distance, nearest

from shoal.algorithms.suppression.neighbours import PLACES, find_neighbours
from shoal.kernels.centres import group_around_centres, note_neighbours


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 4))
def test_near_tuples(seed: int, count: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    codes = np.unique(rng.integers(0, 4, (count, columns)), axis=0)
    weights = rng.choice([1.0, 2.0, 0.5], columns)
    near = np.full((len(codes), 5), -1, np.int64)
    apart = np.full((len(codes), 5), np.inf)
    order = rng.permutation(len(codes))
    note_neighbours(codes, weights, order, np.arange(len(codes)), len(codes), near, apart)
    for own, expected in enumerate(nearest(codes.tolist(), weights.tolist(), 5)):
        assert [(d, n) for d, n in zip(apart[own], near[own], strict=True) if n >= 0] == expected


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.integers(2, 5))
def test_the_answer_costs_what_it_says_and_groups_are_large_enough(seed: int, count: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    codes, counts = np.unique(rng.integers(0, 3, (count, 4)), axis=0, return_counts=True)
    weights = np.array([1.0, 1.0, 2.0, 3.0])
    known = find_neighbours(codes, counts, k, weights)
    assert known.near.shape[1] == PLACES
    held, room = counts[known.rows], np.maximum(counts - k, 0)
    centre, lent = np.full(len(held), -1, np.int64), np.zeros(len(held), np.int64)
    before = room.copy()
    cost = group_around_centres(
        k, held, known.near, known.apart, known.hosting, known.lending, known.lender, room, 200, 7, centre, lent
    )
    expected, mass = 0.0, lent.copy()
    for row, own in enumerate(centre.tolist()):
        if own < 0:
            expected += held[row] * known.hosting[row]
        else:
            assert centre[own] == own
            mass[own] += held[row]
            expected += held[row] * distance(codes[known.rows[row]], codes[known.rows[own]], weights)
    expected += float(lent @ np.where(lent > 0, known.lending, 0.0))
    assert abs(cost - expected) < 1e-6
    assert all(mass[own] >= k for own in np.unique(centre[centre >= 0]))
    lenders = known.lender[lent > 0]
    assert (np.bincount(lenders, lent[lent > 0], len(counts)) <= before).all()

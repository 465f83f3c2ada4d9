"""Pieces are what the program cuts each class into, on its own."""

from __future__ import annotations

import numpy as np
import pytest
from tests.kernels.units import Case

from shoal.kernels.coarsening import cut_pieces
from shoal.kernels.program import cut_sequence
from shoal.kernels.widths import take_boxes


@pytest.mark.parametrize("seed", range(40))
def test_each_class_is_cut_on_its_own(seed: int) -> None:
    case = Case(seed, 30)
    count = len(case.units.lows)
    members = case.random.integers(0, 3, count)
    weights = case.random.integers(1, 4, count)
    order = np.argsort(members, kind="stable")
    starts = np.searchsorted(members[order], np.arange(4))
    pieces = np.full(count, -1)
    found = cut_pieces(case.costs, case.units, weights, order, starts, 3, pieces)
    assert sorted(set(pieces.tolist())) == list(range(found))
    for own in range(3):
        inside = order[starts[own] : starts[own + 1]]
        expected, none = np.zeros(len(inside), np.int64), np.full(len(inside), -1)
        if len(inside):
            units = take_boxes(case.units, inside)
            cut_sequence(case.costs, units, weights[inside], none, np.arange(len(inside)), 3, 0, expected)
            assert (pieces[inside] - pieces[inside].min() == expected).all()
            if weights[inside].sum() >= 3:
                assert np.bincount(expected, weights[inside]).min() >= 3

"""The search that takes classes apart never raises the cost, and says what it costs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.plain import searching as plain
from tests.kernels.units import Case

from shoal.kernels import neighbourhood
from shoal.kernels.blocks import find_blocks, split_cells, start_random
from shoal.kernels.descent import descend
from shoal.kernels.neighbourhood import improve_blocks
from shoal.kernels.recreate import gather, split_large
from shoal.kernels.spare import choose_neighbours, fill_class_costs, fill_marginal_costs
from shoal.kernels.widths import take_boxes

SEEDS = st.integers(0, 2**32 - 1)


def cost_of(case: Case, members: np.ndarray, units: np.ndarray | None = None) -> float:
    inside = np.arange(len(case.tuples)) if units is None else units
    rows = [case.rows[unit] for unit in inside]
    return plain.total_cost(members.tolist(), rows, case.weights[inside].tolist(), case.plain)


@settings(max_examples=200, deadline=None)
@given(SEEDS, st.sampled_from([0, 1, 8]), st.sampled_from([0, 1, 99]))
def test_descend_never_raises_the_cost(seed: int, rounds: int, stay: int) -> None:
    case = Case(seed, 24)
    members, classes = case.classes()
    before, unchanged = cost_of(case, members), members.copy()
    data = (case.costs, case.units, case.weights, case.kinds, stay, members, classes)
    found = descend(*data, case.least, rounds)
    assert found == pytest.approx(cost_of(case, members), abs=1e-9)
    assert found <= before + 1e-9
    assert np.bincount(members, case.weights, minlength=classes).min() >= case.least
    assert rounds or (members == unchanged).all()
    for own in range(classes if case.kinds[0] >= 0 else 0):
        had, has = (np.bincount(case.kinds[found == own], minlength=4) for found in (unchanged, members))
        if stay == 99:  # only changes of places
            assert (had == has).all()
        elif stay == 1:  # no kind is lost
            assert (has[had > 0] > 0).all()


@settings(max_examples=200, deadline=None)
@given(SEEDS)
def test_what_is_gathered_has_enough(seed: int) -> None:
    case = Case(seed, 30)
    members = np.full(len(case.tuples), -1, np.int64)
    data, limits = (case.costs, case.units, case.weights, case.kinds), (case.least, case.spread)
    found = gather(*data, *limits, start_random(seed, 0, 0), 1.0, members)
    assert sorted(set(members.tolist())) == list(range(found))
    together = len(set(case.kinds.tolist()) - {-1})
    if together >= case.spread:
        assert np.bincount(members, case.weights).min() >= case.least
        assert case.fewest_kinds(members) >= case.spread
    before = cost_of(case, members)
    more = split_large(*data, members, found, *limits)
    assert sorted(set(members.tolist())) == list(range(more))
    assert cost_of(case, members) <= before + 1e-9
    if together >= case.spread:
        assert np.bincount(members, case.weights).min() >= case.least
        assert case.fewest_kinds(members) >= case.spread


@settings(max_examples=200, deadline=None)
@given(SEEDS, st.integers(0, 5), st.sampled_from([0.0, 1.0, 1e9]), st.sampled_from([1, 99]))
def test_improve_blocks_never_raises_the_cost_of_a_block(seed: int, turn: int, worth: float, stay: int) -> None:
    case = Case(seed, 40)
    classes, count = case.classes()
    block_of_class = case.random.integers(0, 3, count)
    block = np.unique(block_of_class[classes], return_inverse=True)[1]
    listed = np.argsort(block, kind="stable")
    starts = np.searchsorted(block[listed], np.arange(block.max() + 2))
    before = classes[listed]
    data = (case.costs, case.units, case.weights, case.kinds, listed, starts, before)
    last = (case.least, case.spread, stay, worth, seed, turn)
    careful, bold = np.full((2, len(listed)), -1, np.int64)
    improve_blocks(*data, 0, len(starts) - 1, *last, careful, bold)
    for own in range(len(starts) - 1):
        part = slice(starts[own], starts[own + 1])
        costs = [cost_of(case, found[part], listed[part]) for found in (bold, careful, before)]
        assert costs[0] <= costs[1] + 1e-9 <= costs[2] + 2e-9
        for now in (careful[part], bold[part]):
            assert sorted(set(now.tolist())) == list(range(now.max() + 1))
            assert np.bincount(now, case.weights[listed[part]]).min() >= case.least
        alone = np.full((2, len(listed)), -1, np.int64)  # a block does not depend on who else is worked on
        improve_blocks(*data, own, own + 1, *last, *alone)
        assert (alone[0][part] == careful[part]).all()
        assert (alone[1][part] == bold[part]).all()


def test_blocks_of_too_many_units_stay_as_they_are() -> None:
    case = Case(0)
    many = neighbourhood._MANY + 1
    units = take_boxes(case.units, np.arange(many) % len(case.tuples))
    classes, after = np.zeros(many, np.int64), np.full((2, many), -1, np.int64)
    data = (case.costs, units, np.ones(many, np.int64), np.full(many, -1), np.arange(many), np.array([0, many]))
    improve_blocks(*data, classes, 0, 1, 2, 0, 1, 0.0, 0, 0, *after)
    assert not after.any()


@settings(max_examples=100, deadline=None)
@given(SEEDS, st.integers(0, 3), st.sampled_from([1, 4, 13]), st.integers(1, 300))
def test_cells_and_blocks_are_partitions(seed: int, turn: int, most: int, count: int) -> None:
    case = Case(seed)
    points = take_boxes(case.units, case.random.integers(0, len(case.tuples), count))
    order, starts = np.full(count, -1, np.int64), np.full(count + 1, -1, np.int64)
    cells = split_cells(case.costs, points, most, seed, turn, order, starts)
    assert sorted(order.tolist()) == list(range(count))
    assert starts[0] == 0
    assert starts[cells] == count
    sizes = np.diff(starts[: cells + 1])
    assert sizes.min() >= 1
    assert sizes.max() <= most
    before, begins = order.copy(), np.zeros(count, bool)
    find_blocks(case.costs, points, order, starts, 0, cells, 3, seed, turn, begins)
    for cell in range(cells):
        part = slice(starts[cell], starts[cell + 1])
        assert sorted(order[part].tolist()) == sorted(before[part].tolist())
        assert begins[part].tolist() == [index % 3 == 0 for index in range(starts[cell + 1] - starts[cell])]


@settings(max_examples=200, deadline=None)
@given(SEEDS, st.booleans())
def test_what_each_unit_costs_the_others(seed: int, persons: bool) -> None:
    case = Case(seed, 24)
    members, classes = case.classes()
    records = case.random.integers(1, 4, len(members)) if persons else case.weights
    order = np.argsort(members, kind="stable")
    gains = np.full(len(members), np.nan)
    starts = np.searchsorted(members[order], np.arange(classes + 1))
    fill_marginal_costs(case.costs, case.units, records, order, starts, gains)
    whole = plain.total_cost(members.tolist(), case.rows, records.tolist(), case.plain)
    sizes, found = np.empty(classes, np.int64), np.empty(classes)
    fill_class_costs(case.costs, case.units, records, members, sizes, found)
    assert sizes @ found == pytest.approx(whole, abs=1e-9)
    for unit in range(len(members)):
        rest = [number for number in range(len(members)) if number != unit]
        rows, left = [case.rows[number] for number in rest], records[rest].tolist()
        without = plain.total_cost(members[rest].tolist(), rows, left, case.plain)
        assert gains[unit] == pytest.approx(whole - without, abs=1e-9)


@settings(max_examples=200, deadline=None)
@given(SEEDS)
def test_each_failing_class_joins_a_neighbour(seed: int) -> None:
    case = Case(seed, 30)
    members, classes = case.classes()
    failing = case.random.random(classes) < 0.6
    into = np.arange(classes)
    choose_neighbours(case.costs, case.units, case.weights, members, failing, into)
    for own in np.flatnonzero(failing).tolist() if classes > 1 else []:
        assert into[own] in [into[other] for other in (own - 1, own + 1) if 0 <= other < classes]
    assert (into[into] == into).all()
    if failing[1:].any() and classes > 2:
        # nobody moved yet when the first one is looked at
        own = int(np.flatnonzero(failing)[0])
        others = [other for other in (own - 1, own + 1) if 0 <= other < classes]
        units = [np.flatnonzero(members == number).tolist() for number in range(classes)]
        arrays = (case.rows, case.weights.tolist(), case.plain)
        rises = {other: plain.growth(units[own], units[other], *arrays) for other in others}
        assert rises[int(into[own])] <= min(rises.values()) + 1e-9

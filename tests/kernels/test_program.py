"""Boxes cost what recodings show, and no other cut of a sequence costs less."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.kernels.plain import searching as plain
from tests.kernels.units import Case
from tests.strategies import tables_and_policies

from shoal.algorithms.clustering.costs import BEYOND, Slots
from shoal.kernels.program import cut_sequence, sort_as_snake
from shoal.kernels.widths import LINE, SET, TABLE, TREE, Boxes, fill_boxes, join_costs, make_boxes, own_cost
from shoal.policy import Policy
from shoal.recodings.base import Column
from shoal.recodings.forms import FORMS, ClassMembers
from shoal.testing import encode_table

SEEDS = st.integers(0, 2**32 - 1)


def check_costs(columns: tuple[Column, ...], codes: Any, classes: Any) -> None:
    """Classes must be in order."""
    slots, count = Slots.of(columns), int(classes.max()) + 1
    units = slots.boxes(np.ascontiguousarray(codes, np.int32))
    boxes, sizes = make_boxes(count, units), np.zeros(count, np.int64)
    fill_boxes(units, np.ones(len(codes), np.int64), classes, boxes, sizes)
    assert (sizes == np.bincount(classes)).all()
    wanted = np.zeros(count)
    for index, column in enumerate(columns):
        shown = FORMS[column.form](column, ClassMembers(classes, count), codes[:, index].astype(np.int64))
        wanted += shown.penalties * column.weight
        if column.limits is not None:
            limits = np.full(count, column.levels.height)
            np.minimum.at(limits, classes, column.limits[codes[:, index]])
            wanted += np.where(shown.levels > limits, BEYOND, 0.0)
    found = [own_cost(slots.costs, boxes, own) for own in range(count)]
    # a line has 2**29 steps: where values have fractions both ends are rounded to one
    assert found == pytest.approx(wanted.tolist(), abs=1e-9 + 2.0**-29 * sum(column.weight for column in columns))
    both = np.empty(count)
    join_costs(slots.costs, boxes, 0, boxes, np.arange(count), both)
    assert both[0] == found[0]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(tables_and_policies(), SEEDS)
def test_a_box_costs_what_its_class_shows(case: tuple[pl.DataFrame, Policy], seed: int) -> None:
    table, policy = case
    encoded = encode_table(table, policy) if table.height else None
    if encoded is None or not len(encoded.searchable.tuples):
        return
    tuples = encoded.searchable.tuples
    classes = np.sort(np.random.default_rng(seed).integers(0, 4, len(tuples)))
    check_costs(encoded.columns, tuples, np.unique(classes, return_inverse=True)[1].astype(np.int64))


@pytest.mark.parametrize(
    ("size", "spec", "missing", "form"),
    [
        (60, {}, "own-value", SET),
        (60, {}, "wildcard", SET),
        (250, {}, "own-value", SET),
        (250, {}, "wildcard", SET),
        (255, {}, "wildcard", SET),
        (250, {"hierarchy": "mask", "keep": [4, 3]}, "wildcard", TABLE),
        (900, {"hierarchy": "mask", "keep": [4, 3]}, "own-value", TREE),
        (900, {"hierarchy": "mask", "keep": [4, 3]}, "wildcard", TREE),
    ],
)
def test_forms_of_texts(size: int, spec: dict[str, Any], missing: str, form: int) -> None:
    values = [*(f"v{code:04}" for code in range(size)), None]
    check_form(values, spec | {"missing": missing, "weight": 2.5}, form)


@pytest.mark.parametrize("missing", ["own-value", "wildcard"])
@pytest.mark.parametrize(
    ("size", "spec", "form"),
    [
        (200, {"ends": "exact"}, LINE),
        (900, {"ends": "exact"}, LINE),
        (900, {"domain": [-9, 99999], "ends": "exact"}, LINE),
        (900, {"hierarchy": "intervals", "widths": [7, 35], "publish": "labels"}, TREE),
    ],
)
def test_forms_of_numbers(size: int, spec: dict[str, Any], form: int, missing: str) -> None:
    values = [*(np.cumsum(np.random.default_rng(1).integers(1, 9, size)) - 40).tolist(), None]
    check_form(values, spec | {"missing": missing, "weight": 0.5}, form)


def check_form(values: list[Any], spec: dict[str, Any], form: int) -> None:
    policy = Policy(quasi_identifiers={"c": spec}, models=[{"name": "k-anonymity", "k": 2}])
    encoded = encode_table(pl.DataFrame({"c": values}), policy)
    assert [slot.form for slot in Slots.of(encoded.columns).slots] == [form]
    random = np.random.default_rng(0)
    for classes in (1, 5, len(values) // 3):
        members = np.unique(np.sort(random.integers(0, classes, len(values))), return_inverse=True)[1]
        codes = encoded.frequencies.tuples[random.permutation(len(values))]
        check_costs(encoded.columns, codes, members.astype(np.int64))
    check_costs(encoded.columns, encoded.frequencies.tuples, np.arange(len(values)))  # each one alone


@pytest.mark.parametrize("count", [40, 3000])
def test_a_box_above_a_boundary_costs_much(count: int) -> None:
    values = [f"{code:04}" for code in range(count)]
    spec = {"hierarchy": "mask", "keep": [3, 2, 0], "boundaries": ["00**", "001*"]}
    policy = Policy(quasi_identifiers={"c": spec}, models=[{"name": "k-anonymity", "k": 2}])
    encoded = encode_table(pl.DataFrame({"c": values}), policy)
    random = np.random.default_rng(0)
    for width in (2, 9, 40):  # codes near each other, of which some share a boundary
        members = np.sort(random.integers(0, max(40 // width, 1), 40))
        check_costs(encoded.columns, encoded.frequencies.tuples[:40], np.unique(members, return_inverse=True)[1])


@settings(max_examples=200, deadline=None)
@given(SEEDS)
def test_no_other_cut_costs_less(seed: int) -> None:
    case = Case(seed)
    order = case.random.permutation(len(case.tuples))
    members = np.full(len(order), -1, np.int64)
    data = (case.costs, case.units, case.weights, case.kinds, order)
    total, _ = cut_sequence(*data, case.least, case.spread, members)
    rows, weights = [case.rows[unit] for unit in order], case.weights[order].tolist()
    wanted = plain.best_cut(rows, weights, case.kinds[order].tolist(), case.plain, case.least, case.spread)
    assert total == pytest.approx(wanted, abs=1e-9)
    if total == np.inf:
        assert not members.any()
        return
    assert total == pytest.approx(
        plain.total_cost(members.tolist(), case.rows, case.weights.tolist(), case.plain), abs=1e-9
    )
    assert np.bincount(members, case.weights).min() >= case.least
    assert case.fewest_kinds(members) >= case.spread
    assert (np.diff(members[order]) <= 0).all()  # runs


def test_a_run_of_more_than_twice_the_least_that_cannot_be_cut() -> None:
    # one heavy unit between single ones: neither end has enough records without it, and 0 is far from both
    policy = Policy(quasi_identifiers=["c"], models=[{"name": "k-anonymity", "k": 3}])
    slots = Slots.of(encode_table(pl.DataFrame({"c": [0, 100, 101, 102, 103, 104]}), policy).columns)
    units = slots.boxes(np.array([[0], [0], [0], [1], [2], [3], [4], [5]], np.int32))
    weights, members = np.array([1, 1, 1, 1, 1, 3, 1, 1]), np.zeros(8, np.int64)
    total, _ = cut_sequence(slots.costs, units, weights, np.full(8, -1), np.arange(8), 3, 0, members)
    assert members.tolist() == [1, 1, 1, 0, 0, 0, 0, 0]
    assert total == pytest.approx(7 * 4 / 104)


def test_fewer_records_than_a_class_needs() -> None:
    case = Case(3)
    members, order = np.full(len(case.tuples), 7, np.int64), np.arange(len(case.tuples))
    many = int(case.weights.sum()) + 1
    assert cut_sequence(case.costs, case.units, case.weights, case.kinds, order, many, 0, members)[0] == np.inf
    assert not members.any()


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_large_runs_end_where_they_may(seed: int) -> None:
    """Not every unit is a place to cut: no run is too small, and the best cut of all is hardly better."""
    case = Case(seed)
    order, members = case.random.permutation(len(case.tuples)), np.full(len(case.tuples), -1, np.int64)
    weights = case.random.integers(1, 4000, len(order))
    total, looked = cut_sequence(case.costs, case.units, weights, case.kinds, order, 4000, 0, members)
    rows, kinds = [case.rows[unit] for unit in order], case.kinds[order].tolist()
    best = plain.best_cut(rows, weights[order].tolist(), kinds, case.plain, 4000, 0)
    assert looked <= len(order) ** 2
    assert (total == np.inf) == (best == np.inf)
    if total < np.inf:
        assert np.bincount(members, weights).min() >= 4000
        assert best - 1e-9 <= total <= best * 1.05 + 1e-9


def test_a_run_of_more_than_half_is_tried_once() -> None:
    case = Case(1)
    count = 40_000
    units = Boxes(*(np.repeat(part[:1], count, axis=0) for part in case.units))
    members, ones, none = np.zeros(count, np.int64), np.ones(count, np.int64), np.full(count, -1)
    for least in (count // 2 + 1, count):
        assert cut_sequence(case.costs, units, ones, none, np.arange(count), least, 0, members)[1] == count


@pytest.mark.parametrize("labels", [7, 20_000])
def test_a_snake_sorts_groups_of_any_size_by_few_labels_and_by_many(labels: int) -> None:
    random = np.random.default_rng(0)
    codes = np.stack([random.integers(0, 9, 900), random.integers(0, labels, 900)], axis=1).astype(np.int32)
    order, keys = np.arange(900), [(0, np.arange(9)), (1, np.arange(labels) // 2)]
    starts = np.cumsum([0, 9, labels])
    sort_as_snake(codes, np.array([0, 1]), np.concatenate([own for _, own in keys]), starts, order)
    assert order.tolist() == plain.snake(codes.tolist(), [(column, own.tolist()) for column, own in keys])


def test_a_snake_does_not_count_all_labels_for_every_group() -> None:
    random, count = np.random.default_rng(0), 100_000
    codes = np.stack([random.integers(0, 3000, count), random.permutation(count)], axis=1).astype(np.int32)
    columns, starts, took = np.array([0, 1]), np.cumsum([0, 3000, count]), []
    for labels in (np.arange(count) // 1000, np.arange(count)):
        started, order = time.process_time(), np.arange(count)
        sort_as_snake(codes, columns, np.concatenate([np.arange(3000), labels]), starts, order)
        took.append(time.process_time() - started)
    assert took[1] < 8 * took[0]


@settings(max_examples=100, deadline=None)
@given(SEEDS, st.integers(0, 200))
def test_a_snake_turns_at_every_group(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    codes = random.integers(0, 7, (count, 3)).astype(np.int32)
    columns = random.integers(0, 3, random.integers(1, 5))
    labels = [random.integers(0, size, 7) for size in random.integers(1, 7, len(columns))]
    order = np.arange(count)
    starts = np.cumsum([0, *(len(one) for one in labels)])
    sort_as_snake(codes, columns, np.concatenate(labels), starts, order)
    keys = [(int(column), label.tolist()) for column, label in zip(columns, labels, strict=True)]
    assert order.tolist() == plain.snake(codes.tolist(), keys)

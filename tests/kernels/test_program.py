"""Boxes cost what recodings show, and no other cut of a sequence costs less."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.kernels.units import Case
from tests.strategies import tables_and_policies

from shoal.algorithms._costs import bits_of_codes, costs_of
from shoal.kernels.neighbourhood import fill_boxes
from shoal.kernels.plain import searching as plain
from shoal.kernels.program import cut_sequence
from shoal.kernels.widths import LABEL, RANGE, SET, TABLE, own_cost
from shoal.policy import Policy
from shoal.recodings.base import Column
from shoal.recodings.forms import FORMS, Members
from shoal.tables.encode import encode

SEEDS = st.integers(0, 2**32 - 1)


def check_costs(columns: tuple[Column, ...], codes: Any, classes: Any) -> None:
    """Classes must be in order."""
    costs, count = costs_of(columns), int(classes.max()) + 1
    codes = np.ascontiguousarray(codes, np.int32)
    bits = bits_of_codes(codes, costs)
    lows, highs = np.empty((count, codes.shape[1]), np.int32), np.empty((count, codes.shape[1]), np.int32)
    held, sizes = np.empty((count, bits.shape[1]), np.uint64), np.zeros(count, np.int64)
    fill_boxes(codes, bits, np.ones(len(codes), np.int64), classes, lows, highs, held, sizes)
    assert (sizes == np.bincount(classes)).all()
    wanted = np.zeros(count)
    for place, column in enumerate(columns):
        shown = FORMS[column.form](column.levels, Members(classes, count), codes[:, place].astype(np.int64))
        wanted += shown.penalties * column.weight
    found = [own_cost(costs, lows, highs, held, own) for own in range(count)]
    assert found == pytest.approx(wanted.tolist(), abs=1e-9)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(tables_and_policies(), SEEDS)
def test_a_box_costs_what_its_class_shows(case: tuple[pl.DataFrame, Policy], seed: int) -> None:
    table, policy = case
    encoded = encode(table, policy) if table.height else None
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
        (900, {"hierarchy": "mask", "keep": [4, 3]}, "own-value", LABEL),
        (900, {"hierarchy": "mask", "keep": [4, 3]}, "wildcard", LABEL),
    ],
)
def test_forms_of_texts(size: int, spec: dict[str, Any], missing: str, form: int) -> None:
    values = [*(f"v{code:04}" for code in range(size)), None]
    check_form(values, spec | {"missing": missing, "weight": 2.5}, form)


@pytest.mark.parametrize("missing", ["own-value", "wildcard"])
@pytest.mark.parametrize(
    ("size", "spec", "form"),
    [
        (200, {}, TABLE),
        (900, {}, RANGE),
        (900, {"domain": [-9, 99999]}, RANGE),
        (900, {"hierarchy": "intervals", "widths": [7, 35], "publish": "labels"}, LABEL),
    ],
)
def test_forms_of_numbers(size: int, spec: dict[str, Any], form: int, missing: str) -> None:
    values = [*(np.cumsum(np.random.default_rng(1).integers(1, 9, size)) - 40).tolist(), None]
    check_form(values, spec | {"missing": missing, "weight": 0.5}, form)


def check_form(values: list[Any], spec: dict[str, Any], form: int) -> None:
    policy = Policy(quasi_identifiers={"c": spec}, models=[{"name": "k-anonymity", "k": 2}])
    encoded = encode(pl.DataFrame({"c": values}), policy)
    assert costs_of(encoded.columns).forms.tolist() == [form]
    random = np.random.default_rng(0)
    for classes in (1, 5, len(values) // 3):
        members = np.unique(np.sort(random.integers(0, classes, len(values))), return_inverse=True)[1]
        codes = encoded.frequencies.tuples[random.permutation(len(values))]
        check_costs(encoded.columns, codes, members.astype(np.int64))
    check_costs(encoded.columns, encoded.frequencies.tuples, np.arange(len(values)))  # each one alone


@settings(max_examples=200, deadline=None)
@given(SEEDS)
def test_no_other_cut_costs_less(seed: int) -> None:
    case = Case(seed)
    order = case.random.permutation(len(case.codes))
    members = np.full(len(order), -1, np.int64)
    total = cut_sequence(case.costs, case.codes, case.bits, case.weights, order, case.least, members)
    rows, weights = [case.rows[unit] for unit in order], case.weights[order].tolist()
    assert total == pytest.approx(plain.best_cut(rows, weights, case.plain, case.least), abs=1e-9)
    assert total == pytest.approx(
        plain.total_cost(members.tolist(), case.rows, case.weights.tolist(), case.plain), abs=1e-9
    )
    assert np.bincount(members, case.weights).min() >= case.least
    assert (np.diff(members[order]) <= 0).all()  # runs


def test_a_run_of_more_than_twice_the_least_that_cannot_be_cut() -> None:
    # one heavy unit between single ones: neither end has enough records without it, and 0 is far from both
    policy = Policy(quasi_identifiers=["c"], models=[{"name": "k-anonymity", "k": 3}])
    column = encode(pl.DataFrame({"c": [0, 100, 101, 102, 103, 104]}), policy).columns
    codes = np.array([[0], [0], [0], [1], [2], [3], [4], [5]], np.int32)
    weights = np.array([1, 1, 1, 1, 1, 3, 1, 1])
    members, costs = np.zeros(8, np.int64), costs_of(column)
    total = cut_sequence(costs, codes, bits_of_codes(codes, costs), weights, np.arange(8), 3, members)
    assert members.tolist() == [1, 1, 1, 0, 0, 0, 0, 0]
    assert total == pytest.approx(7 * 4 / 104)


def test_fewer_records_than_a_class_needs() -> None:
    case = Case(3)
    members = np.full(len(case.codes), 7, np.int64)
    many = int(case.weights.sum()) + 1
    assert cut_sequence(case.costs, case.codes, case.bits, case.weights, np.arange(len(members)), many, members) == (
        np.inf
    )
    assert not members.any()

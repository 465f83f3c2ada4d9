"""Shoal with models that look at sensitive values: near the best of all partitions, and never above Mondrian."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.strategies import OVER_VALUES

import shoal
from shoal.algorithms.clustering.units import Units
from shoal.errors import Infeasible
from shoal.frequencies.frequencies import Classes
from shoal.policy import Policy
from shoal.recodings.forms import FORMS, ClassMembers
from shoal.testing import encode_table, solve_table

ORDERED = {"name": "t-closeness", "t": 0.35, "distance": "ordered"}
HIERARCHICAL = {"name": "t-closeness", "t": 0.3, "distance": "hierarchical"}
MODELS: list[dict[str, Any]] = [*OVER_VALUES, ORDERED, HIERARCHICAL]
TREE = {"hierarchy": "tree", "nodes": {"*": {"ab": ["a", "b"], "cde": {"c": ["c"], "de": ["d", "e"]}}}}
ILLNESS = {"hierarchy": "intervals", "widths": [2]}


def table_of(count: int, seed: int) -> pl.DataFrame:
    """Records whose illness goes with their age."""
    random = np.random.default_rng(seed)
    age = random.integers(0, 40, count)
    drawn = (age // 10 + random.integers(0, 3, count)) % 4
    return pl.DataFrame(
        {
            "age": age,
            "place": random.choice(list("abcde"), count),
            "illness": drawn,
            "job": random.choice(["p", "q", "r"], count, p=[0.6, 0.3, 0.1]),
        }
    )


def policy(models: list[dict[str, Any]], k: int = 2, algorithm: Any = None, **more: Any) -> Policy:
    return Policy(
        quasi_identifiers={"age": {}, "place": TREE},
        sensitive={"illness": ILLNESS, "job": {}},
        models=[{"name": "k-anonymity", "k": k}, *models],
        algorithm=algorithm or {"name": "shoal", "effort": 0.3},
        **more,
    )


def on(model: dict[str, Any], column: str = "illness") -> dict[str, Any]:
    return {**model, "on": column}


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=lambda model: "-".join(map(str, model.values())))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.1]))
def test_never_above_mondrian(model: dict[str, Any], seed: int, share: float) -> None:
    table = table_of(int(np.random.default_rng(seed).integers(10, 120)), seed)
    asked = policy([on(model)], max_suppressed=share, publish=["labels", "ranges"][seed % 2])
    try:
        theirs = solve_table(table, asked.replace(algorithm="mondrian")).loss
    except Infeasible:
        return
    release = shoal.anonymize(table, asked)
    assert release.audit.holds
    assert release.loss <= theirs + 1e-9


@pytest.mark.parametrize("model", MODELS, ids=lambda model: "-".join(map(str, model.values())))
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_conditions_are_those_of_the_model(model: dict[str, Any], seed: int) -> None:
    from shoal.kernels.composition import count_held, may_comply

    random = np.random.default_rng(seed)
    table = table_of(60, seed)
    encoded = encode_table(table, asked := policy([on(model)]))
    problem = encoded.problem(asked)
    units = Units.of(problem)
    if units.composition is None:  # whatever joins a class does no harm there, or the model says nothing
        assert problem.absorbing
        return
    members = random.integers(0, int(random.integers(1, 20)), len(units))
    members = np.unique(members, return_inverse=True)[1].ravel().astype(np.int64)
    exactly = problem.holds(units.classes(members))
    own = units.composition
    held, sizes = count_held(own.conditions, own.places, members, len(exactly)), np.bincount(members)
    seen = [may_comply(own.conditions, row, int(size), int(size)) for row, size in zip(held, sizes, strict=True)]
    assert seen == exactly.tolist()


def best_of_all(table: pl.DataFrame, asked: Policy) -> float:
    """The least loss of all ways to put records into classes that comply, by recursion over sets of records."""
    encoded = encode_table(table, asked)
    problem, count = encoded.problem(asked), table.height
    frequencies, cells = encoded.frequencies, encoded.cell_of_record
    codes, weight = frequencies.tuples[frequencies.cell_tuples[cells]], sum(c.weight for c in encoded.columns)
    chosen = (np.arange(1, 1 << count)[:, None] >> np.arange(count)) & 1
    number, record = np.nonzero(chosen)
    weights = np.ones(len(record), np.int64)
    holds = problem.holds(Classes(len(chosen), number, cells[record], weights, frequencies))
    price: dict[int, float] = {}
    for row in np.flatnonzero(holds).tolist():
        inside = np.flatnonzero(chosen[row])
        one = ClassMembers(np.zeros(len(inside), np.int64), 1)
        price[row + 1] = len(inside) * sum(
            column.weight * float(FORMS[column.form](column, one, codes[inside, index]).penalties[0])
            for index, column in enumerate(encoded.columns)
        )
    best = {0: 0.0}
    for some in range(1, 1 << count):
        first, part, found = some & -some, some, np.inf
        while part:
            if part & first and part in price:
                found = min(found, price[part] + best[some ^ part])
            part = (part - 1) & some
        best[some] = found
    return best[(1 << count) - 1] / (count * weight)


@pytest.mark.slow
def test_tiny_tables_come_near_the_best() -> None:
    near = []
    for seed in range(6 * len(MODELS)):
        table, model = table_of(8, seed), MODELS[seed % len(MODELS)]
        asked = policy([on(model)], 2, {"name": "shoal", "effort": 1})
        try:
            found = solve_table(table, asked).loss
        except Infeasible:
            continue
        best = best_of_all(table, asked)
        assert found >= best - 1e-9
        near.append(found <= 1.05 * best + 1e-9)
    assert len(near) >= len(MODELS)
    assert Fraction(sum(near), len(near)) >= Fraction(9, 10)


def test_several_columns_are_seen_at_once() -> None:
    table = table_of(400, 1)
    models = [on({"name": "t-closeness", "t": 0.3}), on({"name": "entropy-l-diversity", "l": 1.8}, "job")]
    release = shoal.anonymize(table, asked := policy(models, 4))
    assert release.audit.holds
    assert release.loss < 0.8 * solve_table(table, asked.replace(algorithm="mondrian")).loss


def test_rare_values_are_left_out_where_that_costs_less() -> None:
    table = table_of(600, 2)
    rare = np.where(np.arange(600) % 200 == 7, "s", table["job"].to_numpy())
    table = table.with_columns(job=pl.Series(rare))
    solved = partial(solve_table, table)
    asked = policy([on({"name": "beta-likeness", "beta": 1.0}, "job")], 3)
    kept, left_out = solved(asked), solved(asked.replace(max_suppressed=0.01))
    assert left_out.loss < kept.loss
    assert shoal.anonymize(table, asked.replace(max_suppressed=0.01)).audit.holds

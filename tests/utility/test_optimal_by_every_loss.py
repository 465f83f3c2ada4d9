"""Optimal finds what Exhaustive finds, by every loss and every way of counting it: no bound is too high."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.strategies import LOSSES, tables_and_policies

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.full_domain.exhaustive import Exhaustive
from shoal.algorithms.full_domain.optimal import Optimal
from shoal.algorithms.lattice import branches
from shoal.algorithms.lattice.lattice import Lattice
from shoal.errors import Infeasible
from shoal.policy import Policy
from shoal.testing import encode_table

NODES = {"*": {"north": ["a", "b"], "south": {"coast": ["c"], "hills": ["d", "e"]}}}
AGES: list[dict[str, Any]] = [
    {"hierarchy": "intervals", "widths": [5, 10]},
    {"hierarchy": "cardinality-based"},
    {"hierarchy": "quantiles"},
]


@st.composite
def cases(draw: st.DrawFn) -> tuple[pl.DataFrame, Policy]:
    count = draw(st.integers(4, 40))

    def column(values: list[Any]) -> list[Any]:
        return draw(st.lists(st.sampled_from(values), min_size=count, max_size=count))

    gaps = st.sampled_from([[], [], [None]])
    missing = st.sampled_from(["own-value", "wildcard", "suppress"])
    weight = st.sampled_from([1, 2.5, 0.1])
    boundaries = draw(st.sampled_from([(), (), ("north",), ("north", "hills"), ("a", "south")]))
    table = pl.DataFrame(
        {
            "age": column([18, 19, 20, 21, 40, 90, *draw(gaps)]),
            "place": column([*"abcde", *draw(gaps)]),
            "sex": column(["f", "m", *draw(gaps)]),
            "ill": column(["flu", "cold", "hiv"]),
        },
        schema={"age": pl.Int64, "place": pl.String, "sex": pl.String, "ill": pl.String},
    )
    tree = {"hierarchy": "tree", "nodes": NODES, "boundaries": boundaries}
    roles = {"age": draw(st.sampled_from(AGES)), "place": tree, "sex": {"hierarchy": "suppress"}}
    models: list[dict[str, Any]] = [{"name": "k-anonymity", "k": draw(st.integers(2, 5))}]
    if draw(st.booleans()):
        models.append({"name": "distinct-l-diversity", "on": "ill", "l": 2})
    policy = Policy(
        quasi_identifiers={
            name: {**role, "missing": draw(missing), "weight": draw(weight)} for name, role in roles.items()
        },
        sensitive=["ill"],
        models=models,
        algorithm="optimal",
        max_suppressed=draw(st.sampled_from([0.0, 0.2, 1.0])),
    )
    return table, policy


def found(algorithm: Algorithm, problem: Problem) -> tuple[list[float], float] | None:
    try:
        recoding: Any = algorithm.search(problem)
    except Infeasible:
        return None
    assert recoding.proof.proven
    node = np.array([list(recoding.levels.values())], np.int16)
    looked = Lattice(problem).look(node)
    return problem.loss.ranks(looked.outcome)[0].tolist(), recoding.proof.loss


def agree(table: pl.DataFrame, policy: Policy) -> None:
    try:
        problem = encode_table(table, policy).problem(policy)
    except Infeasible:
        return
    every = found(Exhaustive(), problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(branches, "BATCH", 2)  # else so small a lattice is looked at whole before a bound is used
        pruned = found(Optimal(), problem)
    assert (every is None) == (pruned is None)
    if every is not None and pruned is not None:
        assert pruned[0] == pytest.approx(every[0], rel=1e-9, abs=1e-9)
        assert pruned[1] == pytest.approx(every[1], rel=1e-9, abs=1e-9)


def no_bound_is_too_high(table: pl.DataFrame, policy: Policy) -> None:
    """Compare the bound of every branch, whatever columns it leaves free, with each of its nodes."""
    try:
        problem = encode_table(table, policy).problem(policy)
    except Infeasible:
        return
    lattice = Lattice(problem)
    nodes = lattice.nodes()
    ranks = problem.loss.ranks(lattice.look(nodes).outcome)
    for free in product([False, True], repeat=nodes.shape[1]):
        branches = np.unique(np.where(free, lattice.free, nodes), axis=0).astype(np.int16)
        bounds = problem.loss.bounds(lattice.look(branches).outcome.optimistic(problem.least_records))
        if bounds is None:
            return
        for branch, bound in zip(branches, bounds, strict=True):
            inside = ((nodes == branch) | free).all(axis=1)
            least = ranks[inside].min(axis=0)
            assert (bound <= least + 1e-9 * np.maximum(np.abs(least), 1.0)).all(), (branch, bound, least)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: " ".join(map(str, loss.values())))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases())
def test_no_bound_is_above_a_node_of_its_branch(loss: dict[str, Any], case: tuple[pl.DataFrame, Policy]) -> None:
    table, policy = case
    no_bound_is_too_high(table, policy.replace(loss=loss))


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: " ".join(map(str, loss.values())))
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases())
def test_the_same_loss_as_every_node(loss: dict[str, Any], case: tuple[pl.DataFrame, Policy]) -> None:
    table, policy = case
    agree(table, policy.replace(loss=loss))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tables_and_policies())
def test_the_same_loss_on_odd_tables(case: tuple[pl.DataFrame, Policy]) -> None:
    table, policy = case
    if table.height:
        agree(table, policy)
        no_bound_is_too_high(table, policy)

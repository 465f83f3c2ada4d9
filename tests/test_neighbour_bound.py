"""The bound by nearest records: never above the best recoding, whatever models ask of sensitive values."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.bounds.lower_bound import LowerBound
from shoal.algorithms.bounds.neighbour_bound import NeighbourBound
from shoal.policy import Policy
from shoal.testing import encode_table
from tests.test_bounds import loss_of, partitions

pytestmark = pytest.mark.slow

MODELS: list[dict[str, Any]] = [
    {"name": "k-anonymity", "k": 2},
    {"name": "distinct-l-diversity", "on": "s", "l": 2},
    {"name": "entropy-l-diversity", "on": "s", "l": 1.7},
    {"name": "recursive-l-diversity", "on": "s", "c": 2.0, "l": 2},
    {"name": "alpha-k-anonymity", "on": "s", "alpha": 0.6, "k": 2},
    {"name": "t-closeness", "on": "s", "t": 0.4},
    {"name": "t-closeness", "on": "s", "t": 0.2},
    {"name": "beta-likeness", "on": "s", "beta": 1.0},
    {"name": "beta-likeness", "on": "s", "beta": 2.0, "enhanced": False},
    {"name": "delta-disclosure", "on": "s", "delta": 1.0},
    {"name": "personal-k", "on": "k", "default": 1},
]


@st.composite
def tables(draw: st.DrawFn) -> tuple[pl.DataFrame, Policy]:
    count = draw(st.integers(3, 6))

    def column(values: Any, blank: bool = False) -> list[Any]:
        return draw(st.lists(st.one_of(values, values, st.none()) if blank else values, min_size=count, max_size=count))

    model = draw(st.sampled_from(MODELS))
    table = pl.DataFrame(
        {
            "a": pl.Series(column(st.integers(0, 9), draw(st.booleans())), dtype=pl.Int64),
            "b": pl.Series(column(st.sampled_from("wxyz")), dtype=pl.String),
            "s": pl.Series(column(st.sampled_from("pqr"), draw(st.booleans())), dtype=pl.String),
            "k": pl.Series(column(st.integers(1, 4), True), dtype=pl.Int64),
        }
    )
    nodes = {"*": {"left": ["w", "x"], "right": ["y", "z"]}}
    policy = Policy(
        quasi_identifiers={
            "a": {"missing": draw(st.sampled_from(["own-value", "wildcard"]))},
            "b": {"hierarchy": "tree", "nodes": nodes, "weight": draw(st.sampled_from([1.0, 2.0]))},
        },
        sensitive={"s": {"missing": draw(st.sampled_from(["own-value", "wildcard"]))}} | {},
        others="drop",
        publish=draw(st.sampled_from(["labels", "ranges", "sets"])),
        models=[model, *([{"name": "k-anonymity", "k": 2}] if draw(st.booleans()) else [])],
        max_suppressed=draw(st.sampled_from([0.0, 0.4])),
        algorithm="mondrian",
    )
    return table, policy


@settings(max_examples=150, deadline=None)
@given(tables())
def test_no_recoding_goes_below_it(case: tuple[pl.DataFrame, Policy]) -> None:
    table, policy = case
    encoded = encode_table(table, policy)
    cells = np.repeat(np.arange(len(encoded.searchable.cell_counts)), encoded.searchable.cell_counts)
    suppressed = policy.may_suppress(table.height)
    losses = [loss_of(encoded, policy, members, cells) for members in partitions(len(cells), 1, suppressed)]
    best = min((loss for loss in losses if loss is not None), default=None)
    if best is None:
        return
    problem = encoded.problem(policy)
    near = NeighbourBound(problem)
    list(near.find(10**9))
    assert near.done == 1.0
    assert near.total / (float(problem.weights.sum()) * table.height) <= best + 1e-12
    assert LowerBound(effort=0.01).of(problem).total <= best + 1e-12


def problem_of(columns: int, records: int = 400, **model: Any) -> Any:
    draw = np.random.default_rng(0)
    drawn = {f"c{index}": draw.integers(0, 50, records) for index in range(columns)}
    table = pl.DataFrame({**drawn, "s": draw.choice(list("aaaaaaaaabbbbbbbbbc"), records)})
    policy = Policy(
        quasi_identifiers={name: {} for name in drawn}, sensitive=["s"], models=[model], algorithm="mondrian"
    )
    return encode_table(table, policy).problem(policy)


def test_of_many_columns_it_tells_what_a_plain_count_of_pairs_tells() -> None:
    problem = problem_of(12, 60, name="k-anonymity", k=4)
    near = NeighbourBound(problem)
    list(near.find(10**9))
    points = problem.frequencies.tuples / np.array([column.levels.domain.span for column in problem.columns])
    values = [column.levels.domain.values for column in problem.columns]
    points = np.stack([own[codes] for own, codes in zip(values, problem.frequencies.tuples.T, strict=True)], axis=1)
    points = points / np.array([column.levels.domain.span for column in problem.columns])
    distances = np.abs(points[:, None, :] - points[None, :, :]).sum(axis=2)
    expected = np.sort(distances, axis=1)[:, 3]  # itself is the first
    assert near.total == pytest.approx(float(expected @ problem.frequencies.counts), rel=1e-6)


def test_of_many_columns_it_is_the_better_bound() -> None:
    found = LowerBound(effort=1).of(problem_of(16, name="k-anonymity", k=5))
    assert "nearest records" in found.how and found.total > 0.15


def test_work_is_counted_and_more_of_it_tells_more() -> None:
    problem, totals = problem_of(16, name="k-anonymity", k=5), []
    for budget in (0, 30_000, 150_000, 10**8):
        first, again = NeighbourBound(problem), NeighbourBound(problem)
        list(first.find(budget)), list(again.find(budget))
        assert (first.total, first.done) == (again.total, again.done)
        totals.append(first.total)
    assert totals == sorted(totals) and totals[0] < totals[2] < totals[3]


@pytest.mark.parametrize(
    "model", [{"name": "beta-likeness", "on": "s", "beta": 2.0}, {"name": "t-closeness", "on": "s", "t": 0.05}]
)
def test_rare_values_need_larger_classes(model: dict[str, Any]) -> None:
    problem = problem_of(2, **model)
    needs = problem.least_with()
    rare = problem.frequencies.sensitive[:, 0] == np.bincount(problem.frequencies.sensitive[:, 0]).argmin()
    assert needs[rare].min() > needs[~rare].max() >= 1
    near = NeighbourBound(problem)
    list(near.find(10**9))
    assert near.asks_more and near.total > 0.0

"""Weighted boundaries: the order of the steps, when they end, and what is suppressed."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import Infeasible
from shoal.policy import Policy

AGES = {"hierarchy": "intervals", "widths": [10, 20]}


def policy(weights: tuple[float, float, float], algorithm: Any = "weighted-boundaries", **changes: Any) -> Policy:
    age, sex, town = weights
    base: dict[str, Any] = {
        "quasi_identifiers": {
            "age": {**AGES, "weight": age},
            "sex": {"hierarchy": "suppress", "weight": sex},
            "town": {"hierarchy": "suppress", "weight": town},
        },
        "models": [{"name": "k-anonymity", "k": 2}],
        "algorithm": algorithm,
    }
    return Policy(**{**base, **changes})


TABLE = pl.DataFrame({"age": [21, 22, 31, 32], "sex": ["f", "m", "f", "m"], "town": ["a", "b", "a", "b"]})


def steps(table: pl.DataFrame, asked: Policy) -> list[tuple[str | None, int]]:
    return [(step.column, step.level) for step in shoal.anonymize(table, asked).recoding.rounds]


def test_the_least_weight_goes_first_and_ties_keep_the_policys_order() -> None:
    assert steps(TABLE, policy((3, 1, 2))) == [(None, 0), ("sex", 1), ("town", 1), ("age", 3)]
    assert steps(TABLE, policy((1, 1, 1))) == [(None, 0), ("age", 3)]  # sex and town go together
    assert steps(TABLE, policy((1, 3, 2))) == [(None, 0), ("age", 3)]


def test_it_stops_as_soon_as_the_models_hold() -> None:
    equal = pl.concat([TABLE, TABLE])
    assert steps(equal, policy((3, 1, 2))) == [(None, 0)]


def test_by_level_the_last_column_stays_below() -> None:
    finer = shoal.anonymize(TABLE, policy((3, 1, 2), {"name": "weighted-boundaries", "pace": "level"}))
    assert [(step.column, step.level) for step in finer.recoding.rounds][-1] == ("age", 1)
    assert set(finer.table["age"]) == {"[20, 29]", "[30, 39]"}
    assert finer.loss < shoal.anonymize(TABLE, policy((3, 1, 2))).loss


def test_every_model_is_tested_after_every_step() -> None:
    table = TABLE.with_columns(illness=pl.Series(["flu", "flu", "cold", "cold"]))
    diverse = [{"name": "k-anonymity", "k": 2}, {"name": "distinct-l-diversity", "on": "illness", "l": 2}]
    paced = {"name": "weighted-boundaries", "pace": "level"}
    release = shoal.anonymize(table, policy((3, 1, 2), paced, models=diverse, sensitive=["illness"]))
    told = [(step.level, step.attained) for step in release.recoding.rounds if step.column == "age"]
    assert told == [
        (1, {"k-anonymity": 2, "distinct-l-diversity": 1}),
        (2, {"k-anonymity": 4, "distinct-l-diversity": 2}),
    ]


def test_what_still_fails_is_suppressed_within_the_limit() -> None:
    table = pl.concat([TABLE, TABLE, TABLE.head(1).with_columns(town=pl.lit("c"))])
    release = shoal.anonymize(table, policy((3, 1, 2), max_suppressed=0.12))
    assert [step.column for step in release.recoding.rounds] == [None]
    assert release.audit.left_out == 1
    assert [step.column for step in shoal.anonymize(table, policy((3, 1, 2))).recoding.rounds] == [None, "sex", "town"]


def test_a_column_without_a_hierarchy_stays_as_it_is() -> None:
    asked = policy((3, 1, 2))
    fixed = asked.replace(quasi_identifiers={**asked.quasi_identifiers, "town": {"weight": 2}})
    with pytest.raises(Infeasible, match="can only be published as they are \\(town\\)"):
        shoal.anonymize(TABLE.with_columns(town=pl.Series(["a", "b", "c", "d"])), fixed)
    assert steps(TABLE, fixed) == [(None, 0), ("sex", 1), ("age", 3)]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.integers(18, 60), st.sampled_from("fm"), st.sampled_from("abc")), min_size=4, max_size=30),
    st.tuples(*[st.sampled_from([1.0, 2.0, 3.0])] * 3),
    st.sampled_from(["column", "level"]),
)
def test_each_step_is_what_an_audit_would_count(rows: list[Any], weights: Any, pace: str) -> None:
    """The attained values of the steps, counted again from the labels of the levels."""
    table = pl.DataFrame(rows, schema=["age", "sex", "town"], orient="row")
    asked = policy(weights, {"name": "weighted-boundaries", "pace": pace})
    try:
        release = shoal.anonymize(table, asked)
    except Infeasible:
        return
    rising = [step.weight for step in release.recoding.rounds]
    assert rising == sorted(rising)
    shown = {"age": pl.col("age"), "sex": pl.col("sex"), "town": pl.col("town")}
    widths = {1: 10, 2: 20}
    for step in release.recoding.rounds:
        if step.column == "age":
            shown["age"] = pl.col("age") // widths[step.level] if step.level in widths else pl.lit(0)
        elif step.column is not None:
            shown[step.column] = pl.lit("*").alias(step.column)
        sizes = table.with_columns(**shown).group_by(pl.all()).len()["len"]
        assert step.attained == {"k-anonymity": sizes.min()}

"""A missing sensitive value whose record is suppressed may have been any: what is told holds for the worst of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import unexplained

import shoal
from shoal.errors import Infeasible
from shoal.policy import Policy

pytestmark = pytest.mark.slow

TABLE = pl.DataFrame({"q": ["a"] * 2 + ["b"] * 10 + ["c"] * 4, "s": [10, 40] + [10] * 7 + [40] * 3 + [None] * 4})
"""Class a is half and half; if the four without a value had all 10, that is a quarter away from the table."""
TREE = {"*": {"low": ["10", "20"], "high": ["40"]}}
MODELS: dict[str, dict[str, Any]] = {
    "t-closeness": {"name": "t-closeness", "t": 1},
    "t-closeness, ordered": {"name": "t-closeness", "t": 1, "distance": "ordered"},
    "t-closeness, hierarchical": {"name": "t-closeness", "t": 1, "distance": "hierarchical"},
    "beta-likeness": {"name": "beta-likeness", "beta": 1000},
    "beta-likeness, basic": {"name": "beta-likeness", "beta": 1000, "enhanced": False},
    "delta-disclosure": {"name": "delta-disclosure", "delta": 1000},
}


def policy(missing: str = "suppress", *, suppressed: str = "star", **model: Any) -> Policy:
    return Policy(
        quasi_identifiers=["q"],
        sensitive={"s": {"hierarchy": "tree", "nodes": TREE, "missing": missing}},
        models=[{**model, "on": "s"}],
        max_suppressed=0.9,
        suppressed=suppressed,
    )


def filled_in(table: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield the table with each way to fill in what is missing, from the values that it has."""
    values, missing = table["s"].drop_nulls().unique().sort().to_list(), table["s"].is_null().arg_true()
    for chosen in product(values, repeat=len(missing)):
        yield table.with_columns(table["s"].scatter(missing, list(chosen)))


def attained_by(published: pl.DataFrame, original: pl.DataFrame | None, asked: Policy) -> Any:
    return shoal.audit(published, asked, original=original).models[0].attained


@pytest.mark.parametrize(("distance", "told"), [("equal", 0.25), ("ordered", 0.25), ("hierarchical", 0.25)])
def test_the_four_without_a_value_count_as_the_worst(distance: str, told: float) -> None:
    published = TABLE.filter(pl.col("s").is_not_null())
    asked = policy(name="t-closeness", t=0.2, distance=distance)
    assert attained_by(published, TABLE, asked) == told
    release = shoal.anonymize(TABLE, asked)
    assert release.table["q"].unique().to_list() != ["a", "b"]  # as if only the known were the table
    assert shoal.anonymize(TABLE, policy(name="t-closeness", t=told, distance=distance)).attained["t-closeness"] == told


@pytest.mark.parametrize("name", MODELS)
def test_every_road_takes_the_worst(name: str, tmp_path: Path) -> None:
    asked = policy(suppressed="drop", **MODELS[name])
    release = shoal.anonymize(TABLE, asked)
    assert release.table.height == 12
    worst = max(attained_by(release.table, whole, asked) for whole in filled_in(TABLE))
    assert list(release.attained.values()) == [worst]
    TABLE.write_csv(tmp_path / "table.csv")
    streamed = shoal.anonymize_file(tmp_path / "table.csv", asked, tmp_path / "out", memory="2GB")
    assert [model.attained for model in streamed.audit.models] == [worst]
    # without the original nobody knows of those who were left out
    known = TABLE.filter(pl.col("s").is_not_null())
    assert attained_by(release.table, None, asked) == attained_by(release.table, known, asked) <= worst


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=8, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from([10, 20, 40])), min_size=3, max_size=9),
    st.lists(st.sampled_from("abc"), min_size=1, max_size=2),
)
def test_what_is_told_is_the_worst_of_all_assignments(
    name: str, known: list[tuple[str, int]], unknown: list[str]
) -> None:
    rows = [*known, (known[0][0], 10), (known[0][0], 40), *((q, None) for q in unknown)]
    table = pl.DataFrame(rows, schema={"q": pl.String, "s": pl.Int64}, orient="row")
    asked = policy(**MODELS[name])
    stars = pl.when(pl.col("s").is_null()).then(pl.lit("*")).otherwise("q").alias("q")
    starred = table.select(stars, "s")
    for published in (starred, starred.filter(pl.col("q") != "*")):
        whole = [
            (published if published.height < table.height else starred.with_columns(filled["s"]), filled)
            for filled in filled_in(table)
        ]
        worst = max(attained_by(shown, filled, asked) for shown, filled in whole)
        assert attained_by(published, table, asked) == worst


@pytest.mark.parametrize("name", [name for name in MODELS if "hierarchical" not in name])
@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from([10, 20, 40]), st.sampled_from("pqrs")), min_size=5, max_size=8
    ),
    st.integers(1, 2),
)
def test_persons_with_several_records_are_no_worse_than_told(
    name: str, rows: list[tuple[str, int, str]], missing: int
) -> None:
    table = pl.DataFrame(rows, schema=["q", "s", "who"], orient="row")
    table = table.with_columns(table["s"].scatter(list(range(missing)), None))
    asked = policy("wildcard", **MODELS[name]).replace(subject="who")

    def attained(whole: pl.DataFrame) -> Any:
        return shoal.audit(whole.select("q", "s"), asked, original=whole, subjects=whole["who"]).models[0].attained

    assert max(map(attained, filled_in(table))) <= attained(table) + 1e-12


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["wildcard", "suppress"]))
def test_search_and_audit_tell_the_same_of_persons(name: str, seed: int, missing: str) -> None:
    rng = np.random.default_rng(seed)
    table = pl.DataFrame(
        {
            "q": rng.choice(list("abc"), 20),
            "s": [None if index % 7 == 0 else int(value) for index, value in enumerate(rng.choice([10, 20, 40], 20))],
            "who": rng.integers(0, 12, 20),
        }
    )
    asked = policy(missing, **MODELS[name]).replace(subject="who")
    with contextlib.suppress(Infeasible), unexplained():
        assert shoal.anonymize(table, asked).audit.holds  # it compares what both attain


@pytest.mark.parametrize(
    "model",
    [
        {"name": "t-closeness", "t": 0.1},
        {"name": "beta-likeness", "beta": 0.1},
        {"name": "delta-disclosure", "delta": 0.1},
    ],
)
def test_too_many_missing_values_are_told_and_what_to_do(model: dict[str, Any]) -> None:
    table = pl.DataFrame({"q": ["a"] * 6 + ["b"] * 6 + ["c"] * 4, "s": [10, 40] * 6 + [None] * 4})
    with pytest.raises(Infeasible, match="missing values of s may be any, the worst counts: 4") as caught:
        shoal.anonymize(table, policy(suppressed="drop", **model))  # as stars among stars they would comply
    own = [one for one in caught.value.relaxations if one.text == "treat missing values of s as a value of their own"]
    assert own and shoal.anonymize(table, own[0].policy).audit.holds

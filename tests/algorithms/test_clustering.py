"""What all searches by clustering keep: models hold, classes stay small, and classes that do not comply are joined."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.algorithms.clustering.records import join_until_compliant
from shoal.errors import Infeasible
from shoal.frequencies.frequencies import Classes
from shoal.policy import Policy
from shoal.recodings.local import Local
from shoal.testing import encode_table, solve_table

NAMES = ["k-member", "kaca", "bottom-up-merging", "top-down-greedy"]
ROWS = st.lists(
    st.tuples(st.one_of(st.integers(0, 12), st.none()), st.sampled_from(["a", "b", "c", "d"]), st.sampled_from("xyz")),
    min_size=1,
    max_size=40,
)


def table_of(rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"age": pl.Int64, "place": pl.String, "illness": pl.String}, orient="row")


def policy(name: str, k: int, l: int = 1, publish: str = "labels") -> Policy:  # noqa: E741
    nodes = {"*": {"ab": ["a", "b"], "cd": ["c", "d"]}}
    models: list[dict[str, Any]] = [{"name": "k-anonymity", "k": k}]
    if l > 1:
        models.append({"name": "distinct-l-diversity", "on": "illness", "l": l})
    return Policy(
        quasi_identifiers={"age": {}, "place": {"hierarchy": "tree", "nodes": nodes}},
        sensitive=["illness"],
        models=models,
        algorithm=name,
        publish=publish,
    )


@settings(max_examples=80, deadline=None)
@given(ROWS, st.sampled_from(NAMES), st.integers(2, 6), st.integers(1, 3), st.sampled_from(["labels", "sets"]))
def test_every_class_complies_and_only_equal_records_make_large_ones(
    rows: list[tuple[Any, ...]],
    name: str,
    k: int,
    l: int,  # noqa: E741
    publish: str,
) -> None:
    table = table_of(rows)
    asked = policy(name, k, l, publish)
    encoded = encode_table(table, asked)
    problem = encoded.problem(asked)
    if not problem.holds(problem.together()).all():
        with pytest.raises(Infeasible):
            asked.algorithm.search(problem)
        return
    recoding = asked.algorithm.search(problem)
    assert isinstance(recoding, Local)
    frequencies = problem.frequencies
    cells = np.arange(len(frequencies.cell_counts)) if recoding.cells is None else recoding.cells
    weights = frequencies.cell_counts if recoding.weights is None else recoding.weights
    assert np.bincount(cells, weights).tolist() == frequencies.cell_counts.tolist()
    classes = Classes(recoding.count, recoding.members, cells, weights, frequencies)
    assert problem.holds(classes).all()
    if l == 1:
        for number in np.flatnonzero(classes.records >= 2 * k):
            assert len(set(frequencies.cell_tuples[cells[recoding.members == number]])) == 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("ages", "k"),
    [([7] * 9, 3), (list(range(10)), 6), (list(range(10)), 10), ([None] * 4 + [1, 2, 3], 3), ([5], 2), ([1, 1, 2], 2)],
)
def test_edges(name: str, ages: list[int | None], k: int) -> None:
    table = pl.DataFrame({"age": ages}, schema={"age": pl.Int64})
    asked = Policy(quasi_identifiers=["age"], models=[{"name": "k-anonymity", "k": k}], algorithm=name)
    if len(ages) < k:
        with pytest.raises(Infeasible):
            shoal.anonymize(table, asked)
        return
    release = shoal.anonymize(table, asked)
    assert release.audit.holds
    assert release.table.height == len(ages)
    if len(set(ages)) == 1:
        assert release.loss == 0.0


@pytest.mark.parametrize("name", NAMES)
def test_weights_decide_what_is_kept(name: str) -> None:
    table = pl.DataFrame({"a": [1, 2, 1, 2], "b": [1, 1, 2, 2]})
    for kept in ("a", "b"):
        columns = {column: {"weight": 9 if column == kept else 1} for column in ("a", "b")}
        asked = Policy(quasi_identifiers=columns, models=[{"name": "k-anonymity", "k": 2}], algorithm=name)
        assert shoal.anonymize(table, asked).audit.columns[kept]["certainty-penalty"] == 0.0


@pytest.mark.parametrize("name", NAMES)
def test_continuous_columns_and_wide_value_sets(name: str) -> None:
    random = np.random.default_rng(1)
    table = pl.DataFrame(
        {"income": random.lognormal(10, 1, 600), "town": [f"t{i:03}" for i in random.integers(0, 150, 600)]}
    )
    asked = Policy(quasi_identifiers=["income", "town"], models=[{"name": "k-anonymity", "k": 5}], algorithm=name)
    told: list[str] = []
    release = shoal.anonymize(table, asked, progress=lambda what, done, total: told.append(what))
    assert release.attained["k-anonymity"] >= 5
    assert release.audit.sizes.max() < 10
    assert len(set(told)) > 3


@pytest.mark.parametrize("name", NAMES)
def test_they_lose_less_than_mondrian_on_adult(name: str) -> None:
    table = shoal.datasets.adult(complete=True, part="test").head(2000)
    known = shoal.datasets.policy("adult").quasi_identifiers
    columns = {column: known[column] for column in ("age", "sex", "education", "race")}
    asked = Policy(quasi_identifiers=columns, others="drop", models=[{"name": "k-anonymity", "k": 5}])
    assert (
        solve_table(table, asked.replace(algorithm=name)).loss
        < solve_table(table, asked.replace(algorithm="mondrian")).loss
    )


@settings(max_examples=80, deadline=None)
@given(ROWS, st.integers(2, 5), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_complete_joins_only_what_must_be(rows: list[tuple[Any, ...]], k: int, l: int, seed: int) -> None:  # noqa: E741
    asked = policy("k-member", k, l)
    problem = encode_table(table_of(rows), asked).problem(asked)
    frequencies = problem.frequencies
    members = np.random.default_rng(seed).integers(0, 6, len(frequencies.cell_counts))
    if not problem.holds(problem.together()).all():
        with pytest.raises(Infeasible):
            join_until_compliant(problem, members)
        return
    joined = join_until_compliant(problem, members)
    assert problem.holds(Classes.of(frequencies, joined)).all()
    assert sorted(set(joined)) == list(range(joined.max() + 1))
    assert len({(int(a), int(b)) for a, b in zip(members, joined, strict=True)}) == len(set(members.tolist()))
    assert (join_until_compliant(problem, joined) == joined).all()


def test_complete_joins_the_cheapest_and_leaves_the_suppressed() -> None:
    table = pl.DataFrame({"age": [1, 2, 3, 10, 11, 40]})
    asked = Policy(quasi_identifiers=["age"], models=[{"name": "k-anonymity", "k": 2}])
    problem = encode_table(table, asked).problem(asked)
    # 3 alone joins {1, 2} rather than {10, 11}; the class of 40 is suppressed
    assert join_until_compliant(problem, np.array([5, 5, 2, 9, 9, -1])).tolist() == [0, 0, 0, 1, 1, -1]

"""Microaggregation: classes of k, what they show, bounds, and the errors of bad input."""

from __future__ import annotations

import datetime
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import Misfit, PolicyError
from shoal.perturbations._microaggregation import Microaggregation
from shoal.policy import Policy
from shoal.registry import find
from tests.perturbations.tables import people

METHODS: list[dict[str, Any]] = [
    {"name": "mdav"},
    {"name": "v-mdav"},
    {"name": "v-mdav", "gamma": 1.1},
    {"name": "shoal-microaggregation", "effort": 0.05},
]
UNIVARIATE: dict[str, Any] = {"name": "optimal-univariate"}


def policy(*methods: dict[str, Any], **more: Any) -> Policy:
    return Policy(others="drop", sensitive=["illness"], perturb=methods, **more)


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("k", [2, 5])
def test_classes_have_k_records_and_show_their_means(method: dict[str, Any], k: int) -> None:
    columns = ["income", "tax", "hours", "day", "job"]
    table = people()
    release = shoal.anonymize(table, policy({**method, "columns": columns, "k": k}))
    shown = release.table
    assert shown.group_by(columns).len()["len"].min() >= k
    assert [shown[name].dtype for name in columns] == [pl.Float64, pl.Float64, pl.Float64, pl.Date, pl.String]
    held = table[release.rows.to_numpy()]  # type: ignore[union-attr]
    for row in shown.unique(columns, maintain_order=True).head(20).iter_rows(named=True):
        mine = held.filter(pl.all_horizontal(shown[name] == row[name] for name in columns))
        assert row["income"] == pytest.approx(cast("float", mine["income"].mean()))
        assert row["hours"] == pytest.approx(cast("float", mine["hours"].mean()))
        assert row["job"] in mine["job"].mode().to_list()


def test_the_order_of_the_table_changes_nothing() -> None:
    table, chosen = people(), policy({"name": "shoal-microaggregation", "effort": 0.05, "columns": ["income"], "k": 3})
    again = table.sample(fraction=1.0, shuffle=True, seed=5)
    assert shoal.anonymize(table, chosen).table.equals(shoal.anonymize(again, chosen).table)


def test_the_best_classes_of_one_column_are_the_best() -> None:
    """Against all cuts of a short column, by brute force."""
    from shoal.perturbations.optimal_univariate import cut_line

    rng = np.random.default_rng(3)
    for _ in range(30):
        values, k = np.round(rng.lognormal(1, 1, 11), 1), int(rng.integers(2, 5))
        classes = cut_line(values, np.ones(11), k)
        assert np.bincount(classes).min() >= k
        assert _error(values, classes) == pytest.approx(_least(np.sort(values), k))


def test_numbers_far_from_zero_lose_nothing_by_their_own_mean() -> None:
    seconds = [second for second, count in ((0, 7), (1, 13), (2, 11), (3, 17)) for _ in range(count)]
    table = pl.DataFrame({"at": [datetime.datetime(2020, 1, 1, 3, 0, second) for second in seconds]})
    release = shoal.anonymize(table, Policy(perturb=[{**UNIVARIATE, "columns": ["at"], "k": 5}]))
    assert release.audit.holds and release.table["at"].n_unique() == 4


def _error(values: np.ndarray[Any, Any], classes: np.ndarray[Any, Any]) -> float:
    return float(sum(((values[classes == c] - values[classes == c].mean()) ** 2).sum() for c in np.unique(classes)))


def _least(ordered: np.ndarray[Any, Any], k: int) -> float:
    if len(ordered) < 2 * k:
        return float(((ordered - ordered.mean()) ** 2).sum())
    cuts = range(k, len(ordered) - k + 1)
    whole = float(((ordered - ordered.mean()) ** 2).sum())
    return min([whole, *(_least(ordered[:cut], k) + _least(ordered[cut:], k) for cut in cuts)])


@settings(max_examples=40, deadline=None)
@given(
    records=st.integers(2, 60),
    k=st.integers(2, 9),
    features=st.integers(1, 4),
    distinct=st.integers(1, 20),
    name=st.sampled_from(["mdav", "v-mdav", "shoal-microaggregation"]),
)
def test_every_partition_has_classes_of_k(records: int, k: int, features: int, distinct: int, name: str) -> None:
    if records < k:
        return
    rng = np.random.default_rng(records * 31 + k)
    points = rng.integers(0, distinct, (records, features)).astype(np.float64)
    more = {"effort": 0.002} if name.startswith("shoal") else {}
    method = cast("Microaggregation", find("perturbations", name)(columns=["a"], k=k, **more))
    classes = method.partition(points, np.ones(records), rng)
    sizes = np.bincount(classes)
    assert len(classes) == records and sizes.min() >= k
    assert name == "v-mdav" or sizes.max() < 2 * k
    bound = method.bound(points, classes)
    lost = sum(((points[classes == c] - points[classes == c].mean(axis=0)) ** 2).sum() for c in range(len(sizes)))
    assert bound is not None and bound <= lost + 1e-9


def test_our_own_search_loses_less_than_mdav() -> None:
    table = people(600)
    lost = {}
    for method in ("mdav", "shoal-microaggregation"):
        one = {"name": method, "columns": ["income", "tax", "hours"], "k": 4} | (
            {"effort": 1} if method != "mdav" else {}
        )
        audit = shoal.anonymize(table, policy(one)).audit.perturbations[0]
        assert audit.claimed_bound is not None and audit.measured["sse"] >= audit.claimed_bound
        lost[method] = audit.measured["sse"]
    assert lost["shoal-microaggregation"] < 0.95 * lost["mdav"]


def test_a_large_table_is_cut_and_keeps_k() -> None:
    points = np.random.default_rng(0).normal(size=(9_000, 3))
    method = cast("Microaggregation", find("perturbations", "shoal-microaggregation")(columns=["a"], k=5, effort=0.1))
    classes = method.partition(points, np.ones(9_000), np.random.default_rng(1))
    assert np.bincount(classes).min() >= 5


def test_missing_values_are_classes_of_their_own() -> None:
    table = people().with_columns(income=pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise("income"))
    table = table.with_columns(pl.col("income").cast(pl.Float64, strict=False))
    one = {"name": "mdav", "columns": ["income", "hours"], "k": 5}
    with pytest.raises(Misfit, match=r"perturb\[0\].income: missing values"):
        shoal.anonymize(table, policy(one))
    release = shoal.anonymize(table, policy({**one, "missing": "own"}))
    assert release.table["income"].null_count() == table["income"].null_count()
    assert release.table.group_by("income", "hours").len()["len"].min() >= 5


def test_medians_modes_strata_and_scales() -> None:
    one = {
        "name": "mdav",
        "columns": ["income", "hours", "job"],
        "k": 4,
        "by": {"income": "median", "hours": "mode"},
        "within": ["illness"],
        "scales": {"income": 1000},
    }
    release = shoal.anonymize(people(), policy(one))
    shown = release.table
    assert shown.group_by("income", "hours", "job", "illness").len()["len"].min() >= 4
    assert set(shown["income"]) <= set(people()["income"]) and shown["hours"].dtype == pl.Int64


def test_weights_count_in_means() -> None:
    table = people().with_columns(weight=pl.Series(np.random.default_rng(0).uniform(1, 9, 400)))
    one = {"name": "optimal-univariate", "columns": ["income"], "k": 5, "weighted": True}
    release = shoal.anonymize(table, policy(one, survey_weight="weight"))
    held = table[release.rows.to_numpy()]  # type: ignore[union-attr]
    total = (held["income"] * held["weight"]).sum()
    assert (release.table["income"] * held["weight"]).sum() == pytest.approx(total)
    with pytest.raises(Misfit, match="needs a survey weight"):
        shoal.anonymize(table, policy(one))


def test_beside_generalized_columns() -> None:
    chosen = Policy(
        quasi_identifiers=["zip", "age"],
        sensitive=["illness"],
        others="drop",
        models=[{"name": "k-anonymity", "k": 5}, {"name": "distinct-l-diversity", "on": "illness", "l": 2}],
        max_suppressed=0.05,
        perturb=[{"name": "mdav", "columns": ["income", "hours"], "k": 3}, {**UNIVARIATE, "columns": "tax", "k": 4}],
    )
    release = shoal.anonymize(people(), chosen)
    assert release.table.columns == ["zip", "age", "income", "tax", "hours", "illness"]
    told = release.audit.to_dict()
    assert [one["holds"] for one in told["perturbations"]] == [True, True] and told["holds"]
    assert told["guarantees"]["income"]["name"] == "aggregates" and told["guarantees"]["zip"]["name"] == "covers"
    assert Policy.from_yaml(chosen.to_yaml()) == chosen


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"name": "mdav", "columns": ["income"], "k": 401}, r"perturb\[0\].k: needs more records than there are"),
    ({"name": "mdav", "columns": ["still"], "k": 3}, "all values are the same"),
    ({"name": "mdav", "columns": ["none"], "k": 3}, r"perturb\[0\].none: no such column"),
    ({"name": "mdav", "columns": ["income"], "k": 50, "within": ["zip", "illness"]}, "strata with too few records"),
    ({"name": "mdav", "columns": ["job"], "k": 3, "by": {"job": "mean"}}, "a mean needs a column of numbers"),
    ({"name": "mdav", "columns": ["name"], "k": 3}, "too many categories"),
    ({"name": "mdav", "columns": ["huge"], "k": 3}, "too large to be squared"),
    ({"name": "mdav", "columns": ["age"], "k": 3, "scales": {"age": 1e-200}}, "too large to be squared"),
    ({"name": "mdav", "columns": ["tiny"], "k": 3, "scales": {"tiny": 1}}, "too near each other"),
]


@pytest.mark.parametrize(("one", "message"), FAULTS, ids=str)
def test_bad_input_is_told(one: dict[str, Any], message: str) -> None:
    table = people().with_columns(
        still=pl.lit(3),
        name=pl.int_range(pl.len()).cast(pl.String),
        huge=pl.col("income") * 1e200,
        tiny=pl.col("income") * 1e-200,
    )
    with pytest.raises(Misfit, match=message):
        shoal.anonymize(table, policy(one))


CONTRADICTIONS: list[tuple[dict[str, Any], str]] = [
    ({"perturb": [{"name": "mdav", "columns": ["a"], "k": 1}]}, "must be at least 2"),
    ({"perturb": [{"name": "mdav", "columns": [], "k": 3}]}, "must not be empty"),
    ({"perturb": [{**UNIVARIATE, "columns": ["a", "b"], "k": 3}]}, "columns"),
    ({"perturb": [{"name": "mdav", "columns": ["a"], "k": 3, "by": {"b": "mean"}}]}, "not perturbed here"),
    ({"perturb": [{"name": "mdav", "columns": ["a"], "k": 3}] * 2}, "perturbed twice"),
    ({"perturb": [{"name": "mdav", "columns": ["a"], "k": 3}], "identifiers": ["a"]}, "never published"),
    ({"perturb": [{"name": "mdav", "columns": ["a"], "k": 3}], "subject": "who"}, "counts records"),
    (
        {"perturb": [{"name": "mdav", "columns": ["a"], "k": 3}], "models": [{"name": "k-anonymity", "k": 2}]},
        "required",
    ),
    (
        {
            "perturb": [{"name": "mdav", "columns": ["a"], "k": 3}],
            "quasi_identifiers": ["a"],
            "models": [{"name": "k-anonymity", "k": 2}],
        },
        "the order is fixed",
    ),
    (
        {
            "perturb": [{"name": "mdav", "columns": ["a"], "k": 3}],
            "quasi_identifiers": ["b"],
            "sensitive": ["a"],
            "models": [{"name": "distinct-l-diversity", "on": "a", "l": 2}],
        },
        "looks at this column",
    ),
]


@pytest.mark.parametrize(("data", "message"), CONTRADICTIONS, ids=str)
def test_contradictions_are_told(data: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        Policy(others="keep", **data)


def test_a_policy_without_perturbations_says_nothing_of_them() -> None:
    plain = Policy(quasi_identifiers=["age"], models=[{"name": "k-anonymity", "k": 2}])
    assert "perturb" not in plain.to_yaml(defaults=True)
    assert "perturbations" not in shoal.anonymize(pl.DataFrame({"age": [1, 1, 2, 2]}), plain).audit.to_dict()


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_files_are_written_and_audited_again(tmp_path: Any, kind: str) -> None:
    chosen = policy({"name": "mdav", "columns": ["income", "hours", "day"], "k": 3})
    release = shoal.anonymize(people(), chosen)
    release.write(tmp_path, format=kind)
    again = shoal.audit(tmp_path / f"release.{kind}", chosen, original=people(), rows=release.rows)
    assert again.holds and all(test.outcome == "passed" for test in again.perturbations[0].tests)

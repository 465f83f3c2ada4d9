"""Models of sensitive columns in microaggregated classes: kept by every method, and counted again by the audit."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import AuditFailed, Misfit, PolicyError
from shoal.policy import Policy
from tests.perturbations.tables import people

METHODS: list[dict[str, Any]] = [
    {"name": "mdav"},
    {"name": "v-mdav"},
    {"name": "shoal-microaggregation", "effort": 0.02},
]
L = {"name": "distinct-l-diversity", "on": "illness", "l": 3}
T = {"name": "t-closeness", "on": "illness", "t": 0.35}
COLUMNS = ["income", "hours"]


def policy(*methods: dict[str, Any], **more: Any) -> Policy:
    return Policy(**{"others": "drop", "sensitive": ["illness", "tax"], "perturb": methods} | more)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_each_class_has_l_values_and_is_near_the_table(method: dict[str, Any]) -> None:
    one = {**method, "columns": COLUMNS, "k": 3, "models": [L, T]}
    release = shoal.anonymize(people(), policy(one))
    shown = release.table
    assert shown.group_by(COLUMNS).agg(pl.col("illness").n_unique())["illness"].min() >= 3
    whole = shown["illness"].value_counts(normalize=True)
    for _, part in shown.group_by(COLUMNS):
        both = whole.join(part["illness"].value_counts(normalize=True), on="illness", how="left").fill_null(0.0)
        assert (both["proportion"] - both["proportion_right"]).abs().sum() / 2 <= 0.35 + 1e-12
    told = release.audit.perturbations[0]
    names = [test.name for test in told.tests]
    assert {"distinct-l-diversity", "t-closeness"} <= {*names} and told.holds


def test_without_models_it_would_fail_and_merging_costs_little() -> None:
    plain, kept = ({"name": "mdav", "columns": COLUMNS, "k": 3, "models": models} for models in ([], [L]))
    first = shoal.anonymize(people(), policy(plain))
    assert first.table.group_by(COLUMNS).agg(pl.col("illness").n_unique())["illness"].min() < 3
    second = shoal.anonymize(people(), policy(kept))
    lost = [one.audit.perturbations[0].measured["sse"] for one in (first, second)]
    assert lost[0] < lost[1] < 4 * lost[0]
    assert second.table.unique(COLUMNS).height > 30


def test_ordered_values_of_numbers() -> None:
    near = {"name": "t-closeness", "on": "tax", "t": 0.2, "distance": "ordered"}
    one = {"name": "mdav", "columns": ["hours"], "k": 3, "models": [near]}
    assert shoal.anonymize(people(), policy(one)).audit.holds


def test_beside_generalized_columns_that_suppress_records() -> None:
    chosen = policy(
        {"name": "mdav", "columns": COLUMNS, "k": 3, "models": [L, T]},
        quasi_identifiers=["zip", "age"],
        models=[{"name": "k-anonymity", "k": 5}],
        algorithm={"name": "mondrian"},
        max_suppressed=0.2,
        suppressed="drop",
    )
    assert shoal.anonymize(people(), chosen).audit.holds
    assert Policy.from_yaml(chosen.to_yaml()) == chosen


def test_the_audit_counts_again() -> None:
    """A release of a policy without the model, audited by one with it: found by the published table alone."""
    plain = policy({"name": "mdav", "columns": COLUMNS, "k": 3})
    asks = policy({"name": "mdav", "columns": COLUMNS, "k": 3, "models": [L]})
    release = shoal.anonymize(people(), plain)
    for audit in (
        shoal.audit(release.table, asks),
        shoal.audit(release.table, asks, original=people(), rows=release.rows),
    ):
        assert not audit.holds
        failed = [test.name for test in audit.perturbations[0].tests if test.outcome == "failed"]
        assert failed == ["distinct-l-diversity"]
    swapped = shoal.anonymize(people(), asks).table.with_columns(illness=pl.lit("flu"))
    assert not shoal.audit(swapped, asks).holds


def test_each_stratum_is_merged_by_itself() -> None:
    one = {"name": "mdav", "columns": COLUMNS, "k": 3, "models": [{**L, "l": 2}], "within": ["zip"]}
    release = shoal.anonymize(people(), policy(one, others="keep", identifiers=[]))
    assert release.table.group_by("zip", *COLUMNS).agg(pl.col("illness").n_unique())["illness"].min() >= 2


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"models": [{**L, "l": 50}]}, r"perturb\[0\].models\[0\]: does not even hold of the largest"),
    ({"models": [{**T, "distance": "ordered"}]}, "texts have no order here"),
    ({"models": [{**L, "on": "gap"}]}, r"perturb\[0\].gap: missing values"),
]


@pytest.mark.parametrize(("more", "message"), FAULTS, ids=str)
def test_what_cannot_be_kept_is_told(more: dict[str, Any], message: str) -> None:
    table = people().with_columns(gap=pl.when(pl.int_range(pl.len()) % 9 > 0).then("illness"))
    chosen = policy({"name": "mdav", "columns": COLUMNS, "k": 3, **more}, sensitive=["illness", "gap"])
    with pytest.raises(Misfit, match=message):
        shoal.anonymize(table, chosen)


CONTRADICTIONS: list[tuple[dict[str, Any], str]] = [
    ({"models": [{"name": "k-anonymity", "k": 5}]}, "no condition on the sensitive values"),
    ({"models": [{**L, "on": "job"}]}, "not sensitive"),
    ({"models": [{**L, "on": "income"}]}, "promises nothing"),
    ({"models": [{**T, "distance": "hierarchical"}]}, "no condition on the sensitive values"),
]


@pytest.mark.parametrize(("more", "message"), CONTRADICTIONS, ids=str)
def test_contradictions_are_told(more: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        policy({"name": "mdav", "columns": COLUMNS, "k": 3, **more})


def test_merging_stops_where_all_hold() -> None:
    from shoal.models import DistinctLDiversity
    from shoal.perturbations import ColumnValues, Microdata
    from shoal.perturbations._class_models import ClassModels

    data = Microdata(columns={"s": ColumnValues.of_texts(["a", "a", "a", "a", "b", "a"])})
    models = ClassModels.of([DistinctLDiversity(on="s", l=2)], data)
    points = np.array([[0.0], [0.1], [1.0], [1.1], [1.5], [1.6]])
    merged = models.merge(points, np.arange(6), np.array([0, 0, 1, 1, 2, 2]))
    assert merged.tolist() == [0] * 6  # the middle class takes the last one, which has a b; the first one follows
    assert models.hold(np.arange(6), merged).all()


def test_classes_that_were_not_merged_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.perturbations._class_models import ClassModels

    monkeypatch.setattr(ClassModels, "merge", lambda self, points, rows, members: members)
    with pytest.raises(AuditFailed, match="distinct-l-diversity"):
        shoal.anonymize(people(), policy({"name": "mdav", "columns": COLUMNS, "k": 3, "models": [L]}))

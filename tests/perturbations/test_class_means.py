"""Classes of ordinary algorithms, published as means."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import AuditFailed, Misfit, PolicyError
from shoal.perturbations import Microdata, Perturbed
from shoal.perturbations.class_means import ClassMeans
from shoal.policy import Policy
from tests.perturbations.tables import people

COLUMNS = ["age", "hours", "job"]
L = {"name": "distinct-l-diversity", "on": "illness", "l": 2}
MEANS: dict[str, Any] = {
    "quasi_identifiers": COLUMNS,
    "sensitive": ["illness"],
    "others": "drop",
    "models": [{"name": "k-anonymity", "k": 4}, L],
    "algorithm": {"name": "mondrian"},
    "publish": "means",
}


@pytest.mark.parametrize("algorithm", ["mondrian", "k-member"])
def test_classes_of_any_local_algorithm_show_their_means(algorithm: str) -> None:
    table = people(150)
    release = shoal.anonymize(table, Policy(**MEANS | {"algorithm": {"name": algorithm}}))
    shown, held = release.table, table[release.rows.to_numpy()]  # type: ignore[union-attr]
    classes = shown.group_by(COLUMNS).agg(pl.len(), pl.col("illness").n_unique())
    assert classes["len"].min() >= 4 and classes["illness"].min() >= 2 and classes.height > 10
    assert [shown[name].dtype for name in COLUMNS] == [pl.Float64, pl.Float64, pl.String]
    both = shown.with_columns(held["age"].alias("own"), held["job"].alias("mine"))
    means = both.group_by(COLUMNS).agg(pl.col("own").mean(), pl.col("mine").mode())
    assert (means["own"] - means["age"]).abs().max() < 1e-9
    assert all(job in modes for job, modes in means.select("job", "mine").iter_rows())
    assert release.audit.holds and len(shown) == 150


def test_it_is_short_for_an_entry() -> None:
    short = Policy(**MEANS)
    entry = {"name": "class-means", "columns": COLUMNS, "k": 4, "models": [L], "algorithm": {"name": "mondrian"}}
    assert short == Policy(sensitive=["illness"], others="drop", perturb=[entry])
    assert Policy.from_yaml(short.to_yaml()) == short
    assert "means" in Policy.schema_json()["properties"]["publish"]["enum"]


def test_no_better_class_goes_below_the_bound() -> None:
    audit = shoal.anonymize(people(150), Policy(**MEANS)).audit.perturbations[0]
    assert audit.claimed_bound is not None and audit.claimed_bound < audit.measured["sse"]


def test_a_mean_that_is_off_is_caught() -> None:
    chosen, table = Policy(**MEANS), people(150)
    release = shoal.anonymize(table, chosen)
    first = release.table["age"][0]
    lie = release.table.with_columns(age=pl.when(pl.col("age") == first).then(first + 0.01).otherwise("age"))
    audit = shoal.audit(lie, chosen, original=table, rows=release.rows)
    assert not audit.holds
    assert [test.name for test in audit.perturbations[0].tests if test.outcome == "failed"] == ["recomputed"]
    blind = shoal.audit(lie, chosen, original=table)  # the sum is all that is left to ask, and tells it too
    assert not blind.holds


CONTRADICTIONS: list[tuple[dict[str, Any], str]] = [
    ({"algorithm": {"name": "datafly"}}, "a mean needs none"),
    ({"quasi_identifiers": {"age": {"hierarchy": "intervals", "widths": [5]}}}, "are published as means"),
    ({"quasi_identifiers": []}, "publish: means"),
    ({"models": [{"name": "average-risk", "threshold": 0.1}]}, "no condition on the sensitive values"),
    ({"models": []}, "needs models"),
    ({"subject": "who"}, "counts records"),
]


@pytest.mark.parametrize(("more", "message"), CONTRADICTIONS, ids=str)
def test_what_cannot_be_published_so_is_told(more: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        Policy(**MEANS | more)


def test_streamed_files_give_the_same(tmp_path: Any) -> None:
    path = tmp_path / "people.csv"
    people().write_csv(path)
    files = [
        shoal.anonymize(path, Policy(**MEANS), memory=memory).write(tmp_path / str(memory))["release"]
        for memory in (None, "1GB")
    ]
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(("name", "by"), [("age", "mean"), ("age", "median"), ("job", "mode")])
def test_a_class_that_shows_something_else_is_caught(name: str, by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = ClassMeans.perturb

    def perturb(self: ClassMeans, data: Microdata) -> Perturbed:
        columns = dict(honest(self, data).columns)
        values = columns[name].values
        lie = (values == values[0]) & (columns["hours"].values == columns["hours"].values[0])
        other = 1 - values if name == "job" else values + 9
        columns[name] = columns[name].with_values(np.where(lie, np.abs(other), values))
        return Perturbed(columns=columns)

    monkeypatch.setattr(ClassMeans, "perturb", perturb)
    entry = {"name": "class-means", "columns": COLUMNS, "k": 4, "by": {name: by}}
    with pytest.raises(AuditFailed, match="recomputed"):
        shoal.anonymize(people(150), Policy(others="drop", perturb=[entry]))


def test_missing_values_are_refused_or_classes_of_their_own() -> None:
    table = people(150).with_columns(age=pl.when(pl.int_range(pl.len()) % 7 > 0).then("age"))
    entry = {"name": "class-means", "columns": COLUMNS, "k": 4}
    with pytest.raises(Misfit, match=r"perturb\[0\].age: missing values"):
        shoal.anonymize(table, Policy(others="drop", perturb=[entry]))
    shown = shoal.anonymize(table, Policy(others="drop", perturb=[{**entry, "missing": "own"}])).table
    assert shown["age"].null_count() == 22 and shown.group_by(COLUMNS).len()["len"].min() >= 4


def test_cells_that_are_split_go_to_several_classes() -> None:
    table = pl.DataFrame({"age": [20] * 9 + [30, 31, 32], "hours": [1] * 12})
    entry = {"name": "class-means", "columns": ["age"], "k": 4, "algorithm": {"name": "mondrian", "cuts": "relaxed"}}
    release = shoal.anonymize(table, Policy(others="drop", perturb=[entry]))
    assert release.audit.holds and release.table.group_by("age").len()["len"].min() >= 4

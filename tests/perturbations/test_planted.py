"""Planted failures: what a lying perturbation publishes is caught by the audit, each by the test that is for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import AuditFailed
from shoal.perturbations.base import ColumnValues, Microdata, Perturbed
from shoal.policy import Policy
from shoal.registry import find
from tests.perturbations.tables import people

Lie = Callable[[dict[str, ColumnValues], Microdata], dict[str, ColumnValues]]
MDAV = {"name": "mdav", "columns": ["income", "hours"], "k": 5}
PRAM = {"name": "pram", "columns": ["job"], "retain": 0.7}
INVARIANT = {**PRAM, "invariant": True}
SWAP = {"name": "rank-swapping", "columns": ["income"], "window": 0.05}
NOISE = {"name": "noise", "columns": ["income", "tax"], "share": 0.3, "method": "correlated"}
ROUND = {"name": "rounding", "columns": ["income"], "base": 100}
CODE = {"name": "top-bottom-coding", "columns": ["income"], "bottom": 500, "top": 5000}
PRESERVING = {**NOISE, "method": "preserving"}
OUTLIERS = {**NOISE, "method": "additive", "outliers": 9}


def _with(columns: dict[str, ColumnValues], name: str, values: np.ndarray[Any, Any]) -> dict[str, ColumnValues]:
    return {**columns, name: columns[name].with_values(values)}


def mean_off(columns: dict[str, ColumnValues], data: Microdata) -> dict[str, ColumnValues]:
    return _with(columns, "income", columns["income"].values * (1 + 1e-6))


def one_mean_off(columns: dict[str, ColumnValues], data: Microdata) -> dict[str, ColumnValues]:
    values = columns["income"].values
    return _with(columns, "income", np.where(values == values[0], values + 0.01, values))


def below_k(columns: dict[str, ColumnValues], data: Microdata) -> dict[str, ColumnValues]:
    values = columns["income"].values.copy()
    values[0] = data.columns["income"].values[0]
    return _with(columns, "income", values)


def as_they_are(columns: dict[str, ColumnValues], data: Microdata) -> dict[str, ColumnValues]:
    return {name: data.columns[name] for name in columns}


def too_far(columns: dict[str, ColumnValues], data: Microdata) -> dict[str, ColumnValues]:
    values = columns["income"].values.copy()
    low, high = int(np.argmin(values)), int(np.argmax(values))
    values[low], values[high] = values[high], values[low]
    return _with(columns, "income", values)


def made_up(columns: dict[str, ColumnValues], data: Microdata) -> dict[str, ColumnValues]:
    values = columns["income"].values.copy()
    values[0] += 0.5
    return _with(columns, "income", values)


def always_the_first(columns: dict[str, ColumnValues], data: Microdata) -> dict[str, ColumnValues]:
    return _with(columns, "job", np.zeros_like(columns["job"].values))


def independent(columns: dict[str, ColumnValues], data: Microdata) -> dict[str, ColumnValues]:
    rng, changed = np.random.default_rng(0), columns
    for name in columns:
        held = data.columns[name].numbers
        changed = _with(changed, name, held + rng.normal(0, held.std() * 0.3**0.5, len(held)))
    return changed


def twice_as_much(columns: dict[str, ColumnValues], data: Microdata) -> dict[str, ColumnValues]:
    return {name: columns[name].with_values(2 * columns[name].numbers - data.columns[name].numbers) for name in columns}


def between(columns: dict[str, ColumnValues], data: Microdata) -> dict[str, ColumnValues]:
    values = columns["income"].values.copy()
    values[3] += 0.5
    return _with(columns, "income", values)


def next_point(columns: dict[str, ColumnValues], data: Microdata) -> dict[str, ColumnValues]:
    values = columns["income"].values.copy()
    values[3] += 100
    return _with(columns, "income", values)


def far_out(columns: dict[str, ColumnValues], data: Microdata) -> dict[str, ColumnValues]:
    values = columns["income"].values.copy()
    values[3] = 5001
    return _with(columns, "income", values)


def less_far_out(columns: dict[str, ColumnValues], data: Microdata) -> dict[str, ColumnValues]:
    held, shown = data.columns["income"].numbers, columns["income"].values
    far = np.abs(held - np.median(held)) > 4.4478 * np.median(np.abs(held - np.median(held)))
    return _with(columns, "income", np.where(far, held + (shown - held) / 9, shown))


PLANTED: list[tuple[dict[str, Any], Lie, str]] = [
    (MDAV, mean_off, "recomputed"),
    (MDAV, one_mean_off, "recomputed"),
    (MDAV, below_k, "k-anonymity"),
    (MDAV, as_they_are, "k-anonymity"),
    (SWAP, too_far, "window"),
    (SWAP, made_up, "same values"),
    (SWAP, as_they_are, "effect"),
    (PRAM, as_they_are, "transitions"),
    (PRAM, always_the_first, "transitions"),
    (INVARIANT, as_they_are, "transitions"),
    (NOISE, as_they_are, "covariance"),
    (NOISE, independent, "covariance"),
    (NOISE, twice_as_much, "covariance"),
    (PRESERVING, as_they_are, "covariance"),
    (OUTLIERS, less_far_out, "far out"),
    (ROUND, between, "grid"),
    (ROUND, as_they_are, "grid"),
    (ROUND, next_point, "nearest"),
    (CODE, far_out, "bounds"),
    (CODE, as_they_are, "bounds"),
    (CODE, between, "inner values"),
]


@pytest.mark.parametrize(("one", "lie", "test"), PLANTED, ids=lambda value: getattr(value, "__name__", None))
def test_a_planted_failure_is_caught(one: dict[str, Any], lie: Lie, test: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entry: Any = find("perturbations", one["name"])
    honest = entry.perturb

    def perturb(self: Any, data: Microdata) -> Perturbed:
        return Perturbed(columns=lie(dict(honest(self, data).columns), data))

    monkeypatch.setattr(entry, "perturb", perturb)
    with pytest.raises(AuditFailed, match=test):
        shoal.anonymize(people(), Policy(others="drop", sensitive=["age"], perturb=[one]))


@pytest.mark.parametrize(
    "one",
    [MDAV, SWAP, PRAM, INVARIANT, NOISE, PRESERVING, OUTLIERS, ROUND, CODE, {**NOISE, "method": "additive"}],
    ids=str,
)
def test_nothing_else_may_change(one: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.pipeline import publish as road

    chosen = Policy(others="drop", sensitive=["age"], perturb=[one])
    assert shoal.anonymize(people(), chosen).audit.holds
    honest = road.perturb_columns

    def meddle(*given: Any) -> Any:
        changed = honest(*given)
        return replace(changed, columns={**changed.columns, "age": people()["age"] + 1})

    monkeypatch.setattr(road, "perturb_columns", meddle)
    with pytest.raises(AuditFailed, match="age"):
        shoal.anonymize(people(), chosen)


def test_a_bound_that_is_none_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    entry: Any = find("perturbations", "mdav")
    monkeypatch.setattr(entry, "bound", lambda self, points, classes: 1e9)
    with pytest.raises(AuditFailed, match="nothing goes below"):
        shoal.anonymize(people(), Policy(others="drop", sensitive=["age"], perturb=[MDAV]))


def test_an_audit_of_a_table_that_was_changed_later_fails() -> None:
    chosen = Policy(others="drop", sensitive=["age"], perturb=[MDAV])
    release = shoal.anonymize(people(), chosen)
    changed = release.table.with_columns(income=pl.col("income") + pl.int_range(pl.len()))
    assert not shoal.audit(changed, chosen).holds
    assert shoal.audit(release.table, chosen).holds

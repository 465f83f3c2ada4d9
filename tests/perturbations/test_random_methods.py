"""Random methods: what must hold of what they publish, whatever is drawn; and the errors of bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import Misfit, PolicyError
from shoal.perturbations.pram import make_invariant
from shoal.policy import Policy
from tests.perturbations.tables import people


def release(one: dict[str, Any], table: pl.DataFrame | None = None, **more: Any) -> Any:
    return shoal.anonymize(people() if table is None else table, Policy(others="drop", perturb=[one], **more))


def test_the_identity_changes_nothing() -> None:
    shown = release({"name": "pram", "columns": ["job"], "retain": 1.0})
    assert shown.table["job"].value_counts(sort=True).equals(people()["job"].value_counts(sort=True))


def test_an_invariant_matrix_keeps_the_expected_counts() -> None:
    rng = np.random.default_rng(0)
    for size in (2, 3, 7):
        chances = rng.dirichlet(np.ones(size), size)
        counts = rng.integers(0, 50, size)
        assert (counts @ make_invariant(chances, counts)).round(9).tolist() == counts.tolist()


def test_a_given_matrix_is_followed() -> None:
    matrix = {"a": {"a": 0.5, "b": 0.5}, "b": {"b": 1.0}, "c": {"a": 1.0}}
    made = release({"name": "pram", "columns": ["job"], "matrix": matrix})
    held = people()["job"].gather(made.rows)
    assert set(made.table["job"].filter(held == "c")) == {"a"} and set(made.table["job"].filter(held == "b")) == {"b"}


def test_missing_values_stay_missing_in_pram() -> None:
    table = people().with_columns(job=pl.when(pl.col("hours") > 30).then(None).otherwise("job"))
    made = release({"name": "pram", "columns": ["job"], "retain": 0.5}, table)
    assert made.table["job"].null_count() == table["job"].null_count()


@pytest.mark.parametrize("window", [0.01, 0.1, 1.0])
def test_a_swap_keeps_the_values_and_the_window(window: float) -> None:
    table = people()
    made = release({"name": "rank-swapping", "columns": ["income", "hours"], "window": window})
    assert made.table["income"].sort().equals(table["income"].sort()) and made.table["hours"].dtype == pl.Int64
    ranks = table["income"].rank("ordinal").cast(pl.Int64)
    place = dict(zip(table["income"].to_list(), ranks.to_list(), strict=True))
    moved = [abs(place[value] - ranks[row]) for value, row in zip(made.table["income"], made.rows, strict=True)]
    assert 0 < max(moved) <= window * 400
    told = made.audit.to_dict()["guarantees"]["income"]
    assert told == {"name": "perturbs", "columns": ["income", "hours"], "mechanism": "rank-window"}


@pytest.mark.parametrize("method", ["additive", "correlated", "preserving"])
def test_noise_has_the_variance_that_is_declared(method: str) -> None:
    table = people(20_000)
    made = release({"name": "noise", "columns": ["hours", "age"], "share": 0.5, "method": method}, table)
    grown = made.table["hours"].var() / table["hours"].var()
    assert grown == pytest.approx(1.0 if method == "preserving" else 1.5, rel=0.03)


def test_the_seed_decides_and_is_not_told(tmp_path: Any) -> None:
    one = {"name": "noise", "columns": ["income"], "share": 0.1}
    first, again, other = release(one, seed=7), release(one, seed=7), release(one, seed=8)
    assert first.table.equals(again.table) and not first.table.equals(other.table)
    assert first.manifest["seed"] == "secret" and "seed" not in str(first.manifest["policy"].get("seed") or "")
    shuffled = people().sample(fraction=1.0, shuffle=True, seed=2)
    assert release(one, shuffled, seed=7).table.equals(first.table)


def test_another_table_draws_other_numbers() -> None:
    one = {"name": "noise", "columns": ["income"], "share": 0.1}
    table = people()
    changed = table.with_columns(income=pl.when(pl.int_range(pl.len()) == 0).then(1.0).otherwise("income"))
    both = [release(one, data, seed=7) for data in (table, changed)]
    noise = [
        made.table["income"] - data["income"].gather(made.rows)
        for made, data in zip(both, (table, changed), strict=True)
    ]
    assert not set(noise[0].round(6)) & set(noise[1].round(6))


@pytest.mark.parametrize("seed", range(20))
def test_honest_releases_hold(seed: int) -> None:
    perturb = [
        {"name": "pram", "columns": ["job", "zip"], "retain": 0.6, "invariant": bool(seed % 2)},
        {"name": "noise", "columns": ["income", "tax"], "share": 0.2, "method": "correlated"},
        {"name": "rank-swapping", "columns": ["hours"], "window": 0.1},
    ]
    assert shoal.anonymize(people(60, seed), Policy(others="drop", perturb=perturb, seed=seed)).audit.holds


def test_something_moves_where_nearly_all_values_are_equal() -> None:
    table = pl.DataFrame({"visits": [1] * 98 + [2]})  # pairs of neighbours: the last has none
    made = release({"name": "rank-swapping", "columns": ["visits"], "window": 0.011}, table)
    held = table["visits"].gather(made.rows)
    assert made.table["visits"].sum() == 100 and int((made.table["visits"] != held).sum()) == 2


@pytest.mark.parametrize(
    "one",
    [
        {"name": "pram", "columns": ["job"], "retain": 0.5},
        {"name": "rank-swapping", "columns": ["hours"], "window": 0.1},
        {"name": "noise", "columns": ["hours"], "share": 0.5},
        {"name": "mdav", "columns": ["job", "hours"], "k": 2},
    ],
    ids=str,
)
@pytest.mark.parametrize("classes", [False, True])
def test_equal_records_are_told_apart_by_what_is_published_beside(one: dict[str, Any], *, classes: bool) -> None:
    table = people(120).select("zip", "job", "illness", pl.col("hours") // 10)
    data: dict[str, Any] = {"others": "keep", "perturb": [one]}
    if classes:
        data |= {"quasi_identifiers": {"zip": "suppress"}, "models": [{"name": "k-anonymity", "k": 2}]}
        data["algorithm"] = "optimal"
    shown = [
        shoal.anonymize(each, Policy(**data)).table
        for each in (table, table.sample(fraction=1.0, shuffle=True, seed=5))
    ]
    assert shown[0].equals(shown[1])


@pytest.mark.parametrize(
    ("one", "message"),
    [
        ({"name": "rank-swapping", "columns": ["income"], "window": 0.001}, "nobody to swap with"),
        ({"name": "rank-swapping", "columns": ["job"], "window": 0.1}, "numbers or dates"),
        ({"name": "rank-swapping", "columns": ["still"], "window": 0.1}, "nothing to swap"),
        ({"name": "noise", "columns": ["income", "twice"], "share": 0.1, "method": "correlated"}, "singular"),
        ({"name": "noise", "columns": ["still"], "share": 0.1}, "no variance"),
        ({"name": "noise", "columns": ["blank"], "share": 0.1}, "missing values"),
        ({"name": "pram", "columns": ["still"], "retain": 0.5}, "2 to 500 values"),
        ({"name": "pram", "columns": ["job"], "matrix": {"a": {"a": 1.0}}}, "the matrix does not know"),
        ({"name": "pram", "columns": ["yes"], "retain": 0.5}, "2 to 500 values; got 1 values"),
        ({"name": "noise", "columns": ["huge"], "share": 0.1}, "too large to be squared"),
    ],
    ids=str,
)
def test_bad_input_is_told(one: dict[str, Any], message: str) -> None:
    table = people().with_columns(
        still=pl.lit(3),
        yes=pl.lit(value=True),
        huge=pl.col("income") * 1e200,
        twice=pl.col("income") * 2,
        blank=pl.when(pl.col("age") > 30).then(pl.col("income")),
    )
    with pytest.raises(Misfit, match=message):
        release(one, table)


@pytest.mark.parametrize(
    ("one", "message"),
    [
        ({"name": "rank-swapping", "columns": ["a"], "window": 0}, "must be more than 0"),
        ({"name": "pram", "columns": ["a"], "matrix": {"x": {"x": 0.5, "y": 0.4}}}, "not one together"),
        ({"name": "pram", "columns": ["a"]}, "either retain or a matrix"),
        ({"name": "noise", "columns": ["a"], "share": 0}, "must be more than 0"),
    ],
    ids=str,
)
def test_contradictions_are_told(one: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        Policy(others="drop", perturb=[one])


def test_columns_that_nobody_counts_are_told() -> None:
    table, one = people().select("zip", "age", "job", "illness"), {"name": "pram", "columns": ["job"], "retain": 0.8}
    kept = Policy(others="keep", sensitive=["illness"], perturb=[one], seed=2**70)
    told = [fault for fault in shoal.check(table, kept) if "nobody counts" in fault.what]
    assert [(fault.where, fault.got, fault.kind) for fault in told] == [("others", "'zip', 'age'", "warning")]
    counted = kept.replace(quasi_identifiers={"zip": "suppress"}, models=[{"name": "k-anonymity", "k": 2}])
    for other in (kept.replace(others="drop"), counted):
        assert not [fault for fault in shoal.check(table, other) if "nobody counts" in fault.what]

"""Targeted record swapping: whole households exchange regions, just so many, each with one of the same make-up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import AuditFailed, Misfit, PolicyError
from shoal.perturbations.base import ColumnValues, Microdata, Perturbed
from shoal.perturbations.record_swapping import RecordSwapping
from shoal.policy import Policy

SWAP = {
    "name": "record-swapping",
    "columns": ["state", "town"],
    "household": "home",
    "similar": ["sex"],
    "risk": ["age"],
    "rate": 0.2,
}


def households(count: int = 60, seed: int = 0) -> pl.DataFrame:
    """Return people who live together, in towns of states."""
    rng = np.random.default_rng(seed)
    homes = np.repeat(np.arange(count), rng.integers(1, 4, count))
    towns = rng.integers(0, 6, count)[homes]
    return pl.DataFrame(
        {
            "home": [f"h{home}" for home in homes],
            "state": [f"s{town // 3}" for town in towns],
            "town": [f"t{town}" for town in towns],
            "sex": rng.choice(["f", "m"], len(homes)),
            "age": rng.integers(0, 9, len(homes)) * 10,
        }
    )


def policy(**changed: Any) -> Policy:
    return Policy(identifiers=["home"], subject="none", others="keep", perturb=[{**SWAP, **changed}], seed=2**80)


def regions(table: pl.DataFrame) -> dict[str, tuple[str, ...]]:
    return {home: tuple(town) for home, *town in table.select("home", "state", "town").rows()}


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 40), st.integers(0, 10**6), st.sampled_from([0.1, 0.3, 0.6]), st.booleans())
def test_invariants(count: int, seed: int, rate: float, sorts: bool) -> None:
    table = households(count, seed)
    table = table.sort("age", "sex") if sorts else table
    method = RecordSwapping(**{**{k: v for k, v in SWAP.items() if k != "name"}, "rate": rate})
    data = Microdata(
        columns={name: ColumnValues.of_texts(table[name].cast(pl.String).to_list()) for name in table.columns},
        rng=np.random.default_rng(seed),
    )
    assume(not list(method.faults(data)))
    shown = method.perturb(data).columns
    texts = {name: [shown[name].categories[code] for code in shown[name].codes] for name in shown}
    moved = table.with_columns(**{name: pl.Series(values) for name, values in texts.items()})
    before, after = regions(table), regions(moved)
    assert sum(before[home] != after[home] for home in before) == 2 * round(rate * count / 2)
    assert moved.group_by("home").agg(pl.col("town").n_unique())["town"].max() == 1
    make_up = {home: tuple(sorted(sexes)) for home, sexes in table.group_by("home").agg("sex").rows()}
    assert Counter((make_up[home], before[home]) for home in before) == Counter(
        (make_up[home], after[home]) for home in before
    )


@given(st.lists(st.integers(1, 6), min_size=1, max_size=6), st.integers(0, 10**6))
def test_as_many_pairs_as_there_can_be(sizes: list[int], seed: int) -> None:
    """Any rate is reached for which there are partners at all."""
    towns = [f"t{town}" for town, size in enumerate(sizes) for _ in range(size)]
    most = min(sum(sizes) // 2, sum(sizes) - max(sizes))
    assume(most > 0)
    columns = {
        "town": ColumnValues.of_texts(list(towns)),
        "home": ColumnValues.of_texts([f"h{home}" for home in range(len(towns))]),
    }
    data = Microdata(columns=columns, rng=np.random.default_rng(seed))
    method = RecordSwapping(columns=["town"], household="home", rate=2 * most / len(towns))
    assert not list(method.faults(data))
    shown = method.perturb(data).columns["town"]
    assert int((shown.codes != columns["town"].codes).sum()) == 2 * most
    if most < len(towns) // 2:
        more = RecordSwapping(columns=["town"], household="home", rate=2 * (most + 1) / len(towns))
        assert "in another region" in str(next(iter(more.faults(data))))


def test_those_at_risk_move_first_and_far() -> None:
    rng = np.random.default_rng(3)
    towns = rng.integers(0, 6, 200)
    alone = rng.permutation(200)[:6]
    ages = np.full(200, 30)
    ages[alone] = 90 + np.arange(6)
    table = pl.DataFrame(
        {
            "home": [f"h{home}" for home in range(200)],
            "state": [f"s{town // 3}" for town in towns],
            "town": [f"t{town}" for town in towns],
            "age": ages,
        }
    )
    release = shoal.anonymize(table, policy(similar=[], rate=0.06))
    shown = dict(release.table.select("age", "state").rows())
    for age, state in table.filter(pl.col("age") > 80).select("age", "state").rows():
        assert shown[age] != state, "in another state, since nobody of their age lives in their own"


def test_the_order_of_the_table_changes_nothing() -> None:
    one, other = (
        shoal.anonymize(table, policy())
        for table in (households(), households().sample(fraction=1.0, shuffle=True, seed=1))
    )
    assert one.table.equals(other.table)
    assert (
        one.audit.holds and "0.2" not in str(one.audit.to_dict()["perturbations"]) and "home" not in one.table.columns
    )


Lie = Callable[[dict[str, np.ndarray[Any, Any]], Microdata], None]


def nobody(values: dict[str, np.ndarray[Any, Any]], data: Microdata) -> None:
    for name in values:
        values[name] = data.columns[name].values.copy()


def one_member(values: dict[str, np.ndarray[Any, Any]], data: Microdata) -> None:
    homes = data.columns["home"].codes
    sizes = np.bincount(homes)
    first = int(np.flatnonzero(sizes[homes] > 1)[0])
    other = int(np.flatnonzero((values["town"] != values["town"][first]) & (homes != homes[first]))[0])
    for shown in values.values():
        shown[[first, other]] = shown[[other, first]]


def made_up(values: dict[str, np.ndarray[Any, Any]], data: Microdata) -> None:
    values["town"][0] = (values["town"][0] + 1) % 6


def another_make_up(values: dict[str, np.ndarray[Any, Any]], data: Microdata) -> None:
    homes, sex = data.columns["home"].codes, data.columns["sex"].codes
    alone = np.flatnonzero(np.bincount(homes)[homes] == 1)
    one = alone[0]
    other = next(row for row in alone if sex[row] != sex[one] and values["town"][row] != values["town"][one])
    for shown in values.values():
        shown[[one, other]] = shown[[other, one]]


@pytest.mark.parametrize(
    ("lie", "test"),
    [(nobody, "rate"), (one_member, "whole households"), (made_up, "same regions"), (another_make_up, "make-up")],
)
def test_a_planted_failure_is_caught(lie: Lie, test: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = RecordSwapping.perturb

    def perturb(self: RecordSwapping, data: Microdata) -> Perturbed:
        columns = dict(honest(self, data).columns)
        values = {name: column.values.copy() for name, column in columns.items()}
        lie(values, data)
        return Perturbed(columns={name: columns[name].with_values(values[name]) for name in columns})

    monkeypatch.setattr(RecordSwapping, "perturb", perturb)
    with pytest.raises(AuditFailed, match=test):
        shoal.anonymize(households(), policy())


@pytest.mark.parametrize(
    ("table", "changed", "words"),
    [
        (households(), {"rate": 0.01}, "less than two households"),
        (households(), {"rate": 1.0, "similar": ["sex", "age"]}, "in another region to swap with"),
        (households().with_columns(state=pl.lit("s"), town=pl.lit("t")), {}, "in another region to swap with"),
        (households(), {"household": "sex", "similar": []}, "a household is in one region"),
        (households().with_columns(town=pl.lit(None, pl.String)), {}, "missing values"),
        (households(), {"household": "hose"}, "no such column"),
    ],
)
def test_bad_input(table: pl.DataFrame, changed: dict[str, Any], words: str) -> None:
    with pytest.raises(Misfit, match=words):
        shoal.anonymize(table, policy(**changed))


def test_a_region_is_not_compared() -> None:
    with pytest.raises(PolicyError, match="exchanged and compared"):
        policy(similar=["town"])

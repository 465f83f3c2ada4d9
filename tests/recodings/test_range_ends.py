"""Ranges of columns in which nearly everybody has a value of his own end at nobody's value."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.encoding.domains import Domain
from shoal.encoding.labels import read_label
from shoal.hierarchies.base import Levels
from shoal.policy import Policy
from shoal.recodings.range_ends import RangeEnds, is_nearly_unique

DRAW = np.random.default_rng(7)
SIZE = 600
COLUMNS: dict[str, list[Any]] = {
    "number": DRAW.integers(10**10, 10**11, SIZE).tolist(),
    "salary": DRAW.lognormal(10, 0.7, SIZE).round(2).tolist(),
    "tiny": (DRAW.normal(0, 1, SIZE) * 1e-7).tolist(),
    "negative": (-DRAW.integers(1, 10**6, SIZE)).tolist(),
    "born": [dt.date(1940, 1, 1) + dt.timedelta(days=day) for day in DRAW.permutation(25_000)[:SIZE].tolist()],
    "seen": [dt.datetime(2020, 1, 1) + dt.timedelta(seconds=at) for at in DRAW.permutation(10**7)[:SIZE].tolist()],
}
AGES = DRAW.integers(0, 90, SIZE).tolist()
MODELS = [{"name": "k-anonymity", "k": 5}]


def policy_for(name: str, algorithm: str = "mondrian", **column: Any) -> Policy:
    return Policy(quasi_identifiers={name: column, "age": {}}, sensitive=["ill"], models=MODELS, algorithm=algorithm)


def table_of(name: str) -> pl.DataFrame:
    return pl.DataFrame({name: COLUMNS[name], "age": AGES, "ill": [index % 7 for index in range(SIZE)]})


def ends_of(texts: list[str]) -> set[str]:
    return {end for text in texts if text.startswith("[") for end in re.split(r", ", text[1:-1])}


def exposed(name: str, policy: Policy) -> int:
    """How many published ends are a value that one person alone has."""
    table = table_of(name)
    own = {str(value) for value in table[name].cast(pl.String).value_counts().filter(pl.col("count") == 1)[name]}
    return len(ends_of(shoal.anonymize(table, policy).table[name].to_list()) & own)


@pytest.mark.parametrize("name", COLUMNS)
def test_ends_are_nobodys_values(name: str) -> None:
    assert exposed(name, policy_for(name, ends="exact")) > 20
    # a round number may be somebody's by chance
    assert exposed(name, policy_for(name)) <= 2


@pytest.mark.parametrize("name", COLUMNS)
def test_little_is_lost(name: str) -> None:
    rounded = shoal.anonymize(table_of(name), policy_for(name)).loss
    exact = shoal.anonymize(table_of(name), policy_for(name, ends="exact")).loss
    assert exact <= rounded <= 1.35 * exact + 0.005


@pytest.mark.parametrize("algorithm", ["single-dimensional", "spanning-tree", "k-member"])
def test_every_algorithm(algorithm: str) -> None:
    table = table_of("salary")
    release = shoal.anonymize(table, policy_for("salary", algorithm))
    assert shoal.audit(release.table, release.policy, original=table).holds


@given(
    values=st.lists(st.floats(-1e15, 1e15).map(lambda value: float(f"{value:.12g}")), min_size=2, unique=True),
    k=st.integers(2, 50),
)
@settings(max_examples=200)
def test_ends_hold_their_values(values: list[float], k: int) -> None:
    levels = Levels.of(Domain.of("float", sorted(values)), [], missing=None)
    ends = RangeEnds.rounded(levels, k)
    held = levels.domain.values
    assert (ends.least <= held).all() and (held <= ends.greatest).all()
    assert (ends.first <= np.arange(len(held))).all() and (np.arange(len(held)) <= ends.last).all()
    for below, above, least, greatest in zip(ends.below, ends.above, ends.least, ends.greatest, strict=True):
        if below != above:
            label = read_label(f"[{below}, {above}]", "float")
            assert (label.least, label.greatest) == (least, greatest)


def test_ages_and_small_tables_keep_their_ends() -> None:
    assert not is_nearly_unique(Domain.of("integer", list(range(91))), 91)
    assert not is_nearly_unique(Domain.of("integer", list(range(1_000))), 100_000)
    assert not is_nearly_unique(Domain.of("text", [f"{index:04d}" for index in range(500)]), 500)


def test_persons_count_not_their_records() -> None:
    table = pl.DataFrame({"id": list(range(SIZE)), "salary": COLUMNS["salary"]})
    visits = pl.concat([table] * 8)
    policy = Policy(identifiers=["id"], quasi_identifiers=["salary"], subject="id", models=MODELS)
    shown = shoal.anonymize(visits, policy).table["salary"].to_list()
    assert not ends_of(shown) & {str(value) for value in COLUMNS["salary"]}


def test_check_warns() -> None:
    told = [str(fault) for fault in shoal.check(table_of("number"), policy_for("number"))]
    assert any("most have a value of their own" in text for text in told)
    told = [str(fault) for fault in shoal.check(table_of("number"), policy_for("number", ends="exact"))]
    assert any("values that only one person has" in text for text in told)
    assert not shoal.check(table_of("number").select("age", "ill"), policy_for("age"))


def test_every_engine_gives_the_same(tmp_path: Path) -> None:
    table, policy = table_of("salary"), policy_for("salary")
    table.write_csv(tmp_path / "data.csv")
    here = shoal.anonymize(table, policy).write(tmp_path / "memory")
    there = shoal.anonymize(tmp_path / "data.csv", policy, memory="1GB").write(tmp_path / "files", format="csv")
    assert (
        Path(tmp_path / "memory" / "release.csv").read_bytes() == Path(tmp_path / "files" / "release.csv").read_bytes()
    )
    assert here is not there

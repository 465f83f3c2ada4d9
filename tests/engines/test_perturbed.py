"""Perturbed columns on every engine: the same records as in memory, and each planted lie is caught there too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.engines.counted import CountedTable
from shoal.errors import AuditFailed, Misfit, OverBudget, ShoalError
from shoal.perturbations.base import Microdata, Perturbed
from shoal.policy import Policy
from shoal.registry import find
from tests.perturbations.tables import people
from tests.perturbations.test_planted import PLANTED, Lie
from tests.perturbations.test_random_policies import draw_policy, draw_table, release_or_reason
from tests.perturbations.test_record_swapping import households
from tests.perturbations.test_record_swapping import policy as swapping

from .conftest import Laid, release_of
from .test_conformance import rows

Lay = Callable[[pl.DataFrame], Laid]
TABLE = people(240).with_columns((pl.col("income", "tax") / 500).round() * 500)
TABLE = pl.concat([TABLE, TABLE.head(80), TABLE.head(30)])
METHODS: list[dict[str, Any]] = [
    {"name": "pram", "columns": ["job", "illness"], "retain": 0.7, "invariant": True, "within": ["zip"]},
    {"name": "noise", "columns": ["income", "tax"], "share": 0.2, "method": "correlated"},
    {"name": "rank-swapping", "columns": ["hours"], "window": 0.1},
    {"name": "optimal-univariate", "columns": ["day"], "k": 4},
]
ROUNDED = [
    {"name": "rounding", "columns": ["income"], "base": 500},
    {"name": "top-bottom-coding", "columns": ["tax"], "top": 4000},
    {"name": "mdav", "columns": ["hours", "day"], "k": 3},
]
ALONE = Policy(others="drop", perturb=METHODS, seed=2**80)
MIXED = Policy(
    quasi_identifiers={"age": {}, "zip": {}},
    sensitive=["illness"],
    models=[{"name": "k-anonymity", "k": 5}],
    algorithm="mondrian",
    others="keep",
    perturb=[{**METHODS[0], "columns": ["job"]}, *ROUNDED],
    seed=2**80,
)


def read_csv(release: shoal.Release, folder: Path) -> bytes:
    """Return the bytes of a release as CSV."""
    release.write(folder, format="csv", statistics=False)
    return (folder / "release.csv").read_bytes()


@pytest.mark.parametrize("policy", [ALONE, MIXED], ids=["alone", "mixed"])
def test_the_same_records_as_in_memory(policy: Policy, lay: Lay, tmp_path: Path) -> None:
    expected = shoal.anonymize(TABLE, policy)
    release = release_of(lay(TABLE.sample(fraction=1.0, shuffle=True, seed=3)), policy)
    assert release.audit.holds and all(one.outcome == "holds" for one in release.audit.perturbations)
    assert rows(release.table) == rows(expected.table)
    if not hasattr(release.table, "sparkSession"):
        assert read_csv(release, tmp_path / "one") == read_csv(expected, tmp_path / "other")


@pytest.mark.parametrize("seed", [2, 3, 5, 9])
def test_random_policies(seed: int, lay: Lay) -> None:
    rng = np.random.default_rng(seed)
    table, policy = draw_table(rng), draw_policy(rng)
    expected, laid = release_or_reason(table, policy), lay(table)
    if isinstance(expected, str):
        with pytest.raises(ShoalError):
            release_of(laid, policy)
    else:
        assert rows(release_of(laid, policy).table) == rows(expected.table)


def test_households_move_on_every_engine(lay: Lay) -> None:
    assert rows(release_of(lay(households()), swapping()).table) == rows(
        shoal.anonymize(households(), swapping()).table
    )


def test_what_is_published_as_it_is_tells_nothing_of_what_is_drawn(lay: Lay) -> None:
    """Equal records that differ in a column without a role draw by themselves, also where such columns ride along."""
    table = pl.DataFrame({"job": ["a", "b"] * 200, "shift": [f"s{n // 200}" for n in range(400)]})
    policy = Policy(others="keep", perturb=[{"name": "pram", "columns": ["job"], "retain": 0.5}], seed=2**80)
    expected = shoal.anonymize(table, policy)
    assert rows(release_of(lay(table), policy).table) == rows(expected.table)


@pytest.mark.parametrize(("one", "lie", "test"), PLANTED, ids=lambda value: getattr(value, "__name__", None))
def test_a_planted_failure_is_caught_where_records_are_counted(
    one: dict[str, Any], lie: Lie, test: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(one, lie, monkeypatch)
    counted = people().group_by(pl.all()).len("n")
    table = CountedTable(counted.drop("n"), counted["n"])
    with pytest.raises(AuditFailed, match=test):
        shoal.anonymize(table, Policy(others="drop", sensitive=["age"], perturb=[one]))


@pytest.mark.parametrize(("one", "lie", "test"), PLANTED[::5], ids=lambda value: getattr(value, "__name__", None))
def test_a_planted_failure_is_caught_on_each_engine(
    one: dict[str, Any], lie: Lie, test: str, lay: Lay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(one, lie, monkeypatch)
    laid = lay(people())
    with pytest.raises(AuditFailed, match=test):
        release_of(laid, Policy(others="drop", sensitive=["age"], perturb=[one])).write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def plant(one: dict[str, Any], lie: Lie, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a perturbation publish something else than it says."""
    entry: Any = find("perturbations", one["name"])
    honest = entry.perturb

    def perturb(self: Any, data: Microdata) -> Perturbed:
        return Perturbed(columns=lie(dict(honest(self, data).columns), data))

    monkeypatch.setattr(entry, "perturb", perturb)


def test_blocks_are_refused_with_the_reason(tmp_path: Path) -> None:
    TABLE.write_parquet(tmp_path / "table.parquet")
    with pytest.raises(Misfit, match=r"perturb\[0\]: a perturbation looks at all records together"):
        shoal.anonymize(tmp_path / "table.parquet", MIXED, memory="1GB", fits=20, block=60)


def test_too_many_records_are_refused_before_the_memory_is_used_up(tmp_path: Path) -> None:
    many = pl.DataFrame({"job": pl.int_range(2_000_000, eager=True) % 3})
    many.write_parquet(tmp_path / "table.parquet")
    policy = Policy(others="drop", perturb=[{"name": "pram", "columns": ["job"], "retain": 0.5}])
    with pytest.raises((Misfit, OverBudget), match="perturbed record by record, and these do not fit"):
        shoal.anonymize(tmp_path / "table.parquet", policy, memory="64MB")

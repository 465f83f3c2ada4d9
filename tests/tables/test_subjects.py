"""Whom a record is about: found by the data, demanded where an identifier repeats, denied only in writing."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.engines.conftest import lay, release_of, spark  # noqa: F401

import shoal
from shoal.policy import Policy

NAMES = ["Patienten ID", "PatNr", "Fallnummer", "id", "NHS Number", "Versichertennummer", "hospital number", "eid",
         "x7", "asiakasnumero", "患者番号", "num_dossier"]  # fmt: skip


def visits(key: str, persons: int = 400, seed: int = 0, **more: Callable[[int], Any]) -> pl.DataFrame:
    """Return one to eight visits of each person; ``more`` are columns that follow from the person's number."""
    draw = random.Random(f"{key} {seed}")
    rows = []
    for person in range(persons):
        sex, born = draw.choice("fm"), dt.date(1930, 1, 1) + dt.timedelta(days=draw.randrange(28_000))
        code = f"{10_000 + draw.randrange(60) * 7}"
        for _ in range(draw.randint(1, 8)):
            seen = dt.date(2024, 1, 1) + dt.timedelta(days=draw.randrange(300))
            own = {name: make(person) for name, make in more.items()}
            rows.append({key: 70_000 + person * 3, **own, "sex": sex, "born": born, "PLZ": code, "seen": seen,
                         "Hauptdiagnose": draw.choice(["I10", "E11", "J45"])})  # fmt: skip
    return pl.DataFrame(rows)


@pytest.mark.parametrize("name", NAMES)
def test_the_number_of_a_patient_is_the_subject_whatever_it_is_called(name: str) -> None:
    draft = shoal.suggest(visits(name))
    assert draft.policy.subject == name
    assert not draft.policy.identifiers


def test_a_class_is_not_one_patient() -> None:
    table = visits("Fallnummer")
    release = shoal.anonymize(table, shoal.suggest(table))
    persons = table["Fallnummer"].gather(release.rows)
    names = list(release.policy.quasi_identifiers)
    classes = release.table.with_columns(persons.alias("person")).group_by(names).agg(pl.col("person").n_unique())
    assert classes["person"].min() >= 5


def test_numbers_come_before_names_and_the_finer_name_before_the_coarser() -> None:
    by_number = visits(
        "id", name=lambda p: f"Nn{'abcdefghijklmnop'[p % 16]} Xu{p % 256}", svnr=lambda p: p * 7919 + 10**10
    )
    draft = shoal.suggest(by_number)
    assert draft.policy.subject == "id"
    assert set(draft.policy.identifiers) == {"name", "svnr"}
    assert "svnr could be the person as well" in draft.reasons["id"]
    assert shoal.suggest(by_number.drop("id", "svnr")).policy.subject == "name"  # coarser than persons: still safe


def test_the_number_of_a_visit_gives_way_to_that_of_the_patient() -> None:
    table = visits("patient_id").with_row_index("visit_no").with_columns(pl.col("visit_no") + 900_000)
    results = pl.concat([table, table]).with_columns(
        pl.Series("result", [i * 31 % 97 for i in range(2 * table.height)])
    )
    draft = shoal.suggest(results)
    assert draft.policy.subject == "patient_id"
    assert "visit_no" in draft.policy.identifiers


def test_names_shared_by_different_persons_make_no_subject() -> None:
    draw = random.Random(4)
    table = pl.DataFrame(
        {
            "Vorname": [draw.choice(["Ann", "Bob", "Cyd", "Dan", "Eve"]) for _ in range(300)],
            "Geburtsdatum": [dt.date(1940, 1, 1) + dt.timedelta(days=i * 67 % 20_011) for i in range(300)],
            "PLZ": [f"{draw.randrange(10_000, 10_100)}" for _ in range(300)],
        }
    )
    draft = shoal.suggest(table)
    assert draft.policy.subject is None
    assert draft.policy.denies_subject
    assert "subject: none" in draft
    assert shoal.anonymize(table, draft).audit.holds


@pytest.mark.parametrize("name", ["Fallnummer", "anything"])
def test_an_identifier_that_repeats_wants_a_subject(name: str, lay: Callable[[pl.DataFrame], Any]) -> None:  # noqa: F811
    frame = pl.DataFrame({name: [f"p{i // 3}" for i in range(60)], "age": [20 + i % 3 for i in range(60)]})
    policy = Policy(identifiers=[name], quasi_identifiers=["age"], models=[{"name": "k-anonymity", "k": 5}])
    with pytest.raises(shoal.Misfit, match=f"say subject: {name}.*or subject: none") as error:
        release_of(lay(frame), policy)
    assert error.value.faults[0].where == "subject"
    assert [fault.where for fault in shoal.check(frame, policy)] == ["subject"]
    for subject in (name, "none", "None"):
        release = release_of(lay(frame), policy.replace(subject=subject))
        assert release.audit.holds
    once = frame.with_columns(pl.Series(name, [*(f"p{i}" for i in range(58)), "", None]))
    assert release_of(lay(once), policy).audit.holds


def test_none_is_written_and_read(tmp_path: Path) -> None:
    written = {"identifiers": ["n"], "quasi_identifiers": ["a"], "models": [{"name": "k-anonymity", "k": 2}]}
    policy = Policy(**written, subject="none")
    assert policy.subject is None
    assert policy.to_dict()["subject"] == "none"
    assert Policy.from_yaml(policy.to_yaml()) == policy == policy.replace(seed=0)
    assert policy.hidden == ("n",)
    assert policy.hash != Policy(**written).hash
    policy.write(tmp_path / "p.yaml")
    table = pl.DataFrame({"n": ["x"] * 4, "a": [1, 1, 2, 2]})
    assert shoal.anonymize(table, tmp_path / "p.yaml").audit.holds
    assert shoal.audit(table.drop("n"), policy, original=table).holds
    named = table.with_columns(none=pl.col("a"))
    assert "a column's name too" in str(shoal.check(named, policy.replace(others="drop"))[0])


def test_many_values_are_compared_some_at_a_time(tmp_path: Path) -> None:
    count = 900_000
    table = pl.DataFrame({"n": range(count), "q": [1] * count})
    table.write_parquet(tmp_path / "once.parquet")
    table.with_columns(pl.col("n").replace({5: count - 1})).write_parquet(tmp_path / "twice.parquet")
    policy = Policy(identifiers=["n"], quasi_identifiers=["q"], models=[{"name": "k-anonymity", "k": 2}])
    from shoal.engines.files.budget import MemoryBudget
    from shoal.engines.files.repeats import find_repeating
    from shoal.engines.files.scan import open_scan

    for bytes_ in (10**9, 10**7):  # at once, and in shares
        budget = MemoryBudget(bytes_)
        assert find_repeating(open_scan(tmp_path / "once.parquet"), budget, ["n"]) == []
        assert find_repeating(open_scan(tmp_path / "twice.parquet"), budget, ["n"]) == ["n"]
    with pytest.raises(shoal.Misfit, match="repeats"):
        shoal.anonymize(tmp_path / "twice.parquet", policy, memory="1GB")

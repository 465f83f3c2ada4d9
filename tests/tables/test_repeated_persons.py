"""Persons who return, where no column numbers them: a draft wants to be told, and is refused until then."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.command import run

import shoal


def make_visits(least: int, most: int, persons: int = 200) -> pl.DataFrame:
    draw, rows = random.Random(40), list[dict[str, Any]]()
    for _ in range(persons):
        years = {"yob": draw.randrange(1940, 2005), "sex": draw.choice("mf"), "zip": draw.randrange(20_000, 20_400)}
        facts = {**years, "job": draw.choice("abcdefgh")}
        rows += [
            facts | {"day": draw.randrange(300), "drug": draw.choice("ABC")} for _ in range(draw.randint(least, most))
        ]
    draw.shuffle(rows)
    return pl.DataFrame(rows)


def test_persons_who_return_are_asked_for() -> None:
    table = make_visits(2, 5)
    draft = shoal.suggest(table)
    assert draft.policy.declared_subject == "?"
    assert "agree in sex, job too" in " ".join(draft.replace("#", "").split())
    assert [str(fault) for fault in shoal.check(table, draft) if fault.where == "subject"]
    with pytest.raises(shoal.Misfit, match="it must be decided whom a record is about"):
        shoal.anonymize(table, draft)
    assert shoal.anonymize(table, draft.policy.replace(subject="none")).audit.holds


@pytest.mark.parametrize("seed", range(6))
def test_records_of_different_persons_are_not_doubted(seed: int) -> None:
    """Neither where columns follow from each other, nor where amounts are reckoned from others."""
    draw = random.Random(seed)
    towns = {f"town{i}": (draw.choice("NESW"), draw.randrange(10, 40)) for i in range(40)}
    rows = []
    for _ in range(900):
        town, wage = draw.choice([*towns]), draw.choice([0, draw.randrange(500, 5_000)])
        region, zone = towns[town] if draw.random() < 0.95 else ("N", 10)
        earned = {"wage": wage, "tax": wage // 5, "net": wage - wage // 5}
        rows.append({"age": draw.randrange(18, 90), "town": town, "region": region, "zone": zone, **earned})
    table = pl.DataFrame(rows).with_columns(sex=pl.Series([draw.choice("mf") for _ in rows]))
    assert shoal.suggest(table).policy.declared_subject is None


def test_a_subject_that_is_no_column_is_told(tmp_path: Path) -> None:
    make_visits(2, 5).write_csv(tmp_path / "visits.csv")
    (tmp_path / "p.yaml").write_text(
        "{subject: patien, quasi_identifiers: [sex], others: drop, models: [{name: k-anonymity, k: 5}]}"
    )
    for more in ([], ["--memory", "1GB"]):
        done = run(
            "anonymize", tmp_path / "visits.csv", "-p", tmp_path / "p.yaml", "-o", tmp_path / "o", *more, check=1
        )
        assert "subject.patien: no such column in the table" in done.stdout + done.stderr
        assert not (tmp_path / "o").exists()

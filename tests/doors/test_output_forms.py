"""Every output form by the command line: the same policy, the same files, and exit codes that tell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app

KEY = "correct horse battery staple"


@pytest.fixture
def people(tmp_path: Path) -> Path:
    table = pl.DataFrame(
        {
            "name": [f"Person {number}" for number in range(24)],
            "age": [20 + number for number in range(24)],
            "town": ["Ulm", "Bonn"] * 12,
            "illness": ["flu", "cold", "gout"] * 8,
        }
    )
    table.write_csv(tmp_path / "people.csv")
    (tmp_path / "key.txt").write_text(KEY + "\n")
    return tmp_path / "people.csv"


def policy(form: str) -> shoal.Policy:
    return shoal.Policy(
        identifiers={"name": {"pseudonym": True}},
        quasi_identifiers=["age", "town"],
        sensitive=["illness"],
        models=[{"name": "distinct-l-diversity", "on": "illness", "l": 3}],
        algorithm="mondrian",
        output=form,
        seed=2**80,
    )


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=True)


@pytest.mark.parametrize(("form", "second"), [("statistics", "release-statistics"), ("anatomy", "release-sensitive")])
def test_two_files_are_made_and_both_are_audited(form: str, second: str, people: Path) -> None:
    folder = people.parent
    policy(form).write(folder / "policy.yaml")
    out, asked = folder / "out", ("--policy", folder / "policy.yaml")
    done = run("anonymize", people, *asked, "--out", out, "--key", folder / "key.txt")
    assert done.exit_code == 0, done.output
    assert ("k-anonymity is not claimed" in done.output) == (form == "anatomy")
    by_python = shoal.anonymize(people, folder / "policy.yaml", key=folder / "key.txt").write(folder / "python")
    for name in ("release", second):
        assert (out / f"{name}.csv").read_bytes() == by_python[name].read_bytes()
    told = run("audit", out / "release.csv", *asked, "--original", people, "--json")
    assert (told.exit_code, json.loads(told.output)["form"]) == (0, form)
    (out / f"{second}.csv").unlink()
    assert run("audit", out / "release.csv", *asked).exit_code == 1


def test_without_a_key_nothing_is_written(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOAL_KEY", raising=False)
    policy("generalized").write(people.parent / "policy.yaml")
    done = run("anonymize", people, "--policy", people.parent / "policy.yaml", "--out", people.parent / "out")
    assert done.exit_code != 0
    assert "pseudonyms need a key" in str(done.exception)
    assert not (people.parent / "out").exists()


def test_check_warns_and_fits(people: Path) -> None:
    policy("statistics").write(people.parent / "policy.yaml")
    done = run("check", people, "--policy", people.parent / "policy.yaml")
    assert done.exit_code == 0
    assert "warning: output: mean and variance of 3 numbers" in done.output

"""shoal audit on anybody's table."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from tests.command import run

import shoal

ARX = """\
age;zip;sex;disease
[20, 40[;4767*;{F, M};flu
[20, 40[;4767*;{F, M};cold
[40, 60[;476**;M;flu
[40, 60[;476**;M;hiv
*;*;*;flu
*;*;*;cold
"""
COLUMNS = ("--quasi-identifiers", "age, zip,sex", "--sensitive", "disease")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(ARX)
    return path


def test_a_table_is_measured_with_nothing_but_its_columns(table: Path) -> None:
    done = run("audit", table, *COLUMNS, check=0)
    for words in (
        "nothing was promised",
        "k: 2",
        "4 where such a cell matches anything",
        "* (2)",
        "distinct-l-diversity: 2",
    ):
        assert words in done.stdout, words
    assert run("audit", table, *COLUMNS, "--quiet", check=0).stdout == ""


def test_the_json_has_the_form_that_is_printed(table: Path) -> None:
    printed = json.loads(run("audit", "--schema", check=0).stdout)
    audit = json.loads(run("audit", table, *COLUMNS, "--json", check=0).stdout)
    jsonschema.validate(audit, printed)
    assert (audit["promised"], audit["holds"], audit["measured"]["k"]["own_value"]) == (False, None, 2)


def test_a_report_of_what_was_measured_promises_nothing(table: Path, tmp_path: Path) -> None:
    run("audit", table, *COLUMNS, "--report", tmp_path / "report.html", check=0)
    assert "nothing was promised" in (tmp_path / "report.html").read_text()


def test_what_cannot_be_counted_is_no_success(table: Path) -> None:
    done = run("audit", table, "--quasi-identifiers", "age,town", check=1)
    assert "town" in done.stdout
    assert "could not be counted" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [((), "what is to be counted"), (("--sensitive", "disease"), "what is to be counted")],
)
def test_columns_must_be_named(table: Path, arguments: tuple[str, ...], words: str) -> None:
    assert words in " ".join(run("audit", table, *arguments, check=2).stderr.split())


def test_a_policy_and_columns_are_one_too_many(table: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("quasi_identifiers: [age]\nothers: keep\nmodels: [{name: k-anonymity, k: 2}]\n")
    assert "one or the other" in " ".join(run("audit", table, "-p", policy, *COLUMNS, check=2).stderr.split())
    run("audit", table, "-p", policy, check=1)  # two records are suppressed, and none may be


def test_an_external_report_needs_a_place(tmp_path: Path) -> None:
    table, policy = shoal.datasets.load("patients")
    shoal.anonymize(table, policy).write(tmp_path)
    policy.write(tmp_path / "policy.yaml")
    asked = ("audit", tmp_path / "release.csv", "-p", tmp_path / "policy.yaml", "--external")
    assert "--report FILE" in run(*asked, check=2).stderr
    run(*asked, "--report", tmp_path / "outside.html", check=0)
    assert policy.hash not in (tmp_path / "outside.html").read_text(encoding="utf-8")

"""Policies side by side: what each loses and risks, who is best where, on the page, in JSON and on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
from tests.command import run

import shoal
from shoal.explore.compare import compare
from shoal.explore.policies import compare_policies
from shoal.reporting.policies_page import render_policies_page

TABLE = pl.DataFrame(
    {
        "Alter": [20 + 7 * i % 60 for i in range(120)],
        "Ort": [["Köln", "Ulm", "<b>"][i % 3] for i in range(120)],
        "Befund": [["Gicht", "Husten"][i % 2] for i in range(120)],
    }
)
MILD = shoal.Policy(
    quasi_identifiers=["Alter"], others="keep", sensitive=["Befund"], models=[{"name": "k-anonymity", "k": 2}]
)
STRICT = shoal.Policy(
    quasi_identifiers=["Alter", "Ort"], sensitive=["Befund"], models=[{"name": "k-anonymity", "k": 12}]
)


def test_the_same_figures_in_each_run() -> None:
    """Classes have no order: a sum of their risks must not depend on it."""
    draws = [((i * 7919) % 83, i % 3) for i in range(400)]
    table = pl.DataFrame({"Alter": [a for a, _ in draws], "Ort": ["abc"[b] for _, b in draws], "Befund": ["x"] * 400})
    policies = {"mild": MILD, "streng": STRICT}
    found = [compare_policies(table, policies)["policies"] for _ in range(4)]
    assert all([one["measures"] for one in again] == [one["measures"] for one in found[0]] for again in found)


def test_what_each_loses_and_who_is_best() -> None:
    found = compare_policies(
        TABLE, {"mild": MILD, "streng": STRICT, "nie": STRICT.asking([shoal.models.KAnonymity(k=121)])}
    )
    mild, strict, never = found["policies"]
    assert [mild["released"], strict["released"], never["released"]] == [True, True, False]
    assert mild["columns"]["Ort"] == 0.0 < strict["columns"]["Alter"]  # kept as it is
    assert found["best"]["loss"] == ["mild"]
    assert found["best"]["highest risk"] == ["streng"]
    assert strict["measures"]["highest risk"] <= 1 / 12
    # by the same attacker, who knows the place too: not one in two, as the mild policy's own columns say
    shown = shoal.anonymize(TABLE, MILD).table.group_by("Alter", "Ort").len()
    assert mild["measures"]["highest risk"] == 1 / shown["len"].min()
    page = render_policies_page(found)
    assert "<b>" not in page
    assert "Köln" not in page  # no value of the table
    assert str(never["why"])[:20] in page
    release = shoal.anonymize(TABLE, STRICT)
    assert strict["columns"]["Alter"] == release.audit.columns["Alter"]["certainty-penalty"]


def test_a_column_that_is_not_published_is_lost() -> None:
    without = MILD.replace(others="drop")
    found = compare_policies(TABLE, {"drop": without, "streng": STRICT})
    assert found["policies"][0]["columns"]["Ort"] == 1.0


def test_on_the_command_line(tmp_path: Path) -> None:
    TABLE.write_csv(tmp_path / "daten.csv")
    MILD.write(tmp_path / "mild.yaml")
    STRICT.write(tmp_path / "streng.yaml")
    asked = tmp_path / "mild.yaml", tmp_path / "streng.yaml", tmp_path / "daten.csv"
    done = run("compare", *asked, "--out", tmp_path / "out", check=0)
    assert "highest risk" in done.stdout
    assert json.loads((tmp_path / "out" / "compare.json").read_text())["best"]["loss"] == ["mild"]
    assert (tmp_path / "out" / "compare.html").is_file()
    assert json.loads(run("compare", *asked, "--json", check=0).stdout)["records"] == 120
    assert "two or more policies" in run("compare", *asked[1:], check=2).stderr.replace("\n", " ")
    run("compare", *asked, "--policy", asked[0], check=2)


def test_the_bound_is_one_number_for_each_k() -> None:
    table, policy = shoal.datasets.load("patients")
    rows = [row for row in compare(table, policy, [2, 3], ["mondrian", "shoal", "exhaustive"]) if row["attained"]]
    for k in (2, 3):
        bounds = {row["bound"] for row in rows if row["k"] == k}
        assert len(bounds) == 1
        assert all(row["certainty-penalty"] >= max(bounds) - 1e-9 for row in rows if row["k"] == k)

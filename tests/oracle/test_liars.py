"""The oracle can fail: wrong releases, false claims and false refusals are planted, and each is found."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest

import shoal
from shoal import CountedTable

from .checks import run_case
from .matching import assign
from .meaning import Reader, read_members
from .optimum import search_nodes, search_partitions
from .reproduce import write_script
from .results import Finding, Result
from .setting import Case, Setting

CASE: Case = {
    "family": "tiny",
    "seed": 1,
    "columns": [
        {"name": "q", "kind": "text", "values": ["a", "a", "b", "b", "c", "c"]},
        {"name": "s", "kind": "text", "values": ["x", "y", "x", "y", "x", "z"]},
        {"name": "id", "kind": "text", "values": [f"person-{n}" for n in range(6)]},
    ],
    "policy": {
        "identifiers": ["id"],
        "quasi_identifiers": {"q": {"hierarchy": "tree", "nodes": {"*": {"G": ["a", "b"], "H": ["c"]}}}},
        "sensitive": ["s"],
        "models": [{"name": "k-anonymity", "k": 2}, {"name": "distinct-l-diversity", "on": "s", "l": 2}],
        "algorithm": "optimal",
    },
    "library": "polars",
}
REAL = shoal.anonymize


def kinds(result: Result) -> set[str]:
    return {finding.kind for finding in result.findings}


def test_a_good_release_is_no_finding() -> None:
    result = run_case(CASE)
    assert not result.findings, result.findings
    assert result.checks["safe"] == 2 and result.checks["true"] and result.checks["optimum full-domain"]


def lie(change: Callable[[Any], Any]) -> Any:
    """Make the product hand out something else than it made."""
    return mock.patch("shoal.anonymize", lambda table, policy, **more: change(REAL(table, policy, **more)))


def with_table(release: Any, **columns: Any) -> Any:
    return showing(release, release.table.with_columns(**{k: pl.Series(v) for k, v in columns.items()}))


def showing(release: Any, table: pl.DataFrame) -> Any:
    published = dataclasses.replace(release.published, table=CountedTable(table))
    return dataclasses.replace(release, published=published)


def with_audit(release: Any, **claims: Any) -> Any:
    return dataclasses.replace(release, audit=dataclasses.replace(release.audit, **claims))


def _claim_more(release: Any) -> Any:
    models = list(release.audit.models)
    models[0] = dataclasses.replace(models[0], attained=models[0].attained + 1)
    return with_audit(release, models=tuple(models))


def _cheaper(release: Any) -> Any:
    told = dict(release.audit.utility)
    told["certainty-penalty"] = dataclasses.replace(told["certainty-penalty"], total=0.5)
    return with_audit(release, utility=told)


LIES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a record alone": (lambda r: with_table(r, q=["a", "a", "b", "b", "c", "H"]), "unsafe"),
    "a label that does not cover": (lambda r: with_table(r, q=["H", "H", "b", "b", "c", "c"]), "untrue"),
    "sensitive values of another class": (lambda r: with_table(r, s=["z", "y", "x", "y", "x", "x"]), "untrue"),
    "more stars than may be": (lambda r: with_table(r, q=["*", "*", "b", "b", "c", "c"]), "over-suppressed"),
    "an identifier": (lambda r: with_table(r, id=["person-0"] * 6), "columns"),
    "a column less": (lambda r: showing(r, r.table.drop("s")), "columns"),
    "a claim of k one higher": (_claim_more, "attained"),
    "fewer suppressed than there are": (lambda r: with_audit(r, left_out=1), "figure"),
    "more classes than there are": (lambda r: with_audit(r, sizes=np.full(9, 2)), "figure"),
    "another loss": (_cheaper, "loss certainty-penalty"),
    "a bound above the loss": (lambda r: with_audit(r, claimed_bound=0.7), "bound"),
}


@pytest.mark.parametrize("name", LIES)
def test_a_wrong_release_is_found(name: str) -> None:
    change, kind = LIES[name]
    with lie(change):
        assert kind in kinds(run_case(CASE))


def test_a_worse_release_that_is_called_proven_is_found() -> None:
    worse = {**CASE["policy"], "algorithm": {"name": "fixed-levels", "levels": {"q": 1}}}

    def fake(table: Any, policy: Any, **more: Any) -> Any:
        release, better = REAL(table, worse, **more), REAL(table, policy, **more)
        return dataclasses.replace(release, recoding=better.recoding)

    with mock.patch("shoal.anonymize", fake):
        assert "proven" in kinds(run_case(CASE))


@pytest.mark.parametrize("algorithm", ["optimal", "mondrian", "shoal"])
def test_a_false_refusal_is_found(algorithm: str) -> None:
    case = {**CASE, "policy": {**CASE["policy"], "algorithm": algorithm}}

    def refuse(*_: Any, **__: Any) -> Any:
        raise shoal.Infeasible("the models cannot hold: nothing does")

    with mock.patch("shoal.anonymize", refuse):
        assert "false refusal" in kinds(run_case(case))


def test_giving_up_where_one_class_complies_is_found() -> None:
    def give_up(*_: Any, **__: Any) -> Any:
        raise shoal.Infeasible("a release was not found")

    with mock.patch("shoal.anonymize", give_up):
        assert "gave up" in kinds(run_case(CASE))


def test_a_true_refusal_is_no_finding() -> None:
    case = {**CASE, "policy": {**CASE["policy"], "models": [{"name": "k-anonymity", "k": 7}]}}
    result = run_case(case)
    assert not result.findings, result.findings
    assert result.outcome in ("infeasible", "not-found") and result.checks["refusal looked at"]


def test_a_relaxation_that_publishes_more_is_found() -> None:
    case = {**CASE, "policy": {**CASE["policy"], "models": [{"name": "k-anonymity", "k": 7}]}}

    def loose(table: Any, policy: Any, **more: Any) -> Any:
        if not isinstance(policy, shoal.Policy):
            return REAL(table, policy, **more)
        return REAL(table, {**CASE["policy"], "identifiers": [], "sensitive": ["s", "id"]}, **more)

    with mock.patch("shoal.anonymize", loose):
        assert "relaxation" in kinds(run_case(case))


def test_an_audit_that_sees_nothing_is_found() -> None:
    real = shoal.audit

    def blind(table: Any, policy: Any, **more: Any) -> Any:
        good = REAL(more["original"], policy)
        return real(good.table, policy, original=more["original"])

    with mock.patch("shoal.audit", blind):
        assert any(kind.startswith("damage missed") for kind in kinds(run_case(CASE)))


def test_an_audit_that_refuses_a_good_release_is_found() -> None:
    real = shoal.audit

    def strict(table: Any, policy: Any, **more: Any) -> Any:
        return real(table.head(1), policy, **more)

    with mock.patch("shoal.audit", strict):
        assert "true-release-refused" in kinds(run_case(CASE))


def test_an_order_that_decides_is_found() -> None:
    def ordered(table: Any, policy: Any, **more: Any) -> Any:
        release = REAL(table, policy, **more)
        return showing(release, release.table if table["q"][0] == "a" else release.table.reverse())

    moved = [{**column, "values": column["values"]} for column in CASE["columns"]]
    with mock.patch("shoal.anonymize", ordered):
        results = [run_case({**CASE, "columns": moved, "seed": seed}) for seed in range(6)]
    assert any("order" in kinds(result) for result in results)


def test_crashes_and_failed_audits_are_found() -> None:
    for error, kind in ((KeyError("q"), "crash"), (shoal.AuditFailed("broken"), "audit-failed")):
        with mock.patch("shoal.anonymize", mock.Mock(side_effect=error)):
            assert kind in kinds(run_case(CASE))


def test_assignments_are_exact() -> None:
    assert assign([[0, 1], [0], [1, 2]]) == [1, 0, 2]
    assert assign([[0], [0]]) is None
    assert assign([[0, 1], [0, 1], [0, 1]]) is None


def test_texts_are_read_as_documented() -> None:
    reader = Reader("q", "integer", [1, 5, 9, 12, None], {})
    assert reader.cover("[1, 9)") == {1, 5} and reader.cover("(1, 9]") == {5, 9} and reader.cover("5") == {5}
    assert reader.cover("*") == {1, 5, 9, 12, None} and reader.cover(None) == {None}
    assert reader.cover("{9, (missing)}") == {9, None} and reader.cover("[2, 4]") == set()
    assert read_members('{a, "b, c", (missing), "(missing)"}') == ["a", "b, c", None, "(missing)"]
    codes = Reader("z", "text", ["22370", "22501"], {"hierarchy": "mask", "keep": [3]})
    assert codes.cover("223**") == {"22370"}


def test_brute_force_knows_the_least_loss() -> None:
    setting = Setting({**CASE, "policy": {**CASE["policy"], "models": [{"name": "k-anonymity", "k": 3}]}})
    losses = {round(float(found.loss), 4) for found in search_nodes(setting) if found.loss is not None}
    assert losses == {1.0}  # a and b may share a label, c has nobody
    local = [float(found.loss) for found in search_partitions(setting) if found.loss is not None]
    assert min(local) == pytest.approx(2 / 3)  # {a, b} and {b, c}: sets of two values out of three
    assert not list(
        search_nodes(Setting({**CASE, "policy": {**CASE["policy"], "models": [{"name": "k-anonymity", "k": 7}]}}))
    )


@pytest.mark.parametrize("family", ["tiny", "forms"])
def test_the_script_of_a_finding_runs(family: str, tmp_path: Path) -> None:
    """A reproduction that does not run reproduces nothing."""
    finding = Finding("planted", 'a "quoted" \\ detail', {**CASE, "family": family})
    script = write_script(tmp_path, finding)
    compile(script.read_text(encoding="utf-8"), str(script), "exec")
    if family == "tiny":
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            runpy.run_path(str(script))
        assert "<Release k-anonymity=2" in printed.getvalue()

"""The report says what the audit found, to people, and nothing else."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.auditing import Audit
from shoal.errors import AuditFailed, Fault, WriteError
from shoal.reporting import render, report

HOSTILE = "<script>alert('x')</script>"
VOID = {"meta", "br"}


@pytest.fixture(scope="module")
def release() -> shoal.Release:
    table, policy = shoal.datasets.load("hospital")
    return shoal.anonymize(table, policy)


@pytest.fixture(scope="module")
def failing() -> Audit:
    table, policy = shoal.datasets.load("patients")
    return shoal.audit(table, policy, original=table)


def small_policy(**changes: Any) -> shoal.Policy:
    said: dict[str, Any] = {
        "quasi_identifiers": {"age": {"hierarchy": "intervals", "widths": [10]}},
        "sensitive": ["illness"],
        "models": [{"name": "k-anonymity", "k": 2}],
    }
    return shoal.Policy(**{**said, **changes})


def text_of(page: str) -> str:
    """Return what a reader sees, in one line."""

    class Reader(HTMLParser):
        parts: list[str] = []  # noqa: RUF012 - a new class each time
        skipped = False

        def handle_starttag(self, tag: str, attrs: object) -> None:
            self.skipped = tag == "style"

        def handle_endtag(self, tag: str) -> None:
            self.skipped = False

        def handle_data(self, data: str) -> None:
            if not self.skipped:
                self.parts.append(data)

    Reader.parts = []
    Reader().feed(page)
    return " ".join(" ".join(Reader.parts).split())


def assert_well_formed(page: str) -> None:
    """Fail where a tag is not closed."""
    open_tags: list[str] = []

    class Checker(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag not in VOID:
                open_tags.append(tag)

        def handle_startendtag(self, tag: str, attrs: object) -> None:
            pass

        def handle_endtag(self, tag: str) -> None:
            assert open_tags.pop() == tag

    Checker().feed(page)
    assert not open_tags


def test_the_verdict_comes_first(release: shoal.Release) -> None:
    text = text_of(render(release.audit))
    assert "Holds: the table keeps its policy" in text
    assert text.index("Holds: the table") < text.index("Promises") < text.index("Records and classes")


def test_every_section_is_there(release: shoal.Release) -> None:
    page = render(release.audit, release.manifest)
    assert_well_formed(page)
    titles = re.findall(r"<h2>(.*?)</h2>", page)
    assert titles[1:] == [
        "At a glance",
        "Promises",
        "Records and classes",
        "Risk",
        "Attacks",
        "Published rules",
        "Loss",
        "Columns",
        "Context",
        "Faults of the table",
        "What this does not show",
        "Sign-off",
        "Appendix: policy",
        "Appendix: manifest",
    ]


def test_promises_and_numbers_are_shown(release: shoal.Release) -> None:
    text = text_of(render(release.audit))
    for entry in release.audit.models:
        assert f"{entry.model.key()}" in text
        assert f"{entry.model.asked} {entry.attained} ✓ holds" in text
    assert f"Records {release.audit.records:,} in the original table" in text
    assert f"Classes {release.audit.classes:,}" in text
    for name in release.audit.columns:
        assert f"{name} quasi-identifier" in text


def test_losses_and_risks_are_defined(release: shoal.Release) -> None:
    text = text_of(render(release.audit))
    for name in release.audit.utility:
        assert " ".join(shoal.registry.find("utility", name).summary().split()) in text
    for name in release.audit.risk:
        assert shoal.registry.find("risk", name).summary() in text
    assert "lower is better" in text
    assert "0 to 1" in text


def test_risk_is_told_in_sentences(failing: Audit) -> None:
    text = text_of(render(shoal.audit(people(), small_policy(), original=originals())))
    assert "picks the right record with a chance of 1 in 2; in the original table, with certainty." in text
    assert "No record stands alone, where 100 % did in the original table." in text
    assert "picks the right record with certainty" in text_of(render(failing))


def test_limits_and_sign_off(release: shoal.Release) -> None:
    text = text_of(render(release.audit))
    for words in ("Name", "Date", "Signature", "Decision", "Do not release", "Other releases"):
        assert words in text
    assert "k-anonymity does not protect against" in text_of(render(shoal.audit(people(), small_policy())))


@pytest.mark.parametrize("words", ["data are anonymous", "is anonymous", "fully anonymous", "safe to publish"])
def test_nothing_is_called_anonymous(release: shoal.Release, words: str) -> None:
    assert words not in text_of(render(release.audit, release.manifest)).lower()


def test_the_policy_is_shown_as_yaml(release: shoal.Release) -> None:
    text = text_of(render(release.audit))
    assert " ".join(release.policy.to_yaml(defaults=True).split()) in text
    assert release.policy.hash in text


def test_the_manifest_is_shown_where_given(release: shoal.Release) -> None:
    text = text_of(render(release.audit, release.manifest))
    assert release.manifest["data_fingerprint"] in text
    assert f"polars {release.manifest['versions']['polars']}" in text
    assert "Seed 0" in text
    assert "Appendix: manifest" not in render(release.audit)


def test_a_manifest_of_another_policy_is_told(release: shoal.Release) -> None:
    other = {**release.manifest, "policy_hash": "0" * 64}
    assert "belongs to another policy" in render(release.audit, other)
    assert "belongs to another policy" not in render(release.audit, release.manifest)


@pytest.mark.parametrize("manifest", [{}, {"versions": None, "recoding": "x", "seed": 0}, {"files": {"a.csv": "00"}}])
def test_a_poor_manifest_is_shown_as_it_is(release: shoal.Release, manifest: dict[str, Any]) -> None:
    assert_well_formed(render(release.audit, manifest))


def test_a_failing_audit_is_shown_as_failing(failing: Audit) -> None:
    page = render(failing)
    text = text_of(page)
    assert_well_formed(page)
    assert "Does not hold: do not publish this table" in text
    assert "✗ does not hold" in text
    assert "✓ holds" not in text
    for fault in failing.failures():
        assert str(fault) in text


def test_faults_are_listed_with_all_their_parts(release: shoal.Release) -> None:
    fault = Fault("a row number is published", where="nr", got="1 to 9", hint="drop the index")
    text = text_of(render(dataclasses.replace(release.audit, faults=(fault,))))
    assert "do not publish" in text
    assert "a row number is published nr 1 to 9 drop the index" in text


def people(**columns: list[Any]) -> pl.DataFrame:
    return pl.DataFrame({"age": ["20-29"] * 2 + ["30-39"] * 2, "illness": ["flu", "flu", "cold", "flu"], **columns})


def originals() -> pl.DataFrame:
    return people().with_columns(age=pl.Series([21, 25, 30, 38]))


def test_without_the_original() -> None:
    page = render(shoal.audit(people(), small_policy()))
    text = text_of(page)
    assert_well_formed(page)
    assert "Losses were not measured" in text
    assert "it needs the original table" in text
    assert "The original table It was not compared" in text
    assert "and any left out: unknown" in text
    assert "records in their original order" not in text  # that was not looked for
    assert "before" not in re.findall(r"<text[^>]*>([^<]*)</text>", page)


def test_a_sensitive_column_that_no_model_looks_at_is_named() -> None:
    alone = text_of(render(shoal.audit(people(), small_policy())))
    assert "No promise of this policy looks at illness" in alone
    models = [{"name": "k-anonymity", "k": 2}, {"name": "distinct-l-diversity", "on": "illness", "l": 2}]
    assert "looks at illness" not in text_of(render(shoal.audit(people(), small_policy(models=models))))


def test_without_a_sensitive_column() -> None:
    audit = shoal.audit(people().drop("illness"), small_policy(sensitive=[]))
    assert "names no sensitive column" in text_of(render(audit))


def test_columns_that_are_kept_without_a_role_are_a_limit() -> None:
    table = people(town=["a", "b", "a", "b"])
    assert "Columns without a role" in text_of(render(shoal.audit(table, small_policy(others="keep"))))


def test_persons_are_called_persons() -> None:
    table = people().select(pl.all().gather([0, 1, 2, 3]))
    audit = shoal.audit(table, small_policy(subject="who"), subjects=["a", "b", "c", "d"])
    text = text_of(render(audit))
    assert "Counted are persons" in text
    assert "Several records of one person" not in text
    assert "No person stands alone" in text
    assert "who subject direct removed; its records count as one person" in text


@pytest.mark.parametrize("has_original", [True, False])
def test_a_table_without_records(has_original: bool) -> None:
    empty = people().head(0)
    audit = shoal.audit(empty, small_policy(), original=empty if has_original else None)
    page = render(audit)
    text = text_of(page)
    assert_well_formed(page)
    assert audit.models[0].attained is None
    assert "nothing to count" in text
    assert "There are no classes to show" in text
    assert "holds only because there is nothing to count" in text


def test_everything_left_out() -> None:
    audit = shoal.audit(people().head(0), small_policy(max_suppressed=1.0), original=originals())
    text = text_of(render(audit))
    assert "Suppressed 4 100 % of all records" in text
    assert "stands alone" not in text


def test_a_table_that_cannot_be_counted() -> None:
    audit = shoal.audit(people().drop("age"), small_policy(), original=originals())
    page = render(audit)
    text = text_of(page)
    assert_well_formed(page)
    assert "not counted" in text
    assert "a quasi-identifier is missing" in text
    assert "got 0 where 2 is asked" not in text
    assert "The risk was not measured" in text


def test_more_records_than_the_original_is_no_negative_suppression() -> None:
    text = text_of(render(shoal.audit(people(), small_policy(), original=originals().head(2))))
    assert "more records than the original" in text
    assert "Suppressed 0" in text


def test_hostile_texts_are_escaped() -> None:
    values = ["<img src=x onerror=alert(1)>", "</style>", "\"'>", "</pre>&lt;"]
    table = pl.DataFrame({HOSTILE: values, '"><svg onload=alert(2)>': values, "{{ 7*7 }}": values})
    policy = shoal.Policy(
        quasi_identifiers={HOSTILE: {"hierarchy": "tree", "nodes": {"*": values}}},
        sensitive=['"><svg onload=alert(2)>'],
        models=[{"name": "distinct-l-diversity", "on": '"><svg onload=alert(2)>', "l": 2}],
    )
    fault = Fault(HOSTILE, where=HOSTILE, got=HOSTILE, hint=HOSTILE)
    audit = shoal.audit(table, policy, original=table)
    manifest = {"data_fingerprint": HOSTILE, "versions": {HOSTILE: HOSTILE}, "recoding": {HOSTILE: {HOSTILE: 1}}}
    page = render(dataclasses.replace(audit, faults=(*audit.faults, fault)), manifest)
    assert_well_formed(page)
    for tag in ("<script", "<img", "<svg onload", "onerror=alert(1)>"):
        assert tag not in page
    assert HOSTILE in text_of(page)
    assert "{{ 7*7 }}" in text_of(page)


def test_the_same_audit_is_the_same_bytes(release: shoal.Release) -> None:
    again = shoal.anonymize(*shoal.datasets.load("hospital"))
    assert render(release.audit, release.manifest) == render(again.audit, again.manifest)


def test_it_needs_nothing_from_outside(release: shoal.Release) -> None:
    page = render(release.audit, release.manifest)
    links = re.findall(r"""(?:\b(?:src|href)\s*=|url\()\s*["']?([^"'>)]*)""", page)
    assert all(link.startswith("#") for link in links), links
    assert "<script" not in page
    assert "@import" not in page
    assert "<link" not in page
    assert set(re.findall(r"https?://[^\"' <]*", page)) <= {"http://www.w3.org/2000/svg"}


def test_the_printed_page_is_thought_of(release: shoal.Release) -> None:
    page = render(release.audit)
    assert "@media print" in page
    assert "@page" in page


def test_losses_of_a_package_that_is_not_installed_are_shown(release: shoal.Release) -> None:
    utility = {**release.audit.utility, "not-here": shoal.utility.Measured(3.0)}
    risk = {**release.audit.risk, "not-here": {"p95": 0.5}}
    text = text_of(render(dataclasses.replace(release.audit, utility=utility, risk=risk)))
    assert "not-here 3" in text
    assert "p95" in text


def test_many_classes_are_drawn_quickly(release: shoal.Release) -> None:
    sizes = np.random.default_rng(0).integers(1, 50, 1_000_000)
    page = render(dataclasses.replace(release.audit, sizes=sizes))
    assert len(page) < 200_000


def test_report_writes_what_it_returns(release: shoal.Release, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("an older report")
    page = report(release.audit, path, manifest=release.manifest)
    assert path.read_bytes() == page.encode()
    assert page == render(release.audit, release.manifest)
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_report_without_a_path_writes_nothing(
    release: shoal.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert report(release.audit) == render(release.audit)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("path", "hint"), [("", "is a folder"), ("missing/report.html", "does not exist")])
def test_a_path_that_cannot_be_written(release: shoal.Release, tmp_path: Path, path: str, hint: str) -> None:
    with pytest.raises(WriteError) as caught:
        report(release.audit, tmp_path / path)
    (fault,) = caught.value.faults
    assert fault.where == str(tmp_path / path)
    assert fault.got
    assert hint in fault.hint
    assert not list(tmp_path.iterdir())


def test_a_full_disk_leaves_the_older_report(
    release: shoal.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.html"
    path.write_text("an older report")

    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WriteError, match="No space left"):
        report(release.audit, path)
    assert path.read_text() == "an older report"
    assert len(list(tmp_path.iterdir())) == 1


def test_importing_shoal_does_not_import_jinja() -> None:
    code = "import sys, shoal.reporting; sys.exit('jinja2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_external_report_tells_nothing_of_how_values_were_generalized() -> None:
    table, policy = shoal.datasets.load("patients")
    release = shoal.anonymize(table, policy.replace(seed=987654321))
    inside, outside = render(release.audit, release.manifest), render(release.audit, release.manifest, external=True)
    hidden = [policy.replace(seed=987654321).hash, release.manifest["data_fingerprint"], "987654321"]
    hidden += ["mask"]  # the hierarchy of the zip code
    hidden += [policy.algorithm.key(), "in the original table, with", "Sign-off", "Distinct<br>before"]
    for text in hidden:
        assert text not in outside, text
    assert all(text in inside for text in hidden[:3])
    assert "Holds: the table keeps its policy" in outside
    assert "k-anonymity" in outside


def test_there_is_no_external_report_of_a_table_that_does_not_hold() -> None:
    table, policy = shoal.datasets.load("patients")
    with pytest.raises(AuditFailed):
        render(shoal.audit(table, policy), external=True)

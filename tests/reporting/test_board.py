"""What a board reads: context, residual risk, each column, examples; the same bytes for the same audit."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
from tests.factories import policies

import shoal
from shoal.auditing import Fidelity
from shoal.auditing.schema import build_audit_schema
from shoal.errors import PolicyError
from shoal.policy.context import Context
from shoal.reporting import render

from .test_html import text_of

SECRETS = {
    "recipients": "Institut für Hygiene",
    "controls": "No contract with the archive",
    "threat_model": "A curious colleague",
    "risk_reason": "Everybody counts",
    "reidentification_study": "Two of five were found",
    "approval": "Board 7, weekly log",
    "pseudonyms": "The registrar holds the key",
    "purpose": "A cohort on asthma",
    "policy_name": "stations-v3",
}
SHOWN = {"dataset": "Entlassungen 2024", "date": "2025-03-01", "sharing_model": "Enclave", "review_date": "2027-01-31"}


def table(records: int = 60) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "Name": [f"P{number}" for number in range(records)],
            "Aufnahme": [dt.date(2021, 1, 1) + dt.timedelta(days=9 * number) for number in range(records)],
            "Ort": [f"Ort {number}" for number in range(records)],
            "Alter": [20 + number % 30 for number in range(records)],
            "Diagnose": ["Grippe", "Asthma", "Bruch"] * (records // 3),
        }
    )


policy = policies(
    identifiers=["Name"],
    quasi_identifiers={
        "Aufnahme": {"hierarchy": "dates"},
        "Ort": "suppress",
        "Alter": {"hierarchy": "intervals", "widths": [10]},
    },
    sensitive=["Diagnose"],
    models=[{"name": "k-anonymity", "k": 4}],
    algorithm="optimal",
)


@pytest.fixture(scope="module")
def release() -> shoal.Release:
    stated = {**SECRETS, **SHOWN, "risk": "maximum", "risk_threshold": 0.3}
    variables = {"Alter": {"reason": "seen by everybody"}, "Ort": {"technique": "blanked on the ward"}}
    return shoal.anonymize(table(), policy(context={**stated, "variables": variables}))


def test_the_context_changes_no_byte_of_the_release(release: shoal.Release, tmp_path: Path) -> None:
    plain = shoal.anonymize(table(), policy())
    release.write(tmp_path / "stated")
    plain.write(tmp_path / "plain")
    assert (tmp_path / "stated/release.csv").read_bytes() == (tmp_path / "plain/release.csv").read_bytes()


def test_the_context_is_signed_and_a_policy_without_one_keeps_its_hash(release: shoal.Release) -> None:
    assert release.policy.hash != policy().hash
    assert release.policy.replace(context=None).hash == policy().hash
    assert "context" not in policy().effective()
    again = shoal.Policy.from_yaml(release.policy.to_yaml())
    assert again == release.policy
    assert again.hash == release.policy.hash


def test_everything_is_told_or_not_stated(release: shoal.Release) -> None:
    audited = release.audit.to_dict()
    jsonschema.validate(json.loads(release.audit.to_json()), build_audit_schema())
    assert SECRETS.items() | SHOWN.items() <= audited["context"].items()
    text = text_of(render(release.audit, release.manifest))
    for stated in (*SECRETS.values(), *SHOWN.values()):
        assert stated in text
    nothing = shoal.anonymize(table(), policy()).audit
    assert set(nothing.to_dict()["context"].values()) == {"not stated"}
    assert set(nothing.to_dict()["context"]) == {*Context.model_fields} - {"variables"}
    text = text_of(render(nothing))
    assert "Dataset not stated Date not stated Policy not stated" in text
    assert "Recipients not stated" in text


def test_initial_threshold_and_residual_stand_on_one_line(release: shoal.Release) -> None:
    page = render(release.audit)
    (line,) = [line for line in page.splitlines() if 'class="path"' in line]
    assert "initial 100 % → threshold 30.0 % → residual" in text_of(line)
    assert "within the threshold" in line
    strict = shoal.anonymize(table(), policy(context={"risk_threshold": 0.01}))
    assert strict.audit.to_dict()["residual_risk"]["met"] is False
    assert "above the threshold" in render(strict.audit)


def test_a_threshold_that_nobody_stated_follows_from_the_promises() -> None:
    audited = shoal.anonymize(table(), policy()).audit.to_dict()["residual_risk"]
    assert (audited["threshold"], audited["threshold_from"], audited["met"]) == (0.25, "promises", True)
    models = [{"name": "average-risk", "threshold": 0.2}]
    mean = shoal.anonymize(table(), policy(models=models, context={"risk": "average"})).audit
    assert mean.to_dict()["residual_risk"]["threshold"] == 0.2
    assert mean.to_dict()["residual_risk"]["residual"] == mean.risk["prosecutor"]["mean"]
    diverse = [{"name": "t-closeness", "on": "Diagnose", "t": 0.9}]
    assert shoal.anonymize(table(), policy(models=diverse)).audit.to_dict()["residual_risk"]["threshold"] is None


def test_each_column_is_told_with_identifier_technique_and_reason(release: shoal.Release) -> None:
    told = release.audit.to_dict()["variables"]
    assert told["Name"] == {"identifier": "direct", "technique": "removed", "reason": "names a person"}
    assert told["Alter"]["identifier"] == "indirect"
    assert told["Alter"]["reason"] == "seen by everybody"
    assert told["Ort"]["technique"] == "blanked on the ward"
    assert told["Diagnose"]["identifier"] == "none"
    text = text_of(render(release.audit, release.manifest))
    assert "Alter quasi-identifier indirect generalized (intervals)" in text
    kept = shoal.anonymize(table().with_columns(x=pl.lit("y")), policy(others="keep")).audit.to_dict()["variables"]
    assert kept["x"] == {"identifier": "not stated", "technique": "as it is", "reason": "not stated"}


def test_ten_published_records_are_shown_and_none_of_a_table_that_does_not_hold(release: shoal.Release) -> None:
    shown = release.audit.examples
    assert len(shown.rows) == 10
    published = set(release.frame.cast(pl.String).rows())
    assert set(shown.rows) <= published
    raw = shoal.audit(table().drop("Name"), policy(), original=table())
    assert not raw.holds
    page = text_of(render(raw))
    assert "None are shown" in page
    assert "Ort 17" not in page


def test_the_external_report_shows_nothing_of_whom_one_thought_of(release: shoal.Release) -> None:
    outside = render(release.audit, external=True)
    for text in (*SECRETS.values(), "blanked on the ward", "seen by everybody", "initial", "generalized ("):
        assert text not in text_of(outside), text
    assert "Name identifier" in text_of(render(release.audit))
    assert "in the original, 4 published" in text_of(render(release.audit))
    assert "Name identifier" not in text_of(outside)
    assert "in the original, 4 published" not in text_of(outside)
    for text in SHOWN.values():
        assert text in outside


def test_the_page_is_small_and_the_same_for_a_wide_table() -> None:
    wide = pl.DataFrame({f"column {number}": [f"v{row % (number + 2)}" for row in range(240)] for number in range(24)})
    asked = shoal.Policy(
        quasi_identifiers=dict.fromkeys(wide.columns, "suppress"), models=[{"name": "k-anonymity", "k": 2}]
    )
    release = shoal.anonymize(wide, asked)
    compared = shoal.audit(release.table, asked, original=wide, statistics=Fidelity(clusters=2, queries=5))
    page = render(compared, release.manifest)
    assert len(page.encode()) < 1_000_000
    assert page == render(compared, release.manifest)
    assert "24 in the original, 24 published" in text_of(page)


def test_dates_are_drawn_as_dates_and_what_is_gone_is_said_to_be(release: shoal.Release) -> None:
    audit = shoal.audit(release.table, release.policy, original=table(), statistics=True)
    text = text_of(render(audit))
    assert "Mean 2021-0" in text or "Mean 2021-1" in text
    assert "standard deviation" in text
    assert "Ort Gone: no record shows anything of it." in text
    dates = audit.statistics["columns"]["Aufnahme"]["histogram"]["edges"] if audit.statistics else []
    assert dates
    days = [dt.date(1970, 1, 1) + dt.timedelta(days=day) for day in dates]
    assert all(day.day == 1 for day in days)
    assert "18,6" not in text


def test_others_say_how_many_values() -> None:
    many = table(300).with_columns(Ort=pl.Series([f"Ort {number}" for number in range(300)]))
    asked = policy(quasi_identifiers={"Alter": {}, "Ort": {}}, others="drop", algorithm="mondrian")
    audit = shoal.audit(shoal.anonymize(many, asked).table, asked, original=many, statistics=True)
    assert audit.statistics is not None
    assert audit.statistics["columns"]["Ort"]["histogram"]["others"] == 300
    assert "(300 others)" in render(audit)


@pytest.mark.parametrize(
    ("context", "said"),
    [
        ({"recipient": "x"}, "did you mean 'recipients'"),
        ({"date": "tomorrow"}, "valid date"),
        ({"risk": "most"}, "context.risk"),
        ({"risk_threshold": 0}, "context.risk_threshold"),
        ({"variables": {"Alter": {"identifier": "maybe"}}}, "context.variables.Alter.identifier"),
    ],
)
def test_a_context_that_is_none_is_refused(context: dict[str, Any], said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        policy(context=context)


def test_a_column_that_is_not_there_is_told() -> None:
    asked = policy(context={"variables": {"Alther": {"reason": "seen"}}})
    (fault,) = [one for one in shoal.check(table(), asked) if one.where.startswith("context")]
    assert fault.kind == "warning"
    assert "did you mean 'Alter'" in fault.hint

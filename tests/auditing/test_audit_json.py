"""audit.json keeps its published form, whatever is audited."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import shoal
from shoal.auditing.criteria import LIKE, SAYS, assess_criteria, compare_thresholds
from shoal.auditing.schema import build_audit_schema
from shoal.models import DistinctLDiversity, KAnonymity
from shoal.registry import find, names

EXAMPLES = ("patients", "hospital", "voters", "employees")


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(build_audit_schema())


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_audit_of_every_example_has_the_published_form(name: str, tmp_path: Path) -> None:
    table, policy = shoal.datasets.load(name)
    files = shoal.anonymize(table, policy).write(tmp_path)
    written = json.loads(files["audit"].read_text())
    jsonschema.validate(written, build_audit_schema())
    assert {check["outcome"] for check in written["hygiene"]} == {"passed"}  # the bytes on the disk among them
    jsonschema.validate(json.loads(shoal.audit(table, policy).to_json()), build_audit_schema())
    roles = {key: value for key, value in policy.to_dict().items() if key in ("quasi_identifiers", "sensitive")}
    jsonschema.validate(json.loads(shoal.audit(table, roles, original=table).to_json()), build_audit_schema())


def test_the_schema_refuses_what_breaks_scripts() -> None:
    data = shoal.audit(*shoal.datasets.load("patients")).to_dict()
    for key in build_audit_schema()["required"]:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({name: value for name, value in data.items() if name != key}, build_audit_schema())
    for key, wrong in (("format", 2), ("holds", "yes"), ("records", 1.5), ("models", [{}]), ("hygiene", {})):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**data, key: wrong}, build_audit_schema())
    more = {"attacks": [], "attacks_not_run": [], "statistics": {}, "output": {}}
    jsonschema.validate({**data, **more}, build_audit_schema())


def test_thresholds_are_whole_numbers() -> None:
    asked = {rule["name"]: rule["asked"] for rule in compare_thresholds(11)}
    assert asked == {
        "ema-0070": 11,
        "ihsn-3": 3,
        "ihsn-5": 5,
        "ipc-ontario-low": 11,
        "ipc-ontario-medium": 15,
        "ipc-ontario-high": 20,
        "cms": 11,
        "arx-default": 5,
    }
    # 1/11 is more than 0.09, and the rule means one in eleven
    assert {rule["name"] for rule in compare_thresholds(11) if not rule["met"]} == {
        "ipc-ontario-medium",
        "ipc-ontario-high",
    }
    assert "ema-0070" not in {rule["name"] for rule in compare_thresholds(10) if rule["met"]}
    assert all(rule["source"] for rule in compare_thresholds(1))


def test_the_criteria_are_those_of_the_models_that_hold() -> None:
    def still(*models: shoal.models.base.PrivacyModel) -> list[str]:
        return [told["still_a_risk"] for told in assess_criteria(models)["criteria"].values()]

    assert still() == ["yes", "yes", "yes"]
    assert still(KAnonymity(k=5)) == ["no", "yes", "yes"]
    assert still(KAnonymity(k=5), DistinctLDiversity(on="illness", l=2)) == ["no", "yes", "may not"]
    table, policy = shoal.datasets.load("patients")
    raw = shoal.audit(table, policy).to_dict()["criteria"]["criteria"]
    assert raw["singling_out"]["still_a_risk"] == "yes"  # k-anonymity is asked for and does not hold


def test_every_model_is_spoken_of_or_named_as_silent() -> None:
    known = set(names("models"))
    assert {*SAYS, *LIKE} <= known
    assert set(LIKE.values()) <= set(SAYS)
    assert all(find("models", name) for name in known)

"""The policy is the state: every click changes its YAML, can be undone, survives, and is seen by other windows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shoal.errors import PolicyError, WriteError
from shoal.policy import Policy
from shoal.registry import FAMILIES, describe_family, find
from shoal.studio.drafts import follow_preset, list_role, read_draft, set_roles, write_draft
from shoal.studio.forms import entry_fields, list_fields, read_values
from shoal.studio.project import Project
from tests.studio.served import POLICY, Served, read


def test_a_role_changes_the_yaml_and_is_undone_and_redone(served: Served) -> None:
    first = served.text
    page = served.post("/columns/role", column="age", role="sensitive")
    assert page.status_code == 200 and page.url.path == "/columns"
    assert Policy.from_yaml(served.text).sensitive.keys() == {"illness", "age"}
    served.post("/policy/undo", step="promises")
    assert served.text == first
    served.post("/policy/redo", step="columns")
    assert "age" in Policy.from_yaml(served.text).sensitive


def test_many_columns_at_once(served: Served) -> None:
    served.post("/columns/role", column=["age", "zip"], role="identifiers")
    assert list_role(read_draft(served.text), "identifiers").keys() == {"name", "age", "zip"}
    assert "A valid policy" not in read(
        served.get("/columns").text
    )  # none without quasi-identifiers: said, not refused


def test_a_model_goes_with_its_column() -> None:
    data = {"sensitive": ["illness"], "models": [{"name": "distinct-l-diversity", "on": "illness", "l": 2}]}
    assert set_roles(data, ["illness"], "quasi_identifiers") == {"quasi_identifiers": {"illness": {}}}


def test_what_is_written_by_hand_counts(served: Served) -> None:
    served.post("/policy", text=POLICY.replace("k: 2", "k: 3"), step="columns", revision="")
    assert Policy.from_yaml(served.text).k == 3
    refused = served.post("/policy", text="models: [", step="columns", revision="")
    assert refused.status_code == 422 and "YAML" in refused.text and Policy.from_yaml(served.text).k == 3


def test_a_half_made_policy_is_kept_and_its_faults_are_told(served: Served) -> None:
    served.post(
        "/policy", text="quasi_identifiers: [age]\nmodels: [{name: k-anonymity, k: 1}]", step="columns", revision=""
    )
    page = read(served.get("/promises").text)
    assert "Not a policy yet" in page and "must be at least 2" in page


def test_a_text_over_an_older_one_is_refused(served: Served) -> None:
    seen = str(served.studio.project.state.revision)
    served.post("/columns/role", column="age", role="sensitive")
    changed = served.text
    refused = served.post("/policy", text=POLICY, step="columns", revision=seen)
    assert refused.status_code == 422 and "another window" in refused.text and served.text == changed
    assert served.get("/state").json()["revision"] > int(seen)


def test_a_crash_loses_nothing(served: Served) -> None:
    served.post("/columns/role", column="age", role="sensitive")
    again = Project(served.studio.project.folder)  # nothing was closed, nothing saved at the end
    assert again.state == served.studio.project.state and again.text == served.text
    assert (again.folder / "state.json").stat().st_mode & 0o077 == 0
    assert not list(again.folder.glob(".state*"))


def test_a_folder_of_something_else_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text(json.dumps({"mine": 1}))
    with pytest.raises(WriteError, match="no project"):
        Project(tmp_path)


def test_the_policy_is_downloaded_as_it_stands(served: Served) -> None:
    answer = served.get("/policy.yaml")
    assert answer.text == served.text and "attachment" in answer.headers["content-disposition"]
    assert Policy.from_yaml(answer.text).to_yaml() == answer.text


def test_a_policy_from_a_page_opens_no_file_of_this_machine(served: Served, tmp_path: Path) -> None:
    (tmp_path / "zip.csv").write_text("1000;10;*\n")
    for name in (str(tmp_path / "zip.csv"), "../zip.csv", "/etc/passwd", "zip.csv"):
        text = POLICY.replace("{hierarchy: mask, keep: [3, 2, 1]}", f"{{hierarchy: tree, file: {name!r}}}")
        refused = served.post("/policy", text=text, step="columns", revision="")
        assert refused.status_code == 422 and "was not uploaded" in read(refused.text)
    refused = served.post("/policy", text=POLICY + "population: /etc/passwd\n", step="columns", revision="")
    assert refused.status_code == 422 and "root" not in refused.text


def test_a_policy_of_the_command_line_is_taken_once(served: Served, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY)
    served.post("/columns/role", column="age", role="sensitive")
    changed = served.text
    served.studio.take_policy(tmp_path / "policy.yaml")  # begun again with the same command
    assert served.text == changed


def test_every_entry_has_a_form_that_writes_what_it_reads() -> None:
    for family in FAMILIES:
        for row in describe_family(family):
            fields = entry_fields(family, row["name"], {})
            assert [field.name for field in fields] == list(row["parameters"]), row["name"]
            assert all(field.says for field in fields), row["name"]
            assert read_values(fields, {field.name: field.value for field in fields if not field.required}) == {}
            assert find(family, row["name"]).summary().endswith(".")


def test_what_was_typed_is_read_as_the_field_declares() -> None:
    dates = list_fields(find("hierarchies", "dates"))
    assert read_values(dates, {"levels": "month, year"}) == {"levels": ["month", "year"]}
    tree = list_fields(find("hierarchies", "tree"))
    assert read_values(tree, {"nodes": "'*': {a: [x, y]}"}) == {"nodes": {"*": {"a": ["x", "y"]}}}
    with pytest.raises(PolicyError, match="cannot be read"):
        read_values(tree, {"nodes": "a: ["})


def test_a_rule_is_followed_until_it_is_weakened() -> None:
    data = read_draft(POLICY) | {"others": "drop"}
    followed = follow_preset(data, "ema-0070")
    assert Policy(**followed).presets == ("ema-0070",) and Policy(**followed).k == 11
    assert write_draft(followed).count("k-anonymity") == 1

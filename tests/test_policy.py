"""The policy file: the design's contract in and out, every mistake in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest

import shoal
from shoal.algorithms import Exhaustive, Mondrian
from shoal.encoding import yaml as notation
from shoal.errors import PolicyError
from shoal.hierarchies import Intervals, Mask, Suppress, Tree
from shoal.models import DistinctLDiversity, KAnonymity
from shoal.policy import Policy

CONTRACT = """\
identifiers: [name]
quasi_identifiers:
  age:       {hierarchy: intervals, widths: [5, 10, 20]}
  education: {hierarchy: tree, file: education.csv, weight: 3, boundaries: [Secondary, Higher]}
  sex:       {hierarchy: suppress}
  hours:     {}
sensitive: [occupation]
others: keep
models:
  - {name: k-anonymity, k: 5}
  - {name: distinct-l-diversity, on: occupation, l: 2}
algorithm: {name: mondrian}
loss: {name: certainty-penalty}
max_suppressed: 0.02
publish: labels
seed: 0
"""
EDUCATION = "Masters;Higher;*\nBachelors;Higher;*\n9th;Secondary;*\n"


@pytest.fixture
def contract(tmp_path: Path) -> Path:
    (tmp_path / "education.csv").write_text(EDUCATION)
    (tmp_path / "policy.yaml").write_text(CONTRACT)
    return tmp_path / "policy.yaml"


def test_the_contract_of_the_design(contract: Path) -> None:
    policy = Policy.read(contract)
    assert policy.quasi_identifiers["age"].hierarchy == Intervals(widths=[5, 10, 20])
    education = policy.quasi_identifiers["education"]
    assert education.weight == 3
    assert education.boundaries == ("Secondary", "Higher")
    assert education.hierarchy == Tree(nodes={"*": {"Higher": ["Masters", "Bachelors"], "Secondary": ["9th"]}})
    assert policy.quasi_identifiers["hours"].hierarchy is None
    assert policy.models == (KAnonymity(k=5), DistinctLDiversity(on="occupation", l=2))
    assert policy.algorithm == Mondrian()


def test_yaml_out_and_in_loses_nothing_and_needs_no_other_file(contract: Path, tmp_path: Path) -> None:
    policy = Policy.read(contract)
    (tmp_path / "education.csv").unlink()
    policy.write(tmp_path / "again.yaml")
    again = Policy.read(tmp_path / "again.yaml")
    assert again == policy
    assert again.hash == policy.hash


def test_python_and_yaml_are_the_same_policy(contract: Path) -> None:
    python = Policy(
        identifiers=["name"],
        quasi_identifiers={
            "age": Intervals(widths=[5, 10, 20]),
            "education": {
                "hierarchy": "tree",
                "rows": [r.split(";") for r in EDUCATION.split()],
                "weight": 3,
                "boundaries": ["Secondary", "Higher"],
            },
            "sex": Suppress(),
            "hours": None,
        },
        sensitive=["occupation"],
        others="keep",
        models=[KAnonymity(k=5), DistinctLDiversity(on="occupation", l=2)],
        algorithm=Mondrian(),
        max_suppressed=0.02,
    )
    assert python == Policy.read(contract)
    assert python.hash == Policy.read(contract).hash


def test_the_hash_sees_every_change(contract: Path) -> None:
    policy = Policy.read(contract)
    changed = [
        policy.replace(seed=1),
        policy.replace(models=[KAnonymity(k=6)]),
        policy.replace(algorithm=Exhaustive()),
        policy.replace(max_suppressed=0.03),
        policy.replace(quasi_identifiers={**policy.quasi_identifiers, "hours": {"missing": "wildcard"}}),
    ]
    assert len({policy.hash, *(other.hash for other in changed)}) == 6


def test_a_policy_is_a_frozen_value(contract: Path) -> None:
    policy = Policy.read(contract)
    with pytest.raises(Exception, match="frozen"):
        policy.seed = 3  # type: ignore[misc]


@pytest.mark.parametrize("name", shoal.datasets.NAMES)
def test_the_schema_takes_our_own_policies(name: str) -> None:
    schema = Policy.schema_json()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(shoal.datasets.policy(name).to_dict(), schema)


def test_the_schema_takes_the_contract_and_refuses_typos() -> None:
    schema, data = Policy.schema_json(), notation.parse(CONTRACT)
    jsonschema.validate(data, schema)
    for path, value in (("max_supressed", 0.1), ("others", "hide"), ("models", []), ("seed", -1)):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**data, path: value}, schema)
    data["quasi_identifiers"]["age"]["widht"] = [5]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, schema)


BASE: dict[str, Any] = {"quasi_identifiers": {"age": {}}, "models": [{"name": "k-anonymity", "k": 2}]}
MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"max_suppressed": 1.5}, "max_suppressed: must be at most 1.0; got 1.5"),
    ({"max_suppressed": "much"}, "max_suppressed: must be a number"),
    ({"others": "hide"}, "others: must be one of 'keep' or 'drop'; got 'hide'"),
    ({"publish": "label"}, "publish: must be one of"),
    ({"quasi_identifiers": {}}, "quasi_identifiers: must not be empty"),
    ({"quasi_identifiers": {"age": {"weight": 0}}}, "quasi_identifiers.age.weight: must be more than 0"),
    ({"quasi_identifiers": {"age": {"wieght": 2}}}, "did you mean 'weight'?"),
    ({"quasi_identifiers": {"age": {"hierarchy": "interval"}}}, "did you mean 'intervals'?"),
    ({"quasi_identifiers": {"age": {"hierarchy": "mask"}}}, "quasi_identifiers.age.keep: is required"),
    ({"quasi_identifiers": {"age": {"hierarchy": "mask", "keep": [1, 2]}}}, "strictly decreasing"),
    ({"quasi_identifiers": {"age": {"hierarchy": "intervals", "widths": [5, 7]}}}, "7 is not of 5"),
    ({"quasi_identifiers": {"age": {"hierarchy": "intervals"}}}, "needs either widths or breaks"),
    ({"quasi_identifiers": {"age": {"hierarchy": "dates", "levels": ["year", "month"]}}}, "fine to coarse"),
    ({"quasi_identifiers": {"age": {"missing": "ignore"}}}, "quasi_identifiers.age.missing: must be one of"),
    ({"models": [{"k": 5}]}, "models[0]: must have a name"),
    ({"models": [{"name": "k-anonymity"}]}, "models[0].k: is required"),
    ({"models": [{"name": "k-anonymity", "k": True}]}, "models[0].k: must be a whole number"),
    ({"models": [{"name": "k-anonymity", "k": "5"}]}, "models[0].k: must be a whole number"),
    ({"models": [{"name": "distinct-l-diversity", "on": "x", "l": 2}]}, "models[0].on: must name a sensitive column"),
    ({"algorithm": {"name": "mondriaan"}}, "did you mean 'mondrian'?"),
    ({"algorithm": {"name": "mondrian", "cuts": "loose"}}, "algorithm.cuts: must be one of 'strict' or 'relaxed'"),
    ({"loss": {"name": "gcpp"}}, "no such entry in utility"),
    ({"identifiers": ["age"]}, "the column 'age' has two roles"),
    ({"sensitive": ["age"]}, "the column 'age' has two roles"),
    ({"subject": "age"}, "the subject column cannot be published"),
    ({"subject": ""}, "subject: a column without a name"),
    ({"identifiers": [""]}, "identifiers: a column without a name"),
    ({"quasi_identifiers": {"": {}}}, "quasi_identifiers: a column without a name"),
    ({"sensitive": [""]}, "sensitive: a column without a name"),
    ({"seed": -1}, "seed: must be at least 0"),
    ({"k": 5}, "k: is not a known key"),
]


@pytest.mark.parametrize(("change", "words"), MISTAKES)
def test_mistakes_are_told_in_words(change: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError) as caught:
        Policy(**{**BASE, **change})
    assert words in str(caught.value)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(PolicyError) as caught:
        Policy(**{**BASE, "seed": -1, "others": "hide", "typo": 1})
    assert len(caught.value.faults) == 3


def test_check_lists_every_misfit_at_once() -> None:
    table = pl.DataFrame(
        {
            "age": ["young", "old"] * 12,
            "zip": ["1", None] * 12,
            "job": ["a", "b"] * 12,
            "id": [f"person {i}" for i in range(24)],
        }
    )
    policy = Policy(
        quasi_identifiers={
            "age": Intervals(widths=[5]),
            "zip": {"hierarchy": "mask", "keep": [1], "missing": "error"},
            "job": Tree(nodes={"*": {"x": ["a"]}}),
            "sxe": {},
        },
        others="keep",
        models=[KAnonymity(k=25)],
    )
    texts = [str(fault) for fault in policy.check(table)]
    for words in (
        "quasi_identifiers.sxe: no such column",
        "others.id: is nearly unique and would be published as it is",
        "models[0].k: more than there are records; got 25 of 24",
        "quasi_identifiers.age: intervals need a column of numbers",
        "quasi_identifiers.zip: missing values, which the policy forbids; got 12 records",
        "quasi_identifiers.job: 1 of 2 values are missing from the tree; got 'b'",
    ):
        assert any(words in text for text in texts), (words, texts)
    assert len(texts) == 6


def test_a_label_with_two_parents_is_found_by_check() -> None:
    rows = [["a", "x", "1", "*"], ["b", "x", "2", "*"]]
    policy = Policy(quasi_identifiers={"job": Tree(rows=rows)}, models=[KAnonymity(k=2)])
    faults = policy.check(pl.DataFrame({"job": ["a", "b"]}))
    assert "'x' has 2 parents" in str(faults[0])


def test_yes_and_no_stay_answers() -> None:
    policy = Policy.from_yaml(
        "quasi_identifiers: {ill: {hierarchy: tree, nodes: {'*': [Yes, No]}}}\nmodels: [{name: k-anonymity, k: 2}]"
    )
    assert policy.check(pl.DataFrame({"ill": ["Yes", "No"]})) == []
    assert Mask(keep=[1]).parameters() == {"keep": [1]}


@pytest.mark.parametrize("text", ["models: []\nmodels: []\n", "quasi_identifiers: {age: {}, age: {}}\n"])
def test_a_key_that_is_written_twice_is_refused(text: str) -> None:
    with pytest.raises(PolicyError, match="is written twice"):
        Policy.from_yaml(text)


def test_a_wrong_model_is_told_once() -> None:
    for model in ({"name": "k-anonymity", "k": 1}, {"name": "k-anonimity", "k": 5}, {"name": "k-anonymity"}):
        with pytest.raises(PolicyError) as caught:
            Policy(**{**BASE, "models": [model]})
        assert len(caught.value.faults) == 1


def test_a_policy_may_be_given_as_mapping_or_path(contract: Path) -> None:
    assert Policy.of(contract) == Policy.read(contract)
    assert Policy.of(str(contract)) == Policy.read(contract)
    assert Policy.of(BASE) == Policy(**BASE)
    table = pl.DataFrame({"age": [1, 1, 2, 2]})
    assert shoal.anonymize(table, BASE).attained == {"k-anonymity": 2}
    assert shoal.audit(table, BASE).holds
    with pytest.raises(PolicyError, match="must be a Policy"):
        shoal.anonymize(table, 5)  # type: ignore[arg-type]


def test_texts_of_digits_stay_texts_for_every_reader() -> None:
    tree = Tree(nodes={"*": {"Dresden": ["01067", "01069"], "Sachsen": ["0x1", "1e5"]}})
    text = Policy(quasi_identifiers={"plz": tree}, models=BASE["models"]).to_yaml()
    for code in ("01067", "01069", "1e5"):
        assert f"'{code}'" in text
    assert (
        "widths: [5, 10, 20]"
        in Policy(quasi_identifiers={"a": Intervals(widths=[5, 10, 20])}, models=BASE["models"]).to_yaml()
    )


def test_what_is_signed_names_the_defaults() -> None:
    text = Policy(**BASE).to_yaml(defaults=True)
    for key in ("algorithm:", "loss:", "publish: labels", "suppressed: star", "max_suppressed: 0"):
        assert key in text
    assert Policy.from_yaml(text) == Policy(**BASE)


def test_near_unique_sensitive_columns_are_warned_about_and_do_not_block() -> None:
    table = pl.DataFrame({"age": [30] * 40, "salary": list(range(40))})
    policy = Policy(quasi_identifiers=["age"], sensitive=["salary"], models=[KAnonymity(k=2)])
    assert [fault.kind for fault in policy.check(table)] == ["warning"]
    assert shoal.anonymize(table, policy).audit.holds


def test_values_that_are_no_numbers_are_named() -> None:
    table = pl.DataFrame({"age": ["30", "n/a", "?"]})
    faults = Policy(quasi_identifiers={"age": Intervals(widths=[5])}, models=[KAnonymity(k=2)]).check(table)
    assert "got 2 of 3 values: '?', 'n/a'" in str(faults[0])

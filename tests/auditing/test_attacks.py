"""Attacks as the audit runs them: on tables, files and a policy."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.auditing import Audit
from shoal.errors import Misfit, PolicyError
from shoal.policy import Policy
from shoal.registry import names
from shoal.risk import KnownColumns

AT_HAND = {"prosecutor", "marketer", "uniqueness", "homogeneity"}
POLICY = Policy(
    quasi_identifiers={"age": {"hierarchy": "intervals", "widths": [10, 20]}, "sex": "suppress"},
    sensitive=["illness"],
    others="keep",
    models=[{"name": "k-anonymity", "k": 2}],
)
ORIGINAL = pl.DataFrame(
    {
        "age": [21, 24, 33, 38, 52, 57],
        "sex": ["f", "f", "m", "m", "f", "m"],
        "illness": ["flu", "cold", "flu", "gout", "cold", "gout"],
    }
)
WIDE = ORIGINAL.with_columns(
    age=pl.Series(["[20, 29]"] * 2 + ["[30, 39]"] * 2 + ["[40, 59]"] * 2), sex=pl.Series(["f", "f", "m", "m", "*", "*"])
)


def found(audit: Audit, name: str, on: str = "") -> dict[str, Any]:
    return next(row for row in audit.attacks.to_dict()["attacks"] if row["name"] == name and row.get("on", "") == on)


def reason(audit: Audit, name: str) -> str:
    return audit.attacks.not_run[name]


def test_the_voter_list_finds_paul_until_there_are_two() -> None:
    """Sarrafi (2017), Figure 1-2 and Table 1-1."""
    table, policy = shoal.datasets.load("patients")
    voters = shoal.datasets.voters()
    raw = found(shoal.audit(table, policy, external=voters), "linking")
    assert raw["found"]
    assert raw["measured"]["matched"] == raw["measured"]["alone"] == 1
    assert raw["measured"]["learned"] == {"disease": 1}
    published = shoal.anonymize(table, policy).table
    for original in (None, table):
        after = found(shoal.audit(published, policy, original=original, external=voters), "linking")
        assert not after["found"]
        assert (after["measured"]["matched"], after["measured"]["max"]) == (1, 0.5)
        assert after["measured"]["learned"] == {"disease": 0}


def test_without_being_asked_only_what_is_at_hand_is_run() -> None:
    audit = shoal.audit(WIDE, POLICY, original=ORIGINAL)
    data = audit.to_dict()
    assert {row["name"] for row in data["attacks"]} == AT_HAND
    assert {row["name"] for row in data["attacks_not_run"]} == set(names("risk")) - AT_HAND
    assert reason(audit, "linking") == "not asked for"
    assert reason(audit, "journalist").startswith("needs a population")
    assert shoal.audit(WIDE, POLICY, attacks=False).to_dict()["attacks"] == []


def test_every_attack_is_run_or_has_a_reason() -> None:
    audit = shoal.audit(WIDE, POLICY, original=ORIGINAL, attacks=True)
    run = {row["name"] for row in audit.to_dict()["attacks"]}
    assert run | set(audit.attacks.not_run) == set(names("risk"))
    assert reason(audit, "linking") == "needs an external table"
    assert reason(audit, "composition") == "needs an earlier release"
    assert "needs the original" in reason(shoal.audit(WIDE, POLICY, attacks=True), "downcoding")


def test_attacks_are_named_and_have_parameters() -> None:
    audit = shoal.audit(WIDE, POLICY, attacks=["homogeneity", {"name": "prosecutor", "least": 3}, KnownColumns(most=1)])
    assert [attack.risk.key() for attack in audit.attacks.run] == ["homogeneity", "prosecutor", "known-columns"]
    assert found(audit, "prosecutor")["found"]
    assert len(found(audit, "known-columns")["measured"]["curve"]) == 1
    with pytest.raises(PolicyError, match="did you mean 'linking'"):
        shoal.audit(WIDE, POLICY, attacks=["linkin"])


def test_leaks_are_told_and_do_not_break_promises() -> None:
    audit = shoal.audit(WIDE, POLICY, original=ORIGINAL, attacks=True)
    assert audit.holds
    assert "background-knowledge" in {attack.risk.key() for attack in audit.attacks.leaks}


def test_the_risk_of_scripts_is_still_there() -> None:
    risk = shoal.audit(WIDE, POLICY).to_dict()["risk"]
    assert {"max", "mean", "unique"} <= set(risk["prosecutor"])
    assert set(risk["marketer"]) == {"mean"}


def test_findings_name_classes_and_never_values() -> None:
    table, policy = shoal.datasets.load("patients")
    audit = shoal.audit(table, policy, original=table, external=shoal.datasets.voters(), earlier=[table])
    told = json.dumps(audit.attacks.to_dict())
    for value in ("Gastritis", "HIV", "22370", "Paul", "Male"):
        assert value not in told


def test_an_external_table_may_lack_columns_and_hold_other_values() -> None:
    known = pl.DataFrame({"age": [23, 99, None], "name": ["Ann", "Bob", "Cid"]})
    measured = found(shoal.audit(WIDE, POLICY, original=ORIGINAL, external=known), "linking")["measured"]
    # 23 is in [20, 29] though nobody of the original has it; 99 is nowhere; whose age is not known may be anybody
    assert (measured["persons"], measured["matched"], measured["max"]) == (3, 2, 0.5)


def test_texts_are_read_without_the_original() -> None:
    ranges = Policy(quasi_identifiers=["age"], sensitive=["illness"], others="drop", models=POLICY.models)
    published = pl.DataFrame({"age": ["[21, 24]"] * 2 + ["[33, 57]"] * 3, "illness": list("abcde")})
    known = pl.DataFrame({"age": [22, 40, 60]})
    measured = found(shoal.audit(published, ranges, external=known), "linking")["measured"]
    assert (measured["matched"], measured["max"]) == (2, 0.5)


def test_an_earlier_release_at_other_levels_breaks_this_one() -> None:
    earlier = ORIGINAL.with_columns(age=pl.lit("*"))  # keeps sex
    now = ORIGINAL.with_columns(age=pl.Series(["[20, 39]"] * 4 + ["[40, 59]"] * 2), sex=pl.lit("*"))
    audit = shoal.audit(now, POLICY, original=ORIGINAL, earlier=[earlier])
    joined = found(audit, "complementary-release", "earlier release 1")
    assert joined["found"]
    assert (joined["measured"]["k_alone"], joined["measured"]["k"]) == (2, 1)
    assert found(audit, "composition", "illness, earlier release 1")["measured"]["pinned"] > 0
    alone = shoal.audit(now, POLICY, original=ORIGINAL, earlier=[now])
    assert not found(alone, "complementary-release", "earlier release 1")["found"]


def test_who_came_between_two_releases_is_exposed(tmp_path: Path) -> None:
    WIDE.write_csv(tmp_path / "old.csv")
    more = pl.concat([WIDE, WIDE[:1].with_columns(illness=pl.lit("HIV"))])
    audit = shoal.audit(more, POLICY, earlier=[tmp_path / "old.csv"])
    gone = found(audit, "temporal", "earlier release 1")
    assert gone["found"]
    assert (gone["measured"]["came"], gone["measured"]["went"], gone["measured"]["exposed"]) == (1, None, 1)
    assert "needs" in reason(audit, "composition")


def test_the_order_of_the_original_is_found() -> None:
    chance = np.random.default_rng(3)
    raw = pl.DataFrame({"age": chance.integers(20, 60, 60), "sex": chance.choice(["f", "m"], 60)})
    raw = raw.with_columns(illness=pl.Series(chance.choice(["flu", "cold", "gout"], 60)))
    published = raw.with_columns(age=(pl.col("age") // 20 * 20).map_elements(lambda n: f"[{n}, {n + 19}]", pl.String))
    kept = found(shoal.audit(published, POLICY, original=raw, attacks=True), "unsorted-matching", "original")
    assert kept["found"]
    assert kept["measured"]["same"] == 1.0
    mixed = published.sample(fraction=1.0, shuffle=True, seed=1)
    assert not found(shoal.audit(mixed, POLICY, original=raw, attacks=True), "unsorted-matching", "original")["found"]
    fewer = shoal.audit(published[:50], POLICY, original=raw, attacks=True)
    assert "another number of records" in reason(fewer, "unsorted-matching")


def test_ranges_give_their_ends_away() -> None:
    policy = Policy(
        quasi_identifiers=["age"], sensitive=["illness"], others="drop", models=POLICY.models, publish="ranges"
    )
    raw = ORIGINAL.select("age", "illness")
    audit = shoal.audit(shoal.anonymize(raw, policy).table, policy, original=raw, attacks=["downcoding"])
    assert found(audit, "downcoding")["measured"] == {
        "generalized": 1.0,
        "claimed": 1.0,
        "right": 1.0,
        "recovered": 1.0,
    }
    starred = raw.with_columns(age=pl.lit("*"))
    none = shoal.audit(starred, policy, original=raw, attacks=["downcoding"])
    assert found(none, "downcoding")["measured"]["claimed"] == 0.0


def test_labels_of_two_halves_are_downcoded_where_they_are_tight() -> None:
    raw = pl.DataFrame({"age": [21, 24, 33, 38], "sex": ["f"] * 4, "illness": ["a", "b", "a", "b"]})
    tight = raw.with_columns(age=pl.lit("[20, 39]"))  # [20, 29] and [30, 39], and two records in each
    measured = found(shoal.audit(tight, POLICY, original=raw, attacks=True), "downcoding")["measured"]
    assert (measured["claimed"], measured["right"]) == (0.5, 1.0)
    loose = raw.with_columns(sex=pl.Series(["f", "f", "m", "m"]))  # each class lies in one half
    measured = found(shoal.audit(loose.with_columns(tight["age"]), POLICY, original=loose, attacks=True), "downcoding")
    assert measured["measured"]["right"] == 0.5
    assert not measured["found"]


def test_minimality_says_whether_the_search_looked_at_values() -> None:
    blind = found(shoal.audit(WIDE, POLICY, original=ORIGINAL, attacks=True), "minimality")
    assert blind["measured"] == {"looked": False}
    diverse = POLICY.replace(models=[*POLICY.models, {"name": "distinct-l-diversity", "on": "illness", "l": 2}])
    looked = found(shoal.audit(WIDE, diverse, original=ORIGINAL, attacks=True), "minimality", "illness")
    assert looked["measured"]["looked"] is True


def test_sensitive_columns_are_looked_at_by_their_hierarchy() -> None:
    tree = {"hierarchy": "tree", "nodes": {"*": {"airways": ["flu", "cold"], "joints": ["gout"]}}}
    policy = POLICY.replace(sensitive={"illness": tree})
    audit = shoal.audit(WIDE, policy, attacks=True)
    alike = found(audit, "similarity", "illness")
    assert alike["found"]
    assert alike["measured"]["levels"] == [2, 1]
    assert reason(shoal.audit(WIDE, POLICY, attacks=True), "similarity")


def test_persons_with_several_records_count_once() -> None:
    policy = POLICY.replace(subject="person", others="drop")
    published = pl.DataFrame({"age": ["*"] * 4, "sex": ["*"] * 4, "illness": ["flu", "flu", "flu", "cold"]})
    audit = shoal.audit(published, policy, subjects=[1, 1, 1, 2], attacks=["background-knowledge", "skewness"])
    assert found(audit, "background-knowledge", "illness")["measured"]["curve"][0] == 0.5


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"external": pl.DataFrame({"ages": [1], "name": ["Ann"]})}, "external: has none of the quasi-identifiers"),
        ({"earlier": [WIDE.drop("sex")]}, r"earlier\[0\]: lacks quasi-identifiers; got sex"),
    ],
)
def test_tables_that_cannot_be_compared_are_told(given: dict[str, Any], message: str) -> None:
    with pytest.raises(Misfit, match=message):
        shoal.audit(WIDE, POLICY, **given)


def test_empty_constant_and_shorter_tables_are_no_errors() -> None:
    empty = shoal.audit(WIDE.clear(), POLICY, original=ORIGINAL, external=ORIGINAL, earlier=[WIDE])
    assert not empty.attacks.leaks
    constant = WIDE.with_columns(illness=pl.lit("flu"), age=pl.lit("*"), sex=pl.lit("*"))
    audit = shoal.audit(constant, POLICY, external=ORIGINAL, earlier=[WIDE[:3]])
    assert {attack.risk.key() for attack in audit.attacks.leaks} >= {"homogeneity"}
    assert "another number" in reason(audit, "unsorted-matching")


def test_texts_and_values_beyond_measure_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.auditing.coverage.MOST_CELLS", 10)
    audit = shoal.audit(WIDE, POLICY, original=ORIGINAL, external=ORIGINAL)
    assert reason(audit, "linking") == "age has too many different texts and values to compare each with each"


def test_names_of_columns_that_are_patterns() -> None:
    odd = {"age": "^a.*$", "sex": "*", "illness": "^.*$"}
    policy = Policy(
        quasi_identifiers={"^a.*$": POLICY.quasi_identifiers["age"], "*": POLICY.quasi_identifiers["sex"]},
        sensitive=["^.*$"],
        models=POLICY.models,
    )
    plain = shoal.audit(WIDE, POLICY, original=ORIGINAL, external=ORIGINAL, earlier=[WIDE])
    raw = ORIGINAL.rename(odd)
    renamed = shoal.audit(WIDE.rename(odd), policy, original=raw, external=raw, earlier=[WIDE.rename(odd)])
    assert [row["measured"] for row in renamed.attacks.to_dict()["attacks"] if row["name"] != "known-columns"] == [
        row["measured"] if row["name"] != "linking" else {**row["measured"], "learned": {"^.*$": 0}}
        for row in plain.attacks.to_dict()["attacks"]
        if row["name"] != "known-columns"
    ]


def test_a_release_of_adult_resists_linking_with_its_original() -> None:
    table, policy = shoal.datasets.load("adult")
    release = shoal.anonymize(table, policy)
    audit = shoal.audit(release.table, policy, original=table, external=table.head(5000))
    assert found(audit, "linking")["measured"]["max"] <= 0.1
    assert found(audit, "linking")["measured"]["matched"] == 5000  # texts are true of everyone
    assert not found(audit, "journalist")["found"]


MIXED = Policy(
    quasi_identifiers={
        "job": {"hierarchy": "tree", "nodes": {"*": {"x": ["a", "b"], "y": ["c", "d"]}}},
        "age": {"hierarchy": "quantiles", "parts": [2]},
        "zip": {"hierarchy": "mask", "keep": [2]},
    },
    models=POLICY.models,
)
PEOPLE = pl.DataFrame({"job": list("abcd"), "age": [20, 30, 40, 50], "zip": [1234, 1278, 9911, 9922]})
KNOWN = pl.DataFrame({"job": ["a", "stranger", None], "age": [22, 22, 45], "zip": [1299, 1299, 9999]})


@pytest.mark.parametrize("original", [PEOPLE, None], ids=["with the original", "without"])
def test_labels_cover_values_that_the_original_lacks(original: pl.DataFrame | None) -> None:
    """22 lies in [20, 39], 1299 under 12**; a stranger's job is under no label; who has no job may have any."""
    published = shoal.anonymize(PEOPLE, MIXED).table
    assert published["age"].unique().sort().to_list() == ["[20, 39]", "[40, 50]"]
    measured = found(shoal.audit(published, MIXED, original=original, external=KNOWN), "linking")["measured"]
    assert (measured["persons"], measured["matched"], measured["max"]) == (3, 2, 0.5)


def test_labels_that_nobody_can_read_are_told() -> None:
    spec = {"hierarchy": "rare", "records": [2]}
    policy = Policy(quasi_identifiers={"job": spec}, models=POLICY.models)
    published = pl.DataFrame({"job": ["(rare)"] * 3})
    audit = shoal.audit(published, policy, external=pl.DataFrame({"job": ["a", "b"]}))
    assert reason(audit, "linking") == "what 1 texts of job stand for cannot be told without the original"


def test_numbers_in_an_external_table_of_texts_are_not_ordered_by_their_letters() -> None:
    ranges = Policy(quasi_identifiers=["age"], models=POLICY.models)
    published = pl.DataFrame({"age": ["[5, 30]"] * 2})
    audit = shoal.audit(published, ranges, external=pl.DataFrame({"age": ["9", "unknown"]}))
    assert "cannot be told without the original" in reason(audit, "linking")


def test_what_attacks_find_is_for_the_owner_only() -> None:
    from shoal.reporting import render

    audit = shoal.audit(WIDE, POLICY, attacks=True)
    assert audit.attacks.leaks
    own, theirs = (html.unescape(render(audit, external=outside)) for outside in (False, True))
    assert "background-knowledge" in own
    assert audit.attacks.leaks[0].risk.means in own
    assert "background-knowledge" not in theirs
    assert "<h2>Attacks</h2>" not in theirs


def test_the_schema_knows_attacks() -> None:
    import jsonschema

    from shoal.auditing.schema import build_audit_schema

    audit = shoal.audit(WIDE, POLICY, original=ORIGINAL, external=ORIGINAL, earlier=[WIDE])
    jsonschema.validate(json.loads(audit.to_json()), build_audit_schema())

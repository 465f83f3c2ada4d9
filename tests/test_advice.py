"""Advice protects: what is offered, and what is told before any search."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import Infeasible, TableError, nearest
from shoal.policy import Policy

from .strategies import unexplained

L3 = {"name": "distinct-l-diversity", "on": "illness", "l": 3}
PROMISES = [
    {"name": "k-anonymity", "k": 4},
    {"name": "k-anonymity", "k": 11},
    {"preset": "ihsn-5"},
    L3,
    {"name": "t-closeness", "on": "illness", "t": 0.01},
    {"name": "scenarios", "known": [["age"]], "k": 4},
    {"name": "scenarios", "known": [["age", "zip"], ["job"]], "k": 3, "on": "illness", "confidence": 0.5},
]


@st.composite
def demanding(draw: st.DrawFn) -> tuple[pl.DataFrame, Policy]:
    """Small tables with policies that ask for much."""
    count = draw(st.integers(4, 10))

    def column(*values: Any) -> list[Any]:
        return draw(st.lists(st.sampled_from(values), min_size=count, max_size=count))

    table = pl.DataFrame(
        {
            "age": column(21, 25, 60, 91),
            "zip": column("02138", "02139", "94110"),
            "job": column("nurse", "baker", None),
            "illness": column("flu", "cold", None),
            "who": column(1, 2, 3, 4, 5, 6),
        },
        schema_overrides={"illness": pl.String, "job": pl.String},
    )
    policy = Policy(
        quasi_identifiers={
            "age": draw(st.sampled_from([{}, {"hierarchy": "suppress"}])),
            "zip": {"hierarchy": "mask", "keep": [3], "boundaries": draw(st.sampled_from([[], ["021**"]]))},
            "job": {"hierarchy": "suppress", "missing": draw(st.sampled_from(["own-value", "suppress"]))},
        },
        sensitive={"illness": {"missing": draw(st.sampled_from(["own-value", "suppress"]))}},
        subject=draw(st.sampled_from(["who", None])),
        others="drop",
        models=draw(st.lists(st.sampled_from(PROMISES), min_size=1, max_size=3, unique_by=str)),
        algorithm=draw(st.sampled_from(["optimal", "mondrian", "top-down-greedy"])),
        max_suppressed=draw(st.sampled_from([0.0, 0.2])),
    )
    return table, policy


def named_by(policy: Policy) -> set[str]:
    """The columns that attackers are said to know, or that a promise is about."""
    known = {name for model in policy.models for names in model.scenarios(()) for name in names}
    return known | {name for model in policy.models for name in model.sensitive_columns}


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(demanding())
def test_advice_never_begins_with_dropping_the_promise(case: tuple[pl.DataFrame, Policy]) -> None:
    table, asked = case
    try:
        shoal.anonymize(table, asked)
    except Infeasible as error:
        kept = [len(offer.policy.models) == len(asked.models) for offer in error.relaxations]
        assert kept == sorted(kept, reverse=True), "a promise is given up before another offer keeps all of them"
        assert all(kept[:1])
        same = [
            (offer.policy.models, offer.policy.sensitive) == (asked.models, asked.sensitive)
            for offer in error.relaxations
        ]
        assert same == sorted(same, reverse=True), "a promise is weakened before another offer keeps all of them"
        for offer in error.relaxations:
            assert offer.policy.subject == asked.subject, offer.text
            published = {*offer.policy.quasi_identifiers, *offer.policy.sensitive}
            assert named_by(asked) <= published, offer.text


def test_a_column_of_a_scenario_stays_where_its_promise_is_given_up() -> None:
    table = pl.DataFrame({"age": [1, 2, 3, 4, 5, 6], "zip": list("aabbcc"), "ill": list("xxxxxy")})
    models = [{"name": "scenarios", "known": [["age"]], "k": 2}, {"name": "distinct-l-diversity", "on": "ill", "l": 2}]
    asked = Policy(
        quasi_identifiers={"age": {}, "zip": "suppress"}, sensitive=["ill"], models=models, algorithm="optimal"
    )
    with pytest.raises(Infeasible) as caught:
        shoal.anonymize(table, asked)
    assert caught.value.relaxations
    assert all("age" in offer.policy.quasi_identifiers for offer in caught.value.relaxations)


TABLE = pl.DataFrame({"age": [21, 24, 25, 26, 26, 32], "sex": list("mmmfff"), "ill": list("ababab")})


def asking(**changes: Any) -> Policy:
    base: dict[str, Any] = {
        "quasi_identifiers": {"age": {}, "sex": "suppress"},
        "sensitive": ["ill"],
        "models": [{"name": "k-anonymity", "k": 2}],
        "algorithm": "optimal",
    }
    return Policy(**{**base, **changes})


def test_check_says_that_a_column_without_a_hierarchy_blocks() -> None:
    (fault,) = shoal.check(TABLE, asking())
    assert fault.kind == "infeasible"
    assert fault.where == "quasi_identifiers.age"
    assert "4 records that comply at no level" in str(fault)
    assert "give age a hierarchy" in fault.hint
    assert shoal.check(TABLE, asking(max_suppressed=0.7)) == []
    assert shoal.check(TABLE, asking(algorithm="mondrian")) == []
    shoal.anonymize(TABLE, asking(max_suppressed=0.7))


def test_check_does_not_judge_a_scenario_by_columns_that_it_leaves_out() -> None:
    asked = asking(models=[{"name": "scenarios", "known": [["sex"]], "k": 3}])
    assert shoal.check(TABLE, asked) == []
    shoal.anonymize(TABLE, asked)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(demanding())
def test_what_check_calls_infeasible_is(case: tuple[pl.DataFrame, Policy]) -> None:
    table, asked = case
    if any(fault.kind == "infeasible" for fault in shoal.check(table, asked)):
        with unexplained(), pytest.raises(Infeasible):
            shoal.anonymize(table, asked)


@pytest.mark.parametrize(
    ("word", "near"),
    [("ID", "id"), ("patnr", "Pat. Nr."), ("Straße", "STRASSE"), ("año", "An\u0303o"), ("diagnose", "Diagnosis")],
)
def test_near_names_are_found_whatever_their_capitals_and_signs(word: str, near: str) -> None:
    assert nearest(word, [near, "zzzzzzz", "qqqqqqqq"]) == f"did you mean '{near}'?"


def test_a_hint_lists_no_hundred_columns() -> None:
    assert nearest("???", [f"c{number}" for number in range(100)]).endswith("and 70 more")


def test_an_unknown_sheet_is_told_with_the_nearest(tmp_path: Any) -> None:
    pytest.importorskip("fastexcel")
    import xlsxwriter

    path = tmp_path / "wards.xlsx"
    with xlsxwriter.Workbook(path) as book:
        for name in ("Patients 2024", "Staff"):
            book.add_worksheet(name).write_column(0, 0, ["age", 31])
    with pytest.raises(TableError, match=r"no such sheet; got 'patients2024'. Hint: did you mean 'Patients 2024'\?"):
        shoal.check(TABLE, asking()) and shoal.suggest(path, sheet="patients2024")

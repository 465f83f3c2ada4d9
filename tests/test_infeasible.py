"""A policy that cannot be met: what blocks, what is attainable, and changes that really work."""

from __future__ import annotations

import pickle
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import Infeasible
from shoal.policy import Policy
from shoal.policy.policy import Relaxation
from tests.factories import policies

from .strategies import tables_and_policies

pytestmark = pytest.mark.slow

TABLE = pl.DataFrame(
    {
        "age": [21, 24, 25, 26, 26, 32, 32, 36, 36, 38],
        "sex": ["m", "m", "m", "f", "f", "f", "f", "m", "m", "m"],
        "zip": ["a", "a", "b", "b", "b", "c", "c", "c", "d", "d"],
        "illness": ["flu", "cold"] * 5,
    }
)


policy = policies(
    quasi_identifiers={"age": {}, "sex": "suppress", "zip": "suppress"},
    sensitive=["illness"],
    models=[{"name": "k-anonymity", "k": 3}],
    algorithm="exhaustive",
    others="drop",
)


L3 = {"name": "distinct-l-diversity", "on": "illness", "l": 3}
CASES = {
    "a column without a hierarchy": policy(),
    "more values than there are": policy(algorithm="mondrian", models=[{"name": "k-anonymity", "k": 2}, L3]),
    "more values, full-domain": policy(models=[{"name": "k-anonymity", "k": 2}, L3]),
    "k above the number of records": policy(algorithm="mondrian", models=[{"name": "k-anonymity", "k": 11}]),
}


def assert_in_order(error: Infeasible, asked: Policy) -> None:
    """What keeps every promise comes first, then weaker ones, then fewer; of equals the cheapest first."""

    def rank(offer: Relaxation) -> tuple[bool, bool, float]:
        weaker = (offer.policy.models, offer.policy.sensitive) != (asked.models, asked.sensitive)
        return len(offer.policy.models) < len(asked.models), weaker, offer.loss

    ranks = [rank(offer) for offer in error.relaxations]
    assert ranks == sorted(ranks)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(tables_and_policies())
def test_what_is_offered_works_whatever_the_table(case: tuple[pl.DataFrame, Policy]) -> None:
    table, asked = case
    try:
        shoal.anonymize(table, asked)
    except Infeasible as error:
        assert_in_order(error, asked)
        for relaxation in error.relaxations:
            assert shoal.anonymize(table, relaxation.policy).audit.holds, relaxation.text


def _published_by(asked: Policy, columns: list[str]) -> set[str]:
    """The columns that a release of a policy may have."""
    named = {*asked.quasi_identifiers, *asked.sensitive, *asked.pseudonyms.values()}
    others = {*columns} - named - {*asked.hidden} if asked.others == "keep" else set()
    return named | others


@st.composite
def _demanding(draw: st.DrawFn) -> tuple[pl.DataFrame, Policy]:
    """Tables with policies that ask for much, with columns in every role that can hide one."""
    count = draw(st.integers(4, 10))

    def column(*values: Any) -> list[Any]:
        return draw(st.lists(st.sampled_from(values), min_size=count, max_size=count))

    table = pl.DataFrame(
        {
            "age": column(21, 25, 60, 91),
            "zip": column("02138", "02139", "94110"),
            "illness": column("flu", "cold", None),
            "own": column(2, 3, 9),
            "weight": column(1, 2, 3),
            "note": column("x", "y"),
            "who": list(range(count)),
        },
        schema_overrides={"illness": pl.String},
    )
    models: list[dict[str, Any]] = [{"name": "personal-k", "on": "own", "most": draw(st.sampled_from([None, 4]))}]
    models += draw(
        st.lists(
            st.sampled_from(
                [
                    {"name": "k-anonymity", "k": 4},
                    {"preset": "ihsn-5"},
                    {"name": "distinct-l-diversity", "on": "illness", "l": 3},
                    {"name": "t-closeness", "on": "illness", "t": 0.01},
                    {"name": "scenarios", "known": [["age"]], "k": 3},
                    {"name": "k-map", "k": 30},
                ]
            ),
            min_size=1,
            max_size=3,
            unique_by=str,
        )
    )
    weighed = any(model.get("name") == "k-map" for model in models) or draw(st.booleans())
    others = draw(st.sampled_from([None, "keep", "drop"]))
    hidden = {"note": {"pseudonym": False}} if others is None or draw(st.booleans()) else {}
    hidden |= {"who": {}} if others is None or weighed else {}
    hidden |= {"weight": {}} if others is None or draw(st.booleans()) else {}
    policy = Policy(
        identifiers=hidden,
        quasi_identifiers={
            "age": {"treatment": draw(st.sampled_from([None, "age-90"])), "hierarchy": "suppress"},
            "zip": {"hierarchy": "mask", "keep": [3], "boundaries": draw(st.sampled_from([[], ["021**"]]))},
        },
        sensitive={"illness": {"missing": draw(st.sampled_from(["own-value", "suppress"]))}},
        others=others,
        subject=None if weighed else "who",
        survey_weight="weight" if weighed else None,
        models=models,
        algorithm=draw(st.sampled_from(["optimal", "mondrian", "top-down-greedy"])),
        max_suppressed=draw(st.sampled_from([0.0, 0.2])),
    )
    return table, policy


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_demanding())
def test_what_is_offered_shows_no_column_that_was_hidden(case: tuple[pl.DataFrame, Policy]) -> None:
    table, asked = case
    asked = asked.replace(subject=asked.subject or "none")  # each record is about another person
    try:
        shoal.anonymize(table, asked)
    except Infeasible as error:
        for relaxation in error.relaxations:
            release = shoal.anonymize(table, relaxation.policy)
            assert {*release.table.columns} <= _published_by(asked, table.columns), relaxation.text


@pytest.mark.parametrize("others", [None, "keep", "drop"])
def test_what_each_person_asks_for_stays_hidden_when_nobody_reads_it(others: str | None) -> None:
    table = pl.DataFrame({"q": [1, 1, 2, 3], "own": [9, 2, 2, 2], "s": ["a", "a", "b", "b"]})
    models = [{"name": "k-anonymity", "k": 2}, {"name": "personal-k", "on": "own"}, {**L3, "on": "s"}]
    asked = Policy(quasi_identifiers={"q": "suppress"}, sensitive=["s"], models=models, others=others)
    with pytest.raises(Infeasible) as caught:
        shoal.anonymize(table, asked)
    without = [
        one for one in caught.value.relaxations if "do not ask for personal-k and distinct-l-diversity" in one.text
    ]
    assert without
    assert shoal.anonymize(table, without[0].policy).table.columns == ["q", "s"]


@pytest.mark.parametrize("case", CASES)
def test_at_least_two_relaxations_and_each_works(case: str) -> None:
    with pytest.raises(Infeasible) as caught:
        shoal.anonymize(TABLE, CASES[case])
    error = caught.value
    assert len(error.relaxations) >= 2
    for relaxation in error.relaxations:
        assert shoal.anonymize(TABLE, relaxation.policy).audit.holds, relaxation.text
    assert_in_order(error, CASES[case])


def test_the_blocking_column_and_the_best_k_are_named() -> None:
    with pytest.raises(Infeasible) as caught:
        shoal.anonymize(TABLE, policy())
    assert caught.value.blocking == ("age",)
    assert caught.value.attainable == {"k-anonymity": 1}
    assert "columns without a hierarchy can only be published as they are (age)" in str(caught.value)
    texts = [relaxation.text for relaxation in caught.value.relaxations]
    assert "give age the hierarchy suppress" in texts
    assert "do not publish age" in texts


def test_the_best_attainable_k_is_the_best() -> None:
    wide = policy(quasi_identifiers={"sex": {}}, models=[{"name": "k-anonymity", "k": 5}])
    with pytest.raises(Infeasible) as caught:
        shoal.anonymize(TABLE, wide)
    assert caught.value.attainable == {"k-anonymity": 4}
    best = next(r for r in caught.value.relaxations if "k-anonymity 4" in r.text)
    assert shoal.anonymize(TABLE, best.policy).attained == {"k-anonymity": 4}


def test_the_least_suppression_is_the_least() -> None:
    wide = policy(quasi_identifiers={"sex": {}}, models=[{"name": "k-anonymity", "k": 5}])
    with pytest.raises(Infeasible) as caught:
        shoal.anonymize(TABLE, wide)
    allow = next(r for r in caught.value.relaxations if r.text.startswith("allow"))
    assert allow.policy.max_suppressed == 0.4  # the four women
    less = wide.replace(max_suppressed=0.399)
    with pytest.raises(Infeasible):
        shoal.anonymize(TABLE, less)


def test_barred_records_are_explained() -> None:
    table = TABLE.with_columns(zip=pl.Series(["a", None] * 5))
    spec = {"age": {}, "zip": {"missing": "suppress"}}
    with pytest.raises(Infeasible) as caught:
        shoal.anonymize(table, policy(quasi_identifiers=spec, algorithm="mondrian"))
    assert "5 records must be suppressed for their missing values" in str(caught.value)
    texts = [relaxation.text for relaxation in caught.value.relaxations]
    assert "treat missing values of zip as a value of their own" in texts


def test_a_table_without_records() -> None:
    with pytest.raises(Infeasible, match="no records"):
        shoal.anonymize(TABLE.head(0), policy(algorithm="mondrian"))


def test_the_error_survives_pickling() -> None:
    with pytest.raises(Infeasible) as caught:
        shoal.anonymize(TABLE, policy())
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert again.blocking == ("age",)


def test_more_than_the_table_has_is_known_at_once() -> None:
    table = shoal.datasets.adult(complete=True, part="test").head(3000)
    asked = shoal.datasets.policy("adult").replace(models=[{"name": "k-anonymity", "k": 3001}])
    with pytest.raises(Infeasible) as caught:
        shoal.anonymize(table, asked)
    assert caught.value.attainable == {"k-anonymity": 3000}
    assert len(caught.value.relaxations) >= 2


def test_single_dimensional_cuts_do_not_hide_a_class() -> None:
    table = pl.DataFrame({"x": ["a"] * 5 + ["b", "c"], "s": list("abcdefg")})
    asked = Policy(
        quasi_identifiers={"x": "suppress"},
        sensitive=["s"],
        models=[{"name": "k-anonymity", "k": 2}],
        algorithm="single-dimensional",
    )
    assert shoal.anonymize(table, asked).attained == {"k-anonymity": 7}


def test_a_column_of_missing_values_that_must_be_suppressed() -> None:
    table = pl.DataFrame({"x": pl.Series([None] * 4, dtype=pl.Int64)})
    asked = Policy(
        quasi_identifiers={"x": {"missing": "suppress", "hierarchy": "suppress"}},
        models=[{"name": "k-anonymity", "k": 2}],
        algorithm="exhaustive",
        max_suppressed=1.0,
    )
    with pytest.raises(Infeasible, match="every record must be suppressed"):
        shoal.anonymize(table, asked)


def test_a_column_that_a_scenario_names_cannot_be_left_out() -> None:
    table = pl.DataFrame(
        {
            "who": [3, 2, 3, 2, 2, 0, 0, 0],
            "age": [5, 2, 1, 5, 1, 2, 5, 0],
            "zip": ["1", "1", "0", "0", "2", "2", "2", "2"],
            "illness": ["1", "2", "2", "0", "1", "0", "1", "0"],
        }
    )
    asked = policy(
        quasi_identifiers={"age": {"hierarchy": "intervals", "widths": [2, 4]}, "zip": "suppress"},
        models=[{"name": "scenarios", "known": [["age"], ["zip"]], "k": 2, "on": "illness", "confidence": 0.7}],
        algorithm="k-member",
        subject="who",
        max_suppressed=1.0,
    )
    with pytest.raises(Infeasible):
        shoal.anonymize(table, asked)


def test_no_change_is_offered_twice() -> None:
    """Half of a number that is no count is itself: it is tried once."""
    entropy = {"name": "entropy-l-diversity", "on": "illness", "l": 5.0}
    with pytest.raises(Infeasible) as caught:
        shoal.anonymize(TABLE, policy(algorithm="mondrian", models=[{"name": "k-anonymity", "k": 2}, entropy]))
    texts = [offer.text for offer in caught.value.relaxations]
    assert texts
    assert len(set(texts)) == len(texts)

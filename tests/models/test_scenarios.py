"""Scenarios: whoever knows some of the quasi-identifiers finds k records; against plain counts, and end to end."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import AuditFailed, Infeasible, PolicyError
from shoal.explore.lattice import lattice
from shoal.frequencies.frequencies import Background, Classes, Frequencies, SensitiveColumn
from shoal.models import KAnonymity, Scenarios

NAMES = ("a", "b", "c")
Person = tuple[tuple[int, ...], int]
"""What a record shows in three columns, and its sensitive value."""
PEOPLE = st.lists(st.tuples(st.tuples(*[st.integers(0, 2)] * 3), st.integers(0, 2)), min_size=1, max_size=14)
MODELS = [
    Scenarios(any_of=1, k=2),
    Scenarios(any_of=2, k=3),
    Scenarios(any_of=3, k=2),
    Scenarios(known=[["b", "a"], ["c"]], k=3),
    Scenarios(any_of=2, k=2, on="s", confidence=0.6),
    Scenarios(known=[["c"], ["a", "c"]], k=2, on="s", confidence=0.5),
]


def classes_of(people: list[Person]) -> tuple[Classes, Background, list[tuple[int, ...]]]:
    shown = sorted({labels for labels, _ in people})
    members = np.array([shown.index(labels) for labels, _ in people], np.int64)
    values = np.array([[value] for _, value in people], np.int32)
    table = Frequencies(np.array(shown, np.int32), members, np.ones(len(people), np.int64), values)
    labels = np.array(shown, np.int64)
    classes = Classes(len(shown), members, None, table.cell_counts, table, shown=lambda: labels)
    return classes, Background(table, {"s": SensitiveColumn(0, 3)}, quasi_identifiers=NAMES), shown


def sets_of(model: Scenarios) -> list[tuple[int, ...]]:
    if model.known is not None:
        return [tuple(NAMES.index(name) for name in names) for names in model.known]
    return [indices for size in range(1, (model.any_of or 0) + 1) for indices in combinations(range(3), size)]


def plain(model: Scenarios, people: list[Person]) -> tuple[int, Fraction]:
    """The smallest group, and the greatest share, by looking at each record with each set of columns."""
    k, share = len(people), Fraction(0)
    for indices in sets_of(model):
        for labels, _ in people:
            alike = [value for other, value in people if all(other[index] == labels[index] for index in indices)]
            k, share = min(k, len(alike)), max(share, Fraction(max(Counter(alike).values()), len(alike)))
    return k, share


def complies(model: Scenarios, people: list[Person]) -> bool:
    k, share = plain(model, people)
    return not people or (k >= model.k and (model.confidence is None or share <= Fraction(repr(model.confidence))))


@settings(max_examples=80, deadline=None)
@given(PEOPLE)
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_against_plain_counts(model: Scenarios, people: list[Person]) -> None:
    classes, background, shown = classes_of(people)
    k, share = plain(model, people)
    told = model.measure(classes, background)
    assert told == k if model.confidence is None else (told[0] == pytest.approx(float(share)) and told[1] == k)
    assert model.meets(told) == complies(model, people)
    kept = model.holds(classes, background)
    assert kept.all() == complies(model, people)
    stay = [person for person in people if kept[shown.index(person[0])]]
    assert complies(model, stay), "what stays complies together"


@settings(max_examples=80, deadline=None)
@given(PEOPLE)
@pytest.mark.parametrize("model", [model for model in MODELS if model.absorbing], ids=str)
def test_no_more_than_must_is_suppressed(model: Scenarios, people: list[Person]) -> None:
    classes, background, shown = classes_of(people)
    kept = model.holds(classes, background)
    if len(shown) > 7:
        return
    for choice in product([False, True], repeat=len(shown)):
        some = [person for person in people if choice[shown.index(person[0])]]
        if complies(model, some):
            assert (kept >= np.array(choice)).all(), "whatever could stay together stays"


@settings(max_examples=80, deadline=None)
@given(PEOPLE, st.integers(0, 2), st.lists(st.integers(0, 1), min_size=3, max_size=3))
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_claims_hold_when_a_column_is_generalized(
    model: Scenarios, people: list[Person], index: int, upper: list[int]
) -> None:
    raised = [((*own[:index], upper[own[index]], *own[index + 1 :]), value) for own, value in people]
    before, after = classes_of(people), classes_of(raised)
    kept, still = model.holds(*before[:2]), model.holds(*after[:2])
    assert model.monotone
    if kept.all():
        assert still.all(), "monotone: what complies does so when it is generalized"
    if model.absorbing:
        stay = [kept[before[2].index(own)] for own, _ in people]
        assert all(still[after[2].index(own)] for (own, _), was in zip(raised, stay, strict=True) if was)


@settings(max_examples=50, deadline=None)
@given(PEOPLE, PEOPLE)
@pytest.mark.parametrize("model", MODELS[:2], ids=str)
def test_several_tables_are_tested_each_for_itself(model: Scenarios, one: list[Person], two: list[Person]) -> None:
    apart = [model.holds(*classes_of(people)[:2]) for people in (one, two)]
    (first, background, shown), (second, _, more) = classes_of(one), classes_of(two)
    members = np.concatenate([first.members, second.members + first.count])
    table = Frequencies(
        np.zeros((0, 0), np.int32), members, np.ones(len(members), np.int64), np.zeros((len(members), 1), np.int32)
    )
    labels, ends = np.array([*shown, *more]), np.array([len(shown), len(shown) + len(more)])
    both = Classes(int(ends[1]), members, None, table.cell_counts, table, None, ends, shown=lambda: labels)
    assert model.holds(both, background).tolist() == [*apart[0].tolist(), *apart[1].tolist()]


@settings(max_examples=50, deadline=None)
@given(PEOPLE)
def test_a_class_that_is_large_enough_complies_by_itself(people: list[Person]) -> None:
    """What local searches ask is more than the model needs."""
    from dataclasses import replace

    classes, background, shown = classes_of(people)
    for model in MODELS:
        alone = model.holds(replace(classes, shown=None), background)
        stay = [person for person in people if alone[shown.index(person[0])]]
        assert complies(model, stay)


TABLE = pl.DataFrame(
    {
        "age": [20, 20, 21, 21, 30, 30, 31, 31],
        "sex": ["f", "m", "f", "m", "f", "m", "f", "m"],
        "zip": ["1", "1", "1", "1", "2", "2", "2", "2"],
        "ill": ["x", "y", "x", "y", "x", "y", "y", "x"],
    }
)


def policy(model: dict[str, Any], **changes: Any) -> shoal.Policy:
    return shoal.Policy(
        **{
            "quasi_identifiers": {
                "age": {"hierarchy": "intervals", "widths": [10]},
                "sex": "suppress",
                "zip": "suppress",
            },
            "sensitive": ["ill"],
            "models": [{"name": "scenarios", **model}],
            "algorithm": {"name": "optimal"},
            **changes,
        }
    )


def test_less_is_lost_than_with_all_columns_known() -> None:
    one = shoal.anonymize(TABLE, policy({"any_of": 1, "k": 2}))
    two = shoal.anonymize(TABLE, policy({"any_of": 2, "k": 2}))
    every = shoal.anonymize(TABLE, policy({"any_of": 3, "k": 2}))
    assert one.loss == 0.0  # each age, sex and zip occurs twice, and everyone is alone with all three
    assert one.audit.sizes.max() == 1
    assert 0.0 < two.loss <= every.loss
    like = shoal.anonymize(TABLE, policy({"any_of": 3, "k": 2}, models=[KAnonymity(k=2)]))
    assert every.loss == like.loss


@pytest.mark.parametrize(
    "model",
    [
        {"any_of": 2, "k": 2},
        {"known": [["zip"], ["sex", "age"]], "k": 2},
        {"known": [["zip", "sex"]], "k": 3, "on": "ill", "confidence": 0.6},
    ],
    ids=str,
)
def test_every_node_of_the_lattice_by_hand(model: dict[str, Any]) -> None:
    """What each node would suppress, against plain counts over what its records show."""
    asked = policy(model, max_suppressed=0.5)
    given = asked.models[0]
    assert isinstance(given, Scenarios)
    table = TABLE.vstack(TABLE.head(1)).vstack(TABLE.tail(2))
    rows = list(table.iter_rows())
    indices = {"age": 0, "sex": 1, "zip": 2}
    sets = [tuple(indices[name] for name in names) for names in given.scenarios(tuple(indices))]
    for node in lattice(table, asked):
        levels = node["levels"]
        shown = [
            (
                [age, age // 10, "*"][levels["age"]],
                "*" if levels["sex"] else sex,
                "*" if levels["zip"] else zip_code,
            )
            for age, sex, zip_code, _ in rows
        ]
        staying = set(range(len(rows)))
        while True:
            poor = set()
            for one, known in product(staying, sets):
                alike = [rows[n][3] for n in staying if all(shown[n][index] == shown[one][index] for index in known)]
                share = max(Counter(alike).values()) / len(alike)
                if len(alike) < given.k or share > (given.confidence or 1):
                    poor.add(one)
            if not poor:
                break
            staying -= poor
        if given.absorbing:
            assert node["suppressed"] == len(rows) - len(staying), levels
        elif len(staying) == len(rows):
            assert node["suppressed"] == 0, levels


def test_persons_are_counted_with_a_subject() -> None:
    case = pl.DataFrame({"age": [1, 1, 2, 2], "sex": ["f", "m", "f", "m"], "who": [1, 1, 2, 3]})
    asked = policy({"any_of": 1, "k": 2}, quasi_identifiers=["age", "sex"], sensitive=[], subject="who")
    raw = case.select(pl.col("age", "sex").cast(pl.String))
    assert shoal.audit(raw, asked, subjects=case["who"]).models[0].attained == 1, "both records of age 1 are of one"
    assert shoal.audit(raw, asked.replace(subject=None), subjects=None).models[0].attained == 2


def test_a_share_that_rises_when_classes_are_joined_is_told_as_infeasible() -> None:
    # person 2 is in both classes: each has 2 of 3 with flu at most, who knows only the sex sees 4 of 5 persons
    table = pl.DataFrame(
        {
            "day": [1, 1, 1, 2, 2, 2],
            "sex": ["f"] * 6,
            "illness": ["flu", "flu", "cold", "flu", "flu", "cold"],
            "person": [0, 1, 2, 3, 4, 2],
        }
    )
    policy = shoal.Policy(
        quasi_identifiers=["day", "sex"],
        sensitive=["illness"],
        subject="person",
        models=[{"name": "scenarios", "any_of": 2, "k": 2, "on": "illness", "confidence": 0.7}],
        algorithm="bottom-up",
    )
    with pytest.raises(Infeasible, match=r"scenarios asks for \(0\.7, 2\)"):
        shoal.anonymize(table, policy)
    assert shoal.anonymize(table.with_columns(pl.Series("person", range(6))), policy).attained == {
        "scenarios": (pytest.approx(2 / 3, abs=1e-6), 3)
    }


def test_the_audit_counts_texts() -> None:
    asked = policy({"known": [["age", "sex"]], "k": 2, "on": "ill", "confidence": 0.5})
    shown = TABLE.with_columns(age=pl.lit("[20, 31]"))
    by_hand = Counter(zip(TABLE["sex"], TABLE["ill"], strict=True))
    worst = max(by_hand.values()) / 4
    assert shoal.audit(shown, asked).models[0].attained == (worst, 4)


def test_a_search_that_forgets_a_column_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scenarios, "holds", lambda self, classes, background: np.ones(classes.count, bool))
    with pytest.raises(AuditFailed, match="scenarios does not hold"):
        shoal.anonymize(TABLE, policy({"any_of": 2, "k": 3})).write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"k": 2}, "one of the two"),
        ({"k": 2, "any_of": 1, "known": [["age"]]}, "one of the two"),
        ({"k": 2, "any_of": 0}, "must be at least 1"),
        ({"k": 1, "any_of": 1}, "must be at least 2"),
        ({"k": 2, "known": []}, "known"),
        ({"k": 2, "known": [[]]}, "known"),
        ({"k": 2, "known": [["agee"]]}, "must name quasi-identifiers; got 'agee'. Hint: did you mean 'age'?"),
        ({"k": 2, "known": [["ill"]]}, "must name quasi-identifiers; got 'ill'"),
        ({"k": 2, "any_of": 1, "on": "ill"}, "go together"),
        ({"k": 2, "any_of": 1, "on": "age", "confidence": 0.5}, "must name a sensitive column"),
        ({"k": 2, "any_of": 1, "on": "ill", "confidence": 0}, "must be more than 0"),
    ],
    ids=str,
)
def test_bad_input(model: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError) as caught:
        policy(model)
    assert message in str(caught.value)


def test_too_many_sets_are_refused() -> None:
    columns = [f"c{number}" for number in range(20)]
    with pytest.raises(PolicyError, match="any 10 of 20 quasi-identifiers are 184,756 sets"):
        shoal.Policy(quasi_identifiers=columns, models=[{"name": "scenarios", "any_of": 10, "k": 2}])

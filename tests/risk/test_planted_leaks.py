"""Each attack finds a leak that is planted, and none in data that have none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.risk.evidence import as_they_are, covering, evidence, people, published

from shoal import registry as catalog
from shoal.errors import PolicyError
from shoal.risk import (
    Downcoding,
    Inference,
    KnownColumns,
    Minimality,
    Prosecutor,
    Similarity,
    Uniqueness,
    UnsortedMatching,
)
from shoal.risk.base import WANTED, Attribute, Diversity, Evidence, OtherTable, RecordPairs, Risk

TWO, FOUR = np.array([0, 0, 1, 1]), [[0], [0], [1], [1]]
MIXED = [0, 1, 0, 1]


def attribute(values: list[int], **more: Any) -> dict[str, Attribute]:
    return {"illness": Attribute(np.array(values), np.bincount(values), **more)}


def releases(now: list[Any], before: list[Any]) -> Evidence:
    """Two releases of records (text, illness) about two persons; text 2 covers both values."""
    codes = np.array([row[1] for row in now]), np.array([row[1] for row in before])
    beside = OtherTable(codes, {"illness": codes}, published([row[:1] for row in before]))
    meaning = (covering([0], [1], [0, 1], count=2),)
    return evidence(
        [row[:1] for row in now],
        [row[1] for row in now],
        meaning=meaning,
        people=people([0], [1]),
        earlier=(beside,),
    )


def in_order(order: list[int]) -> Evidence:
    """Records of ten persons published in some order, beside the original in its own."""
    where = np.array(order)
    return evidence(
        [[index] for index in order],
        meaning=(as_they_are(10),),
        original=OtherTable((where, np.array(ORIGINAL)), values=np.array(ORIGINAL)[:, None]),
    )


ORIGINAL = [3, 1, 4, 0, 5, 9, 2, 6, 8, 7]


def merged(values: list[int]) -> Evidence:
    """One class of groups of two and four persons, and what its records have; at most half may have a value."""
    return evidence(
        [[0]] * 6,
        values,
        meaning=(covering([0, 1], count=2),),
        people=people(*([[0]] * 2 + [[1]] * 4)),
        asked={"illness": Diversity(share=0.5)},
    )


def ranged(held: list[int]) -> Evidence:
    """A class that shows the range from 0 to 3, whose persons hold these values."""
    return evidence(
        [[0]] * len(held),
        meaning=(covering([0, 1, 2, 3], count=4, parts=[[0, 3]]),),
        original=OtherTable(None, values=np.array(held)[:, None]),
        people=people(*([value] for value in held)),
    )


def at_home(households: list[int]) -> Evidence:
    """Three records alone in classes of twelve persons each, who live in these households."""
    known = {"home": np.array(households)}
    return evidence([[0], [1], [2]], weights=np.full(3, 40.0), held=known.get)


def moved(steps: list[float]) -> Evidence:
    """Four records whose only number was moved by so much."""
    before = np.array([1.0, 2.0, 6.0, 9.0])
    return Evidence(np.array([4]), pairs=RecordPairs({"pay": (before, before + steps)}))


LABELS = np.array([[0, 1, 2, 3], [0, 0, 1, 1]])
CASES: dict[str, tuple[Callable[[], Evidence], Callable[[], Evidence]]] = {
    "prosecutor": (lambda: Evidence(np.array([1, 5])), lambda: Evidence(np.array([2, 5]))),
    "marketer": (lambda: Evidence(np.array([1, 1, 3])), lambda: Evidence(np.array([2, 2]))),
    "journalist": (
        lambda: Evidence(np.array([1, 5]), population=np.array([1, 9])),
        lambda: Evidence(np.array([1, 5]), population=np.array([2, 9])),
    ),
    "uniqueness": (lambda: Evidence(np.array([1, 5])), lambda: Evidence(np.array([2, 5]))),
    "known-columns": (
        lambda: evidence([[0, 0], [0, 1], [1, 0], [1, 0]]),
        lambda: evidence([[0, 0], [0, 0], [1, 1], [1, 1]]),
    ),
    "linking": (
        lambda: evidence([[0], [1], [1]], meaning=(as_they_are(2),), external=people([0])),
        lambda: evidence([[0], [1], [1]], meaning=(as_they_are(2),), external=people([1])),
    ),
    "homogeneity": (
        lambda: Evidence(np.array([2, 2]), distinct={"illness": np.array([2, 1])}),
        lambda: Evidence(np.array([2, 2]), distinct={"illness": np.array([2, 2])}),
    ),
    "background-knowledge": (
        lambda: evidence(FOUR, MIXED),
        lambda: evidence([[0]] * 3, [0, 1, 2]),
    ),
    "skewness": (
        lambda: evidence([[0], [0], *[[1]] * 8], [0, 0, *[1] * 8]),
        lambda: evidence(FOUR, MIXED),
    ),
    "similarity": (
        lambda: evidence(FOUR, sensitive=attribute([0, 1, 0, 2], levels=LABELS[:, :3])),
        lambda: evidence(FOUR, sensitive=attribute([0, 2, 1, 3], levels=LABELS)),
    ),
    "inference": (
        lambda: evidence([[place % 2] for place in range(200)], [place % 2 for place in range(200)]),
        lambda: evidence([[place % 2] for place in range(200)], [place // 2 % 2 for place in range(200)]),
    ),
    "complementary-release": (
        lambda: releases([(2, 0), (2, 1)], [(0, 0), (1, 1)]),
        lambda: releases([(2, 0), (2, 1)], [(2, 0), (2, 1)]),
    ),
    "composition": (
        lambda: releases([(2, 0), (2, 1)], [(2, 1), (2, 2)]),
        lambda: releases([(2, 0), (2, 1)], [(2, 0), (2, 1)]),
    ),
    "temporal": (
        lambda: releases([(2, 0), (2, 1), (2, 2)], [(2, 0), (2, 1)]),
        lambda: releases([(2, 0), (2, 1), (2, 2), (2, 3)], [(2, 0), (2, 1)]),
    ),
    "unsorted-matching": (lambda: in_order(ORIGINAL), lambda: in_order(ORIGINAL[::-1])),
    "minimality": (lambda: merged([0, 0, 1, 2, 3, 4]), lambda: merged([0, 1, 2, 3, 4, 5])),
    "downcoding": (lambda: ranged([0, 3, 1]), lambda: ranged([1, 1, 2])),
    "individual-risk": (
        lambda: Evidence(np.array([1, 5]), weights=np.array([2.0, 500.0])),
        lambda: Evidence(np.array([1, 5]), weights=np.array([100.0, 500.0])),
    ),
    "household-risk": (lambda: at_home([0, 0, 1]), lambda: at_home([0, 1, 2])),
    "suda": (
        lambda: evidence([[0, 0], [0, 1], [1, 0], [1, 0]], weights=np.array([2.0, 1.0, 1.0])),
        lambda: evidence([[0, 0], [0, 0], [1, 1], [1, 1]]),
    ),
    "log-linear": (
        lambda: evidence([[0, 0], [0, 0], [0, 0], [1, 1]], weights=np.array([4.0, 1.0])),
        lambda: evidence([[0, 0], [0, 0], [1, 1], [1, 1]], weights=np.array([200.0, 200.0])),
    ),
    "record-linkage": (lambda: moved([0.0, 0.1, 0.0, 0.1]), lambda: moved([9.0, 5.0, -5.0, -9.0])),
    "interval-disclosure": (lambda: moved([0.0, 0.01, 0.0, 0.01]), lambda: moved([9.0, 5.0, -5.0, -9.0])),
}


ASKED = {"household-risk": {"household": "home", "most": 0.15}}


def attack(name: str) -> Risk:
    entry = catalog.find("risk", name)(**ASKED.get(name, {}))
    assert isinstance(entry, Risk)
    return entry


def test_every_attack_is_tried() -> None:
    assert set(CASES) == set(catalog.names("risk"))


@pytest.mark.parametrize("name", CASES)
def test_a_planted_leak_is_found(name: str) -> None:
    given = CASES[name][0]()
    assert not attack(name).lacks(given)
    assert any(finding.found for finding in attack(name).run(given))


@pytest.mark.parametrize("name", CASES)
def test_harmless_data_have_none(name: str) -> None:
    given = CASES[name][1]()
    assert not attack(name).lacks(given)
    found = attack(name).run(given)
    assert found
    assert not any(finding.found for finding in found)


@pytest.mark.parametrize("name", CASES)
def test_it_says_what_it_needs_and_what_a_leak_means(name: str) -> None:
    risk = attack(name)
    assert risk.means.endswith(".")
    assert all(need == "sizes" or need in WANTED for need in risk.needs)
    for need in risk.needs:
        if need in WANTED:
            assert "needs" in risk.lacks(replace(CASES[name][0](), **{need: None}))


@pytest.mark.parametrize("name", CASES)
def test_findings_are_plain_data_and_the_same_again(name: str) -> None:
    import json

    first, again = ([finding.to_dict() for finding in attack(name).run(CASES[name][0]())] for _ in range(2))
    assert json.loads(json.dumps(first, allow_nan=False)) == again


def test_thresholds_are_class_sizes() -> None:
    sizes = Evidence(np.array([4, 5, 11]), least=5)
    assert Prosecutor().run(sizes)[0].found
    assert Prosecutor(least=3).run(sizes)[0].measured["above"] == 0
    assert Prosecutor().run(sizes)[0].worst == (0,)
    with pytest.raises(PolicyError, match="at least 2"):
        Prosecutor(least=1)


def test_uniques_of_a_sample_need_not_be_alone_in_the_population() -> None:
    sizes = np.array([1, 1, 2])
    found = Uniqueness().run(Evidence(sizes, population=np.array([1, 30, 2])))[0]
    assert found.measured["unique_in_population"] == 0.25
    assert found.worst == (0,)
    assert not Uniqueness().run(Evidence(sizes, population=np.array([7, 30, 2])))[0].found


def test_numbers_that_are_near_each_other_are_similar() -> None:
    salaries = attribute([0, 1, 0, 2], numbers=np.array([3000.0, 3010.0, 9000.0]))
    found = Similarity().run(evidence(FOUR, sensitive=salaries))[0]
    assert found.found
    assert found.worst == (0,)
    assert not Similarity(spread=0.001).run(evidence(FOUR, sensitive=salaries))[0].found


def test_a_class_of_one_value_is_not_called_similar() -> None:
    same = attribute([0, 0, 0, 2], levels=LABELS[:, :3])
    assert Similarity().run(evidence(FOUR, sensitive=same))[0].worst == ()


def test_a_constant_column_spreads_nowhere_and_is_no_error() -> None:
    constant = attribute([0, 0, 0, 0], numbers=np.array([7.0]), levels=np.zeros((2, 1), np.int64))
    found = Similarity().run(evidence(FOUR, sensitive=constant))[0]
    assert not found.found
    assert found.measured["levels"] == []


def test_missing_values_that_may_be_any_count_as_the_likeliest() -> None:
    chance = catalog.find("risk", "background-knowledge")(excluded=0)
    assert isinstance(chance, Risk)
    assert chance.run(evidence([[0]] * 4, [0, 1, -1, -1]))[0].measured["chance"] == 0.75


def test_too_many_sets_of_columns_are_left_out_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.risk.known_columns.MOST_CELLS", 10)
    found = KnownColumns().run(evidence([[0, 0, 0], [0, 1, 1], [1, 0, 1]]))[0]
    assert len(found.measured["curve"]) == 1
    assert found.left_out == "4 sets of 2 columns or more: too many for so many classes"


def test_a_search_that_looks_at_no_value_gives_none_away() -> None:
    blind = replace(merged([0, 0, 1, 2, 3, 4]), asked={}, people=None)
    assert Minimality().lacks(blind) == ""
    assert Minimality().run(blind)[0].to_dict() == {"found": False, "measured": {"looked": False}, "worst": []}


def test_k_explains_a_class_that_was_too_small() -> None:
    small = replace(merged([0, 0, 1, 2, 3, 4]), least=3)
    assert not Minimality().run(small)[0].found


def test_places_tell_nothing_in_a_sorted_release() -> None:
    ordered = np.arange(10)
    one = evidence(
        [[index] for index in range(10)],
        meaning=(as_they_are(10),),
        original=OtherTable((ordered, ordered), values=ordered[:, None]),
    )
    found = UnsortedMatching().run(one)[0]
    assert found.measured["same"] == 1.0
    assert not found.found


def test_tables_of_other_lengths_have_no_common_places() -> None:
    one = in_order(ORIGINAL)
    shorter = OtherTable(None, values=np.array(ORIGINAL)[:9, None])
    assert "another number of records" in UnsortedMatching().lacks(replace(one, original=shorter))
    assert UnsortedMatching().lacks(replace(one, original=None)) == "needs the original or an earlier release"


def test_claims_are_checked_only_where_the_persons_are_known() -> None:
    crowd = replace(ranged([0, 3, 1]), people=people([0], [3], [1], [2]))
    found = Downcoding().run(crowd)[0]
    assert not found.found
    assert found.measured["claimed"] == pytest.approx(2 / 3)
    assert "persons are not known" in found.left_out


def test_values_that_follow_from_chance_are_not_learned() -> None:
    chance = np.random.default_rng(0)
    rows, values = chance.integers(0, 3, (3000, 2)).tolist(), chance.integers(0, 4, 3000).tolist()
    measured = Inference().run(evidence(rows, values))[0].measured
    assert abs(measured["control"] - measured["baseline"]) < 0.05
    assert measured["gain"] < 0.05


@pytest.mark.parametrize("name", CASES)
def test_an_empty_release_has_no_leak(name: str) -> None:
    nothing = np.zeros(0, np.int64)
    none = replace(published([[0]]), classes=nothing, shown=np.zeros((0, 1), np.int64), sizes=nothing)
    empty = replace(
        CASES[name][0](),
        sizes=nothing,
        release=none,
        distinct={"illness": nothing},
        population=nothing,
        sensitive={"illness": Attribute(nothing, np.zeros(1, np.int64), np.zeros((2, 1), np.int64), np.zeros(1))},
        original=OtherTable(None, values=np.zeros((0, 1), np.int64)),
        columns=("a",),
        earlier=(OtherTable((nothing, nothing), {"illness": (nothing, nothing)}, none),),
        weights=np.zeros(0),
        held={"home": nothing}.get,
        pairs=RecordPairs({"pay": (np.zeros(0), np.zeros(0))}),
    )
    assert not any(finding.found for finding in attack(name).run(empty))

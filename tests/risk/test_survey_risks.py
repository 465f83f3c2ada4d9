"""Risks of survey tables: figures by hand, by another way of counting, and those that sdcMicro 5.8.1 prints."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import factorial, log

import numpy as np
import polars as pl
import pytest
from benchmarks.results import SHARED
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from tests.risk.evidence import evidence

import shoal
from shoal.risk import HouseholdRisk, LogLinear, RecordLinkage, Suda
from shoal.risk._individual import estimate_risks
from shoal.risk.base import Evidence, RecordPairs

SDC = SHARED / "sdc"
KEYS = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]


def read_table(name: str) -> pl.DataFrame:
    if not (SDC / f"{name}.csv").exists():
        pytest.skip("the test tables of sdcMicro are not here")
    return pl.read_csv(SDC / f"{name}.csv")


def measured(table: pl.DataFrame, keys: list[str], weight: str, attack: str) -> dict[str, float]:
    """What an attack measures on a table that is published as it is."""
    policy = {"quasi_identifiers": keys, "others": "keep", "survey_weight": weight}
    audit = shoal.audit(table, policy, attacks=[attack])
    return dict(audit.attacks.run[0].finding.measured)


# by hand: p = f / F, and what Benedetti and Franconi make of it
def test_the_risk_of_a_class_by_hand() -> None:
    assert estimate_risks(np.array([1]), np.array([4.0])) == pytest.approx([(1 / 3) * log(4)])
    assert estimate_risks(np.array([2]), np.array([8.0])) == pytest.approx([1 / 3 - log(4) / 9])
    assert estimate_risks(np.array([1, 2, 5]), np.array([1.0, 2.0, 3.0])).tolist() == [1.0, 0.5, 0.2]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 2), st.floats(1.01, 1e4))
def test_it_is_the_expected_value_of_one_over_a_negative_binomial(size: int, times: float) -> None:
    """E(1 / F) is the integral of the generating function of F, divided by its argument."""
    p = 1 / times
    expected = integrate.quad(lambda t: (p * t / (1 - (1 - p) * t)) ** size / t, 0, 1, limit=500)[0]
    assert estimate_risks(np.array([size]), np.array([size * times]))[0] == pytest.approx(expected, rel=1e-6)


def test_the_risks_of_francdat() -> None:
    """sdcMicro 5.8.1 on its table of eight records, which is not copied here."""
    table = read_table("francdat")
    classes = table.with_columns(
        fk=pl.len().over("Key1", "Key2", "Key3", "Key4"), Fk=pl.col("w").sum().over("Key1", "Key2", "Key3", "Key4")
    )
    assert classes["Fk"].to_list() == [110, 84.5, 84.5, 17, 541, 8, 5, 110]
    printed = [0.01714426, 0.02204233, 0.02204233, 0.1770758, 0.01165448, 0.2970631, 0.4023595, 0.01714426]
    found = estimate_risks(classes["fk"].cast(pl.Int64).to_numpy(), classes["Fk"].to_numpy())
    assert [float(f"{risk:.7g}") for risk in found] == printed
    told = measured(table, ["Key1", "Key2", "Key3", "Key4"], "w", "individual-risk")
    assert (told["max"], told["expected"]) == pytest.approx((max(printed), sum(printed)), abs=1e-7)


@pytest.mark.parametrize(("name", "total"), [("testdata", 10.7782989187), ("testdata2", 4.3260689626)])
def test_the_risks_of_testdata(name: str, total: float) -> None:
    told = measured(read_table(name), KEYS, "sampling_weight", "individual-risk")
    assert round(told["expected"], 10) == total
    assert round(told["max"], 10) == 0.0465168706


def test_the_scores_of_testdata() -> None:
    told = measured(read_table("testdata"), ["urbrur", "roof", "walls", "water", "sex"], "sampling_weight", "suda")
    assert (told["scores"], told["max"]) == (19, 2)
    assert (round(told["dis"], 7), round(told["dis_max"], 8)) == (0.1391105, 0.01500353)
    assert [round(part, 3) for part in told["contributions"]] == [31.579, 78.947, 26.316, 100.0, 89.474]


cell = st.integers(0, 2)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(cell, cell, cell, cell), min_size=1, max_size=14))
def test_minimal_sample_uniques_by_their_definition(rows: list[tuple[int, ...]]) -> None:
    told = Suda().run(evidence(rows))[0].measured
    scores, parts = [0] * len(rows), [0] * 4
    for number, row in enumerate(rows):
        unique = [
            set(known)
            for many in range(1, 5)
            for known in combinations(range(4), many)
            if Counter(tuple(other[index] for index in known) for other in rows)[tuple(row[i] for i in known)] == 1
        ]
        for known in unique:
            if not any(part < known for part in unique):
                scores[number] += factorial(4 - len(known))
                for index in known:
                    parts[index] += factorial(4 - len(known))
    total = sum(scores)
    assert (told["scores"], told["max"]) == (total, max(scores))
    assert told["contributions"] == pytest.approx([100 * part / total if total else 0 for part in parts])


def test_dis_is_spread_over_the_unique_records() -> None:
    # two unique records of equal scores, one pair: DIS = 2 f / (2 f + 2 (1 - f)) = f, and each has DIS
    told = Suda(sampled=0.2).run(evidence([[0, 0], [1, 1], [2, 2], [2, 2]]))[0].measured
    assert told["dis"] == pytest.approx(2 * 0.2)


def test_a_household_by_hand() -> None:
    one = evidence([[0], [1], [2]], weights=np.array([4.0, 4.0, 1e9]), held={"home": np.array([5, 5, -1])}.get)
    single = log(4) / 3
    told = HouseholdRisk(household="home").run(one)[0].measured
    assert told["max"] == pytest.approx(1 - (1 - single) ** 2)
    assert HouseholdRisk().run(one) == []


def test_households_of_the_original_are_known_by_rows() -> None:
    table = pl.DataFrame({"age": [1, 2, 3, 4], "home": ["a", "a", "b", "b"], "w": [4.0, 4.0, 4.0, 4.0]})
    policy = {"quasi_identifiers": ["age"], "identifiers": ["home"], "survey_weight": "w", "others": "keep"}
    attacks = [{"name": "household-risk", "household": "home"}]
    rows = [2, 0, 3, 1]
    audit = shoal.audit(table.drop("home")[rows], policy, original=table, attacks=attacks, rows=rows)
    assert audit.attacks.run[0].finding.measured["expected"] == pytest.approx(2 * (1 - (1 - log(4) / 3) ** 2))


def test_independence_of_three_columns_by_hand() -> None:
    rows = [[0, 0, 0]] * 4 + [[1, 1, 0]] * 3 + [[0, 1, 1]]
    told = LogLinear(sampled=0.5).run(evidence(rows))[0].measured
    others = 0.5 * (8 * (5 / 8) * (4 / 8) * (1 / 8)) / 0.5  # expected of 0, 1, 1, and as many again outside
    assert told["unique"] == pytest.approx(np.exp(-others))
    assert told["correct"] == pytest.approx((1 - np.exp(-others)) / others)


def test_associations_of_pairs_keep_the_tables_of_pairs() -> None:
    rng = np.random.default_rng(1)
    rows = [*rng.integers(0, 3, (200, 2)).tolist(), [3, 3]]
    told = LogLinear(sampled=0.1, associations="pairs").run(evidence(rows))[0].measured
    assert told["unique"] == pytest.approx(np.exp(-9.0))  # of two columns the pairs are the table itself: one of one
    three = [[*row, 0] for row in rows]
    assert LogLinear(sampled=0.1, associations="pairs").run(evidence(three))[0].measured == pytest.approx(told)


def linked(before: list[float], after: list[float]) -> dict[str, float]:
    pairs = RecordPairs({"pay": (np.array(before), np.array(after))})
    return dict(RecordLinkage().run(Evidence(np.array([len(before)]), pairs=pairs))[0].measured)


def test_links_by_distance() -> None:
    assert linked([1, 2, 3, 4], [1, 2, 3, 4])["distance"] == 1
    assert linked([1, 2, 8, 9], [1.5, 1.5, 8.5, 8.5])["distance"] == 0.5  # one of two equally near
    assert linked([1, 2, 3, 4], [4, 3, 2, 1])["distance"] == 0


def test_columns_that_agree_by_chance_say_less() -> None:
    """A column of one value for all says nothing; one of a value for each says all."""
    count = 40
    names = np.arange(count)
    pairs = RecordPairs(categories={"town": (names % 2, names % 2), "name": (names, np.where(names < 4, 0, names))})
    told = RecordLinkage().run(Evidence(np.array([count]), pairs=pairs))[0].measured
    # those with their own name are found; the first four share a name and, by two, a town; of the other three none
    # agrees in the name, so the town says one of its twenty
    assert told["probabilistic"] == pytest.approx((36 + 0.5 + 3 / 20) / count, abs=0.5 / count)


def test_changed_columns_are_linked_and_others_not() -> None:
    original = pl.DataFrame({"pay": [10, 20, 30, 40], "town": ["a", "b", "a", "b"], "kept": [1, 2, 3, 4]})
    published = original.with_columns(pay=pl.Series([11, 19, 31, 40]), town=pl.Series(["b", "b", "a", "a"]))
    policy = {"quasi_identifiers": ["kept"], "others": "keep"}
    rows = [0, 1, 2, 3]
    audit = shoal.audit(published, policy, original=original, attacks=["record-linkage"], rows=rows)
    told = audit.attacks.run[0].finding.measured
    assert (told["columns"], told["distance"]) == (2, 1.0)
    assert (
        "which of its records"
        in shoal.audit(published, policy, original=original, attacks=["record-linkage"]).attacks.not_run[
            "record-linkage"
        ]
    )

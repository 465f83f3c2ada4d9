"""Persons of whom a draft is told little: few of them, numbered with a place, by nothing at all, or beside events."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.profiling.clusters import measure_clustering
from shoal.profiling.profile import name_means

Row = dict[str, Any]


def make_records(persons: int, most: int, own: Callable[[random.Random, int], Row], lines: int = 1) -> pl.DataFrame:
    """Return the visits of persons in no order, each of some lines, with a number of the visit (``slip``)."""
    draw, rows = random.Random(3), list[Row]()
    for person in range(persons):
        facts = own(draw, person)
        for _ in range(draw.randint(most // 2 + 1, most)):
            visit = {"slip": 40_000 + len(rows), "day": dt.date(2024, 1, 1) + dt.timedelta(days=draw.randrange(300))}
            rows += [facts | visit | {"paid": draw.randrange(900)} for _ in range(draw.randint(1, lines))]
    draw.shuffle(rows)
    return pl.DataFrame(rows)


@pytest.mark.parametrize("lines", [1, 3])
@pytest.mark.parametrize(
    "number", [lambda p: p, lambda p: 5_000 + 7 * p, lambda p: float(10**10 + p), lambda p: "k" * p]
)
def test_few_persons_need_no_name(number: Callable[[int], Any], lines: int) -> None:
    """Neither is a visit of several lines the person, nor is anybody told by the name of a column."""
    table = make_records(
        14,
        30,
        lambda draw, p: {"x1": number(p + 1), "x2": "fm"[p % 2], "x3": 20 + p * 11 % 60, "x4": p * p % 5 + 90_000},
        lines,
    )
    assert shoal.suggest(table).policy.subject == "x1"


def test_a_number_within_a_place_is_counted_by() -> None:
    """Numbers start again in each of four places: by the finer of the two fewest persons are taken for one."""
    born = lambda draw: dt.date(1940, 1, 1) + dt.timedelta(days=draw.randrange(20_000))  # noqa: E731
    table = make_records(
        120,
        4,
        lambda draw, p: {"site": "ABCD"[p % 4], "patient no": 1 + p // 4, "sex": draw.choice("fm"), "born": born(draw)},
        lines=2,
    )
    draft = shoal.suggest(table)
    assert draft.policy.subject == "patient no"
    assert "told apart by site only" in draft.reasons["patient no"]


def make_ages(returning: int, records: int = 480, seed: int = 0) -> pl.DataFrame:
    draw = random.Random(seed)
    persons = [(draw.choice("fm"), round(20 + 60 * draw.betavariate(2, 2))) for _ in range(records // returning)]
    rows = [(sex, age, draw.randrange(900) + 0.5) for sex, age in persons * returning]
    return pl.DataFrame(rows, schema=["sex", "age", "paid"], orient="row")


def test_records_that_come_in_clusters_are_doubted() -> None:
    """A sex and an age tell nobody from another, but different persons are not of so few ages."""
    draft = shoal.suggest(make_ages(8))
    assert draft.policy.declared_subject == "?"
    assert "come in clusters by age" in " ".join(draft.replace("#", "").split())


@pytest.mark.parametrize("seed", range(5))
def test_different_persons_do_not_come_in_clusters(seed: int) -> None:
    """Nor where ages are rounded by some, and half of all work the same hours."""
    table, draw = make_ages(1, 600, seed), random.Random(seed)
    heaped = table.with_columns(
        pl.when(pl.int_range(pl.len()) % 3 == 0).then(pl.col("age") // 10 * 10).otherwise("age")
    )
    hours = [40 if draw.random() < 0.5 else draw.randrange(1, 99) for _ in range(600)]
    for given in (table, heaped, table.rename({"age": "z"}), heaped.drop("age").with_columns(h=pl.Series(hours))):
        assert shoal.suggest(given).policy.declared_subject is None
    assert measure_clustering(make_ages(4, 480, seed)["age"], make_ages(4, 480, seed)["sex"]) > 2.2


def make_wide(persons: int, most: int, own: Callable[[random.Random, int], Row]) -> pl.DataFrame:
    table, draw = make_records(persons, most, own), random.Random(1)
    return table.with_columns(pl.Series(f"t{i}", [draw.gauss(50, 9) for _ in range(table.height)]) for i in range(14))


def test_facts_of_a_person_are_no_measurements() -> None:
    table = make_wide(
        60, 6, lambda draw, p: {"x1": 7_000 + p, "x2": draw.randrange(1, 13), "x3": draw.randrange(1, 32)}
    )
    draft = shoal.suggest(table)
    assert draft.policy.subject == "x1"
    assert {"x2", "x3"} <= {*draft.policy.quasi_identifiers}


def test_a_code_for_missing_makes_no_measurement_of_dates() -> None:
    days = [20_200_000 + 100 * (1 + i % 12) + 1 + i * 7 % 28 for i in range(300)]
    table = make_wide(300, 1, lambda draw, p: {"x1": days[p] if p % 20 else 99, "age": draw.randrange(20, 90)})
    assert "x1" in shoal.suggest(table).policy.quasi_identifiers


def test_who_is_unknown_in_some_records_gives_way() -> None:
    """A wage that is another one for each person is as fine as the number, and is missing here and there."""
    table = make_records(80, 5, lambda draw, p: {"x1": 1_003 + p * 17, "x2": 60_001 + p, "x3": draw.choice("abc")})
    assert shoal.suggest(table.with_columns(pl.when(pl.col("paid") > 60).then("x1"))).policy.subject == "x2"


def test_an_unknown_sex_is_no_other_sex() -> None:
    table = make_records(80, 5, lambda draw, p: {"x1": 9_001 + p, "sex": draw.choice("fm"), "x2": draw.randrange(9)})
    told = table.with_columns(pl.when(pl.col("paid") % 9 > 0).then("sex").otherwise(pl.lit("-")))
    assert shoal.suggest(told).policy.subject == "x1"


def test_records_that_are_the_same_altogether() -> None:
    table = make_records(60, 5, lambda draw, p: {"x1": f"{p * 7_919_993:08x}", "x2": draw.choice("abc"), "x3": p % 21})
    assert shoal.suggest(table.select("x1", "x2", "x3")).policy.subject == "x1"


def test_whole_fractions_are_numbers_of_persons() -> None:
    """A spreadsheet writes 430017 as 430017.0 where a cell is missing."""
    table = make_records(100, 1, lambda draw, p: {"x1": 430_000.0 + 3 * p, "age": draw.randrange(20, 90)})
    assert "x1" in shoal.suggest(table).policy.identifiers


def test_names_of_columns_in_many_languages() -> None:
    births = (
        "fec_nac, Data nasc., Doğum Tarihi, Syntymäaika, Szül. dátum, Ngày sinh, वर्ष जन्म, วันเกิด, Дата нар., מועד לידה"
    )
    names = "Příjmení, Keresztnév, Vezetéknév, उपनाम, Прізвище, Roepnaam, 姓, 苗字, นามสกุล, fname"
    states = "Siviilisääty, Rod. stav, Stan cywilny, Medeni hal, Estado civil, 혼인, 婚姻, Сем. полож."
    for words, meaning in ((births, "birth"), (names, "identifier"), (states, "known")):
        for name in words.split(", "):
            assert name_means(name, meaning), name  # type: ignore[arg-type]

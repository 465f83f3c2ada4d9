"""Persons under a misleading name, of an odd type, or few: a draft leaves none of them alone in a class."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Iterator
from typing import Any

import polars as pl
import pytest

import shoal

Row = dict[str, Any]
FIRST, LAST = ("Ala", "Ben", "Cem", "Dora", "Ewa", "Fritz", "Gina", "Hugo", "Iva", "Jan"), "Ash Bay Cox Dun Eyre Fox"
NAMES = [f"{first} {last}{sort}" for sort in ("", "a", "er") for last in LAST.split() for first in FIRST]


def make_visits(persons: int, most: int, own: Callable[[int], Row], seed: int = 1) -> tuple[pl.DataFrame, pl.Series]:
    """Return visits in no order and, apart, who each is about; a person's facts stay the same."""
    draw, rows = random.Random(seed), []
    for person in range(persons):
        facts = {"sex": draw.choice("fm"), "age": draw.randrange(18, 90), **own(person)}
        for _ in range(draw.randint(2, most)):
            seen = dt.date(2024, 1, 1) + dt.timedelta(days=draw.randrange(300))
            rows.append((person, facts | {"seen": seen, "lab": round(draw.gauss(10, 3), 1)}))
    draw.shuffle(rows)
    return pl.DataFrame([row for _, row in rows]), pl.Series([person for person, _ in rows])


def count_least(table: pl.DataFrame, persons: pl.Series) -> int:
    """Return how many persons stand in the smallest class of the release by an unedited draft."""
    release = shoal.anonymize(table, shoal.suggest(table))
    known = release.table.select(list(release.policy.quasi_identifiers))
    classes = known.with_columns(person=persons.gather(release.rows)).group_by(known.columns)
    return int(classes.agg(pl.col("person").n_unique())["person"].min())  # type: ignore[arg-type]


def birth(person: int) -> dt.date:
    return dt.date(1930, 1, 1) + dt.timedelta(days=person * 6_151 % 28_000)


@pytest.mark.parametrize(
    "name",
    ["Tumor-ID", "Blutspende-Nr", "Treatment No", "school number", "Ort-ID", "year_id", "Disability card", "weight no",
     "credit contract", "birth number", "Alter Ego ID"],
)  # fmt: skip
def test_a_misleading_name_hides_no_person(name: str) -> None:
    table, persons = make_visits(100, 5, lambda p: {name: 70_000 + 3 * p, "born": birth(p)})
    assert shoal.suggest(table).policy.subject == name
    assert count_least(table, persons) >= 5


@pytest.mark.parametrize(
    "of",
    [
        lambda p: round(7_000 + p * 1.37, 2),
        lambda p: f"{p + 10},{p % 7}",
        lambda p: dt.datetime(2020, 1, 1) + dt.timedelta(seconds=p * 100_003),
        lambda p: int(f"{birth(p):%Y%m%d}"),
        lambda p: f"{birth(p):%d.%m.%Y}",
        birth,
    ],
    ids=["fractions", "commas", "moments", "YYYYMMDD", "dates as text", "dates"],
)
def test_an_odd_type_hides_no_person(of: Callable[[int], Any]) -> None:
    table, persons = make_visits(100, 5, lambda p: {"x": of(p)})
    draft = shoal.suggest(table)
    assert draft.policy.subject == "x"
    assert "Nothing else tells persons apart" in draft.reasons["x"]
    assert count_least(table, persons) >= 5


@pytest.mark.parametrize("of", [lambda p: "abcdefghijkl"[p] * 2, lambda p: 100 + p, lambda p: NAMES[p]])
def test_few_persons_are_found(of: Callable[[int], Any]) -> None:
    table, persons = make_visits(12, 30, lambda p: {"kto": of(p)})
    assert shoal.suggest(table).policy.subject == "kto"
    assert count_least(table, persons) >= 5


def make_lines(table: pl.DataFrame, persons: pl.Series, visit: str) -> tuple[pl.DataFrame, pl.Series]:
    """Return two lines of each visit, with a number of the visit."""
    numbered = table.with_columns((pl.int_range(pl.len()) * 7 + 880_000).alias(visit))
    lines = pl.concat([numbered, numbered.with_columns(pl.col("lab") + 0.05 * (pl.int_range(pl.len()) % 40))])
    return lines, pl.concat([persons, persons])


@pytest.mark.slow
@pytest.mark.parametrize("visit", ["muayene_no", "Probennr", "Patient Encounter ID", "visit_id"])
@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("hasta", lambda p: NAMES[p]),
        ("Pan/Pani", lambda p: NAMES[p]),
        ("MRN", lambda p: 4_000 + p),
        ("Tumor-ID", lambda p: 4_000 + p),
        ("doğum tarihi", birth),
    ],
)
def test_the_number_of_a_visit_is_not_the_person(visit: str, name: str, of: Callable[[int], Any]) -> None:
    table, persons = make_lines(*make_visits(80, 5, lambda p: {name: of(p)}), visit)
    assert shoal.suggest(table).policy.subject == name
    assert count_least(table, persons) >= 5


def test_a_hospital_is_not_the_person() -> None:
    """Both sexes come to it, however much else of it stays the same."""
    draw = random.Random(7)
    wards = [draw.randrange(40) for _ in range(400)]
    table = pl.DataFrame(
        {
            "pat_id": range(400),
            "sex": [draw.choice("fm") for _ in wards],
            "age": [draw.randrange(18, 90) for _ in wards],
            "klinik": [9_000 + ward for ward in wards],
            "ktyp": [ward % 3 for ward in wards],
            "kstadt": [ward * 7 % 5 for ward in wards],
        }
    )
    for given in (table, table.drop("pat_id")):
        assert shoal.suggest(given).policy.subject is None


def tables() -> Iterator[tuple[str, pl.DataFrame, pl.Series]]:
    """Yield random tables: how persons are numbered, what the number is called, and how often each comes."""
    forms: list[Callable[[int], Any]] = [
        lambda p: 5_000 + 11 * p,
        lambda p: f"K-{p:05d}",
        lambda p: "".join("qwertzuiop"[int(digit)] for digit in f"{p * 7_919:08d}"),
        lambda p: NAMES[p % len(NAMES)],
        lambda p: f"u{p}@mail.example",
        lambda p: float(90_000 + p),
        lambda p: f"{p:08x}-77aa-4bcd-9eef-{p:012x}",
    ]
    words = "kto Kürzel réf. dossier 会員 tarjeta oy_no Schlüssel abone ψ lfd Wohnung tumor year zip income no".split()  # noqa: SIM905
    for seed in range(14):
        draw = random.Random(seed)
        name, form = f"{draw.choice(words)}{draw.choice(['', ' ID', '_nr', '2'])}", forms[seed % len(forms)]
        own = {"born": birth, "Ort": lambda p: ("Bonn", "Jena", "Köln")[p * 31 % 3]}
        kept = [column for column in own if draw.random() < 0.7]
        persons, most = draw.choice([30, 60, 120]), draw.choice([3, 6, 9])
        table, about = make_visits(
            persons,
            most,
            lambda p, name=name, form=form, kept=kept, own=own: {name: form(p)} | {one: own[one](p) for one in kept},
            seed,
        )
        yield f"{seed} {name}", table.select(draw.sample(table.columns, table.width)), about


@pytest.mark.slow
@pytest.mark.parametrize(
    ("_label", "table", "persons"), list(tables()), ids=lambda one: one if isinstance(one, str) else ""
)
def test_no_draft_of_a_random_table_leaves_somebody_alone(_label: str, table: pl.DataFrame, persons: pl.Series) -> None:
    assert count_least(table, persons) >= 5

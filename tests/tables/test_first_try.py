"""Twenty tables of different languages and shapes: what their drafts release, unedited, leaves nobody alone."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import polars as pl
import pytest

import shoal

Make = Callable[[random.Random, int], Any]


@dataclass(frozen=True)
class Shape:
    """A table to generate: what belongs to persons, what to their records, and how many there are."""

    own: dict[str, Make]
    each: dict[str, Make]
    persons: int = 150
    most: int = 5


def number(start: int, step: int = 1) -> Make:
    return lambda draw, person: start + person * step


def one_of(*values: Any) -> Make:
    return lambda draw, person: draw.choice(values)


def between(low: int, high: int, text: str = "") -> Make:
    return lambda draw, person: f"{draw.randrange(low, high)}{text}" if text else draw.randrange(low, high)


def day(first: int, days: int, form: str = "") -> Make:
    def make(draw: random.Random, person: int) -> Any:
        found = dt.date(first, 1, 1) + dt.timedelta(days=draw.randrange(days))
        return found.strftime(form) if form else found

    return make


def measure(mean: float, spread: float) -> Make:
    return lambda draw, person: round(draw.gauss(mean, spread), 1)


def luhn(draw: random.Random, person: int) -> str:
    body = f"{46_000_000 + person * 37}"
    digits = [int(c) for c in body[::-1]]
    total = sum(d if i % 2 else (2 * d - 9 if d > 4 else 2 * d) for i, d in enumerate(digits))
    return f"{body}{-total % 10}"


def bsn(draw: random.Random, person: int) -> int:
    """A number whose weighted sum is a multiple of 11; read as a number, zeros in front are lost."""
    body = 1_234_000 * 10 + person * 10
    while True:
        body += 10
        check = sum(w * int(c) for w, c in zip(range(9, 1, -1), f"{body // 10:08d}", strict=True)) % 11
        if check < 10:
            return body + check


FIRST = ["Ann", "Bob", "Cyd", "Dan", "Eve", "Fay", "Gus", "Hal", "Ida", "Jon"]
LAST = ["Ash", "Bay", "Cox", "Dun", "Eyre", "Fox", "Gray", "Hill", "Ives", "Jay", "Kerr", "Lane"]
NAME: Make = lambda draw, person: f"{FIRST[person % 10]} {LAST[person // 10 % 12]}"  # noqa: E731 - 120 names
ILL = one_of("I10", "E11.9", "J45.0", "M54.5")
SHAPES: dict[str, Shape] = {
    "german": Shape(
        {"Fallnummer": number(400_100, 7), "Geschlecht": one_of(*"mwd"), "Geburtsdatum": day(1930, 28_000, "%d.%m.%Y")},
        {"PLZ": between(10_115, 10_200), "Aufnahme": day(2023, 300), "Hauptdiagnose": ILL},
    ),
    "german nr": Shape(
        {"PatNr": number(1), "Alter": between(18, 95)}, {"Station": one_of("A", "B", "C"), "CRP": measure(12, 5)}
    ),
    "english": Shape(
        {
            "NHS Number": number(4_000_000_017, 13),
            "sex": one_of(*"FM"),
            "dob": day(1930, 28_000),
            "postcode": between(100, 160, " AB"),
        },
        {"visit date": day(2023, 400), "diagnosis": ILL},
    ),
    "french": Shape(
        {
            "num_dossier": number(88_000, 3),
            "sexe": one_of("F", "H"),
            "date_naissance": day(1940, 25_000),
            "code postal": between(75_001, 75_020),
        },
        {"service": one_of("urgences", "chirurgie"), "duree": between(1, 30)},
    ),
    "spanish": Shape(
        {"historia": number(50_001), "sexo": one_of("H", "M"), "edad": between(1, 99)},
        {"fecha": day(2022, 700), "importe": between(10, 4000)},
    ),
    "italian": Shape(
        {"paziente": number(700), "sesso": one_of(*"MF"), "eta": between(20, 80)},
        {"reparto": one_of("A", "B"), "terapia": ILL},
    ),
    "finnish": Shape(
        {"asiakasnumero": number(31_415, 9), "sukupuoli": one_of("nainen", "mies"), "syntynyt": day(1935, 27_000)},
        {"kaynti": day(2024, 200), "tulos": measure(5, 2)},
    ),
    "polish": Shape(
        {"pesel_like": number(80_000_000_001, 77), "plec": one_of(*"KM"), "wiek": between(18, 90)},
        {"wizyta": day(2023, 365), "wynik": between(1, 9)},
    ),
    "japanese": Shape(
        {"患者番号": number(1_000), "性別": one_of("男", "女"), "生年月日": day(1940, 24_000)},
        {"受診日": day(2024, 300), "点数": between(1, 60)},
    ),
    "arabic": Shape(
        {"رقم": number(9_100, 2), "الجنس": one_of("ذكر", "أنثى"), "العمر": between(18, 80)},
        {"القسم": one_of("ا", "ب", "ج")},
    ),
    "dutch bsn": Shape(
        {"bsnr": bsn, "geslacht": one_of("m", "v"), "leeftijd": between(18, 90)},
        {"bezoek": day(2024, 300), "uitslag": between(1, 20)},
    ),
    "luhn": Shape({"ref": luhn, "gender": one_of("f", "m"), "age": between(18, 90)}, {"spent": between(5, 900)}),
    "two numbers": Shape(
        {
            "id": number(3_190),
            "svnr": number(10_000_000_019, 7_919),
            "name": NAME,
            "sex": one_of("f", "m"),
            "zip": between(10_000, 10_060),
        },
        {"result": measure(7, 2)},
    ),
    "names only": Shape(
        {"Name": NAME, "sex": one_of("f", "m"), "birth date": day(1940, 20_000)}, {"result": between(1, 40)}
    ),
    "one record each": Shape(
        {"id": number(77), "age": between(18, 95), "sex": one_of("f", "m"), "city": one_of("Aix", "Bonn", "Cork")},
        {"bmi": measure(25, 4)},
        most=1,
    ),
    "first names": Shape(
        {"Vorname": one_of(*FIRST), "Geburtsdatum": day(1930, 30_000), "Ort": one_of("Köln", "Bonn", "Jena")},
        {"Befund": ILL},
        persons=300,
        most=1,
    ),
    "employees": Shape(
        {"employee": number(12), "department": one_of("it", "hr", "ops"), "born": day(1960, 14_000)},
        {"month": between(1, 13), "salary": between(2000, 6000)},
    ),
    "students": Shape(
        {"matricule": number(202_100), "school": one_of("N", "S", "E"), "gender": one_of("f", "m")},
        {"course": one_of("maths", "art", "law"), "grade": between(1, 7)},
    ),
    "hospital number": Shape(
        {"hospital number": number(660_001, 3), "ethnicity": one_of("a", "b", "c"), "age": between(0, 100)},
        {"ward": one_of("x", "y"), "los": between(1, 40), "cost": measure(900, 300)},
    ),
    "wide": Shape(
        {"eid": number(5_500), "sex": one_of("f", "m"), "age": between(40, 70)},
        {"visit": day(2022, 500)}
        | {f"lab{i}": measure(40, 9) for i in range(18)}
        | {f"flag{i}": one_of(0, 1) for i in range(8)},
    ),
}


@cache
def build(name: str) -> tuple[pl.DataFrame, pl.Series]:
    """Return a table in no order, and the person of each record, which only the test knows."""
    shape, draw = SHAPES[name], random.Random(name)
    rows: list[tuple[int, dict[str, Any]]] = []
    for person in range(shape.persons):
        own = {column: make(draw, person) for column, make in shape.own.items()}
        records = range(draw.randint(1, shape.most))
        rows += [(person, own | {name: make(draw, person) for name, make in shape.each.items()}) for _ in records]
    draw.shuffle(rows)
    return pl.DataFrame([row for _, row in rows]), pl.Series("person", [person for person, _ in rows])


def find_alone(release: shoal.Release, persons: pl.Series) -> list[tuple[Any, ...]]:
    """Return the published combinations whose records are all about one person: whoever links one finds the person."""
    known: dict[tuple[Any, ...], set[int]] = {}
    names = list(release.policy.quasi_identifiers)
    shown = zip(*(release.table[name].to_list() for name in names), strict=True)
    for cells, person in zip(shown, persons.gather(release.rows).to_list(), strict=True):
        known.setdefault(cells, set()).add(person)
    return [cells for cells, about in known.items() if len(about) < 2]


def find_linked(release: shoal.Release, table: pl.DataFrame, persons: pl.Series) -> list[int]:
    """Return the persons whom a join of the original with the release on any two columns finds, and nobody else."""
    names = list(release.policy.quasi_identifiers)
    found: list[int] = []
    origin = persons.gather(release.rows).to_list()
    texts = {name: release.table[name].cast(pl.String).to_list() for name in names}
    original = {name: table[name].cast(pl.String).to_list() for name in names}
    for first in names:
        for second in names:
            matches: dict[tuple[str, str], set[int]] = {}
            for key, person in zip(zip(texts[first], texts[second], strict=True), origin, strict=True):
                matches.setdefault(key, set()).add(person)
            tried = zip(original[first], original[second], strict=True)
            found.extend(person for key in tried if len(alone := matches.get(key, set())) == 1 for person in alone)
    return found


@pytest.mark.parametrize("name", SHAPES)
def test_a_draft_leaves_nobody_alone(name: str) -> None:
    table, persons = build(name)
    draft = shoal.suggest(table)
    try:
        release = shoal.anonymize(table, draft)
    except (shoal.Infeasible, shoal.Misfit) as refused:
        assert str(refused)
        pytest.fail(f"these tables can be released: {refused}")
    assert find_alone(release, persons) == []
    assert find_linked(release, table, persons) == []
    whole = table.select([column for column in table.columns if column in release.table.columns])
    exact = [column for column in whole.columns if column not in release.policy.quasi_identifiers]
    key = next(iter(SHAPES[name].own))
    assert key in release.policy.hidden or key not in table.columns or SHAPES[name].most == 1, exact


def test_the_attack_finds_who_is_alone() -> None:
    persons = pl.Series("person", [i // 8 for i in range(160)])
    table = pl.DataFrame({"nr": persons, "age": 20 + persons * 3, "sex": ["f", "m"] * 80})
    asked = {"quasi_identifiers": ["age", "sex"], "identifiers": ["nr"], "models": [{"name": "k-anonymity", "k": 4}]}
    release = shoal.anonymize(table, shoal.Policy(**asked, subject="none"))
    assert find_alone(release, persons)
    assert find_linked(release, table, persons)


def test_many_columns_are_told_apart() -> None:
    table, _ = build("wide")
    draft = shoal.suggest(table)
    assert set(draft.policy.quasi_identifiers) == {"sex", "age", "visit"}
    assert "a measurement" in draft.reasons["lab3"]
    assert "a flag" in draft.reasons["flag3"]
    assert "What that choice costs" in draft
    assert "scenarios, known: [[sex, age, visit]]" in draft


def test_check_digits_make_identifiers() -> None:
    assert "Dutch BSN" in shoal.suggest(build("dutch bsn")[0].unique("bsnr")).reasons["bsnr"]
    assert "Luhn" in shoal.suggest(build("luhn")[0].unique("ref")).reasons["ref"]


def test_no_weights_unless_asked_for() -> None:
    table, _ = build("hospital number")
    assert "weight" not in str(shoal.suggest(table)).split("quasi_identifiers:")[1]
    identifying = shoal.suggest(table, weigh="identifying").policy.quasi_identifiers
    assert max(column.weight for column in identifying.values()) == 5
    told = shoal.suggest(table.with_columns(paid=pl.col("los") * 100), target="paid").policy.quasi_identifiers
    assert told["los"].weight == 5
    assert told["ward"].weight == 1
    with pytest.raises(shoal.TableError, match="did you mean 'cost'"):
        shoal.suggest(table, target="costs")
    with pytest.raises(shoal.TableError, match="how identifying"):
        shoal.suggest(table, weigh="x")


def test_a_draft_is_a_text_and_a_policy() -> None:
    import pickle

    table, _ = build("italian")
    draft = shoal.suggest(table)
    assert isinstance(draft, str)
    assert shoal.Policy.from_yaml(draft) == draft.policy == shoal.Policy.of(draft)
    assert set(draft.reasons) == set(table.columns)
    again = pickle.loads(pickle.dumps(draft))
    assert (again, again.reasons) == (draft, draft.reasons)
    assert repr(draft).startswith("<Draft")
    assert draft.yaml == str(draft) == draft

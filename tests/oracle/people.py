"""Tables about persons, in the shapes that people bring, with the person of each record, whom only the oracle knows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from random import Random
from typing import Any

from .setting import Case

NAMES = {
    "number": ["Pat.-Nr", "n° dossier", "kod klienta", "会員番号", "رقم الملف", "Hasta No", "ψ", "x1", "ward"],
    "sex": ["sex", "Geschlecht", "пол", "性別", "x2"],
    "born": ["birth date", "Geb.-Datum", "fec_nac", "जन्म तिथि", "x3"],
    "age": ["age", "Alter", "wiek", "나이", "x4"],
    "zip": ["zip", "PLZ", "ΤΚ", "מיקוד", "x5"],
    "city": ["city", "Wohnort", "kommune", "Quận", "x6"],
    "day": ["date", "Aufnahme", "受診日", "x7"],
    "slip": ["receipt", "Vorgang", "fatura", "x8"],
    "paid": ["amount", "Betrag", "сумма", "x9"],
    "ill": ["diagnosis", "dx", "Tanı", "x10"],
}
PERSONS, RECORDS = (8, 14, 60, 120), (1, 1, 3, 9)


def draw_people(seed: int) -> Case:
    """Draw the records of some persons: how they are numbered, what is known of them, and how often each comes."""
    draw = Random(f"people {seed}")
    name = {what: draw.choice(words) for what, words in NAMES.items()}
    persons, most = draw.choice(PERSONS), draw.choice(RECORDS)
    most, lines = 20 if persons < 20 else most, draw.choice([1, 1, 2])
    number, facts, shown = _draw_number(draw, persons), _draw_facts(draw), draw.random
    kept = [what for what in ("slip", "day", "paid", "ill") if shown() < 0.6 or what == "paid"]
    rows: list[dict[str, Any]] = []
    people: list[int] = []
    for person in range(persons):
        own = {name["number"]: number(person)} | {name[what]: make() for what, make in facts.items()}
        for _ in range(draw.randint(1, most)):
            event = {"slip": 40_000 + len(rows), "day": _day(2024, draw.randrange(300))}
            for _ in range(draw.randint(1, lines)):
                line = event | {"paid": draw.randrange(900) / 2, "ill": draw.choice(["I10", "E11", "J45", "M54"])}
                rows.append(own | {name[what]: line[what] for what in kept})
                people.append(person)
    order = draw.sample(range(len(rows)), len(rows))
    columns = [
        {"name": column, "kind": _kind_of(rows[0][column]), "values": [rows[place][column] for place in order]}
        for column in draw.sample([*rows[0]], len(rows[0]))
    ]
    about = [people[place] for place in order]
    return {"family": "drafts", "seed": seed, "columns": columns, "policy": {"models": []}, "k": 5, "people": about}


def _draw_number(draw: Random, persons: int) -> Callable[[int], Any]:
    """Return how persons are numbered: in one of the ways that people do."""
    start, step, mixed = draw.randrange(1_000, 90_000), draw.choice([1, 7, 13]), draw.sample(range(persons), persons)
    ways: list[Callable[[int], Any]] = [
        lambda person: start + step * mixed[person],
        lambda person: f"{mixed[person]:06d}",
        lambda person: f"K-{start + mixed[person]}",
        lambda person: "".join("qwertzuiop"[int(digit)] for digit in f"{mixed[person] * 7_919:07d}"),
        lambda person: float(start + mixed[person]),
        lambda person: f"{mixed[person] * 0x9E3779B97F4A7C15 % 2**64:016x}",
    ]
    return draw.choice(ways)


def _draw_facts(draw: Random) -> dict[str, Callable[[], Any]]:
    """Return what is known of a person: a sex, an age or a birth, and places."""
    codes = draw.sample(range(10_000, 99_000), 20)
    facts: dict[str, Callable[[], Any]] = {
        "sex": lambda: draw.choice("fm"),
        "born": lambda: _day(1935, draw.randrange(25_000)),
        "age": lambda: draw.randrange(18, 95),
        "zip": lambda: draw.choice(codes),
        "city": lambda: draw.choice(["Bonn", "Cork", "Jena", "Metz", "Oulu", "Riga"]),
    }
    del facts[draw.choice(["born", "age"])]
    return {what: make for what, make in facts.items() if what == "sex" or draw.random() < 0.75}


def _day(year: int, days: int) -> str:
    return str(dt.date(year, 1, 1) + dt.timedelta(days=days))


def _kind_of(value: Any) -> str:
    if isinstance(value, str):
        return "date" if value[4:5] == value[7:8] == "-" else "text"
    return "float" if isinstance(value, float) else "integer"

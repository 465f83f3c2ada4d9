"""Files as people have them, of many lands: drafted, released unedited, and linked with the original by person."""

from __future__ import annotations

import csv
import datetime as dt
import hashlib
import io
import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal

Row = dict[str, Any]
FIRST = ("Anna", "Bernd", "Clara", "Dieter", "Eva", "Franz", "Greta", "Hans", "Ilse", "Jens", "Karin", "Lars", "Maria")
LAST = ("Bauer", "Fischer", "Hoffmann", "Keller", "Lang", "Meyer", "Neumann", "Peters", "Richter", "Schmidt", "Vogel")
ILL = ("I10", "E11.9", "J45.0", "M54.5")


@dataclass(frozen=True)
class Messy:
    """A file to generate: what belongs to a person, what to each record, and how it is written."""

    own: Callable[[random.Random, int], Row]
    each: Callable[[random.Random], Row]
    secret: tuple[str, ...]
    """The columns that may not be published."""
    persons: int = 160
    most: int = 4
    delimiter: str = ";"
    encoding: str = "utf-8"
    said: dict[str, Any] = field(default_factory=dict)

    def write(self, path: Path) -> list[int]:
        """Write the file in no order, and return whom each record is about."""
        draw, rows = random.Random(18), list[tuple[int, Row]]()
        for person in range(self.persons):
            facts = self.own(draw, person)
            rows += [(person, facts | self.each(draw)) for _ in range(draw.randint(1, self.most))]
        draw.shuffle(rows)
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, [*rows[0][1]], delimiter=self.delimiter)
        writer.writeheader()
        writer.writerows(row for _, row in rows)
        path.write_bytes(text.getvalue().encode(self.encoding))
        return [person for person, _ in rows]


def full_name(person: int) -> str:
    return f"{FIRST[person % 13]} {LAST[person // 13 % 11]}{'er' * (person // 143)}"


def day(draw: random.Random, first: int, days: int, form: str = "%d.%m.%Y") -> str:
    return f"{dt.date(first, 1, 1) + dt.timedelta(days=draw.randrange(days)):{form}}"


def with_comma(number: float, digits: int = 1) -> str:
    return f"{number:.{digits}f}".replace(".", ",")


def birth_number(draw: random.Random) -> str:
    """A Czech birth number: a date, a slash, and a multiple of 11."""
    while True:
        digits = f"{day(draw, 1955, 15_000, '%y%m%d')}{draw.randrange(1_000):03d}"
        if int(digits) % 11 < 10:
            return f"{digits[:6]}/{digits[6:]}{int(digits) % 11}"


FILES: dict[str, Messy] = {
    "commas and points in Latin-1": Messy(
        lambda draw, p: {
            "Aufn.-Kürzel": f"{p * 7 + 1000:06d}",
            "Geschl.": draw.choice("mw"),
            "Geb.": day(draw, 1930, 28_000),
        },
        lambda draw: {
            "Befund": draw.choice(ILL),
            "Wert": with_comma(draw.gauss(1, 0.3), 2),
            "Kosten": f"{draw.randrange(300, 9_000):,}".replace(",", "."),
        },
        ("Aufn.-Kürzel",),
        encoding="latin-1",
    ),
    "a hash of each person": Messy(
        lambda draw, p: {
            "cod": hashlib.sha256(b"%d" % p).hexdigest()[:32],
            "provincia": draw.choice(("Lugo", "Jaén")),
            "nac": draw.randrange(1940, 2004),
        },
        lambda draw: {
            "salario bruto": round(draw.gauss(24_000, 7_000), 2),
            "estado civil": draw.choice(("soltero", "casado")),
        },
        ("cod",),
        delimiter="\t",
    ),
    "a random identifier": Messy(
        lambda draw, p: {
            "chiave": str(uuid.UUID(int=draw.getrandbits(128))),
            "sesso": draw.choice("MF"),
            "comune": draw.choice(("Pisa", "Siena")),
        },
        lambda draw: {"data visita": day(draw, 2022, 600, "%Y-%m-%d"), "peso": with_comma(draw.gauss(72, 13))},
        ("chiave",),
    ),
    "birth numbers": Messy(
        lambda draw, p: {
            "RČ": birth_number(draw),
            "kraj": draw.choice(("Praha", "Zlín")),
            "pohlaví": draw.choice(("muž", "žena")),
        },
        lambda draw: {"výkon": draw.choice(("01021", "02110")), "body": draw.randrange(50, 900)},
        ("RČ",),
        encoding="cp1250",
        said={"encoding": "cp1250"},
    ),
    "Cyrillic": Messy(
        lambda draw, p: {"№ карты": f"А-{p:05d}", "Пол": draw.choice("мж"), "Дата рождения": day(draw, 1935, 27_000)},
        lambda draw: {"Диагноз": draw.choice(ILL), "Вес": with_comma(draw.gauss(75, 12))},
        ("№ карты",),
        encoding="cp1251",
        said={"encoding": "cp1251"},
    ),
    "numbers as Excel keeps them": Messy(
        lambda draw, p: {
            "Unnamed: 0": float(40_000 + p * 3),
            "sex": draw.choice("MF"),
            "birth_year": float(draw.randrange(1930, 2005)),
        },
        lambda draw: {"zip": f"{draw.randrange(1_000, 1_040):05d}", "cost": round(draw.uniform(10, 900), 2)},
        ("Unnamed: 0",),
        delimiter=",",
        encoding="utf-8-sig",
    ),
    "numbers too long for Excel": Messy(
        lambda draw, p: {
            "UPI": f"{draw.randrange(10**11, 9 * 10**11):.5E}",
            "sex": draw.choice("mf"),
            "age": draw.randrange(18, 90),
        },
        lambda draw: {"lab": round(draw.gauss(5, 1), 2)},
        ("UPI",),
    ),
    "patient and doctor": Messy(
        lambda draw, p: {"patient": f"P{p:04d}", "sex": draw.choice("MF"), "dob": day(draw, 1930, 27_000, "%m/%d/%Y")},
        lambda draw: {
            "doctor": full_name(draw.randrange(9) + 100),
            "at": f"{day(draw, 2023, 365, '%Y-%m-%d')}T10:{draw.randrange(60):02d}:00Z",
            "dx": draw.choice(ILL),
        },
        ("patient", "doctor"),
        delimiter="|",
    ),
    "mother and child": Messy(
        lambda draw, p: {
            "Mutter-ID": f"M{p // 2:04d}",
            "Kind-ID": f"C{p:05d}",
            "Geschlecht": draw.choice("mw"),
            "Geburtsgewicht": draw.randrange(2_000, 4_500),
        },
        lambda draw: {"U-Nr": draw.randrange(1, 9), "Größe": with_comma(draw.gauss(60, 5))},
        ("Mutter-ID", "Kind-ID"),
    ),
    "an address as the key": Messy(
        lambda draw, p: {
            "contact": f"{full_name(p).replace(' ', '.').lower()}{p}@example.org",
            "plan": draw.choice(("free", "pro")),
            "signup": day(draw, 2019, 1_500, "%Y-%m-%d"),
        },
        lambda draw: {
            "ip": f"10.{draw.randrange(255)}.{draw.randrange(255)}.7",
            "amount": round(draw.uniform(5, 500), 2),
        },
        ("contact", "ip"),
        delimiter=",",
    ),
    "initials and birth": Messy(
        lambda draw, p: {
            "Init": draw.choice("ABCDEFGHIJ") + draw.choice("KLMNOPQRST"),
            "DOB": day(draw, 1940, 22_000, "%m/%d/%Y"),
            "MF": draw.choice("MF"),
            "Race": draw.choice("WBA"),
        },
        lambda draw: {"A1C": round(draw.gauss(6.5, 1), 1), "Date": day(draw, 2023, 300, "%m/%d/%Y")},
        ("DOB",),
        delimiter=",",
    ),
    "case numbers with blanks": Messy(
        lambda draw, p: {
            "Az.": f"{draw.randrange(1, 30)} C {p + 1}/{draw.randrange(19, 24)}",
            "Kläger": full_name(p),
            "Gericht": draw.choice(("AG Köln", "LG Bonn")),
        },
        lambda draw: {"Termin": day(draw, 2023, 300), "Ausgang": draw.choice(("Vergleich", "Urteil"))},
        ("Az.", "Kläger"),
        encoding="cp1252",
    ),
    "Hindi": Messy(
        lambda draw, p: {
            "आधार": f"{draw.randrange(2_000, 9_999)} {draw.randrange(1_000, 9_999)} {p:04d}",
            "लिंग": draw.choice(("पुरुष", "महिला")),
            "आयु": draw.randrange(1, 90),
        },
        lambda draw: {"रोग": draw.choice(("मलेरिया", "टीबी", "मधुमेह"))},
        ("आधार",),
        delimiter=",",
    ),
    "few examiners": Messy(
        lambda draw, p: {
            "Matrikel": 20_240_000 + p * 3,
            "Studiengang": draw.choice(("Inf", "Bio")),
            "Semester": draw.randrange(1, 12),
        },
        lambda draw: {"Note": with_comma(draw.choice((1.0, 1.3, 2.7))), "Prüfer": full_name(draw.randrange(8) + 40)},
        ("Matrikel", "Prüfer"),
    ),
    "letters of several lines": Messy(
        lambda draw, p: {"ref": p + 700, "gender": draw.choice("fm"), "yob": draw.choice([999, *range(1_930, 2_006)])},
        lambda draw: {
            "letter": f'Dear Dr {draw.choice(LAST)},\n\n"stable", seen {day(draw, 2023, 300)};\nBest',
            "icd10": draw.choice(ILL),
        },
        ("ref", "letter"),
    ),
    "facts of which each person has one alone": Messy(
        lambda draw, p: {
            "device": float(9_000 + p),
            "since": day(draw, 2018, 1_500),
            "zip": f"{draw.randrange(10_000, 10_300)}",
        },
        lambda draw: {"kind": draw.choice("xyz"), "amount": round(draw.uniform(1, 900), 2)},
        ("device",),
    ),
    "codes of two words": Messy(
        lambda draw, p: {"X1": f"K-AB {100 + p}", "plan": draw.choice("abc"), "since": day(draw, 2018, 1_500)},
        lambda draw: {"at": f"2024-01-{draw.randrange(1, 29):02d} 10:{draw.randrange(60):02d}", "dx": draw.choice(ILL)},
        ("X1",),
    ),
    "a birth and one fact": Messy(
        lambda draw, p: {"kod": day(draw, 1930, 28_000), "plan": draw.choice("abc")},
        lambda draw: {"n": draw.randrange(40), "dx": draw.choice(ILL)},
        ("kod",),
    ),
    "codes for missing": Messy(
        lambda draw, p: {"Pat.": p + 1, "Sex": draw.choice("mw"), "Alter": draw.choice([*range(18, 90), *[999] * 9])},
        lambda draw: {
            "Raucher": draw.choice(("ja", "nein", "k.A.", "unbekannt")),
            "NYHA": draw.choice((1, 2, 3, 4, -1)),
        },
        ("Pat.",),
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_nobody_stands_alone(name: str, tmp_path: Path) -> None:
    messy, path = FILES[name], tmp_path / "table.csv"
    persons = messy.write(path)
    draft = shoal.suggest(path, **messy.said)
    assert not [fault for fault in shoal.check(path, draft) if fault.kind != "warning"]
    release = shoal.anonymize(path, draft)
    assert not {*messy.secret} & {*release.table.columns}
    classes: dict[tuple[Any, ...], set[int]] = {}
    for row, cells in zip(release.rows, release.table.select([*draft.policy.quasi_identifiers]).rows(), strict=True):
        classes.setdefault(cells, set()).add(persons[row])
    assert min(map(len, classes.values())) >= 5
    for column in draft.policy.sensitive:  # a value of one person leads to that person
        owners: dict[Any, set[int]] = {}
        for row, value in zip(release.rows, release.table[column].to_list(), strict=True):
            owners.setdefault(value, set()).add(persons[row])
        alone = set[int]().union(*(who for who in owners.values() if len(who) == 1))
        assert len(alone) <= 0.1 * messy.persons, column


def test_age_and_sex_of_any_name_stay_what_others_know() -> None:
    """Among forty measurements and flags, where nothing is called an age or a sex."""
    draw = random.Random(5)
    known = {
        "zk1": lambda: draw.choice((1, 2)),
        "zk2": lambda: draw.randrange(18, 90),
        "obec": lambda: draw.choice("NML"),
    }
    measured = {f"m{i}": lambda i=i: round(draw.gauss(200 + i * 10, 30), 1) for i in range(25)}
    flags = {f"f{i}": lambda: draw.choice((0, 1)) for i in range(12)}
    columns = known | measured | flags
    table = pl.DataFrame([{name: make() for name, make in columns.items()} for _ in range(200)])
    assert set(shoal.suggest(table).policy.quasi_identifiers) == {*known}
    named = table.rename({"zk1": "m99", "zk2": "m98"}).with_columns(sex=pl.lit("f"), age=pl.int_range(pl.len()) % 70)
    assert set(shoal.suggest(named).policy.quasi_identifiers) == {"obec", "sex", "age"}

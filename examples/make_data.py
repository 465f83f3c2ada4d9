"""Makes the small tables of the how-tos, examples/data/*.csv: invented people, always the same ones."""

from __future__ import annotations

import csv
import random
from pathlib import Path

FOLDER = Path(__file__).parent / "data"
EDUCATION = {"primary": 2, "secondary": 5, "bachelor": 3, "master": 2, "doctorate": 1}
ILLNESSES = ["asthma", "diabetes", "flu", "fracture", "hypertension", "migraine"]
WARDS = ["cardiology", "emergency", "internal", "surgery"]
NAMES = ["Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gia", "Hal", "Ida", "Jon", "Kim", "Leo", "Mia", "Nil", "Ola", "Pia"]


def make_people(draw: random.Random, records: int = 600) -> list[dict[str, object]]:
    """Return one record per person."""
    people: list[dict[str, object]] = []
    for number in range(records):
        age = min(95, max(18, round(draw.gauss(46, 17))))
        education = draw.choices(list(EDUCATION), list(EDUCATION.values()))[0]
        people.append(
            {
                "name": f"{draw.choice(NAMES)} {draw.choice('ABCDEFGHKLMNOPRSTVWZ')}. {number:03d}",
                "age": age,
                "sex": draw.choice("FM"),
                "zip": f"{draw.choice([80, 81, 86])}{draw.randrange(4)}{draw.randrange(3)}{draw.randrange(2) * 5}",
                "education": education,
                "hours": min(70, max(5, round(draw.gauss(37, 9)))),
                "income": round(draw.lognormvariate(10.3, 0.45), -1),
                "illness": draw.choices(ILLNESSES, [2, 1 + age // 30, 3, 2, 1 + age // 20, 2])[0],
            }
        )
    return people


def make_visits(draw: random.Random, people: list[dict[str, object]], persons: int = 150) -> list[dict[str, object]]:
    """Return several visits of each of some persons."""
    visits: list[dict[str, object]] = []
    for number, person in enumerate(people[:persons]):
        for _ in range(draw.choice([1, 2, 2, 3, 5])):
            visits.append(
                {
                    "patient": f"P-{7 * number + 1001}",
                    "admitted": f"2025-{draw.randrange(1, 13):02d}-{draw.randrange(1, 29):02d}",
                    "ward": draw.choice(WARDS),
                    **{name: person[name] for name in ("age", "sex", "zip")},
                    "diagnosis": draw.choice(ILLNESSES),
                    "cost": round(draw.lognormvariate(7, 0.6), 2),
                }
            )
    draw.shuffle(visits)
    return visits


def write(name: str, rows: list[dict[str, object]]) -> None:
    """Write a table as CSV."""
    with (FOLDER / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    chance = random.Random(2026)
    everybody = make_people(chance)
    write("people.csv", everybody)
    write("visits.csv", make_visits(chance, everybody))

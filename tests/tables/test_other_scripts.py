"""Drafts of tables in other scripts and of other shapes, tried by somebody who did not write the rules."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import shoal

Row = dict[str, Any]


def make_visits(
    own: Callable[[random.Random, int], Row], each: Callable[[random.Random], Row], persons: int = 150, most: int = 3
) -> pl.DataFrame:
    """Return one to ``most`` records of each person, in no order."""
    draw, rows = random.Random(18), []
    for person in range(persons):
        facts = own(draw, person)
        rows += [facts | each(draw) for _ in range(draw.randint(1, most))]
    draw.shuffle(rows)
    return pl.DataFrame(rows)


def name_in(draw: random.Random, *parts: str) -> str:
    return " ".join(draw.choice(part) for part in parts)


@pytest.mark.parametrize(
    ("own", "subject", "hidden"),
    [
        (
            lambda draw, p: {"תז": 100_299_826 + p * 5_000_011, "שם": f"דוד כהן{p}", "גיל": draw.randrange(90)},
            "תז",
            "שם",
        ),
        (
            lambda draw, p: {
                "이름": name_in(draw, "김이박최정", "민서지현수") + str(p % 8),
                "주민번호": f"{40 + p % 60}0{p % 9 + 1}1{p % 9}-1{100_003 + p * 77}",
                "성별": draw.choice("남여"),
            },
            "주민번호",
            "이름",
        ),
        (
            lambda draw, p: {
                "カルテ番号": f"K{p:05d}",
                "氏名": name_in(draw, "佐鈴高田", "太花次美健愛") + str(p % 7),
                "年齢": draw.randrange(90),
                "性別": draw.choice("男女"),
            },
            "カルテ番号",
            "氏名",
        ),
        (
            lambda draw, p: {
                "ΑΜΚΑ": 10_000_000_019 + p * 7_919,
                "Επώνυμο": f"Π{p % 60}ς",
                "φύλο": draw.choice("ΑΓ"),
                "ηλικία": draw.randrange(90),
            },
            "ΑΜΚΑ",
            "Επώνυμο",
        ),
    ],
    ids=["hebrew", "korean", "japanese", "greek"],
)
def test_persons_are_found_in_any_script(own: Callable[..., Row], subject: str, hidden: str) -> None:
    table = make_visits(own, lambda draw: {"x": draw.randrange(100)})
    draft = shoal.suggest(table)
    assert draft.policy.subject == subject
    assert hidden in draft.policy.identifiers
    release = shoal.anonymize(table, draft)
    assert not {subject, hidden} & set(release.table.columns)


def test_a_measurement_that_repeats_twice_is_not_the_person() -> None:
    """Two records with one value agree in a column of two values by chance."""
    measured = {f"m{i}": (9, 2) for i in range(60)}
    table = make_visits(
        lambda draw, p: {"rec": 10_000 + p, "sex": draw.choice("fm"), "age": draw.randrange(90)},
        lambda draw: {name: round(draw.gauss(*of), 3) for name, of in measured.items()} | {"q1": draw.randrange(5)},
        persons=200,
        most=2,
    )
    draft = shoal.suggest(table)
    assert draft.policy.subject == "rec"
    assert set(draft.policy.quasi_identifiers) == {"sex", "age"}
    assert "an answer or a grade" in draft.reasons["q1"]
    assert "a measurement" in draft.reasons["m7"]  # sixty columns are no coordinates


def test_persons_of_households_are_counted_by_households() -> None:
    draw, rows = random.Random(2), []
    for household in range(120):
        region = draw.choice("NESW")
        for person in range(draw.randint(1, 5)):
            facts = {"sex": draw.choice("fm"), "age": draw.randrange(90)}
            rows += [
                {"household": 5_000 + household, "person_no": person + 1, "wave": wave, "region": region, **facts}
                for wave in range(draw.randint(1, 3))
            ]
    draft = shoal.suggest(pl.DataFrame(rows))
    assert draft.policy.subject == "household"
    assert "person_no" in draft.policy.identifiers


def test_names_of_other_persons_are_not_published() -> None:
    names = [f"{first} {last}" for first in "Ann Bob Cyd Dan Eve Fay".split() for last in "Ash Bay Cox Dun".split()]  # noqa: SIM905
    staff = [f"Dr. {first} {last}" for first in "Ida Jon Kay Lea Mia".split() for last in "Orr Poe Rex Sun Tay".split()]  # noqa: SIM905
    table = make_visits(
        lambda draw, p: {"employee_name": names[p], "reports to": names[p % 6], "dept": "abcdef"[p % 6]},
        lambda draw: {"seen by": draw.choice(staff), "overtime": draw.randrange(40)},
        persons=24,
        most=9,
    )
    draft = shoal.suggest(table)
    assert draft.policy.subject == "employee_name"
    assert {"reports to", "seen by"} <= set(draft.policy.identifiers)
    assert "values of employee_name" in draft.reasons["reports to"]


def test_one_text_among_numbers_is_told_by_its_row() -> None:
    table = pl.DataFrame({"weight kg": [*(f"{60 + i % 30}" for i in range(70)), "about 80"], "sex": ["f"] * 71})
    reason = shoal.suggest(table).reasons["weight kg"]
    assert "all but 1 are numbers: correct row 71" in reason
    assert "about 80" not in reason

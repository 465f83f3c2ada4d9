"""Texts made to hold the parser: refused in a moment, and what people ask is read."""

from __future__ import annotations

import random
import time

import pytest
import sqlglot

from shoal.errors import Refused
from shoal.gateway import sql_guard
from shoal.gateway.language import MAX_FIGURES, MAX_LENGTH, MAX_TESTS, Schema, parse_sql

SCHEMA = Schema({"people": ("age", "sex", "job")})
NAMES = """
DECIMAL NUMERIC VARCHAR CHAR DATETIME TIMESTAMP ARRAY MAP STRUCT NULLABLE LOWCARDINALITY
TIME INTERVAL ENUM8 NESTED TUPLE RANGE VECTOR FIXEDSTRING DECIMAL32 OBJECT INT
"""
JOINED = "SELECT age FROM people" + " JOIN people ON (people.age = people.age)" * 120
HOSTILE = {
    **{name: f"SELECT {f'{name}(' * 28}1{')' * 28} FROM people" for name in NAMES.split()},
    "cast": f"SELECT {'CAST(' * 40}age{' AS DECIMAL(1))' * 40} FROM people",
    "angles": f"SELECT {'ARRAY<' * 40}INT{'>' * 40} FROM people",
    "brackets": f"SELECT age FROM people WHERE {'(' * 55}age = 1{')' * 55}",
    "square": f"SELECT {'[' * 55}1{']' * 55} FROM people",
    "joins": JOINED,
    "bracketed joins": f"SELECT age FROM {'(people JOIN ' * 30}people{')' * 30}",
    "cases": f"SELECT {'CASE WHEN age = 1 THEN ' * 40}1{' END' * 40} FROM people",
    "arrows": f"SELECT {'x -> ' * 300}1 FROM people",
    "intervals": f"SELECT {'INTERVAL ' * 400}1 FROM people",
    "nots": f"SELECT age FROM people WHERE {'NOT ' * 1500}age = 1",
    "minus": f"SELECT age FROM people WHERE age = {'- ' * 3000}1",
    "unions": " UNION ".join(["SELECT age FROM people"] * 300),
    "with": f"{'WITH a AS (' * 50}SELECT 1{') SELECT 1' * 50}",
    "list": f"SELECT {'a,' * 4000}a FROM people",
    "dots": f"SELECT {'a.' * 3000}a FROM people",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_text_made_to_hold_the_parser_is_refused_in_a_moment(text: str) -> None:
    began = time.thread_time()
    with pytest.raises(Refused):
        parse_sql(text[:MAX_LENGTH], SCHEMA)
    assert time.thread_time() - began < 0.5


@pytest.mark.parametrize("seed", range(40))
def test_texts_of_the_parsers_own_words_take_no_time(seed: int) -> None:
    chance = random.Random(seed)
    words = (
        [*sqlglot.tokenizer_class.KEYWORDS] if hasattr(sqlglot, "tokenizer_class") else [*sqlglot.Tokenizer.KEYWORDS]
    )
    drawn = chance.sample([word for word in words if word.strip()], 3)
    parts = [
        chance.choice([*drawn, "(", "(", ")", ",", "age", "1", "<", ">"]) for _ in range(chance.randrange(30, 900))
    ]
    began = time.thread_time()
    with pytest.raises(Refused):
        parse_sql(f"SELECT {' '.join(parts)} FROM people"[:MAX_LENGTH], SCHEMA)
    assert time.thread_time() - began < 0.5


def test_the_steps_of_the_parser_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_guard, "check_tokens", lambda tokens: None)
    began = time.thread_time()
    with pytest.raises(Refused, match="takes too long to read"):
        parse_sql(HOSTILE["DECIMAL"], SCHEMA)
    assert time.thread_time() - began < 0.5


@pytest.mark.parametrize(
    "text",
    [
        "SELECT sex, count(*) AS n FROM people WHERE NOT (age > 30 OR (sex = 'M' AND (age < 5))) GROUP BY sex",
        f"SELECT sex FROM people WHERE age IN ({', '.join(map(str, range(1500)))})",
        f"SELECT sex FROM people WHERE {' OR '.join(['age = 1'] * MAX_TESTS)}",
        f"SELECT sex FROM people WHERE {' AND '.join(['(age BETWEEN 1 AND 5 OR job IS NOT NULL)'] * (MAX_TESTS // 2))}",
        f"SELECT sex FROM people WHERE {'(' * 40}age = -1.5{')' * 40}",
    ],
)
def test_what_people_ask_is_read(text: str) -> None:
    assert parse_sql(text, SCHEMA).table == "people"


def test_so_many_figures_are_not_worked_out() -> None:
    figures = [f"avg(age) AS a{number}" for number in range(MAX_FIGURES + 1)]
    assert len(parse_sql(f"SELECT {', '.join(figures[:-1])} FROM people", SCHEMA).items) == MAX_FIGURES
    with pytest.raises(Refused, match="aggregates"):
        parse_sql(f"SELECT {', '.join(figures)} FROM people", SCHEMA)


def test_sorting_by_the_same_again_changes_nothing() -> None:
    text = "SELECT sex, age FROM people ORDER BY age DESC, sex"
    assert parse_sql(text + ", age, sex DESC" * 500, SCHEMA) == parse_sql(text, SCHEMA)

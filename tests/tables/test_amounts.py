"""Exact amounts and dates of which nearly each person has another one: a draft never publishes them as they are."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.explore.draft import Draft
from shoal.profiling.amounts import choose_coding, count_holders, share_with

Draw = Callable[[random.Random], Any]
AMOUNTS: dict[str, tuple[str, Draw, int]] = {
    "wages": ("wage", lambda draw: round(draw.lognormvariate(8, 0.6), 2), 400),
    "whole wages": ("Gehalt", lambda draw: draw.randrange(18_000, 95_000), 300),
    "salaires": ("salaire", lambda draw: draw.gauss(2_900, 700), 250),
    "few persons": ("salario", lambda draw: draw.randrange(1_000_000), 25),
    "one is rich": ("income", lambda draw: round(draw.paretovariate(1) * 100, 2), 2_000),
    "debts": ("debt", lambda draw: round(draw.gauss(0, 5_000), 2), 300),
    "small": ("blood alcohol", lambda draw: draw.random() / 1_000, 300),
    "decimals": ("medication cost", lambda draw: round(draw.uniform(5, 9_000), 2), 500),
}


def make_table(name: str, make: Draw, records: int, seed: int = 1) -> pl.DataFrame:
    draw = random.Random(seed)
    return pl.DataFrame(
        {
            "age": [draw.randrange(18, 90) for _ in range(records)],
            "sex": [draw.choice("fm") for _ in range(records)],
            name: [make(draw) for _ in range(records)],
        }
    )


def active_lines(draft: Draft) -> str:
    return "\n".join(line for line in str(draft).splitlines() if not line.strip().startswith("#"))


@pytest.mark.parametrize("shape", AMOUNTS)
def test_amounts_that_find_a_person_are_rounded_until_they_are_shared(shape: str) -> None:
    name, make, records = AMOUNTS[shape]
    table = make_table(name, make, records)
    draft = shoal.suggest(table)
    assert name in draft.policy.sensitive
    assert "rounded to multiples of" in draft.reasons[name]
    published = pl.DataFrame(shoal.anonymize(table, draft.policy).table)
    shown = published[name].drop_nulls()
    counts = shown.value_counts(name="n")["n"]
    assert counts.filter(counts >= 5).sum() >= 0.9 * len(shown)
    assert len(counts) >= 2
    # the ends are where one is alone
    ends = published.sort(name)[name].drop_nulls()
    assert ends.eq(ends[0]).sum() >= 5
    assert ends.eq(ends[-1]).sum() >= 5


def test_what_many_share_stays_as_it_is() -> None:
    draft = shoal.suggest(make_table("income", lambda draw: draw.randrange(20) * 500, 400))
    assert draft.policy.sensitive["income"].treatment is None
    assert "sensitive:\n  - income" in active_lines(draft)
    often = shoal.suggest(make_table("income", lambda draw: draw.randrange(150), 6_000))
    assert "published exactly: 100 % of the persons share theirs" in often.reasons["income"]


def test_treated_and_untreated_columns_stand_together() -> None:
    table = make_table("wage", lambda draw: draw.randrange(10**5), 200).with_columns(
        pl.Series("diagnosis", [f"I{i % 9}" for i in range(200)])
    )
    draft = shoal.suggest(table)
    assert draft.policy.sensitive["diagnosis"].treatment is None
    assert draft.policy.sensitive["wage"].treatment is not None
    assert "  diagnosis: {}" in str(draft)


def test_a_person_with_a_number_in_many_records_is_one_person() -> None:
    """Each amount stands in six records: all of them of the same person."""
    draw = random.Random(5)
    amounts = [draw.randrange(10**5) for _ in range(60)]
    wages = [draw.choice(amounts) for _ in range(150)]
    rows = [
        {"patient id": 7_000 + person, "sex": "fm"[person % 2], "wage": wages[person], "visit": draw.randrange(9)}
        for person in range(150)
        for _ in range(6)
    ]
    table = pl.DataFrame(rows)
    draft = shoal.suggest(table)
    assert draft.policy.subject == "patient id"
    assert draft.policy.sensitive["wage"].treatment is not None
    assert share_with(count_holders(table["wage"], None), 5) == 1.0
    assert share_with(count_holders(table["wage"], table["patient id"]), 5) < 0.5


def test_columns_that_nobody_calls_sensitive_are_judged_by_their_values() -> None:
    draw, records = random.Random(3), 400
    columns = {f"мера {i}": [round(draw.gauss(40, 9), 3) for _ in range(records)] for i in range(20)}
    table = pl.DataFrame({"age": [draw.randrange(18, 90) for _ in range(records)], **columns})
    draft = shoal.suggest(table)
    measured = [name for name in columns if name in draft.policy.sensitive]
    assert len(measured) >= 15
    assert all(draft.policy.sensitive[name].treatment is not None for name in measured)


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("treatment time", lambda draw: f"{draw.randrange(24):02}:{draw.randrange(60):02}:{draw.randrange(60):02}"),
        ("therapy start", lambda draw: f"{draw.randrange(1, 29)} {draw.choice(['Jan', 'Feb', 'Mar'])} 2021"),
        ("salary", lambda draw: f"€ {draw.randrange(1, 9)}.{draw.randrange(100):03},00"),
        ("wage", lambda draw: f"{draw.randrange(1_000, 1_400)} kr"),
    ],
)
@pytest.mark.parametrize("records", [120, 400])
def test_exact_times_and_amounts_in_texts_are_not_published(name: str, make: Draw, records: int) -> None:
    draft = shoal.suggest(make_table(name, make, records))
    assert name not in draft.policy.sensitive
    generalized, hidden = draft.policy.quasi_identifiers, {*draft.policy.identifiers, draft.policy.subject}
    assert name in generalized or name in hidden


@pytest.mark.parametrize("made", [dt.date, dt.datetime])
def test_exact_dates_are_coarsened_whatever_they_are_called(made: Any) -> None:
    table = make_table("diagnosis made", lambda draw: made(2020, 1, 1) + dt.timedelta(days=draw.randrange(900)), 300)
    assert "diagnosis made" in shoal.suggest(table).policy.quasi_identifiers


@given(
    st.lists(st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: round(value, 3)), min_size=20, max_size=200),
    st.integers(2, 8),
)
def test_a_coding_keeps_two_values_and_is_itself_again(values: list[float], k: int) -> None:
    from shoal.engines.treatments import code_column

    coding, share = choose_coding(pl.Series(values), None, k)
    if coding is not None:
        coded = code_column(pl.Series(values), coding)
        assert coded.n_unique() >= 2
        assert code_column(coded, coding).equals(coded)
        assert share == share_with(count_holders(coded, None), k)


def test_the_same_whatever_the_order_of_records() -> None:
    table = make_table("wage", lambda draw: round(draw.lognormvariate(8, 1), 2), 300)
    assert str(shoal.suggest(table)) == str(shoal.suggest(table.sample(fraction=1, shuffle=True, seed=4)))


def test_spans_of_time_are_compared_with_numbers_of_persons() -> None:
    stays = [dt.timedelta(microseconds=7_000 + i // 2) for i in range(60)]
    table = pl.DataFrame({"patient id": [7_000 + i // 2 for i in range(60)], "stay": stays, "sex": ["f", "m"] * 30})
    assert "stay" in shoal.suggest(table).policy.identifiers


HOUSEHOLDS = [
    ("household", "person_no", "sex", "age"),
    ("hhid", "pid", "gender", "age"),
    ("Haushalt", "Person", "Geschlecht", "Alter"),
    ("menage", "individu", "sexe", "age"),
    ("hogar", "persona", "sexo", "edad"),
]


@pytest.mark.parametrize("names", HOUSEHOLDS)
@pytest.mark.parametrize("is_numbered", [True, False])
def test_a_draft_of_households_says_that_households_are_counted(
    names: tuple[str, str, str, str], is_numbered: bool
) -> None:
    draw, rows = random.Random(2), []
    group, member, sex, age = names
    for household in range(120):
        region = draw.choice("NESW")
        for person in range(draw.randint(1, 5)):
            facts = {sex: draw.choice("fm"), age: draw.randrange(90), **({member: person + 1} if is_numbered else {})}
            rows += [
                {group: 5_000 + household, "wave": wave, "region": region, **facts}
                for wave in range(draw.randint(1, 3))
            ]
    draft = shoal.suggest(pl.DataFrame(rows))
    assert draft.policy.subject == group
    assert "Several persons stand under one value" in draft.reasons[group]
    assert "Households are counted, not persons" in draft.reasons[group]
    assert "k households are k persons or more" in draft.reasons[group]
    assert (f"numbered by {member}" in draft.reasons[group]) is is_numbered
    if is_numbered:
        assert member in draft.policy.identifiers
    shoal.anonymize(pl.DataFrame(rows), draft.policy)

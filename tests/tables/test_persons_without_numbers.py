"""Persons whose column has no digits, or small numbers only: a draft finds them all the same."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import shoal

DRAW = np.random.default_rng(5)
PERSONS, TIMES = 120, 8
WHO = np.repeat(np.arange(PERSONS), TIMES)
NAMES = [f"{first} {last}" for first in ("Adam", "Ewa", "Jan", "Ola", "Piotr") for last in "BCDFGHJKLMNPRSTWZABCDEFG"]
LETTERS = ["".join(DRAW.choice(list("abcdefghij"), 8)) for _ in range(PERSONS)]


def table(column: str, ids: list[object]) -> pl.DataFrame:
    born, city, sex = DRAW.integers(1950, 2000, PERSONS), DRAW.integers(0, 4, PERSONS), DRAW.integers(0, 2, PERSONS)
    return pl.DataFrame(
        {
            column: [ids[who] for who in WHO.tolist()],
            "miasto": [["Lublin", "Radom", "Opole", "Gdynia"][city[who]] for who in WHO],
            "plec": [["k", "m"][sex[who]] for who in WHO],
            "rok_ur": [int(born[who]) for who in WHO],
            "kwota": DRAW.integers(3_000, 9_000, len(WHO)),
        }
    )


@pytest.mark.parametrize(
    ("column", "ids"),
    [
        ("Pracownik", [f"{name}{'a' * (index // 60)}" for index, name in enumerate(NAMES)]),
        ("kto", LETTERS),
        ("uczen", list(range(1, PERSONS + 1))),
    ],
    ids=["names", "letters", "small numbers"],
)
def test_the_person_is_found(column: str, ids: list[object]) -> None:
    assert shoal.suggest(table(column, ids)).policy.subject == column


def test_one_person_in_two_spellings_is_refused() -> None:
    visits = table("patient", [f"p{who:04d}" for who in range(PERSONS)])
    spelled = visits.with_columns(
        pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.col("patient").str.to_uppercase()).otherwise("patient")
    )
    policy = shoal.Policy(
        subject="patient", quasi_identifiers=["rok_ur"], others="drop", models=[{"name": "k-anonymity", "k": 3}]
    )
    assert not any("several ways" in str(fault) for fault in shoal.check(visits, policy))
    with pytest.raises(shoal.Misfit, match="several ways"):
        shoal.anonymize(spelled, policy)


def test_records_of_unknown_persons_are_refused() -> None:
    """Four persons and a blank would count as five, and the blank may be one of the four."""
    policy = shoal.Policy(subject="id", quasi_identifiers=["age"], models=[{"name": "k-anonymity", "k": 5}])
    ages = pl.DataFrame({"id": ["a", "b", "c", "d", None], "age": [30] * 5})
    with pytest.raises(shoal.Misfit, match="unknown persons"):
        shoal.anonymize(ages, policy)


def test_the_coarser_number_is_the_person_though_few_have_several_of_the_finer() -> None:
    """A contract tells its client; most clients have one contract, and some have four."""
    contracts = [4 if client % 12 == 0 else 1 for client in range(200)]
    client = np.repeat(np.arange(200), contracts)
    loans = pl.DataFrame({"nr_umowy": [f"U{70_000 + 13 * n}" for n in range(len(client))], "klient": client + 5_000})
    city, sex, born = (DRAW.integers(0, size, 200)[client] for size in (6, 2, 40))
    table = loans.with_columns(city=pl.Series(city), plec=pl.Series(sex), rok_ur=pl.Series(1950 + born))
    months = pl.concat([table.with_columns(rata=pl.Series(DRAW.integers(100, 900, len(client)))) for _ in range(5)])
    assert shoal.suggest(months).policy.subject == "klient"


def test_coordinates_years_and_codes_are_no_measurements() -> None:
    size = 400
    known = {
        "rok_ur": DRAW.integers(1940, 2005, size),
        "kod": DRAW.integers(20_000, 20_400, size),
        "plec": DRAW.choice(["k", "m"], size),
        "dlugosc": DRAW.uniform(14.1, 24.1, size).round(5),
        "szerokosc": DRAW.uniform(49.1, 54.8, size).round(5),
    }
    measured = {f"badanie{number}": DRAW.normal(100, 15, size).round(1) for number in range(12)}
    policy = shoal.suggest(pl.DataFrame({**known, **measured})).policy
    assert {*known} <= {*policy.quasi_identifiers} | {*policy.identifiers}


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("credit_id", [70_000 + 17 * number for number in range(400)]),
        ("therapist", [f"{first} {last}x{last}" for first in NAMES[:20] for last in range(20)]),
    ],
    ids=["numbers", "names"],
)
def test_a_sensitive_word_makes_no_name_publishable(column: str, values: list[object]) -> None:
    table = pl.DataFrame({column: values, "age": DRAW.integers(20, 80, 400), "city": DRAW.choice(list("abc"), 400)})
    assert column in shoal.suggest(table).policy.identifiers


def test_kept_columns_that_name_persons_are_refused() -> None:
    """Also where each value stands in several records, and so is not nearly unique."""
    mails = [f"u{number % 90}@mail.example" for number in range(400)]
    table = pl.DataFrame({"age": DRAW.integers(20, 80, 400), "kontakt": mails})
    policy = shoal.Policy(quasi_identifiers=["age"], others="keep", models=[{"name": "k-anonymity", "k": 5}])
    with pytest.raises(shoal.Misfit, match="e-mail addresses"):
        shoal.anonymize(table, policy)

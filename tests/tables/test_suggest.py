"""suggest(): the draft always parses, always fits, names every column and quotes no value."""

from __future__ import annotations

import contextlib
import datetime as dt
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.strategies import WORDS, any_tables, publishable, starred_columns, unexplained

import shoal
from shoal.errors import Misfit
from shoal.explore.draft_text import format_scalar
from shoal.explore.suggest import suggest
from shoal.policy import Policy
from shoal.profiling.profile import profile_column
from shoal.profiling.role_rules import choose_widths


def fits(table: Any, **options: Any) -> Policy:
    """Check the promises of a draft that hold for every table, and return the policy."""
    text = suggest(table, **options)
    policy = Policy.from_yaml(text)
    # records of nobody, and one person written in two ways, are told to whoever has the table
    faults = [fault for fault in policy.check(table) if fault.kind != "infeasible" and fault.where != "subject"]
    # texts that a spreadsheet would run are no misfit of a draft
    faults = [fault for fault in faults if not fault.where.startswith("published.")]
    starred = starred_columns(table, policy) if isinstance(table, pl.DataFrame) else []
    assert [fault.where for fault in faults] == [f"quasi_identifiers.{name}" for name in starred], faults
    assert all("written as suppressed ones are" in fault.what for fault in faults)
    declared = [*policy.hidden, *policy.quasi_identifiers, *policy.sensitive]
    assert sorted(declared) == sorted(table.columns)
    assert policy.others is None
    assert all(len(line) <= 120 or not line.strip().startswith("#") for line in text.splitlines())
    return policy


@contextlib.contextmanager
def refusing_names(table: pl.DataFrame) -> Iterator[None]:
    """Let a draft be refused, but only where every column names or numbers persons, or has nothing to publish."""
    try:
        yield
    except shoal.TableError as refused:
        assert "no column has values that can be published" in str(refused)
        alone = table.with_columns(other=pl.int_range(pl.len()) % 2)  # what may be published makes a draft of it
        policy = suggest(alone).policy
        assert set(table.columns) <= set(policy.hidden)


@pytest.mark.parametrize("name", shoal.datasets.NAMES)
def test_embedded_tables_are_anonymized_by_their_drafts(name: str) -> None:
    table = shoal.datasets.load(name)[0]
    policy = fits(table)
    assert policy.models[0].asked == min(5, table.height)
    quick = policy.replace(algorithm=policy.algorithm.trial())  # whether it fits, not how little it loses
    try:
        assert shoal.anonymize(table, quick).attained
    except shoal.Infeasible:
        assert table.height < 20  # in a tiny table all records may have to look the same


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(any_tables().filter(publishable))
def test_a_draft_fits_any_table(table: pl.DataFrame) -> None:
    before = table.clone()
    with refusing_names(table):
        fits(table)
    assert table.equals(before, null_equal=True)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(any_tables(least=5).filter(publishable))
def test_a_draft_anonymizes_or_is_infeasible(table: pl.DataFrame) -> None:
    policy = None
    with refusing_names(table):
        policy = fits(table)
    if policy is None:
        return
    unclear = any(fault.where == "subject" and fault.kind == "fault" for fault in policy.check(table))
    misfits = unclear or starred_columns(table, policy)
    refused = pytest.raises(Misfit) if misfits else contextlib.suppress(shoal.Infeasible)
    with refused, unexplained():
        shoal.anonymize(table, policy)


@given(st.sampled_from(WORDS) | st.text(st.characters(exclude_categories=["Cs"])))
def test_a_name_is_read_back_as_it_was(name: str) -> None:
    from shoal.encoding import yaml as notation

    assert notation.parse(f"- {format_scalar(name)}") == [name]
    assert notation.parse(f"[{format_scalar(name)}]") == [name]
    assert "\n" not in format_scalar(name)


@given(st.floats(1e-6, 1e15), st.booleans())
def test_widths_nest(span: float, whole: bool) -> None:
    widths = choose_widths(span, whole=whole)
    assert all(0 < width < span for width in widths)
    assert len(widths) <= 4
    if widths:
        shoal.hierarchies.Intervals(widths=widths)  # refuses widths that are not multiples


def test_no_value_is_quoted() -> None:
    rows = 60
    table = pl.DataFrame(
        {
            "name": [f"Zebulon{i}" for i in range(rows)],
            "city": [f"Quuxville{i % 9}" for i in range(rows)],
            "salary": [77_777.25 + i for i in range(rows)],
            "notes": [f"Xylophone {i} was seen here again today" for i in range(rows)],
            "points": [31_337 + 1000 * (i % 30) for i in range(rows)],
        }
    )
    text = suggest(table)
    for secret in ("Zebulon", "Quuxville", "77777", "77,777", "Xylophone", "31337", "31,337"):
        assert secret not in text


def roles(**columns: list[Any]) -> Policy:
    return fits(pl.DataFrame(columns))


def cycle(values: list[Any], count: int = 100) -> list[Any]:
    return [values[i % len(values)] for i in range(count)]


MANY = list(range(100))


@pytest.mark.parametrize(
    "name",
    ["name", "Nachname", "prénom", "apellido", "cognome", "EmailAddress", "phone", "Telefonnummer", "ssn", "IBAN",
     "passport_no", "MRN", "Straße", "ip", "id", "user_name", "customerId", "Versichertennummer"],
)  # fmt: skip
def test_names_of_identifiers(name: str) -> None:
    assert name in roles(**{name: [f"v{i}" for i in MANY], "sex": cycle(["f", "m"])}).identifiers


@pytest.mark.parametrize(
    "values",
    [
        [f"u{i}@example.org" for i in MANY],
        [f"+49 221 {i:07d}" for i in MANY],
        [f"DE{i % 90 + 10} 3704 0044 0532 0130 00" for i in MANY],
        [f"123e4567-e89b-12d3-a456-4266141740{i:02d}" for i in MANY],
        [f"0{i:011d}" for i in MANY],
        [f"192.168.0.{i}" for i in MANY],
        [f"x{i}" for i in MANY],
        [5000 + i for i in MANY],
        [f"she came in with her brother on day {i}" for i in MANY],
        [[i] for i in MANY],
        [None] * 100,
    ],
)
def test_values_of_identifiers(values: list[Any]) -> None:
    assert roles(v=values, sex=cycle(["f", "m"])).hidden == ("v",)


def test_names_that_only_sound_like_identifiers() -> None:
    policy = roles(
        **{"country name": cycle(["a", "b", "c"]), "has_email": cycle([True, False]), "department_id": cycle([1, 2, 3])}
    )
    assert not policy.identifiers


def test_hierarchies() -> None:
    policy = roles(
        **{
            "age": cycle(list(range(18, 91))),
            "birth date": [dt.date(1950, 1, 1) + dt.timedelta(days=200 * i) for i in MANY],
            "seen": [dt.datetime(2024, 1, 1) + dt.timedelta(hours=i) for i in MANY],
            "Geburtstag": [f"{i % 28 + 1:02d}.{i % 12 + 1:02d}.{1950 + i % 40}" for i in MANY],
            "entered": cycle([20240101 + i for i in range(20)]),
            "zip code": cycle([f"0{2100 + i}" for i in range(40)]),
            "plate": cycle([f"A{i * i % 97 % 41:04d}" for i in range(97)]),
            "sex": cycle(["f", "m"]),
            "trade": cycle([f"trade {i}" for i in range(12)]),
            "gain": cycle([0, 10, 90_000, 17, 123, 4000, 8000, 9]),
            "flag": cycle([True, False, None]),
            "same": cycle(["x"]),
        }
    )
    built = {name: column.hierarchy for name, column in policy.quasi_identifiers.items()}
    kinds = {name: hierarchy and hierarchy.key() for name, hierarchy in built.items()}
    assert kinds == {
        "age": "intervals", "birth date": "dates", "seen": "dates", "Geburtstag": "mask", "entered": "intervals",
        "zip code": "mask", "plate": "mask", "sex": "suppress", "trade": None, "gain": None, "flag": "suppress",
        "same": "suppress",
    }  # fmt: skip
    assert built["zip code"] == shoal.hierarchies.Mask(keep=[4, 3, 2, 1])
    assert built["Geburtstag"] == shoal.hierarchies.Mask(keep=[7, 4], side="suffix")
    assert built["age"] == shoal.hierarchies.Intervals(widths=[5, 10, 20])


@pytest.mark.parametrize("name", ["disease", "Hauptdiagnose", "religion", "Salary (EUR)", "HIV", "union", "maladie"])
def test_sensitive_columns_are_diverse(name: str) -> None:
    policy = roles(**{name: cycle(["a", "b", "c"]), "sex": cycle(["f", "m"])})
    assert list(policy.sensitive) == [name]
    assert [model.key() for model in policy.models] == ["k-anonymity", "distinct-l-diversity"]


def test_a_constant_sensitive_column_asks_for_nothing_impossible() -> None:
    policy = roles(disease=["flu"] * 100, sex=cycle(["f", "m"]))
    assert list(policy.sensitive) == ["disease"]
    assert len(policy.models) == 1


def test_race_is_a_quasi_identifier() -> None:
    text = suggest(pl.DataFrame({"race": cycle(["a", "b"])}))
    assert "race" in Policy.from_yaml(text).quasi_identifiers
    assert "GDPR Art. 9" in text


def test_a_person_that_returns_is_the_subject() -> None:
    policy = roles(patient_id=cycle([f"p{i}" for i in range(40)]), sex=cycle(["f", "m"]))
    assert policy.subject == "patient_id"
    assert not policy.identifiers
    once = roles(patient_id=[f"p{i}" for i in MANY], sex=cycle(["f", "m"]))
    assert once.subject is None
    assert list(once.identifiers) == ["patient_id"]


def test_k_is_lowered_to_the_persons() -> None:
    table = pl.DataFrame({"person_id": cycle([1, 2, 3]), "sex": cycle(["f", "m"])})
    assert fits(table, k=7).models[0].asked == 3
    assert "Lowered from 7" in suggest(table, k=7)
    assert fits(pl.DataFrame({"sex": ["f"]})).models[0].asked == 2


def test_a_k_that_protects_nobody_is_refused() -> None:
    with pytest.raises(shoal.PolicyError, match="at least 2"):
        suggest(pl.DataFrame({"sex": ["f", "m"]}), k=1)


def test_without_a_quasi_identifier_the_most_plausible_column_becomes_one() -> None:
    table = pl.DataFrame({"name": [f"n{i}" for i in MANY], "disease": cycle(["a", "b"])})
    policy = fits(table)
    assert list(policy.quasi_identifiers) == ["disease"]
    assert len(policy.models) == 1
    assert "check this choice" in suggest(table)


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("patient_id", [1, 2, 3, 4, 5, 6] * 20),
        pl.Series("email", [f"u{number}@mail.org" for number in range(60)]),
        pl.Series(
            "who",
            [
                f"{first} {last}"
                for first in ("Ann", "Bob", "Cyd")
                for last in ("Ash", "Bay", "Cox", "Dun", "Eyre", "Fox")
            ],
        ),
        pl.Series("c", [f"+49 171 {number}" for number in range(1_000_000, 1_000_050)]),
        pl.Series("svnr", [45_678_901_234 + 7_919 * number for number in range(60)]),
    ],
    ids=lambda column: column.name,
)
def test_who_a_record_is_about_is_never_the_quasi_identifier(column: pl.Series) -> None:
    """Five e-mail addresses in a set are five e-mail addresses."""
    with pytest.raises(shoal.TableError, match="no column has values that can be published"):
        suggest(column.to_frame())


def test_a_table_without_publishable_columns_is_refused() -> None:
    with pytest.raises(shoal.TableError, match="no column"):
        suggest(pl.DataFrame({"a": [[1], [2]]}))


def test_missing_values_and_placeholders_are_told() -> None:
    ages = [None, 999, -9, *range(20, 60)]
    text = suggest(pl.DataFrame({"age": ages, "town": ["?", "n/a", "Unknown", *["a", "b"] * 20]}))
    assert "1 missing, 2 with a placeholder" in text
    assert "3 with a placeholder" in text
    found = profile_column(pl.Series("age", ages))
    assert (found.low, found.high) == (20, 59)


def test_twins_are_told() -> None:
    text = suggest(pl.DataFrame({"job": cycle(["a", "b", "c"]), "job number": cycle([1, 2, 3])}))
    assert "One to one with job" in " ".join(text.replace("#", " ").split())


def test_a_german_file(tmp_path: Path) -> None:
    draw = random.Random(1)
    lines = ["Patientennummer;Name;Geburtsdatum;Geschlecht;PLZ;Größe (cm);Gewicht;Hauptdiagnose;Bemerkungen"]
    for i in range(120):
        born = dt.date(1940, 1, 1) + dt.timedelta(days=draw.randrange(25_000))
        cells = [
            f"P{i % 80:04d}",
            f"Müller {i}",
            f"{born:%d.%m.%Y}",
            draw.choice("mwd"),
            f"0{draw.randrange(1000, 1100)}",
        ]
        cells += [f"{draw.randrange(150, 200)}", f"{draw.randrange(50, 99)},{i % 10}", draw.choice(["I10", "E11.9"])]
        lines.append(";".join([*cells, f"kam am Tag {i} mit ihrem Bruder"]))
    path = tmp_path / "klinik.csv"
    path.write_text("\n".join(lines), encoding="cp1252")
    policy = Policy.from_yaml(suggest(path))
    assert policy.check(path) == []
    assert policy.subject == "Patientennummer"
    assert list(policy.identifiers) == ["Name", "Bemerkungen"]
    assert list(policy.sensitive) == ["Hauptdiagnose"]
    assert set(policy.quasi_identifiers) == {"Geburtsdatum", "Geschlecht", "PLZ", "Größe (cm)", "Gewicht"}
    assert suggest(path, delimiter=";", encoding="cp1252") == suggest(path)


def test_pandas_and_arrow_get_the_same_draft() -> None:
    table = shoal.datasets.voters()
    assert suggest(table.to_pandas()) == suggest(table.to_arrow()) == suggest(table.lazy()) == suggest(table)

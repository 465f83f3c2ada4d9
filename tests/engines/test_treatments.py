"""Treatments of every role on every engine: coded, rounded, shifted; nothing finer is published, and lies are found."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.auditing import treatments as audited
from shoal.engines import treatments
from shoal.engines.shifting import shift_dates
from shoal.engines.treatments import treat_column
from shoal.policy.treatments import Coding

from .conftest import Laid, release_of

KEY = b"ein Geheimnis, das niemand kennt"
PERSONS = 40
TABLE = pl.DataFrame(
    {
        "Patient": [f"p{i // 2}" for i in range(2 * PERSONS)],
        "Alter": [15 + (i // 2) * 2 for i in range(2 * PERSONS)],
        "Gewicht": [None if i == 4 else 41.3 + (i * 7) % 90 for i in range(2 * PERSONS)],
        "aufgenommen": [
            dt.date(2021, 3, 1) + dt.timedelta(days=(i // 2) * 3 + 11 * (i % 2)) for i in range(2 * PERSONS)
        ],
        "Einkommen": [1_000 + 137 * i for i in range(2 * PERSONS)],
        "Kinder": [i % 9 for i in range(2 * PERSONS)],
    }
)
POLICY = shoal.Policy(
    subject="Patient",
    quasi_identifiers={
        "Alter": {"treatment": {"top": 80, "bottom": 20}},
        "aufgenommen": {"treatment": {"shift_days": 60}},
    },
    sensitive={"Einkommen": {"treatment": {"round": 500, "top": 9000}}, "Gewicht": {"treatment": {"round": 0.5}}},
    others="keep",
    treatments={"Kinder": {"top": 4}},
    models=[{"name": "k-anonymity", "k": 3}],
    algorithm="mondrian",
)


def frame_of(table: Any) -> pl.DataFrame:
    return shoal.read(table.toPandas() if hasattr(table, "toPandas") else getattr(table, "expand", lambda: table)())


def test_every_role_is_treated_on_every_engine(lay: Callable[[pl.DataFrame], Laid], tmp_path: Path) -> None:
    release = release_of(lay(TABLE), POLICY, key=KEY)
    shown = frame_of(release.table)
    assert shown["Kinder"].max() == 4
    assert set(shown["Einkommen"].unique()) == {min((v + 250) // 500 * 500, 9000) for v in TABLE["Einkommen"]}
    assert all((value * 2).is_integer() for value in shown["Gewicht"].drop_nulls())
    assert release.audit.holds
    here = shoal.anonymize(TABLE, POLICY, key=KEY)
    assert frame_of(here.table).sort(TABLE.columns[1:]).equals(shown.sort(TABLE.columns[1:]))
    files = release.write(tmp_path / "out")
    written = files["release"] if files["release"].is_file() else here.table
    checked = shoal.audit(written, POLICY, original=TABLE, key=KEY, subjects=here.subjects)
    assert [str(fault) for fault in checked.failures()] == []


def test_dates_keep_what_lies_between_them_and_nothing_else() -> None:
    moved = shift_dates(TABLE, POLICY, KEY)
    away = [(a - b).days for a, b in zip(moved["aufgenommen"], TABLE["aufgenommen"], strict=True)]
    assert away[0::2] == away[1::2]  # one shift for each person
    assert all(1 <= abs(days) <= 60 for days in away)
    assert len(set(away)) > PERSONS / 4
    other = shift_dates(TABLE, POLICY, b"ein anderer Schluessel von jemand")
    assert (other["aufgenommen"] != moved["aufgenommen"]).sum() > PERSONS


def test_without_the_key_nothing_is_shifted_and_nothing_audited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOAL_KEY", raising=False)
    with pytest.raises(shoal.Misfit, match=r"aufgenommen.treatment: the shift of a person's dates follows from a key"):
        shoal.anonymize(TABLE, POLICY)
    with pytest.raises(shoal.Misfit, match="follows from a key"):
        shoal.audit(TABLE, POLICY, original=TABLE)
    assert [fault for fault in POLICY.check(TABLE) if fault.kind == "fault"] == []  # a check needs none


def test_a_shift_that_lies_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for lie in (
        lambda frame, policy, key: frame,
        lambda frame, policy, key: frame.with_columns(
            pl.col("aufgenommen") + pl.duration(days=pl.Series(range(1, 81)))
        ),
        lambda frame, policy, key: frame.with_columns(pl.col("aufgenommen") + pl.duration(days=61)),
    ):
        monkeypatch.setattr(treatments, "shift_dates", lie)
        with pytest.raises(shoal.AuditFailed, match="shifted"):
            shoal.anonymize(TABLE, POLICY, key=KEY)


@pytest.mark.parametrize("column", ["Einkommen", "Kinder", "Gewicht", "Alter"])
def test_a_treatment_that_was_not_applied_is_found(column: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = treatments.code_column
    asked = POLICY.treated[column]
    monkeypatch.setattr(treatments, "code_column", lambda v, coding: v if coding == asked else honest(v, coding))
    with pytest.raises(shoal.AuditFailed, match=f"{column}: (published )?values that"):
        shoal.anonymize(TABLE, POLICY, key=KEY)


@pytest.mark.parametrize(
    ("values", "coding", "left"),
    [
        ([17, 18, 64, 91, None], {"top": 90, "bottom": 18}, [18, 18, 64, 90, None]),
        ([17, 91], {"top": 90.5, "bottom": 17.5}, [18, 90]),
        ([-150, -50, 49, 50, 149, 150], {"round": 100}, [-100, 0, 0, 100, 100, 200]),
        ([0.24, 0.25, 0.349999, float("nan")], {"round": 0.1}, [0.2, 0.3, 0.3, None]),
        (
            [dt.date(1899, 1, 1), dt.date(1950, 5, 5)],
            {"bottom": "1930-01-01"},
            [dt.date(1930, 1, 1), dt.date(1950, 5, 5)],
        ),
        ([dt.datetime(2020, 1, 1, 8)], {"top": "2019-12-31"}, [dt.datetime(2019, 12, 31)]),
    ],
)
def test_what_is_left(values: list[Any], coding: Any, left: list[Any]) -> None:
    once = treat_column(pl.Series("x", values), Coding(**coding))
    assert once.to_list() == left
    assert treat_column(once, Coding(**coding)).to_list() == left
    policy = shoal.Policy(quasi_identifiers={"x": {"treatment": coding}}, models=[{"name": "k-anonymity", "k": 2}])
    assert list(audited.untreated_faults(pl.DataFrame({"x": once.drop_nans()}), policy)) == []


@pytest.mark.parametrize(
    ("coding", "fine", "wrong"),
    [
        (
            {"top": 90, "bottom": 18},
            ["18", "90", "[85, 94]", ">=90", "*", "{18, 90}", "[0, 18]", "(missing)"],
            ["91", "17", "[91, 99]", "<18", "{20, 104}", "90.5"],
        ),
        ({"round": 100}, ["0", "-300", "[80, 120]", "{100, 200}"], ["150", "[101, 199]", "{100, 250}", "1e1"]),
        ({"round": 0.1}, ["0.3", "0.7", "[0.25, 0.35)"], ["0.31", "[0.31, 0.39]"]),
        (
            {"top": "2020-06-30"},
            ["2020-06-30", "[2020-01-01, 2020-12-31]", "2020", "2020-Q2"],
            ["2020-07-01", "2021", "2020-07"],
        ),
    ],
)
def test_the_audit_reads_it_off_the_texts(coding: Any, fine: list[str], wrong: list[str]) -> None:
    policy = shoal.Policy(quasi_identifiers={"x": {"treatment": coding}}, models=[{"name": "k-anonymity", "k": 2}])
    found = {text: list(audited.untreated_faults(pl.DataFrame({"x": [text]}), policy)) for text in fine + wrong}
    assert [text for text, faults in found.items() if faults] == wrong


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"treatments": {"Alter": {"top": 4}}}, "say treatment: beside the column's role"),
        ({"others": "drop"}, "say others: keep"),
        ({"subject": None, "identifiers": ["Patient"]}, "say subject"),
        ({"treatments": {"Kinder": {}}}, "name top, bottom, round or shift_days"),
        ({"treatments": {"Kinder": {"top": 3, "bottom": 5}}}, "bottom must be less than top"),
        ({"treatments": {"Kinder": {"top": 90, "round": 20}}}, "must be multiples of round"),
        ({"treatments": {"Kinder": {"top": 90, "shift_days": 20}}}, "numbers and dates do not go together"),
        ({"treatments": {"Kinder": {"shift_days": 30}}}, "the same number in all columns"),
        ({"treatments": {"Kinder": "age90"}}, "did you mean 'age-90'"),
        ({"treatments": {"Kinder": {"tip": 90}}}, "top"),
    ],
)
def test_what_makes_no_sense_is_said(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(shoal.PolicyError, match=said):
        POLICY.replace(**changes)


def test_values_that_cannot_be_treated_are_told() -> None:
    table = TABLE.with_columns(pl.Series("Kinder", ["viele"] * TABLE.height), Patient=pl.lit(None, pl.String))
    told = [str(fault) for fault in POLICY.check(table) if fault.kind == "fault"]
    assert any("treatments.Kinder: the treatment top 4 needs numbers; got 'viele'" in text for text in told)
    assert any("80 dates without a person" in text for text in told)


def test_a_policy_with_treatments_is_the_same_in_yaml() -> None:
    assert shoal.Policy.from_yaml(POLICY.to_yaml()) == POLICY
    assert "treatment:" in POLICY.to_yaml()
    assert "$ref" not in str(shoal.Policy.schema_json()["$defs"]["Sensitive"])

"""HIPAA's Safe Harbor: the 18 kinds are found, treated or kept out, and the published table shows it."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from tests.strategies import any_tables, publishable, starred_columns

import shoal
from shoal.auditing import treatments as audited
from shoal.engines.treatments import SPARSE, SPARSE_2000, treat_column
from shoal.explore.suggest import suggest
from shoal.policy import Policy
from shoal.profiling.profile import profile_column
from shoal.profiling.safe_harbor import KINDS, find_kind

MANY = range(60)
EXAMPLES: dict[str, tuple[str, list[Any]]] = {
    "A": ("patient name", [f"P{i}" for i in MANY]),
    "B": ("county", [f"c{i % 9}" for i in MANY]),
    "C": ("admitted", [dt.date(2020, 1, 1) + dt.timedelta(days=i) for i in MANY]),
    "D": ("home phone", [f"555 000 {i:04d}" for i in MANY]),
    "E": ("fax", [f"f{i}" for i in MANY]),
    "F": ("contact", [f"u{i}@example.org" for i in MANY]),
    "G": ("ssn", [f"123-45-{i:04d}" for i in MANY]),
    "H": ("MRN", [f"{i}" for i in MANY]),
    "I": ("member id", [f"m{i}" for i in MANY]),
    "J": ("account number", [f"a{i}" for i in MANY]),
    "K": ("drivers license", [f"d{i}" for i in MANY]),
    "L": ("license plate", [f"B-XY {i}" for i in MANY]),
    "M": ("device id", [f"s{i}" for i in MANY]),
    "N": ("profile", [f"https://example.org/{i}" for i in MANY]),
    "O": ("login from", [f"10.0.0.{i}" for i in MANY]),
    "P": ("fingerprint", [f"x{i}" for i in MANY]),
    "Q": ("photo", [f"{i}.jpg" for i in MANY]),
    "R": ("key", [f"123e4567-e89b-12d3-a456-4266141740{i:02d}" for i in MANY]),
}


def test_every_kind_has_an_example() -> None:
    assert set(EXAMPLES) == {kind.letter for kind in KINDS}
    assert len(EXAMPLES) == 18


@pytest.mark.parametrize("letter", EXAMPLES)
def test_each_of_the_18_kinds_is_found(letter: str) -> None:
    name, values = EXAMPLES[letter]
    kind = find_kind(profile_column(pl.Series(name, values)))
    assert kind is not None
    assert kind.letter == letter


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("country name", ["a", "b", "c"] * 20),
        ("department id", [1, 2, 3] * 20),
        ("birth weight", [2900 + i for i in MANY]),
        ("has email", [True, False] * 30),
        ("death", [0, 1] * 30),
        ("diagnosis code", ["I10", "E11"] * 30),
        ("state", ["NY", "CA", "TX"] * 20),
        ("stage", [1, 2, 3] * 20),
    ],
)
def test_what_only_sounds_like_one_is_not(name: str, values: list[Any]) -> None:
    assert find_kind(profile_column(pl.Series(name, values))) is None


TABLE = pl.DataFrame(
    {
        **dict(EXAMPLES.values()),
        "birth date": [dt.date(1920, 1, 1) + dt.timedelta(days=400 * i) for i in MANY],
        "zip code": ["02139", "03601", "10001", "94110", "60601", "77301"] * 10,
        "age": [20 + 2 * i if i < 30 else 85 + i % 20 for i in MANY],
        "sex": ["f", "m"] * 30,
        "diagnosis": ["x", "y", "z"] * 20,
    }
)


def test_a_draft_treats_or_leaves_out_all_of_them() -> None:
    policy = Policy.from_yaml(suggest(TABLE, preset="hipaa-safe-harbor"))
    assert policy.presets == ("hipaa-safe-harbor",)
    treatments = {name: column.treatment for name, column in policy.quasi_identifiers.items()}
    assert treatments == {"admitted": "year", "zip code": "zip3", "age": "age-90", "sex": None}
    assert set(policy.hidden) == set(TABLE.columns) - set(treatments) - {"diagnosis"}
    assert not policy.check(TABLE)
    release = shoal.anonymize(TABLE, policy)
    shown = " ".join(release.table.select(pl.exclude("diagnosis")).to_series(i).str.join(" ")[0] for i in range(4))
    for secret in ("02139", "036", "773", "2020-", "104", "103", "91"):
        assert secret not in shown
    assert "90" in set(release.table["age"]) or "[90, 120]" in set(release.table["age"])


def faults(**changes: Any) -> list[str]:
    base: dict[str, Any] = {
        "quasi_identifiers": {"sex": "suppress"},
        "models": [{"preset": "hipaa-safe-harbor"}, {"name": "k-anonymity", "k": 2}],
        "others": "drop",
    }
    return [str(fault) for fault in Policy(**{**base, **changes}).check(TABLE) if fault.kind == "fault"]


def test_what_would_be_published_against_the_rule_is_a_misfit() -> None:
    assert faults() == []
    assert any("(B) geographic units smaller than a state would be published" in text for text in faults(others="keep"))
    assert "contact: Safe Harbor (F) e-mail addresses would be published" in faults(sensitive=["contact"])[0]
    untreated = faults(quasi_identifiers={"zip code": {"hierarchy": "mask", "keep": [3]}})
    assert "treatment: zip3" in untreated[0]
    born = faults(quasi_identifiers={"birth date": {"hierarchy": "dates", "treatment": "year"}})
    assert "dates of birth would be published. Hint: make it an identifier." in born[0]
    with pytest.raises(shoal.Misfit, match="Safe Harbor"):
        asked = {"quasi_identifiers": ["sex"], "sensitive": ["contact"], "others": "drop"}
        shoal.anonymize(TABLE, {**asked, "models": [{"preset": "hipaa-safe-harbor"}, {"name": "k-anonymity", "k": 2}]})


def test_ranges_must_be_true_of_the_oldest() -> None:
    narrow = {"age": {"hierarchy": "intervals", "widths": [5, 10], "treatment": "age-90"}}
    assert (
        "a range would be said of people over 90 who are not in it; got [90, 94]" in faults(quasi_identifiers=narrow)[0]
    )
    wide = {"hierarchy": "intervals", "breaks": [0, 30, 60, 90, 120], "treatment": "age-90"}
    assert faults(quasi_identifiers={"age": wide}) == []


def test_the_lists_of_zip_codes() -> None:
    assert len(SPARSE_2000.split()) == 17  # HHS: "the 17 restricted ZIP codes"
    assert set(audited._SPARSE.split()) == SPARSE
    assert treat_column(pl.Series([f"{code}01" for code in sorted(SPARSE)]), "zip3").unique().to_list() == ["000"]


@pytest.mark.parametrize(
    ("values", "treatment", "left"),
    [
        (["02139", "2139", "021", "02139-4307", "021394307", None, ""], "zip3", ["021"] * 5 + [None] * 2),
        ([2139, 501, 94110, None], "zip3", ["021", "005", "941", None]),
        (["K1A 0B1", "12", "x"], "zip3", [None] * 3),
        ([0, 89, 90, 91, 104, None], "age-90", [0, 89, 90, 90, 90, None]),
        ([89.5, 90.5], "age-90", [89.5, 90.0]),
        ([dt.date(1995, 1, 31), None], "year", [1995, None]),
        ([dt.datetime(2004, 2, 29, 12)], "year", [2004]),
        (["1995-01-31", "2004-02-29T12:00", "31.12.1990", "1/2/2003", "1990", "soon"], "year",
         [1995, 2004, 1990, 2003, 1990, None]),
        ([19950131, 1995, 7], "year", [1995, 1995, None]),
    ],
)  # fmt: skip
def test_treatments(values: list[Any], treatment: Any, left: list[Any]) -> None:
    once = treat_column(pl.Series("x", values), treatment)
    assert once.to_list() == left
    assert treat_column(once, treatment).to_list() == left  # treating again changes nothing


def treated_policy(**columns: Any) -> Policy:
    return Policy(quasi_identifiers=columns, models=[{"name": "k-anonymity", "k": 2}], others="drop")


def test_values_that_cannot_be_treated_are_a_misfit_and_never_published() -> None:
    policy = treated_policy(zip={"treatment": "zip3"})
    table = pl.DataFrame({"zip": ["02139", "K1A 0B1"] * 2})
    with pytest.raises(shoal.Misfit, match=r"the treatment zip3 needs ZIP codes; got 'K1A 0B1'"):
        shoal.anonymize(table, policy)


@pytest.mark.parametrize(
    ("treatment", "fine", "wrong"),
    [
        ("zip3", ["021", "02*", "000", "*", "{021, 100}"], ["02139", "036", "{021, 036}", "0213*"]),
        ("age-90", ["17", "90", "[85, 90]", "[90, 120]", "*", "{17, 90}"], ["91", "[95, 99]", "{17, 104}"]),
        ("year", ["1995", "[1990, 1994]", "{1990, 1995}", "*"], ["1995-01", "31.12.1990", "19950131"]),
    ],
)
def test_the_audit_reads_it_off_the_published_texts(treatment: str, fine: list[str], wrong: list[str]) -> None:
    policy = treated_policy(x={"treatment": treatment})
    for text in fine:
        assert not list(audited.untreated_faults(pl.DataFrame({"x": [text]}), policy)), text
    for text in wrong:
        found = list(audited.untreated_faults(pl.DataFrame({"x": [text]}), policy))
        assert [fault.where for fault in found] == ["x"], text


def test_a_treatment_that_was_not_applied_is_caught() -> None:
    policy = treated_policy(age={"treatment": "age-90"})
    raw = pl.DataFrame({"age": [97, 97]})
    assert not shoal.audit(pl.DataFrame({"age": ["97", "97"]}), policy, original=raw).holds
    release = shoal.anonymize(raw, policy)
    assert release.table["age"].to_list() == ["90", "90"]
    assert shoal.audit(release.table, policy, original=raw).holds


def test_nothing_of_what_was_cut_is_in_the_files(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    TABLE.write_csv(path)
    policy = Policy.from_yaml(suggest(path, preset="hipaa-safe-harbor"))
    files = shoal.anonymize(path, policy).write(tmp_path / "out")
    written = files["release"].read_text()
    for secret in ("02139", "94110", "2020-01", "@example.org", "123-45"):
        assert secret not in written
    assert shoal.audit(files["release"], policy, original=path).holds
    assert json.loads(files["manifest"].read_text())["policy"]["presets"] == ["hipaa-safe-harbor"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(any_tables().filter(publishable))
def test_a_draft_under_the_rule_fits_any_table(table: pl.DataFrame) -> None:
    try:
        policy = Policy.from_yaml(suggest(table, preset="hipaa-safe-harbor"))
    except shoal.TableError:  # nothing is left that may be published
        assert all(find_kind(profile_column(column)) or profile_column(column).kind == "other" for column in table)
        return
    refused = [f"quasi_identifiers.{name}" for name in starred_columns(table, policy)]
    faults = [fault.where for fault in policy.check(table) if fault.kind == "fault"]
    assert [
        where for where in faults if where != "subject"
    ] == refused  # whom a record is about is for its owner to say

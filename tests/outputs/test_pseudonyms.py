"""Pseudonyms: keyed, the same in every table, and a key that is nowhere."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.factories import policies

import shoal
from shoal.engines.memory.write import ENDINGS
from shoal.errors import AuditFailed, Misfit, PolicyError
from shoal.pipeline import pseudonyms

KEY = b"correct horse battery staple"
NAMES = ["Ann-Marie", "Bobby", "Charlotte", "Dorothea", "Emilia", "Frederick"]


def people() -> pl.DataFrame:
    return pl.DataFrame({"name": NAMES, "age": [20, 21, 22, 40, 41, 42], "illness": list("abcabc")})


policy = policies(
    identifiers={"name": {"pseudonym": True}},
    quasi_identifiers={"age": {}},
    sensitive=["illness"],
    models=[{"name": "k-anonymity", "k": 3}],
    algorithm="mondrian",
)


def test_a_pseudonym_is_the_start_of_an_hmac() -> None:
    made = shoal.anonymize(people(), policy(), key=KEY)
    assert made.table.columns == ["name.pseudonym", "age", "illness"]
    expected = {hmac.new(KEY, name.encode(), hashlib.sha256).hexdigest()[:16] for name in NAMES}
    assert set(made.table["name.pseudonym"]) == expected
    row = made.table.filter(pl.col("name.pseudonym") == hmac.digest(KEY, b"Bobby", "sha256").hex()[:16])
    assert row.rows()[0][1:] == ("[20, 22]", "b")


def test_the_same_person_has_the_same_pseudonym_in_two_tables() -> None:
    other = pl.DataFrame({"patient": NAMES[::-1][:4], "town": ["Ulm"] * 4})
    asked = policy(identifiers={"patient": {"pseudonym": True}}, quasi_identifiers=["town"], sensitive=[])
    first = set(shoal.anonymize(people(), policy(), key=KEY).table["name.pseudonym"])
    second = set(shoal.anonymize(other, asked, key=KEY).table["patient.pseudonym"])
    assert second < first
    assert not second & set(shoal.anonymize(people(), policy(), key=KEY + b"!").table["name.pseudonym"])


def test_the_key_comes_from_a_file_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_bytes(KEY + b"\n")
    monkeypatch.delenv("SHOAL_KEY", raising=False)
    given = shoal.anonymize(people(), policy(), key=KEY).table
    assert shoal.anonymize(people(), policy(), key=tmp_path / "key").table.equals(given)
    monkeypatch.setenv("SHOAL_KEY", KEY.decode())
    assert shoal.anonymize(people(), policy()).table.equals(given)


def test_no_key_a_short_one_and_one_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOAL_KEY", raising=False)
    with pytest.raises(Misfit, match="pseudonyms need a key"):
        shoal.anonymize(people(), policy())
    with pytest.raises(Misfit, match="at least 16 bytes; got 5 bytes"):
        shoal.anonymize(people(), policy(), key=b"short\n\n")
    with pytest.raises(Misfit, match="cannot read the key"):
        shoal.anonymize(people(), policy(), key=tmp_path / "nowhere")
    assert "name.pseudonym" not in shoal.anonymize(people(), policy(identifiers=["name"])).table.columns


@pytest.mark.parametrize("kind", list(ENDINGS))
@pytest.mark.parametrize("form", ["generalized", "statistics", "anatomy"])
def test_neither_key_nor_names_are_in_any_byte(kind: str, form: str, tmp_path: Path) -> None:
    models = [{"name": "distinct-l-diversity", "on": "illness", "l": 3}]
    asked = policy(output=form, models=models, seed=2**99)
    (tmp_path / "key").write_bytes(KEY)
    out = tmp_path / "out"
    files = shoal.anonymize(people(), asked, key=tmp_path / "key").write(out, format=kind)
    assert shoal.audit(files["release"], asked, original=people()).holds
    secrets = [KEY, KEY.hex().encode(), hashlib.sha256(KEY).hexdigest().encode(), *(name.encode() for name in NAMES)]
    for path in out.iterdir():
        data = path.read_bytes()
        assert not [secret for secret in secrets if secret in data], path.name


def test_missing_names_have_none() -> None:
    table = people().with_columns(name=pl.Series([None, "", *NAMES[2:]]))
    made = shoal.anonymize(table, policy(), key=KEY)
    assert made.table["name.pseudonym"].null_count() == 2


def test_the_order_of_the_records_does_not_matter() -> None:
    same = people().with_columns(illness=pl.lit("a"), age=pl.lit(30))
    made, reversed_ = (shoal.anonymize(one, policy(), key=KEY).table for one in (same, same.reverse()))
    assert made.equals(reversed_)


def test_two_values_with_one_pseudonym(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pseudonyms, "_pseudonym", lambda text, key, digits: text[0].encode().hex() * (digits // 2))
    twins = people().with_columns(name=pl.Series(["Ann", "Abe", *NAMES[2:]]))
    with pytest.raises(Misfit, match=r"identifiers\.name\.digits: two values have the same pseudonym; got 6 values, 5"):
        shoal.anonymize(twins, policy(), key=KEY)


def test_records_of_one_person_are_not_linked() -> None:
    twice = people().with_columns(name=pl.Series(["Bobby", *NAMES[1:]]))
    with pytest.raises(Misfit, match="would link the records of one person"):
        shoal.anonymize(twice, policy(), key=KEY)
    made = shoal.anonymize(people(), policy(), key=KEY).table
    linked = made.with_columns(pl.Series("name.pseudonym", [made["name.pseudonym"][1], *made["name.pseudonym"][1:]]))
    assert not shoal.audit(linked, policy()).holds


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (lambda text, key, digits: hashlib.sha256(text.encode()).hexdigest()[:digits], "without a key"),
        (lambda text, key, digits: hashlib.md5(text.encode()).hexdigest()[:digits], "without a key"),
        (lambda text, key, digits: hmac.digest(b"", text.encode(), "sha256").hex()[:digits], "without a key"),
        (lambda text, key, digits: text, "hexadecimal digits"),
        (lambda text, key, digits: text.encode().hex()[:10], "hexadecimal digits"),
    ],
)
def test_pseudonyms_that_are_none_are_caught(broken: Any, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pseudonyms, "_pseudonym", broken)
    with pytest.raises(AuditFailed, match=told):
        shoal.anonymize(people(), policy(), key=KEY)


def test_identifiers_that_are_hexadecimal_digits_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = people().with_columns(name=pl.Series([f"{number:016x}" for number in range(6)]))
    assert shoal.anonymize(ids, policy(), key=KEY).audit.holds
    monkeypatch.setattr(pseudonyms, "_pseudonym", lambda text, key, digits: text)
    with pytest.raises(AuditFailed, match="without a key"):
        shoal.anonymize(ids, policy(), key=KEY)


def test_missing_columns_and_raw_names_are_found() -> None:
    made = shoal.anonymize(people(), policy(), key=KEY).table
    assert not shoal.audit(made.drop("name.pseudonym"), policy()).holds
    named = made.with_columns(name=pl.Series(NAMES))
    assert not shoal.audit(named, policy()).holds


def test_policies_say_it_in_yaml(tmp_path: Path) -> None:
    asked = policy(identifiers={"name": {"pseudonym": True, "digits": 32}, "ssn": {}})
    assert shoal.Policy.from_yaml(asked.to_yaml()) == asked
    for wrong in ({"pseudonym": "yes please"}, {"pseudonym": True, "digits": 4}, {"key": "secret"}):
        with pytest.raises(PolicyError):
            policy(identifiers={"name": wrong})
    with pytest.raises(Misfit, match="has a column of that name"):
        shoal.anonymize(people().with_columns(pl.lit(1).alias("name.pseudonym")), policy(others="keep"), key=KEY)


def test_check_and_report_say_what_pseudonyms_are() -> None:
    warnings = [str(fault) for fault in policy().check(people()) if fault.kind == "warning"]
    assert any("who has the key can name them" in text for text in warnings)
    page = " ".join(shoal.report(shoal.anonymize(people(), policy(), key=KEY).audit).split())
    assert "published as a pseudonym" in page
    assert "whoever has the key can name every person" in page

"""Tables and files that lie, and what the audit says of them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.policy import Policy

TABLE = pl.DataFrame(
    {
        "name": [f"Person-{i:02d}" for i in range(40)],
        "age": [20 + i % 4 for i in range(40)],
        "note": [f"n{i % 3}" for i in range(40)],
        "illness": [["flu", "cold", "hiv"][i % 3] for i in range(40)],
    }
)
POLICY = Policy(
    identifiers=["name"],
    quasi_identifiers=["age"],
    sensitive=["illness"],
    others="keep",
    models=[{"name": "k-anonymity", "k": 5}],
)


@pytest.fixture
def release() -> shoal.Release:
    return shoal.anonymize(TABLE, POLICY)


def test_the_honest_release_passes(release: shoal.Release, tmp_path: Path) -> None:
    for kind in ("csv", "parquet", "feather", "excel", "jsonl"):
        path = release.write(tmp_path / kind, format=kind)["release"]
        assert shoal.audit(path, POLICY, original=TABLE).holds, kind


@pytest.mark.parametrize("column", ["note", "illness"])
def test_names_hidden_in_a_kept_column_are_found(release: shoal.Release, column: str) -> None:
    lying = release.table.with_columns(TABLE["name"].alias(column))
    audit = shoal.audit(lying, POLICY, original=TABLE)
    assert any("original does not have" in fault.what for fault in audit.faults)


def test_a_changed_diagnosis_is_found(release: shoal.Release) -> None:
    lying = release.table.with_columns(illness=release.table["illness"].replace("hiv", "flu"))
    assert not shoal.audit(lying, POLICY, original=TABLE).holds


def test_what_a_caller_does_to_the_table_does_not_reach_the_release(release: shoal.Release, tmp_path: Path) -> None:
    release.table.replace_column(1, pl.Series("note", TABLE["name"].to_list()))
    path = release.write(tmp_path)["release"]
    assert b"Person-" not in path.read_bytes()


def test_a_second_sheet_is_found(release: shoal.Release, tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    path = tmp_path / "release.xlsx"
    with xlsxwriter.Workbook(path) as book:
        release.frame.write_excel(book, worksheet="release")
        TABLE.write_excel(book, worksheet="secret")
    assert any("more than one sheet" in f.what for f in shoal.audit(path, POLICY, original=TABLE).faults)


def test_names_in_the_metadata_of_a_file_are_found(release: shoal.Release, tmp_path: Path) -> None:
    path = tmp_path / "release.parquet"
    release.frame.write_parquet(path, compression="uncompressed", metadata={"author": "Person-07"})
    assert any("raw values" in f.what for f in shoal.audit(path, POLICY, original=TABLE).faults)


def test_empty_texts_and_missing_values_are_one() -> None:
    table = pl.DataFrame({"age": ["1"] * 3, "illness": ["flu", "", None]})
    for missing, attained in (("own-value", 2), ("wildcard", 1)):
        policy = Policy(
            quasi_identifiers=["age"],
            sensitive={"illness": {"missing": missing}},
            models=[{"name": "distinct-l-diversity", "on": "illness", "l": 2}],
        )
        assert shoal.audit(table, policy).models[0].attained == attained


def test_a_subject_column_may_have_any_name() -> None:
    table = TABLE.with_columns(count=pl.int_range(40) // 2)
    policy = POLICY.replace(subject="count", others="drop")
    release = shoal.anonymize(table, policy)
    assert shoal.audit(release.table, policy, original=table, subjects=release.subjects).holds


def test_cells_that_stand_side_by_side_are_no_leak(tmp_path: Path) -> None:
    table = pl.DataFrame({"id": [252525 + i for i in range(20)], "age": [25] * 20, "who": ["null"] * 20})
    roles = {"identifiers": ["id", "who"], "quasi_identifiers": ["age"], "subject": "none"}
    policy = Policy(**roles, models=[{"name": "k-anonymity", "k": 5}])
    for kind in ("feather", "jsonl", "excel"):
        shoal.anonymize(table, policy).write(tmp_path / kind, format=kind)

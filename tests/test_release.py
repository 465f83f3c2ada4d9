"""What is written, and what is in the manifest."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import WriteError


@pytest.fixture(scope="module")
def release() -> shoal.Release:
    return shoal.anonymize(*shoal.datasets.load("hospital"))


def test_the_manifest_vouches_for_the_files(release: shoal.Release, tmp_path: Path) -> None:
    files = release.write(tmp_path)
    manifest = json.loads(files["manifest"].read_text())
    assert manifest["policy_hash"] == release.policy.hash
    assert manifest["seed"] == 0
    assert manifest["recoding"]["levels"] == {"date of birth": 2, "gender": 0, "zip code": 0, "race": 0}
    assert set(manifest["versions"]) >= {"shoal", "numpy", "polars", "python"}
    for name, digest in manifest["files"].items():
        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == digest


def test_the_fingerprint_tells_tables_apart_but_not_their_order() -> None:
    table, policy = shoal.datasets.load("hospital")
    one = shoal.anonymize(table, policy).manifest["data_fingerprint"]
    assert shoal.anonymize(table.reverse(), policy).manifest["data_fingerprint"] == one
    other = table.with_columns(disease=pl.Series([*table["disease"].to_list()[1:], "Flu"]))
    assert shoal.anonymize(other, policy).manifest["data_fingerprint"] != one


def test_nothing_of_the_raw_table_is_in_the_manifest_or_report(release: shoal.Release, tmp_path: Path) -> None:
    files = release.write(tmp_path)
    for name in ("manifest", "audit", "report"):
        text = files[name].read_text()
        assert "1995-09-20" not in text
        if name != "report":  # ten published records stand in it, with what is published of them
            assert "Stomachache" not in text


def test_writing_twice_gives_the_same_bytes(release: shoal.Release, tmp_path: Path) -> None:
    first = {name: path.read_bytes() for name, path in release.write(tmp_path / "a").items()}
    second = {name: path.read_bytes() for name, path in release.write(tmp_path / "b").items()}
    assert first == second


MOMENT = dt.datetime(2021, 10, 31, 0, 30)
"""In Berlin this half hour comes twice."""
MOMENTS = {
    "seconds": [MOMENT + dt.timedelta(hours=hour) for hour in range(3)],
    "milliseconds": [MOMENT, MOMENT.replace(microsecond=1_000), None],
    "microseconds": [MOMENT.replace(microsecond=5), MOMENT + dt.timedelta(hours=1), None],
}
ROLES: dict[str, dict[str, Any]] = {
    "sensitive": {"quasi_identifiers": {"sex": {}}, "sensitive": ["at", "day"], "others": "keep"},
    "others": {"quasi_identifiers": {"sex": {}}, "sensitive": ["number"], "others": "keep"},
    "quasi-identifier": {"quasi_identifiers": {"sex": {}, "at": {}}, "sensitive": ["number", "day"]},
    "ends": {"quasi_identifiers": {"sex": {}, "at": {}}, "others": "keep", "output": {"ends": True}},
    "statistics": {"quasi_identifiers": {"sex": {}, "at": {}}, "others": "keep", "output": "statistics"},
    "anatomy": {
        "quasi_identifiers": {"sex": {}, "at": {}},
        "others": "drop",
        "sensitive": ["number"],
        "output": "anatomy",
        "seed": 2**80,
        "models": [{"name": "distinct-l-diversity", "on": "number", "l": 2}],
    },
    "sensitive of an anatomy": {
        "quasi_identifiers": {"sex": {}, "number": {}},
        "others": "drop",
        "sensitive": ["at"],
        "output": "anatomy",
        "seed": 2**80,
        "models": [{"name": "distinct-l-diversity", "on": "at", "l": 2}],
    },
}


def of_moments(values: list[dt.datetime | None], unit: Any, zone: str | None) -> pl.DataFrame:
    at = pl.Series(values * 4, dtype=pl.Datetime(unit, zone))
    day = pl.Series([dt.date(1850, 1, 2), None, dt.date(2020, 2, 29)] * 4)
    return pl.DataFrame({"sex": ["f", "m"] * 6, "number": [1, 2] * 6, "at": at, "day": day})


@pytest.mark.parametrize(("unit", "zone"), [("us", None), ("ms", None), ("ns", "Europe/Berlin")])
@pytest.mark.parametrize("values", MOMENTS)
@pytest.mark.parametrize("role", ROLES)
def test_moments_are_written_as_the_audit_reads_them(
    role: str, values: str, unit: Any, zone: str | None, tmp_path: Path
) -> None:
    table = of_moments(MOMENTS[values], unit, zone)
    policy = shoal.Policy(**{"models": [{"name": "k-anonymity", "k": 2}], **ROLES[role]})
    release = shoal.anonymize(table, policy)
    for format in ("csv", "jsonl", "parquet"):
        files = release.write(tmp_path / format, format=format, statistics=False)
        assert shoal.audit(files["release"], policy, original=table).holds


def test_fractions_of_a_second_stay(tmp_path: Path) -> None:
    times = [dt.time(1, 2, 3, 500_000), dt.time(1, 2, 3)]
    policy = {
        "quasi_identifiers": ["q"],
        "sensitive": ["s"],
        "models": [{"name": "distinct-l-diversity", "on": "s", "l": 2}],
    }
    release = shoal.anonymize(pl.DataFrame({"q": ["a", "a"], "s": times}), policy)
    assert release.table["s"].to_list() == ["01:02:03", "01:02:03.500"]
    text = release.write(tmp_path, format="csv", statistics=False)["release"].read_text()
    assert text == "q,s\na,01:02:03\na,01:02:03.500\n"


@pytest.mark.parametrize("format", ["csv", "excel", "feather", "jsonl", "parquet"])
@pytest.mark.parametrize("values", [[None] * 4, [None, "a", None, "a"]])
def test_records_without_any_value_are_written(format: str, values: list[str | None], tmp_path: Path) -> None:
    policy = {"quasi_identifiers": ["q"], "models": [{"name": "k-anonymity", "k": 2}], "others": "keep"}
    texts = pl.Series(values, dtype=pl.String)
    for table in (pl.DataFrame({"q": texts}), pl.DataFrame({"n": texts.str.len_bytes(), "q": texts})):
        files = shoal.anonymize(table, policy).write(tmp_path / str(table.width), format=format)
        assert shoal.audit(files["release"], policy, original=table).published == 4


def test_other_files_in_the_folder_stay(release: shoal.Release, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    release.write(tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_an_unknown_format_is_refused_before_anything_is_made(release: shoal.Release, tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="no such format"):
        release.write(tmp_path / "out", format="docx")
    assert not (tmp_path / "out").exists()


def test_a_full_disk_leaves_nothing(release: shoal.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno

    from shoal.engines.memory import source as module
    from shoal.pipeline import release_folder as workshop

    calls: list[Path] = []

    def full(path: Path, data: bytes) -> None:
        calls.append(path)
        if len(calls) == 3:
            path.write_bytes(data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        path.write_bytes(data)

    monkeypatch.setattr(module, "write_bytes", full)
    monkeypatch.setattr(workshop, "write_bytes", full)
    with pytest.raises(WriteError, match="the disk is full"):
        release.write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_its_repr_says_what_matters(release: shoal.Release) -> None:
    assert repr(release) == "<Release k-anonymity=2; 16.7% of records suppressed; loss 0.2177>"


@pytest.mark.parametrize("form", ["generalized", "anatomy"])
def test_whole_floats_and_midnights_in_excel(form: str, tmp_path: Path) -> None:
    """Excel has no 3.0 and no midnight: 3 and the day that it gives back are the same values."""
    moments = [dt.datetime(2021, 5, day) for day in (1, 2, 1, 3)]
    table = pl.DataFrame({"q": [1.0, 2.0, 1.0, 2.0], "pay": [3.0, 4.0, 5.0, 6.0], "since": moments})
    more = {"others": "keep"} if form == "generalized" else {"others": "drop", "output": "anatomy"}
    models = [{"name": "distinct-l-diversity", "on": "pay", "l": 2}]
    policy = shoal.Policy(quasi_identifiers=["q"], sensitive=["pay"], models=models, seed=2**70, **more)
    files = shoal.anonymize(table, policy).write(tmp_path / "out", format="excel")
    assert shoal.audit(files["release"], policy, original=table).holds

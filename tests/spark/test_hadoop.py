"""Releases on a Hadoop file system that is not that of this machine: a mount table (viewfs), as on a cluster."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import AuditFailed, WriteError
from tests.spark.conftest import adult, adult_policy, there

NAMES = ["audit.json", "manifest.json", "release.parquet", "report.html"]


@pytest.fixture(scope="module")
def mounted(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The address of a folder, and where it lies behind the mount table."""
    folder = tmp_path_factory.mktemp("behind")
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    settings.set("fs.viewfs.mounttable.shoal.link./data", folder.as_uri())
    return "viewfs://shoal/data", folder


def seen(folder: Path) -> list[str]:
    """Return what lies in a folder, without the sums that the file system keeps beside each file."""
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".crc"))


def test_a_release_is_written_read_back_and_named(spark: Any, mounted: tuple[str, Path]) -> None:
    address, folder = mounted
    release = shoal.anonymize(there(spark, adult(300)), adult_policy("mondrian"))
    for format in ("csv", "jsonl", "parquet"):
        files = release.write(f"{address}/out", format=format, statistics=False)
        assert str(files["manifest"]) == f"{address}/out/manifest.json"
    assert seen(folder / "out") == NAMES  # the earlier ones were replaced
    told = json.loads((folder / "out" / "audit.json").read_text())
    assert told["holds"] and {one["outcome"] for one in told["hygiene"] if one["check"] == "bytes"} == {"passed"}
    for name, digest in json.loads((folder / "out" / "manifest.json").read_text())["files"].items():
        assert hashlib.sha256((folder / "out" / name).read_bytes()).hexdigest() == digest
    local = release.write(folder / "local", statistics=False)
    parts = [
        pl.concat(map(pl.read_parquet, sorted(one.glob("part-*.parquet"))))
        for one in (folder / "out" / "release.parquet", local["release"])
    ]
    assert parts[0].equals(parts[1])


def test_an_address_whose_slashes_a_path_took_away(spark: Any, mounted: tuple[str, Path]) -> None:
    address, folder = mounted
    release = shoal.anonymize(there(spark, adult(100)), adult_policy("mondrian"))
    release.write(Path(f"{address}/path"), statistics=False)
    assert seen(folder / "path") == NAMES


def test_a_second_table_lies_beside_the_first(spark: Any, mounted: tuple[str, Path]) -> None:
    address, folder = mounted
    frame = pl.DataFrame({"age": [20 + n % 9 for n in range(60)], "pay": [n % 7 for n in range(60)]})
    policy = shoal.Policy(
        quasi_identifiers=["age"], sensitive=["pay"], output="statistics", models=[{"name": "k-anonymity", "k": 5}]
    )
    shoal.anonymize(there(spark, frame), policy).write(f"{address}/two", format="csv", statistics=False)
    assert seen(folder / "two") == [
        "audit.json",
        "manifest.json",
        "release-statistics.csv",
        "release.csv",
        "report.html",
    ]


def test_all_or_nothing(spark: Any, mounted: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.engines.spark import engine

    address, folder = mounted
    release = shoal.anonymize(there(spark, adult(300)), adult_policy("mondrian"))
    honest = engine.write_files
    monkeypatch.setattr(engine, "write_files", lambda table, *more: honest(table.limit(250), *more))
    with pytest.raises(AuditFailed, match="does not hold the released records"):
        release.write(f"{address}/none")
    assert not (folder / "none").exists()
    monkeypatch.undo()
    release.write(f"{address}/earlier", statistics=False)
    before = (folder / "earlier" / "manifest.json").read_bytes()
    monkeypatch.setattr(engine, "write_files", lambda table, *more: honest(table.limit(250), *more))
    with pytest.raises(AuditFailed):
        release.write(f"{address}/earlier")
    assert seen(folder / "earlier") == NAMES and (folder / "earlier" / "manifest.json").read_bytes() == before


def test_what_is_somebody_elses_is_not_replaced(spark: Any, mounted: tuple[str, Path]) -> None:
    address, folder = mounted
    (folder / "theirs" / "release.parquet").mkdir(parents=True)
    (folder / "theirs" / "release.parquet" / "precious.txt").write_text("mine")
    release = shoal.anonymize(there(spark, adult(100)), adult_policy("mondrian"))
    with pytest.raises(WriteError, match="is a folder"):
        release.write(f"{address}/theirs")
    assert seen(folder / "theirs") == ["release.parquet"]
    assert (folder / "theirs" / "release.parquet" / "precious.txt").read_text() == "mine"
    there(spark, adult(100)).write.parquet(f"{address}/source/release.parquet")
    own = shoal.anonymize(spark.read.parquet(f"{address}/source/release.parquet"), adult_policy("mondrian"))
    with pytest.raises(WriteError, match="would be replaced"):
        own.write(f"{address}/source")
    assert own.audit.holds


def test_a_file_system_that_hadoop_does_not_know_is_told(spark: Any) -> None:
    release = shoal.anonymize(there(spark, adult(100)), adult_policy("mondrian"))
    with pytest.raises(WriteError, match=r"Hadoop cannot write there; got gopher://hole/out: .*gopher"):
        release.write("gopher://hole/out")

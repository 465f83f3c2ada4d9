"""Tables by their address, of a connection, in batches, in several files: the same release as of one file."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow
import pytest
from tests.command import run
from tests.gateway.conftest import server  # noqa: F401 - a PostgreSQL of the machine's own

import shoal
from shoal.errors import TableError

TABLE = pl.DataFrame(
    {"age": [21, 24, 36, 38], "zip": ["02138", "02139", "02138", None], "illness": ["flu", "cold", "flu", "cold"]}
)
POLICY: dict[str, Any] = {
    "quasi_identifiers": {"age": {"hierarchy": "intervals", "widths": [10, 100]}, "zip": "suppress"},
    "sensitive": ["illness"],
    "models": [{"name": "k-anonymity", "k": 2}],
}


def released(table: object, folder: Path, **options: Any) -> bytes:
    return Path(shoal.anonymize(table, POLICY, **options).write(folder, format="csv")["release"]).read_bytes()


@pytest.fixture
def expected(tmp_path: Path) -> bytes:
    return released(TABLE, tmp_path / "expected")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Path]:
    path, people = tmp_path / "people.db", TABLE.to_arrow()  # noqa: F841 - DuckDB finds it by its name
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE TABLE people AS SELECT * FROM people")
    yield path


def test_commands_take_the_address_of_a_database(database: Path, tmp_path: Path) -> None:
    policies = [tmp_path / "a.yaml", tmp_path / "b.yaml"]
    for path in policies:
        shoal.Policy(**POLICY).write(path)
    address = f"duckdb:///{database}?table=people"
    run("compare", *policies, address, "--quiet", check=0)
    run("compare", address, "--policy", policies[0], "--algorithms", "mondrian", "--k", 2, "--quiet", check=0)
    files = shoal.anonymize(TABLE, POLICY).write(tmp_path / "out", format="csv")
    told = run("audit", files["release"], "--policy", policies[0], "--original", address, "--json", check=0)
    assert json.loads(told.stdout)["utility"]


def test_a_table_of_duckdb(database: Path, expected: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert released(f"duckdb:///{database}?table=people", tmp_path / "a") == expected
    monkeypatch.chdir(database.parent)
    assert released("duckdb:///people.db", tmp_path / "b") == expected  # the only one
    with duckdb.connect(str(database), read_only=True) as connection:
        assert released(connection, tmp_path / "c") == expected
    with pytest.raises(TableError, match=r"no such table; got 'peple'. Hint: did you mean 'people'"):
        shoal.read("duckdb:///people.db?table=peple")
    with pytest.raises(TableError, match="no such file"):
        shoal.read("duckdb:///none.db")
    with pytest.raises(TableError, match="only files are read within a budget of memory; got a database"):
        shoal.anonymize("duckdb:///people.db", POLICY, memory="1GB")
    with duckdb.connect(str(database)) as db:
        db.execute("CREATE TABLE others AS SELECT 1 AS x")
    with pytest.raises(TableError, match=r"there is not one table; got others, people"):
        shoal.read("duckdb:///people.db")


def test_a_table_of_postgresql(server: str, expected: bytes, tmp_path: Path) -> None:  # noqa: F811
    import psycopg

    with psycopg.connect(server, autocommit=True) as db:
        db.execute("DROP TABLE IF EXISTS patients")
        db.execute("CREATE TABLE patients (age numeric, zip text, illness text)")
        for row in TABLE.rows():
            db.execute("INSERT INTO patients VALUES (%s, %s, %s)", row)
    assert released(f"{server}?table=patients", tmp_path / "a") == expected
    with pytest.raises(TableError, match="no such table"):
        shoal.read(f"{server}?table=patient")


def test_no_error_quotes_a_password() -> None:
    with pytest.raises(TableError) as told:
        shoal.read("postgresql://ann:hunter2@127.0.0.1:1/base?table=people")
    assert "hunter2" not in str(told.value) and "127.0.0.1" in str(told.value)


def test_batches_of_arrow(expected: bytes, tmp_path: Path) -> None:
    batches = TABLE.to_arrow().to_batches(max_chunksize=2)
    reader = pyarrow.RecordBatchReader.from_batches(batches[0].schema, batches)
    assert released(reader, tmp_path / "a") == expected


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_several_files(ending: str, expected: bytes, tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    paths = [folder / f"{number}.{ending}" for number in range(2)]
    for number, path in enumerate(paths):
        part = TABLE[2 * number : 2 * number + 2]
        part.write_csv(path) if ending == "csv" else part.write_parquet(path)
    for number, table in enumerate([folder, f"{folder}/*.{ending}", paths]):
        assert released(table, tmp_path / f"whole{number}") == expected
        assert released(table, tmp_path / f"parts{number}", memory="1GB") == expected
    shutil.copy(paths[0], tmp_path / f"one.{ending}")
    assert shoal.read([paths[0], tmp_path / f"one.{ending}"]).height == 4

"""Every algorithm × every kind of table: the same release, the same library, the input as it was."""

from __future__ import annotations

import datetime as dt
import io
import zipfile
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from math import isnan
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import shoal
from shoal.engines.memory.files import read_file
from shoal.policy import Policy
from tests.strategies import SEARCHES

ARROW = find_spec("pyarrow") is not None
ALGORITHMS = sorted(SEARCHES)
FORMATS = ["csv", "parquet", "feather", "excel", "jsonl"]
RARE = "Zeppelinpilot"
"""A value that one person has: no release may hold it."""
UNUSED = "Astronautin"
"""A category that nobody has."""

JOBS = {"*": {"Office": ["clerk", "lawyer", UNUSED], "Field": ["farmer", "smith", RARE]}}
RECORDS = [
    {
        "visit": dt.date(2020, 1, 1 + i % 7),
        "age": 20 + 3 * i,
        "person": f"Name number {i:04d}",
        "zip": f"0{2100 + i % 4}",
        "job": RARE if i == 11 else ("clerk", "farmer", "lawyer", "smith")[i % 4],
        "born": dt.date(1950 + i % 12, 1 + i % 12, 1 + i),
        "illness": None if i % 9 == 4 else ("flu", "cold", "grippe, schwere")[i % 3],
        "member": i % 3 == 0,
        "weight": 50.25 + i % 5,
        "score": None if i % 6 == 5 else i % 4,
        "paid": None if i % 7 == 3 else i % 2 == 0,
    }
    for i in range(24)
]
COLUMNS = list(RECORDS[0])
PUBLISHED = [name for name in COLUMNS if name != "person"]


def policy(algorithm: str) -> Policy:
    return Policy(
        identifiers=["person"],
        quasi_identifiers={
            "job": {"hierarchy": "tree", "nodes": JOBS},
            "age": {"hierarchy": "intervals", "widths": [20, 40]},
            "zip": {"hierarchy": "mask", "keep": [4]},
            "born": {"hierarchy": "dates", "levels": ["year", "decade"]},
            "member": {"hierarchy": "suppress"},
            "weight": {"hierarchy": "intervals", "widths": [2.5]},
        },
        sensitive=["illness"],
        others="keep",
        models=[{"name": "k-anonymity", "k": 2}, {"name": "distinct-l-diversity", "on": "illness", "l": 2}],
        algorithm={"name": algorithm},
        max_suppressed=0.25,
    )


def polars_frame() -> pl.DataFrame:
    return pl.DataFrame(RECORDS)


def pandas_frame(index: Any = None) -> pd.DataFrame:
    table = pd.DataFrame({name: [record[name] for record in RECORDS] for name in COLUMNS})
    table["job"] = pd.Categorical(table["job"], categories=[UNUSED, RARE, "smith", "lawyer", "farmer", "clerk"])
    table["score"] = pd.array([record["score"] for record in RECORDS], dtype="Int64")
    table["paid"] = pd.array([record["paid"] for record in RECORDS], dtype="boolean")
    return table if index is None else table.set_index(index)


def arrow_table() -> Any:
    import pyarrow as pa

    table = pa.Table.from_pylist(RECORDS)
    jobs = pa.DictionaryArray.from_arrays(
        [["clerk", "farmer", "lawyer", "smith", RARE].index(record["job"]) for record in RECORDS],
        ["clerk", "farmer", "lawyer", "smith", RARE, UNUSED],
    )
    return table.set_column(COLUMNS.index("job"), "job", jobs).replace_schema_metadata({"pandas": RARE})


def relation() -> Any:
    import duckdb

    frame = polars_frame()
    connection = duckdb.connect()
    connection.register("people", frame)
    connection.execute("CREATE TABLE kept AS SELECT * FROM people")
    return connection.sql("SELECT * FROM kept")


def csv_path(folder: Path) -> Path:
    path = folder / "people.csv"
    polars_frame().write_csv(path, separator=";")
    return path


def parquet_path(folder: Path) -> Path:
    path = folder / "people.parquet"
    jobs = pl.col("job").cast(pl.Enum([UNUSED, "clerk", "farmer", "lawyer", "smith", RARE]))
    polars_frame().with_columns(jobs).write_parquet(path)
    return path


def feather_path(folder: Path) -> Path:
    path = folder / "people.feather"
    jobs = pl.col("job").cast(pl.Enum([UNUSED, "clerk", "farmer", "lawyer", "smith", RARE]))
    polars_frame().with_columns(jobs).write_ipc(path)
    return path


def excel_path(folder: Path) -> Path:
    path = folder / "people.xlsx"
    polars_frame().write_excel(path)
    return path


def jsonl_path(folder: Path) -> Path:
    path = folder / "people.jsonl"
    polars_frame().write_ndjson(path)
    return path


def pairs() -> pd.MultiIndex:
    return pd.MultiIndex.from_tuples([(RARE, i % 2) for i in range(24)], names=["job", "half"])


TABLES: dict[str, Callable[[Path], Any]] = {
    "pandas": lambda folder: pandas_frame(),
    "pandas permuted": lambda folder: pandas_frame(pd.Index([(7 * i) % 24 for i in range(24)], name="age")),
    "pandas duplicate": lambda folder: pandas_frame(pd.Index([f"Name number {i // 8:04d}" for i in range(24)])),
    "pandas multi": lambda folder: pandas_frame(pairs()),
    "polars": lambda folder: polars_frame(),
    "polars lazy": lambda folder: polars_frame().lazy(),
    "csv": csv_path,
    "parquet": parquet_path,
    "feather": feather_path,
    "excel": excel_path,
    "jsonl": jsonl_path,
}
if ARROW:
    TABLES |= {"pyarrow": lambda folder: arrow_table(), "duckdb": lambda folder: relation()}


@pytest.fixture(params=sorted(TABLES))
def table_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=ALGORITHMS)
def algorithm(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def library(table: object) -> tuple[str, str]:
    return type(table).__module__.partition(".")[0].lstrip("_"), type(table).__name__


def texts(table: Any) -> list[list[str | None]]:
    """The records of a table as texts, by the means of its own library."""
    kind = library(table)
    if kind[0] == "pandas":
        rows = table.astype(object).to_numpy().tolist()
    elif kind[0] == "pyarrow":
        rows = [list(record.values()) for record in table.to_pylist()]
    elif kind[0] == "duckdb":
        rows = table.fetchall()
    else:
        rows = table.lazy().collect().rows()
    return [[text(value) for value in row] for row in rows]


def text(value: Any) -> str | None:
    if value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and isnan(value)):
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def snapshot(table: Any) -> Any:
    """All there is to a table, so that any change shows."""
    if isinstance(table, Path):
        return table.read_bytes()
    if isinstance(table, pd.DataFrame):
        categories = list(table["job"].cat.categories)
        return table.to_csv(), list(table.index), table.index.names, list(table.columns), list(table.dtypes), categories
    if library(table)[0] == "pyarrow":
        return table.schema.to_string(), table.to_pylist()
    return list(table.collect_schema()) if isinstance(table, pl.LazyFrame) else list(table.columns), texts(table)


@cache
def expected(algorithm: str) -> shoal.Release:
    return shoal.anonymize(polars_frame(), policy(algorithm))


@pytest.mark.slow
def test_the_release_is_the_same_whatever_the_kind(table_kind: str, algorithm: str, tmp_path: Path) -> None:
    table = TABLES[table_kind](tmp_path)
    before = snapshot(table)
    release = shoal.anonymize(table, policy(algorithm))
    assert snapshot(table) == before
    assert library(release.table) == (("polars", "DataFrame") if isinstance(table, Path) else library(table))
    columns = (
        release.table.column_names
        if table_kind == "pyarrow"
        else release.table.lazy().collect_schema().names()
        if table_kind == "polars lazy"
        else list(release.table.columns)
    )
    assert columns == PUBLISHED
    assert texts(release.table) == texts(expected(algorithm).table)
    assert release.attained == expected(algorithm).attained
    assert release.manifest["recoding"] == expected(algorithm).manifest["recoding"]


def test_the_example_shows_something_and_hides_someone(algorithm: str) -> None:
    rows = texts(expected(algorithm).table)
    assert len({tuple(row) for row in rows}) > 4
    assert RARE not in {cell for row in rows for cell in row}


@pytest.mark.parametrize("kind", FORMATS)
def test_what_is_written_reads_back_the_same(algorithm: str, kind: str, tmp_path: Path) -> None:
    release = expected(algorithm)
    path = release.write(tmp_path, format=kind)["release"]
    again = read_file(path)
    assert again.columns == PUBLISHED
    assert texts(again) == texts(release.table)
    hidden = [RARE, UNUSED, *(record["person"] for record in RECORDS)]
    data = contents(path)
    assert [value for value in hidden if str(value).encode() in data] == []


def contents(path: Path) -> bytes:
    if path.suffix != ".xlsx":
        return path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
        return b"".join(archive.read(name) for name in archive.namelist())


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_written_tables_have_no_index_no_metadata_and_no_categories(table_kind: str, kind: str, tmp_path: Path) -> None:
    release = shoal.anonymize(TABLES[table_kind](tmp_path), policy("mondrian"))
    path = release.write(tmp_path / "out", format=kind)["release"]
    assert list(read_file(path).columns) == PUBLISHED
    assert not any(dtype in (pl.Categorical, pl.Enum) for dtype in read_file(path).dtypes)
    data = path.read_bytes()
    for trace in (b"pandas", b"__index_level", RARE.encode(), UNUSED.encode(), b"Name number"):
        assert trace not in data


if ARROW:

    @pytest.mark.parametrize("kind", ["parquet", "feather"])
    def test_pyarrow_finds_plain_columns_and_nothing_else(table_kind: str, kind: str, tmp_path: Path) -> None:
        import pyarrow as pa
        from pyarrow import feather, parquet

        release = shoal.anonymize(TABLES[table_kind](tmp_path), policy("mondrian"))
        path = release.write(tmp_path / "out", format=kind)["release"]
        table = (parquet.read_table if kind == "parquet" else feather.read_table)(path)
        assert table.schema.metadata is None
        assert not any(pa.types.is_dictionary(field.type) for field in table.schema)
        assert texts(table) == texts(release.frame)
        if kind == "parquet":
            described = parquet.ParquetFile(path).metadata
            assert set(described.metadata or {}) <= {b"ARROW:schema"}
            columns = [described.row_group(0).column(i) for i in range(described.num_columns)]
            assert not any(column.is_stats_set for column in columns)

    def test_pandas_tables_hold_no_index_and_no_unused_category() -> None:
        table = shoal.anonymize(pandas_frame(pairs()), policy("mondrian")).table
        assert isinstance(table.index, pd.RangeIndex)
        assert table.index.name is None
        assert table.attrs == {}
        assert not any(isinstance(dtype, pd.CategoricalDtype) for dtype in table.dtypes)


def test_an_index_in_a_parquet_file_is_not_published(tmp_path: Path) -> None:
    path = tmp_path / "indexed.parquet"
    index = pl.Series("__index_level_0__", [f"ward {i % 3}" for i in range(24)])
    polars_frame().with_columns(index).write_parquet(path)
    release = shoal.anonymize(path, policy("mondrian"))
    assert release.policy.others == "keep"
    assert list(release.table.columns) == PUBLISHED

"""The table that the caller gets is the one that was verified: failures planted where it is made are caught."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import shoal
from shoal.engines.counted import CountedTable
from shoal.engines.memory import native, source
from shoal.errors import AuditFailed

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

RNG = np.random.default_rng(12)
TABLE = pl.DataFrame(
    {
        "age": RNG.integers(20, 60, 80),
        "city": RNG.choice(["Bonn", "Kiel", "Ulm"], 80),
        "illness": RNG.choice(["cold", "cough", "flu", None], 80),
        "pay": [None, *RNG.integers(1000, 9000, 79).tolist()],
    }
)
POLICY = shoal.Policy(
    quasi_identifiers=["age", "city"],
    sensitive=["illness", "pay"],
    models=[{"name": "k-anonymity", "k": 4}],
    algorithm="mondrian",
)
FORMS: dict[str, dict[str, Any]] = {
    "plain": {},
    "ends": {"output": {"form": "generalized", "ends": True}},
    "statistics": {"output": "statistics"},
    "anatomy": {
        "output": "anatomy",
        "quasi_identifiers": ["age", "city", "pay"],
        "sensitive": ["illness"],
        "models": [{"name": "distinct-l-diversity", "on": "illness", "l": 2}],
        "seed": 9,
    },
}
GIVEN: dict[str, Callable[[pl.DataFrame], Any]] = {
    "pandas": lambda frame: native.make_native(frame, "pandas"),
    "pyarrow": lambda frame: frame.to_arrow(),
    "duckdb": lambda frame: duckdb.from_arrow(frame.to_arrow()),
    "polars-lazy": lambda frame: frame.lazy(),
}
Change = Callable[[pl.DataFrame], pl.DataFrame]


def exchange(frame: pl.DataFrame) -> pl.DataFrame:
    """The last column of two records that differ in another: every count of a column stays."""
    values = frame.to_series(-1).to_list()
    index = next(i for i, value in enumerate(values) if value != values[0] and frame.row(i)[:-1] != frame.row(0)[:-1])
    values[0], values[index] = values[index], values[0]
    return frame.with_columns(pl.Series(frame.columns[-1], values, dtype=frame.dtypes[-1]))


CHANGES: dict[str, Change] = {
    "loses a record": lambda frame: frame[1:],
    "doubles a record": lambda frame: pl.concat([frame[:1], frame]),
    "exchanges two values": exchange,
    "has another order": lambda frame: frame.reverse(),
    "keeps an index": lambda frame: frame.with_row_index("index"),
}


def spoil(monkeypatch: pytest.MonkeyPatch, change: Callable[[Any], Any]) -> None:
    """Let the table of the caller's library be another one."""
    honest = native.make_native
    monkeypatch.setattr(source, "make_native", lambda *given: change(honest(*given)))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("library", GIVEN)
def test_the_caller_gets_what_was_audited(library: str, form: str, tmp_path: Path) -> None:
    policy = POLICY.replace(**FORMS[form])
    here, release = shoal.anonymize(TABLE, policy), shoal.anonymize(GIVEN[library](TABLE), policy)
    assert type(release.table) is type(GIVEN[library](TABLE))
    assert shoal.read(release.table).cast(pl.String).equals(here.table.cast(pl.String))
    assert {check.name: check.outcome for check in release.audit.checks}["held"] == "passed"
    assert (release.beside is None) == (here.beside is None)
    if here.beside is not None:
        assert type(release.beside) is type(release.table)
        assert shoal.read(release.beside).cast(pl.String).equals(here.beside.cast(pl.String))


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("form", ["plain", "statistics"])
@pytest.mark.parametrize("library", GIVEN)
def test_a_table_with_other_records(library: str, form: str, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = native.make_native

    def make(frame: pl.DataFrame, *how: Any) -> Any:
        # of a release in two tables only the second one is spoilt
        is_spoilt = form == "plain" or "city" not in frame.columns
        return honest(CHANGES[change](frame) if is_spoilt else frame, *how)

    monkeypatch.setattr(source, "make_native", make)
    with pytest.raises(AuditFailed, match=r"does not hold the released records|columns are not the release's"):
        shoal.anonymize(GIVEN[library](TABLE), POLICY.replace(**FORMS[form]))


def with_raw_index(table: pd.DataFrame) -> pd.DataFrame:
    return table.set_axis(range(1000, 1000 + len(table)))


def with_named_index(table: pd.DataFrame) -> pd.DataFrame:
    return table.rename_axis("Ulm")


def with_attrs(table: pd.DataFrame) -> pd.DataFrame:
    table.attrs["source"] = TABLE["age"].to_list()
    return table


def with_categories(table: Any) -> Any:
    """The table with a city that no record shows as a value of its type."""
    if isinstance(table, pd.DataFrame):
        shown = table["city"].unique()
        return table.assign(city=pd.Categorical(table["city"], [*shown, "Heringsdorf"]))
    if isinstance(table, pa.Table):
        cities = pl.from_arrow(table)["city"]
        return table.set_column(1, "city", cities.cast(pl.Enum([*cities.unique(), "Heringsdorf"])).to_arrow())
    if isinstance(table, pl.LazyFrame):
        cities = table.collect()["city"].unique()
        return table.with_columns(pl.col("city").cast(pl.Enum([*cities, "Heringsdorf"])))
    names = ", ".join(f"'{name}'" for (name,) in table.unique("city").fetchall())
    return table.project(f"age, city::ENUM({names}, 'Heringsdorf') AS city, illness, pay")


def with_metadata(table: Any) -> Any:
    return table.replace_schema_metadata({"pandas": "Heringsdorf"})


def with_field_metadata(table: Any) -> Any:
    return table.cast(pa.schema([table.schema.field(0).with_metadata({"from": "Ulm"}), *list(table.schema)[1:]]))


@pytest.mark.parametrize(
    ("library", "change", "says"),
    [
        ("pandas", with_raw_index, "an index of its own"),
        ("pandas", with_named_index, "an index of its own"),
        ("pandas", with_attrs, "has metadata"),
        ("pandas", with_categories, "keeps values that no record has; got 'Heringsdorf'"),
        ("pyarrow", with_metadata, "has metadata"),
        ("pyarrow", with_field_metadata, "has metadata"),
        ("pyarrow", with_categories, "keeps values that no record has; got 'Heringsdorf'"),
        ("duckdb", with_categories, "keeps values that no record has; got 'Heringsdorf'"),
        ("polars-lazy", with_categories, "keeps values that no record has; got 'Heringsdorf'"),
    ],
)
def test_a_table_that_carries_more_than_its_records(
    library: str, change: Any, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(monkeypatch, change)
    with pytest.raises(AuditFailed, match=says):
        shoal.anonymize(GIVEN[library](TABLE), POLICY)


def test_a_column_may_be_called_as_what_is_looked_for() -> None:
    names = {"age": "index", "city": "schema", "illness": "iloc", "pay": "fetchall"}
    policy = POLICY.replace(quasi_identifiers=["index", "schema"], sensitive=["iloc", "fetchall"])
    for give in GIVEN.values():
        assert shoal.anonymize(give(TABLE.rename(names)), policy).audit.holds


def test_a_relation_is_not_the_callers_table_of_the_same_name() -> None:
    """DuckDB looks a name up among its own tables first."""
    duckdb.sql("CREATE TEMP TABLE frame AS SELECT 'raw' AS age")
    try:
        assert len(shoal.anonymize(GIVEN["duckdb"](TABLE), POLICY).table) == 80
    finally:
        duckdb.sql("DROP TABLE frame")


def test_what_a_caller_does_to_a_table_reaches_no_file(tmp_path: Path) -> None:
    def write(release: shoal.Release, name: str) -> bytes:
        return bytes(release.write(tmp_path / name, statistics=False)["release"].read_bytes())

    expected = write(shoal.anonymize(TABLE, POLICY), "polars")
    for frame in (TABLE, GIVEN["pandas"](TABLE)):
        release = shoal.anonymize(frame, POLICY)
        if isinstance(release.table, pl.DataFrame):
            release.table[0, "age"] = "raw"
        else:
            release.table.loc[0, "age"] = "raw"
            release.table["pay"] = 0
        assert write(release, type(release.table).__module__) == expected


def test_a_lazy_library_that_narwhals_knows_gets_its_own_table() -> None:
    table = source.MemoryTable(table=CountedTable(TABLE), library="dask", original=GIVEN["duckdb"](TABLE))
    held = table.hold(CountedTable(TABLE))
    assert type(held.native) is duckdb.DuckDBPyRelation
    assert held.count().frame.equals(TABLE)

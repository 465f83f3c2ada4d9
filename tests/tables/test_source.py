"""Any library in, the same library out; what cannot be taken over is told in one sentence."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import shoal
from shoal.engines.counted import CountedTable
from shoal.engines.memory.source import open_in_memory, read
from shoal.errors import MissingExtra, TableError

ARROW = find_spec("pyarrow") is not None
BERLIN = dt.timezone(dt.timedelta(hours=1))
DAY, MOMENT = dt.date(2020, 1, 2), dt.datetime(2020, 1, 2, 3, 4)


def taken(values: Any) -> pl.Series:
    return open_in_memory(pd.DataFrame({"a": values})).frame["a"]


def held(values: list[Any]) -> pd.Series:
    return pd.Series(values, dtype=object)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pd.array([1, None, 3], dtype="Int64"), [1, None, 3]),
        (pd.array([1, None, 3], dtype="UInt8"), [1, None, 3]),
        (pd.array([1.5, None], dtype="Float64"), [1.5, None]),
        (pd.Series([1.5, np.nan], dtype="float32"), [1.5, None]),
        (pd.array([True, None], dtype="boolean"), [True, None]),
        (pd.array(["a", None], dtype="string"), ["a", None]),
        (pd.Series(["a", None]), ["a", None]),
        (pd.Categorical(["a", None, "b"], categories=["z", "b", "a"]), ["a", None, "b"]),
        (pd.Categorical([2, None, 1], categories=[5, 2, 1]), [2, None, 1]),
        (pd.Series([2**63 + 5, 1], dtype="uint64"), [2**63 + 5, 1]),
        (pd.Series(pd.to_datetime(["2020-01-02 03:04", None])).astype("datetime64[ns]"), [MOMENT, None]),
        (pd.Series(pd.to_timedelta(["1 day", None])), [dt.timedelta(days=1), None]),
        (pd.Series(pd.period_range("2020-01", periods=2, freq="M")), ["2020-01", "2020-02"]),
        (pd.Series(pd.interval_range(0, 2)), ["(0, 1]", "(1, 2]"]),
        (held(["x", None, np.nan, pd.NA, pd.NaT]), ["x", None, None, None, None]),
        (held([DAY, None, np.nan, pd.NA, pd.NaT]), [DAY, None, None, None, None]),
        (held([MOMENT, None]), [MOMENT, None]),
        (held([dt.time(1, 2), None]), [dt.time(1, 2), None]),
        (held([True, None, False]), [True, None, False]),
        (held([1, None, np.nan, np.int64(2)]), [1, None, None, 2]),
        (held([1, 2.5]), [1.0, 2.5]),
        (held([Decimal("1.50"), None]), [Decimal("1.50"), None]),
        (held([None, None]), [None, None]),
        (held(["nan", "None", "<NA>"]), ["nan", "None", "<NA>"]),
        # of mixed kinds: texts, nothing is forced into the type of the first value
        (held([1, "a", None, 2.5]), ["1", "a", None, "2.5"]),
        (held([1, True]), ["1", "True"]),
        (held([DAY, MOMENT]), ["2020-01-02", "2020-01-02 03:04:00"]),
        (held(["x", False, None]), ["x", "False", None]),
    ],
)
def test_pandas_columns(values: Any, expected: list[Any]) -> None:
    assert taken(values).to_list() == expected


def test_whole_numbers_beyond_64_bits_are_kept() -> None:
    assert [str(value) for value in taken(held([2**70, 1]))] == [str(2**70), "1"]


def test_pandas_time_zones_name_the_same_moment() -> None:
    column = taken(pd.Series(pd.to_datetime(["2020-01-02 03:04"])).dt.tz_localize("Europe/Berlin"))
    assert column.to_list()[0].astimezone(dt.UTC) == dt.datetime(2020, 1, 2, 2, 4, tzinfo=dt.UTC)


@pytest.mark.parametrize("values", [held([[1], [2]]), held([{"a": 1}]), held([b"x"]), held([{1, 2}]), held([object()])])
def test_nested_and_unknown_values_are_told_before_anything_is_done(values: Any) -> None:
    table = pd.DataFrame({"q": ["x"] * len(values), "a": values})
    policy = shoal.Policy(quasi_identifiers=["q", "a"], models=[{"name": "k-anonymity", "k": 1 + len(values)}])
    with pytest.raises(shoal.Misfit, match=r"quasi_identifiers\.a: values of this type cannot be published"):
        shoal.anonymize(table, policy)


def test_texts_that_are_not_unicode_are_told() -> None:
    with pytest.raises(TableError, match="a: holds texts that are not Unicode"):
        taken(held(["\ud800"]))


@pytest.mark.parametrize("name", ["*", "^a.*$", " ", " x ", "x\ny", 1, None])
def test_any_column_name(name: Any) -> None:
    moments = pd.Series(pd.to_datetime(["2020-01-02"]))
    table = pd.DataFrame({"q": [1.5], "z": moments})
    table.columns = ["q", name]
    frame = open_in_memory(table).frame
    assert frame.columns == ["q", str(table.columns[1])]
    assert open_in_memory(frame.clone()).frame.equals(frame)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "column names occur twice; got 'a'"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), "column names occur twice; got '1'"),
        (pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])), "columns have several levels"),
        (
            pd.DataFrame([[1, 2]], columns=["", "a"]),
            "a column has no name; got column 1 of 2, beside 'a'. Hint: name it",
        ),
        (pl.DataFrame({"a": [1], "": [2]}), "a column has no name; got column 2 of 2, beside 'a'"),
        (pl.DataFrame({"a": [1], "": [2]}).lazy(), "a column has no name"),
        (pl.DataFrame({"a": [1], "": [2]}).to_arrow(), "a column has no name"),
        (pd.DataFrame(index=[1, 2]), "the table has no columns"),
        (pl.DataFrame(), "the table has no columns"),
        (pl.LazyFrame({"a": [1]}).select(pl.col("b")), "the table cannot be taken over; got .*b"),
        (pd.Series([1]), "is not a table that shoal knows; got pandas"),
        (pl.Series([1]), "is not a table that shoal knows; got polars"),
        ({"a": [1]}, "is not a table that shoal knows; got builtins.dict"),
        (None, "is not a table that shoal knows"),
    ],
)
def test_what_is_no_table(table: object, said: str) -> None:
    with pytest.raises(TableError, match=said):
        open_in_memory(table)


class Frame(pd.DataFrame):
    """A pandas table of somebody's own making."""


def test_tables_made_from_pandas_are_pandas_tables() -> None:
    source = open_in_memory(Frame({"a": held([1, "x"])}, index=[5, 5]))
    assert source.library == "pandas"
    assert type(source.hold(source.table).native) is pd.DataFrame


@pytest.mark.parametrize(
    "values",
    [
        [1, None, 2**62 + 1],
        [True, None],
        [DAY, None],
        ["x", None],
        [1.5, None],
        [MOMENT, None],
        [1, 2],
        [True, False],
    ],
)
def test_pandas_gets_back_what_it_gave(values: list[Any]) -> None:
    frame = pl.DataFrame({"a": values})
    table = open_in_memory(pd.DataFrame({"x": [1]})).hold(CountedTable(frame)).native
    assert isinstance(table.index, pd.RangeIndex)
    assert read(table).cast(pl.String).equals(frame.cast(pl.String))


def test_reading_returns_the_polars_table() -> None:
    frame = pl.DataFrame({"a": [1]})
    assert read(frame).equals(frame)
    assert read(open_in_memory(frame.lazy())).equals(frame)


if ARROW:
    import duckdb
    import pyarrow as pa

    @pytest.mark.parametrize(
        "array",
        [
            pa.array([Decimal("1.5")], pa.decimal256(50, 2)),
            pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
        ],
    )
    def test_arrow_types_that_nobody_reads(array: Any) -> None:
        with pytest.raises(TableError, match="the table cannot be taken over"):
            open_in_memory(pa.table({"a": array}))

    @pytest.mark.parametrize(
        ("sql", "said"),
        [
            ("SELECT 1 AS a, 2 AS a", "column names occur twice"),
            ("SELECT INTERVAL 1 DAY AS a", "the table cannot be taken over"),
            ("SELECT CAST(x AS INTEGER) AS a FROM (VALUES ('x')) t(x)", "the table cannot be taken over.*'x'"),
        ],
    )
    def test_relations_that_cannot_be_taken_over(sql: str, said: str) -> None:
        with pytest.raises(TableError, match=said):
            open_in_memory(duckdb.sql(sql))

    def test_duckdb_types() -> None:
        sql = "SELECT 5::HUGEINT AS h, 1.5::DECIMAL(5, 2) AS d, 'x'::ENUM('x', 'y') AS e, DATE '2020-01-02' AS t"
        assert open_in_memory(duckdb.sql(sql)).frame.cast(pl.String).rows() == [("5", "1.50", "x", "2020-01-02")]

    def test_a_relation_outlives_the_frame_that_it_shows() -> None:
        source = open_in_memory(duckdb.sql("SELECT 1 AS a"))
        relation = source.hold(CountedTable(pl.DataFrame({"a": ["x", None], "b": [1, 2]}))).native
        assert relation.fetchall() == [("x", 1), (None, 2)]

else:

    def test_relations_need_pyarrow() -> None:
        import duckdb

        with pytest.raises(MissingExtra, match="pyarrow"):
            open_in_memory(duckdb.sql("SELECT 1 AS a"))

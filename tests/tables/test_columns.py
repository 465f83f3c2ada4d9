"""Columns of every type: plain values, domains in order, codes."""

from __future__ import annotations

import datetime as dt
from bisect import bisect_left
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.engines.columns import codes_of, column_domain, domain_of, kind_of, to_plain, to_texts
from shoal.engines.counted import CountedTable
from shoal.errors import TableError
from shoal.policy import Policy

NAMES = ["age", "*", "^a.*$", "^.*$", ""]
MOMENT = dt.datetime(2020, 1, 1, 0, 30)
COLUMNS: list[tuple[list[Any], Any, str, list[str]]] = [
    *(([2, 1, None], kind, "integer", ["1", "2"]) for kind in (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Int128)),
    *(([2, 1, None], kind, "integer", ["1", "2"]) for kind in (pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)),
    ([10, 9, None], pl.Int64, "integer", ["9", "10"]),
    # what 64 bits cannot hold is a text, not missing
    ([2**64 - 1, 5, None], pl.UInt64, "text", ["18446744073709551615", "5"]),
    ([2**100, 5], pl.Int128, "text", [str(2**100), "5"]),
    ([0.2, 0.1, None, float("nan")], pl.Float64, "float", ["0.1", "0.2"]),
    ([0.2, 0.1], pl.Float32, "float", ["0.1", "0.2"]),
    ([-0.0, 0.0], pl.Float64, "float", ["0.0"]),
    ([Decimal("2.50"), Decimal("1.25"), None], pl.Decimal(10, 2), "float", ["1.25", "2.5"]),
    ([Decimal(20), Decimal(3), None], pl.Decimal(38, 0), "integer", ["3", "20"]),
    ([Decimal("12345678901234567890.12")], pl.Decimal(38, 2), "text", ["12345678901234567890.12"]),
    (["b", "a", "", None], pl.String, "text", ["a", "b"]),
    (["b", "a", "", None], pl.Categorical, "text", ["a", "b"]),
    (["b", "a", None], pl.Enum(["z", "b", "a"]), "text", ["a", "b"]),
    ([True, False, None], pl.Boolean, "boolean", ["false", "true"]),
    ([dt.date(2020, 1, 2), dt.date(1890, 1, 1), None], pl.Date, "date", ["1890-01-01", "2020-01-02"]),
    *(([MOMENT, None], pl.Datetime(unit), "datetime", ["2020-01-01 00:30:00.000000"]) for unit in ("ms", "us", "ns")),
    # what a microsecond is too long for, and what a float rounds, is a text too
    ([1_001, None], pl.Datetime("ns"), "text", ["1970-01-01 00:00:00.000001001"]),
    ([Decimal("0.12345678901234567")], pl.Decimal(38, 17), "text", ["0.12345678901234567"]),
    ([Decimal("4503599627370497.5"), Decimal("0.1")], pl.Decimal(38, 1), "text", ["0.1", "4503599627370497.5"]),
    ([Decimal("0.3"), Decimal("0.0000001")], pl.Decimal(38, 18), "float", ["1e-7", "0.3"]),
    ([dt.time(1, 2), None], pl.Time, "text", ["01:02:00"]),
    (
        [dt.time(1, 2, 3), dt.time(1, 2, 3, 500_000), dt.time(1, 2, 3, 7)],
        pl.Time,
        "text",
        ["01:02:03", "01:02:03.000007", "01:02:03.500"],
    ),
    ([dt.timedelta(days=1), None], pl.Duration("ms"), "integer", ["86400000000"]),
    ([None, None], pl.Null, "text", []),
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("values", "dtype", "kind", "texts"), COLUMNS)
def test_every_type_has_a_domain_and_codes(
    name: str, values: list[Any], dtype: Any, kind: str, texts: list[str]
) -> None:
    column = to_plain(pl.Series("x", values, dtype=dtype).alias(name))
    domain = domain_of(column)
    assert (kind_of(column), domain.kind) == (kind, kind)
    assert sorted(domain.texts) == sorted(texts)
    assert domain.texts == tuple(texts) or kind == "text"
    codes = codes_of(column, domain).tolist()
    shown = column.cast(pl.String).to_list()
    assert [domain.texts[code] if code < len(domain) else None for code in codes] == shown
    assert shown.count(None) == sum(value is None or value == "" or value != value for value in values)  # noqa: PLR0124


def test_moments_are_given_in_utc() -> None:
    column = pl.Series("t", [MOMENT]).dt.replace_time_zone("Europe/Berlin")
    assert to_plain(column).to_list() == [dt.datetime(2019, 12, 31, 23, 30)]
    assert to_plain(column).dtype == pl.Datetime("us")


@pytest.mark.parametrize("order", [[0.0, -0.0], [-0.0, 0.0]])
def test_the_order_of_zeros_changes_nothing(order: list[float]) -> None:
    assert domain_of(to_plain(pl.Series(order))).texts == ("0.0",)


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("^x$", [[1]]),
        pl.Series("^x$", [[1, 2]], dtype=pl.Array(pl.Int64, 2)),
        pl.Series("^x$", [{"a": 1}]),
        pl.Series("^x$", [b"x"]),
        pl.Series("^x$", [object()], dtype=pl.Object),
    ],
)
def test_types_that_cannot_be_published(column: pl.Series) -> None:
    with pytest.raises(TableError, match=r"\^x\$: values of this type cannot be published; got .*drop the column"):
        to_plain(column)
    assert len(to_texts(column)) == len(column)


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), -1e305])
def test_numbers_beyond_all_measure_are_told(number: float) -> None:
    for kind in (pl.Float64, pl.Float32):
        column = pl.Series("^x$", [number, 1.0, float("nan"), None], dtype=kind)
        with pytest.raises(TableError, match=r"\^x\$: holds infinite values, or numbers beyond 1e300\. Hint: replace"):
            to_plain(column)
        assert to_texts(column).len() == 4
    assert to_plain(pl.Series([1.0, float("nan"), -1e300])).null_count() == 1


@pytest.mark.parametrize("unit", ["ms", "us"])
@pytest.mark.parametrize("moment", [2**63 - 1, -(2**63) + 1])
def test_dates_that_nobody_can_write_are_told(unit: Any, moment: int) -> None:
    days = pl.Series([moment >> 32, None], dtype=pl.Int32).cast(pl.Date)
    moments = pl.Series([moment, None], dtype=pl.Int64).cast(pl.Datetime(unit))
    for values in (days, moments, moments.dt.replace_time_zone("UTC")):
        column = values.alias("^x$")
        with pytest.raises(TableError, match=r"\^x\$: holds dates outside the years 1 to 9999\. Hint: replace them"):
            to_plain(column)
        assert to_texts(column).null_count() == 1


def test_the_first_and_the_last_date_are_dates() -> None:
    assert to_plain(pl.Series([dt.date.min, None, dt.date.max])).cast(pl.String)[2] == "9999-12-31"
    assert to_plain(pl.Series([dt.datetime.min, dt.datetime.max])).cast(pl.String)[1] == "9999-12-31 23:59:59.999999"


def test_lengths_of_time_are_whole_microseconds() -> None:
    column = pl.Series("x", [1_500], dtype=pl.Int64)
    assert to_plain(column.cast(pl.Duration("ms"))).to_list() == [1_500_000]
    with pytest.raises(TableError, match="x: lengths of time that are no whole number of microseconds"):
        to_plain(column.cast(pl.Duration("ns")))


@pytest.mark.parametrize(
    ("values", "declared", "texts"),
    [
        ([1], ("1", "20", "x"), ("1", "20")),
        ([1.5], ("2.5",), ("1.5", "2.5")),
        (["b"], ("a", "b"), ("a", "b")),
        ([True], ("false", "true", "maybe"), ("false", "true")),
        ([dt.date(2020, 1, 2)], ("2020-01-03", "2020-02-30"), ("2020-01-02", "2020-01-03")),
        ([MOMENT], ("2020-01-02 00:00:00.000000",), ("2020-01-01 00:30:00.000000", "2020-01-02 00:00:00.000000")),
    ],
)
def test_declared_values_join_the_domain(values: list[Any], declared: tuple[str, ...], texts: tuple[str, ...]) -> None:
    assert domain_of(to_plain(pl.Series(values)), declared=declared).texts == texts


def test_the_policy_may_declare_the_domain() -> None:
    tree = {"hierarchy": "tree", "nodes": {"*": {"few": ["a", "b"], "more": ["c"]}}}

    def texts(value: object, spec: dict[str, Any]) -> tuple[tuple[str, ...], float]:
        policy = Policy(quasi_identifiers={"x": spec}, models=[{"name": "k-anonymity", "k": 2}])
        domain = column_domain(CountedTable(pl.DataFrame({"x": [value]})), "x", policy)
        return domain.texts, domain.span if domain.ordered else 0.0

    assert texts("b", tree) == (("b",), 0.0)
    assert texts("b", {**tree, "domain": "hierarchy"}) == (("a", "b", "c"), 0.0)
    assert texts(5, {"domain": (0, 20)}) == (("5",), 20.0)


def test_a_domain_knows_its_records_and_its_company() -> None:
    frame = pl.DataFrame({"x": ["a", "b", "a"], "y": [1, 2, 1]})
    policy = Policy(quasi_identifiers=["x", "y"], models=[{"name": "k-anonymity", "k": 7}])
    domain = column_domain(CountedTable(frame), "x", policy)
    assert domain.records.tolist() == [2, 1]
    assert domain.k == 7
    assert domain.profiles is not None
    assert domain.profiles().sum(axis=1).tolist() == [1.0, 1.0]


@given(
    known=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-20, 20), min_size=1, max_size=30),
    others=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-30, 30) | st.none(), max_size=30),
)
def test_codes_of_whole_numbers_near_and_far(known: list[int], others: list[int | None]) -> None:
    domain = domain_of(pl.Series(known, dtype=pl.Int64))
    column = pl.Series([*known, *others], dtype=pl.Int64)
    places = [bisect_left(domain.values.tolist(), value) if value is not None else len(domain) for value in column]
    assert codes_of(column, domain).tolist() == places

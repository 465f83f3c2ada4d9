"""fingerprint(): the same data give the same, any other data another."""

from __future__ import annotations

import datetime as dt

import pandas as pd
import polars as pl
import pytest

from shoal.engines.counted import CountedTable
from shoal.engines.fingerprint import fingerprint
from shoal.engines.memory.source import open_in_memory

TABLE = pl.DataFrame(
    {"age": [21, 24, None], "sex": ["f", "m", "f"], "^a.*$": [1.5, None, 2.5], "day": [dt.date(2020, 1, 1)] * 3}
)


@pytest.mark.parametrize(
    "same",
    [
        TABLE.reverse(),
        TABLE[[1, 0, 2]],
        TABLE.with_columns(pl.col("sex").cast(pl.Categorical)),
        TABLE.with_columns(pl.col("age").cast(pl.Int8)),
    ],
)
def test_order_and_storage_do_not_matter(same: pl.DataFrame) -> None:
    assert fingerprint(CountedTable(same), "salt") == fingerprint(CountedTable(TABLE), "salt")


@pytest.mark.parametrize(
    "other",
    [
        TABLE.head(2),
        pl.concat([TABLE, TABLE.head(1)]),
        TABLE.with_columns(age=pl.Series([24, 21, None])),
        TABLE.with_columns(age=pl.Series([21, 24, 0])),
        TABLE.with_columns(sex=pl.Series(["f", "m", None])),
        TABLE.rename({"sex": "gender"}),
        TABLE.drop("sex"),
    ],
)
def test_any_change_matters(other: pl.DataFrame) -> None:
    assert fingerprint(CountedTable(other), "salt") != fingerprint(CountedTable(TABLE), "salt")


def test_the_salt_matters() -> None:
    assert fingerprint(CountedTable(TABLE), "a") != fingerprint(CountedTable(TABLE), "b")


def test_the_index_of_pandas_does_not_matter() -> None:
    table = pd.DataFrame({"age": [21, 24], "sex": ["f", "m"]})
    moved = table.set_index(pd.Index([9, 9]))
    assert fingerprint(CountedTable(open_in_memory(moved).frame), "") == fingerprint(
        CountedTable(open_in_memory(table).frame), ""
    )
    assert fingerprint(CountedTable(open_in_memory(table).frame), "") == fingerprint(
        CountedTable(pl.DataFrame({"age": [21, 24], "sex": ["f", "m"]})), ""
    )


def test_whole_numbers_beyond_64_bits_are_told_apart() -> None:
    first, second = (pl.DataFrame({"a": pl.Series([2**64 - n], dtype=pl.UInt64)}) for n in (1, 2))
    assert fingerprint(CountedTable(first), "") != fingerprint(CountedTable(second), "")


def test_columns_that_cannot_be_published_count_too() -> None:
    first, second = pl.DataFrame({"a": [[1], [2]]}), pl.DataFrame({"a": [[1], [3]]})
    assert fingerprint(CountedTable(first), "") != fingerprint(CountedTable(second), "")

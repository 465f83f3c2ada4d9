"""Columns of numbers as the tests of deterministic mechanisms look at them."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl


def as_numbers(column: pl.Series) -> pl.Series:
    """Return a column as numbers, missing where there are none."""
    return column.alias("values").cast(pl.Float64, strict=False).fill_nan(None)


def is_no_number(column: pl.Series) -> pl.Series:
    """Return where something stands that is no number."""
    return column.is_not_null() & as_numbers(column).is_null()


def name_false(found: Mapping[str, pl.Series]) -> str:
    """Return in how many records of which columns something does not hold; nothing where it holds in all.

    Examples
    --------
    >>> name_false({"income": pl.Series([True, False]), "tax": pl.Series([False, False])})
    'income: 1 records'
    """
    return "; ".join(f"{name}: {false.sum():,} records" for name, false in found.items() if false.sum())

"""treat(): a table whose columns show no more than their treatments leave, before anything else is done with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from math import ceil, floor
from typing import Any

import polars as pl

from shoal.engines.columns import to_plain
from shoal.engines.counted import CountedTable
from shoal.engines.keys import Key
from shoal.engines.shifting import shift_dates
from shoal.errors import Fault, TableError, examples
from shoal.policy import Policy
from shoal.policy.treatments import Coding, Treatment

SPARSE_2000 = "036 059 063 102 203 556 692 790 821 823 830 831 878 879 884 890 893"
"""ZIP codes of three digits with 20,000 people or fewer: HHS guidance of 2012, census of 2000."""
SPARSE_2010 = "036 059 102 202 203 204 205 369 556 692 753 772 821 823 878 879 884 893"
"""The same by the census of 2010."""
SPARSE = frozenset(f"{SPARSE_2000} {SPARSE_2010}".split())
"""Both: an area that was sparse in either is not told."""
OLDEST = 90
"""Stands for this age and every higher one."""

_YEARS = (r"^([0-9]{4})(?:-[0-9]{2}){0,2}(?:[T ].*)?$", r"^[0-9]{1,2}[./-][0-9]{1,2}[./-]([0-9]{4})$")


def treat(table: CountedTable, policy: Policy, key: Key | None = None) -> CountedTable:
    """Return the same table with every column that has a treatment treated; only shifting dates needs the key.

    Columns whose values cannot be treated are left as they are: :func:`faults` tells them, and a policy that does not
    fit makes no release. Treating again changes nothing, but that dates are shifted again.
    """
    if not policy.treated:
        return table
    return table.with_frame(treat_columns(shift_dates(table.frame, policy, key), policy.treated))


def treat_columns(frame: pl.DataFrame, asked: Mapping[str, Treatment]) -> pl.DataFrame:
    """Return a table with some columns treated, but for those whose values cannot be."""
    for name, treatment in asked.items():
        if name in frame.columns and not faults(frame[name], treatment, ""):
            index = frame.columns.index(name)
            frame = frame.clone().replace_column(index, treat_column(frame[name], treatment).alias(name))
    return frame


def treat_column(column: pl.Series, treatment: Treatment) -> pl.Series:
    """Return a column treated, but for a shift of dates, which needs persons; what cannot be treated is missing.

    Examples
    --------
    >>> treat_column(pl.Series(["02139", "03601", "10001-1234"]), "zip3").to_list()
    ['021', '000', '100']
    >>> treat_column(pl.Series([17, 89, 90, 104]), "age-90").to_list()
    [17, 89, 90, 90]
    >>> treat_column(pl.Series(["1995-01-31", "31.12.2004", "1990"]), "year").to_list()
    [1995, 2004, 1990]
    >>> treat_column(pl.Series([1_249, 1_250, 98_000]), Coding(round=100, top=9000)).to_list()
    [1200, 1300, 9000]
    """
    try:
        values = to_plain(column)
    except TableError:
        return pl.Series([None] * len(column), dtype=pl.String)
    if isinstance(treatment, Coding):
        return code_column(values, treatment)
    if treatment == "zip3":
        return _three_digits(values)
    if treatment == "age-90":
        return values.clip(upper_bound=OLDEST) if values.dtype.is_numeric() else _nothing(values)
    return _year(values)


def code_column(values: pl.Series, coding: Coding) -> pl.Series:
    """Return a plain column with its ends coded, then rounded; what cannot be is missing."""
    if coding.is_of_dates:
        return _clip_dates(values, coding) if values.dtype.is_temporal() else _nothing(values)
    if not values.dtype.is_numeric():
        return _nothing(values)
    ends: list[Any] = [coding.bottom, coding.top]
    if values.dtype.is_integer():  # nobody has a value between two whole numbers
        ends = [None if end is None else turn(end) for turn, end in zip((ceil, floor), ends, strict=True)]
    coded = values.clip(*ends)
    return coded if coding.round is None else _round(coded, coding.round)


def _clip_dates(values: pl.Series, coding: Coding) -> pl.Series:
    ends = [None if end is None else datetime.fromisoformat(str(end)) for end in (coding.bottom, coding.top)]
    if values.dtype == pl.Date:
        return values.clip(*(None if end is None else end.date() for end in ends))
    return values.clip(*ends)


def _round(values: pl.Series, base: float) -> pl.Series:
    """Return numbers rounded to the nearest multiple of a base, written with no more digits than the base has."""
    if values.dtype.is_integer() and float(base).is_integer():
        whole = int(base)
        return (values + whole // 2) // whole * whole
    digits = max(-int(Decimal(repr(base)).as_tuple().exponent), 0)
    return ((values.cast(pl.Float64) / base + 0.5).floor() * base).round(digits)


def treatment_faults(frame: pl.DataFrame, policy: Policy) -> Iterator[Fault]:
    """Yield what a treatment cannot be applied to, in a table as it was given."""
    for name, treatment in policy.treated.items():
        if name not in frame.columns:
            continue
        roles = ("quasi_identifiers", policy.quasi_identifiers), ("sensitive", policy.sensitive)
        role = next((role for role, columns in roles if name in columns), "")
        where = f"{role}.{name}.treatment" if role else f"treatments.{name}"
        yield from faults(frame[name], treatment, where)
        if name in policy.shifted and policy.subject in frame.columns:
            unknown = int((frame[policy.subject].is_null() & frame[name].is_not_null()).sum())
            if unknown:
                what, hint = "dates of nobody known cannot be shifted", "say in the subject column whose they are"
                yield Fault(what, where, f"{unknown} dates without a person", hint)


def faults(column: pl.Series, treatment: Treatment, where: str) -> list[Fault]:
    """Return a fault where a column holds values that its treatment does not know."""
    before = column.null_count() if column.dtype != pl.String else int((column.is_null() | (column == "")).sum())
    if column.dtype.is_float():
        before = int((column.is_null() | column.is_nan()).sum())
    after = treat_column(column, treatment)
    if after.null_count() <= before:
        return []
    named = {"zip3": "ZIP codes", "age-90": "numbers", "year": "dates or years"}
    coded = isinstance(treatment, Coding)
    known = ("dates" if treatment.is_of_dates else "numbers") if isinstance(treatment, Coding) else named[treatment]
    unknown = column.alias("values").filter(after.is_null() & column.alias("values").is_not_null())
    got = examples(sorted(set(unknown.cast(pl.String, strict=False).drop_nulls().head(1000))))
    hint = "correct them, or leave the treatment out" if coded else "correct them, or make it an identifier"
    return [Fault(f"the treatment {treatment} needs {known}", where, got, hint)]


def _three_digits(values: pl.Series) -> pl.Series:
    texts = values.cast(pl.String) if values.dtype.is_integer() or values.dtype == pl.String else _nothing(values)
    if values.dtype.is_integer():  # a number has lost its zeros on the left
        texts = texts.str.zfill(5)
    texts = texts.str.strip_chars()
    # of four digits the first, a zero, is lost; three are a code that was cut already
    digits = texts.str.extract(r"^([0-9]{3,5})(?:-?[0-9]{4})?$")
    cut = pl.DataFrame({"digits": digits}).select(
        pl.when(pl.col("digits").str.len_chars() == 4)
        .then(pl.lit("0") + pl.col("digits").str.head(2))
        .otherwise(pl.col("digits").str.head(3))
        .alias("cut")
    )["cut"]
    return cut.set(cut.is_in(sorted(SPARSE)), "000")


def _year(values: pl.Series) -> pl.Series:
    if values.dtype == pl.Date or isinstance(values.dtype, pl.Datetime):
        return values.dt.year().cast(pl.Int64)
    if values.dtype.is_integer():
        days = values // 10_000
        years = pl.DataFrame({"whole": values, "days": days}).select(
            pl.when(pl.col("whole").is_between(1000, 2999))
            .then(pl.col("whole"))
            .when(pl.col("days").is_between(1000, 2999))
            .then(pl.col("days"))
            .alias("year")
        )["year"]
        return years.cast(pl.Int64)
    if values.dtype != pl.String:
        return _nothing(values).cast(pl.Int64)
    found = [values.str.strip_chars().str.extract(rule) for rule in _YEARS]
    return found[0].zip_with(found[0].is_not_null(), found[1]).cast(pl.Int64, strict=False)


def _nothing(values: pl.Series) -> pl.Series:
    return pl.Series([None] * len(values), dtype=pl.String)

"""treat(): a table whose columns show no more than their treatments leave, before anything else is done with it."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from shoal.engines.columns import plain
from shoal.engines.counted import CountedTable
from shoal.errors import Fault, TableError, examples
from shoal.policy import Policy
from shoal.policy.roles import Treatment

SPARSE_2000 = "036 059 063 102 203 556 692 790 821 823 830 831 878 879 884 890 893"
"""ZIP codes of three digits with 20,000 people or fewer: HHS guidance of 2012, census of 2000."""
SPARSE_2010 = "036 059 102 202 203 204 205 369 556 692 753 772 821 823 878 879 884 893"
"""The same by the census of 2010."""
SPARSE = frozenset(f"{SPARSE_2000} {SPARSE_2010}".split())
"""Both: an area that was sparse in either is not told."""
OLDEST = 90
"""Stands for this age and every higher one."""

_YEARS = (r"^([0-9]{4})(?:-[0-9]{2}){0,2}(?:[T ].*)?$", r"^[0-9]{1,2}[./-][0-9]{1,2}[./-]([0-9]{4})$")


def treat(table: CountedTable, policy: Policy) -> CountedTable:
    """Return the same table with every column that has a treatment treated; treating it again changes nothing.

    Columns whose values cannot be treated are left as they are: :func:`faults` tells them, and a policy that does not
    fit makes no release.
    """
    asked = {name: column.treatment for name, column in policy.quasi_identifiers.items() if column.treatment}
    return table.with_frame(treat_columns(table.frame, asked)) if asked else table


def treat_columns(frame: pl.DataFrame, asked: Mapping[str, Treatment]) -> pl.DataFrame:
    """Return a table with some columns treated, but for those whose values cannot be."""
    for name, treatment in asked.items():
        if name in frame.columns and not faults(frame[name], treatment, ""):
            index = frame.columns.index(name)
            frame = frame.clone().replace_column(index, treat_column(frame[name], treatment).alias(name))
    return frame


def treat_column(column: pl.Series, treatment: Treatment) -> pl.Series:
    """Return a column treated; what cannot be treated is missing.

    Examples
    --------
    >>> treat_column(pl.Series(["02139", "03601", "10001-1234"]), "zip3").to_list()
    ['021', '000', '100']
    >>> treat_column(pl.Series([17, 89, 90, 104]), "age-90").to_list()
    [17, 89, 90, 90]
    >>> treat_column(pl.Series(["1995-01-31", "31.12.2004", "1990"]), "year").to_list()
    [1995, 2004, 1990]
    """
    try:
        values = plain(column)
    except TableError:
        return pl.Series([None] * len(column), dtype=pl.String)
    if treatment == "zip3":
        return _three_digits(values)
    if treatment == "age-90":
        return values.clip(upper_bound=OLDEST) if values.dtype.is_numeric() else _nothing(values)
    return _year(values)


def faults(column: pl.Series, treatment: Treatment, where: str) -> list[Fault]:
    """Return a fault where a column holds values that its treatment does not know."""
    before = column.null_count() if column.dtype != pl.String else int((column.is_null() | (column == "")).sum())
    after = treat_column(column, treatment)
    if after.null_count() <= before:
        return []
    known = {"zip3": "ZIP codes", "age-90": "numbers", "year": "dates or years"}[treatment]
    unknown = column.alias("values").filter(after.is_null() & column.alias("values").is_not_null())
    got = examples(sorted(set(unknown.cast(pl.String, strict=False).drop_nulls().head(1000))))
    return [Fault(f"the treatment {treatment} needs {known}", where, got, "correct them, or make it an identifier")]


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

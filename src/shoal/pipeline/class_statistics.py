"""tabulate_classes(): mean and variance of numbers, and how often other values occur, class by class."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.encoding.domains import STAR
from shoal.encoding.types import Floats
from shoal.engines.columns import kind_of
from shoal.engines.dictionary import TableDictionary
from shoal.pipeline.publish import Published
from shoal.policy import Policy
from shoal.policy.outputs import STATISTICS, least_class

_MICROSECONDS = 86_400_000_000


def tabulate_classes(published: Published, words: TableDictionary) -> pl.DataFrame:
    """Return the statistics of each class of a published table, but for the suppressed records.

    Where fewer values are known than every class has records in a class, its mean and variance are not told. A record
    that occurs several times is taken as often: sums of the same numbers are then the same, whoever counted them.
    """
    policy, table = words.policy, published.table
    kept = (~_suppressed(table.frame, policy)).to_numpy()
    counts = table.record_counts[kept]
    numbers, rows = (pl.Series(np.repeat(one.to_numpy()[kept], counts)) for one in (published.classes, published.rows))
    parts = []
    for index, name in enumerate(policy.quasi_identifiers):
        values = words.values(name).gather(rows)
        part = _moments(numbers, values, least_class(policy)) if is_measured(values) else _counts(numbers, values)
        parts.append(part.with_columns(pl.lit(name).alias("column"), pl.lit(index).alias("place")))
    whole = pl.concat(parts).sort("class", "place", "value", nulls_last=False)
    return whole.select("class", *STATISTICS).rename({"class": policy.output.numbered or ""})


def is_measured(values: pl.Series) -> bool:
    """Whether a plain column has a mean."""
    return kind_of(values) in ("integer", "float", "date", "datetime")


def _suppressed(published: pl.DataFrame, policy: Policy) -> pl.Series:
    """Return which records show ``*`` everywhere; none where all do, since nobody was singled out."""
    stars = pl.Series(np.ones(published.height, bool))
    for name in policy.quasi_identifiers:
        stars &= (published[name].alias("values") == STAR).fill_null(False)
    return stars if not stars.all() else pl.Series(np.zeros(published.height, bool))


def _moments(classes: pl.Series, values: pl.Series, least: int) -> pl.DataFrame:
    """Return mean and variance of each class that has enough values.

    They are added up in order, so that the result does not depend on the order of the records.
    """
    numbers = _as_floats(values)
    known = ~np.isnan(numbers)
    every = np.unique(classes.to_numpy())
    group, numbers = np.searchsorted(every, classes.to_numpy()[known]), numbers[known]
    order = np.lexsort((numbers, group))
    group, numbers = group[order], numbers[order]
    counts = np.bincount(group, minlength=len(every))
    means = _sums(group, numbers, counts) / np.maximum(counts, 1)
    variances = _sums(group, (numbers - means[group]) ** 2, counts) / np.maximum(counts, 1)
    few = counts < least
    return pl.DataFrame(
        {
            "class": every.astype(np.int64),
            "value": pl.Series([None] * len(every), dtype=pl.String),
            "records": counts.astype(np.int64),
            "mean": pl.Series(np.where(few, np.nan, means)).fill_nan(None),
            "variance": pl.Series(np.where(few, np.nan, variances)).fill_nan(None),
        }
    )


def _sums(group: npt.NDArray[np.intp], numbers: Floats, counts: npt.NDArray[np.intp]) -> Floats:
    sums = np.zeros(len(counts))
    held = np.flatnonzero(counts)
    if len(held):
        sums[held] = np.add.reduceat(numbers, np.searchsorted(group, held))
    return sums


def _as_floats(values: pl.Series) -> Floats:
    """Return numbers as they are, dates as days since 1970."""
    if values.dtype == pl.Date:
        values = values.cast(pl.Int32)
    elif isinstance(values.dtype, pl.Datetime):
        values = values.cast(pl.Int64) / _MICROSECONDS
    return values.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _counts(classes: pl.Series, values: pl.Series) -> pl.DataFrame:
    table = pl.DataFrame([classes.alias("class"), values.cast(pl.String).alias("value")])
    counted = table.group_by("class", "value").agg(pl.len().cast(pl.Int64).alias("records"))
    nothing = pl.lit(None, dtype=pl.Float64)
    return counted.with_columns(nothing.alias("mean"), nothing.alias("variance"))

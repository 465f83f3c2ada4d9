"""Columns as domains and codes."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.encoding.domains import Domain, Kind
from shoal.encoding.types import Floats, Ints
from shoal.engines.counted import CountedTable
from shoal.engines.memory.files import read_file
from shoal.errors import TableError
from shoal.policy import Policy, Sensitive


def to_plain(column: pl.Series) -> pl.Series:
    """Return a column of a plain type: no categories, no NaN, no negative zero, no empty text, no time zone.

    An empty text is a missing value: most files cannot tell them apart, and a release must mean the same in
    each format. Moments with a time zone are given in UTC, times of day as texts. Numbers that 64 bits cannot hold
    exactly, and moments finer than a microsecond, are texts too: no value is rounded. Cast to texts, the result is what
    every file of a release holds. It has a name of our own: polars reads ``^…$`` in a column's name as a pattern.
    """
    kind, name, column = column.dtype, column.name, column.alias("values")
    if isinstance(kind, (pl.Categorical, pl.Enum)):
        column = column.cast(pl.String)
    if kind == pl.Null:
        return column.cast(pl.String)
    if column.dtype == pl.String:
        return column.replace("", None)
    if kind.is_float():
        # by way of texts: 0.1 in 32 bits is 0.1, not 0.10000000149011612
        exact = column if kind == pl.Float64 else column.cast(pl.String).cast(pl.Float64)
        return _finite(exact.fill_nan(None).set(exact == 0.0, 0.0), name)
    if kind.is_decimal():
        return _exact(column, pl.Float64 if kind.scale else pl.Int64)  # type: ignore[attr-defined]
    if kind.is_integer():  # all but these fit into 64 bits with a sign
        return _exact(column, pl.Int64) if kind in (pl.UInt64, pl.Int128) else column.cast(pl.Int64)
    if isinstance(kind, pl.Datetime):
        return _moments(column, kind, name)
    if kind == pl.Date:
        return _in_calendar(column, name, column.null_count())
    if kind == pl.Boolean:
        return column
    if kind == pl.Time:  # cast to a text, it would lose the fraction of a second
        return column.dt.to_string("%H:%M:%S%.f")
    if kind == pl.Duration:
        return _microseconds(column, name)
    raise TableError("values of this type cannot be published", where=name, got=str(kind), hint="drop the column")


LARGEST = 1e300
"""No number is larger: differences and sums of a few must be numbers too."""


def beyond_numbers(name: str) -> TableError:
    """Return the error for a column with numbers that cannot be counted with."""
    what, hint = "holds infinite values, or numbers beyond 1e300", "replace them by numbers or missing, or drop it"
    return TableError(what, where=name, hint=hint)


def _finite(column: pl.Series, name: str) -> pl.Series:
    if bool((column.abs() > LARGEST).any()):
        raise beyond_numbers(name)
    return column


def _exact(column: pl.Series, kind: type[pl.Int64 | pl.Float64]) -> pl.Series:
    """Return numbers in another type, or as texts where that type cannot hold each of them."""
    values = column.unique()
    # compared by what is written of them: a cast between decimals and floats may round both ways
    written = values.cast(kind, strict=False).cast(pl.String)
    same = written.cast(column.dtype, strict=False).eq_missing(values).all()
    return column.cast(kind) if same else column.cast(pl.String)


def _moments(column: pl.Series, kind: pl.Datetime, name: str) -> pl.Series:
    """Return moments in UTC, to the microsecond; as texts where some are finer."""
    utc = column if kind.time_zone is None else column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    moments = _in_calendar(utc.cast(pl.Datetime("us"), strict=False), name, column.null_count())
    return moments if moments.cast(utc.dtype, strict=False).eq_missing(utc).all() else utc.cast(pl.String)


_FIRST, _LAST = ((day - date(1970, 1, 1)).days for day in (date.min, date.max))


def _in_calendar(column: pl.Series, name: str, missing: int) -> pl.Series:
    """Return dates or moments that everybody can write, so many of them missing; else raise: "never" is no date."""
    day = 1 if column.dtype == pl.Date else 86_400_000_000
    known = column.to_physical().is_between(_FIRST * day, (_LAST + 1) * day - 1)
    if bool(known.all()) and column.null_count() == missing:
        return column
    raise beyond_calendar(name)


def beyond_calendar(name: str) -> TableError:
    """Return the error for a column with dates that not everybody can write."""
    hint = "replace them by missing, or drop it"
    return TableError("holds dates outside the years 1 to 9999", where=name, hint=hint)


def _microseconds(column: pl.Series, name: str) -> pl.Series:
    """Return lengths of time as numbers of microseconds."""
    lengths = column.cast(pl.Duration("us"), strict=False)
    if bool(lengths.cast(column.dtype, strict=False).eq_missing(column).all()):
        return lengths.dt.total_microseconds()
    hint = "round them, or drop it"
    raise TableError("lengths of time that are no whole number of microseconds", where=name, hint=hint)


def to_plain_or_texts(column: pl.Series) -> pl.Series:
    """Return a column in a plain type, or as texts where it has none: of a large table its values are less than its
    cells."""
    try:
        return to_plain(column)
    except TableError:
        return to_texts(column)


def to_texts(column: pl.Series) -> pl.Series:
    """Return a column as a release writes it; one that is never published as it can be told, to search for it.

    The result has a name of our own: polars reads ``^…$`` in a column's name as a pattern.

    Examples
    --------
    >>> from datetime import time
    >>> to_texts(pl.Series([time(9, 30, 0, 500_000), None])).to_list()
    ['09:30:00.500', None]
    """
    try:
        return to_plain(column).cast(pl.String)
    except TableError:
        values = column.alias("values")
        values = values.to_physical() if column.dtype.is_temporal() else values  # Python has no year 10000
        told = [None if value is None else str(value) for value in values.to_list()]
        return pl.Series("values", told, dtype=pl.String)


def kind_of(column: pl.Series) -> Kind:
    """Return the kind of a plain column."""
    kind = column.dtype
    if kind == pl.Int64:
        return "integer"
    if kind == pl.Float64:
        return "float"
    if kind == pl.Date:
        return "date"
    if kind == pl.Boolean:
        return "boolean"
    return "datetime" if isinstance(kind, pl.Datetime) else "text"


def domain_of(
    column: pl.Series, *, declared: tuple[str, ...] = (), limits: tuple[float, float] | None = None
) -> Domain:
    """Return the distinct values of a plain column, in order; declared values are added to them."""
    kind = kind_of(column)
    values = column.drop_nulls().unique()
    if declared:
        more = _parsed(pl.Series(declared, dtype=pl.String).replace("", None), column.dtype)
        values = pl.concat([values, more.drop_nulls().alias(values.name)]).unique()
    values = values.sort()
    texts = tuple(values.cast(pl.String).to_list())
    if kind == "text":
        return Domain(kind, np.array(texts, dtype=object), texts, limits)
    return Domain(kind, values.to_physical().to_numpy(), texts, limits)


def _parsed(texts: pl.Series, kind: pl.DataType) -> pl.Series:
    """Return texts as values of a plain type; those that are none are missing."""
    if kind == pl.Date:
        return texts.str.to_date("%Y-%m-%d", strict=False)
    if isinstance(kind, pl.Datetime):
        return texts.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False, time_unit="us")
    if kind == pl.Boolean:
        return texts.replace_strict({"true": True, "false": False}, default=None, return_dtype=pl.Boolean)
    return texts.cast(kind, strict=False)


def codes_of(column: pl.Series, domain: Domain) -> Ints:
    """Return the place of each value in a domain; the missing value's place is after the last."""
    column = column.alias("values")  # a name of our own: polars reads "^…$" in a name as a pattern
    if domain.kind == "text":
        coded = column.cast(pl.Enum(list(domain.texts))).to_physical()
        return coded.cast(pl.Int64).fill_null(len(domain)).to_numpy()
    missing = column.is_null().to_numpy()
    physical = column.to_physical()
    filled = physical.fill_null(False) if physical.dtype == pl.Boolean else physical.fill_null(0)
    codes = _find_places(filled.to_numpy(), domain)
    codes[missing] = len(domain)
    return codes


def _find_places(values: npt.NDArray[Any], domain: Domain) -> Ints:
    """Return where each value stands among the domain's.

    Of many whole numbers that lie close together, all in between are searched for once, and each record looks there.
    """
    if domain.values.dtype.kind != "i" or not len(domain):
        return np.searchsorted(domain.values, values).astype(np.int64)
    low, high = int(domain.values[0]), int(domain.values[-1])
    if high - low >= len(values):
        return np.searchsorted(domain.values, values).astype(np.int64)
    places = np.searchsorted(domain.values, np.arange(low, high + 1)).astype(np.int64)
    return np.where(values > high, len(domain), places[np.clip(values, low, high) - low])


def own_texts(column: pl.Series) -> pl.Series:
    """Return a column in memory of its own.

    A text column that was picked from another shares its memory, with all texts that were not picked: a file or a
    pickle of it would hold them.
    """
    if column.dtype != pl.String:
        return column
    domain = domain_of(column)
    return pl.Series([*domain.texts, None], dtype=pl.String).gather(pl.Series(codes_of(column, domain)))


@lru_cache(maxsize=4)
def _read_population(path: str, changed: int) -> pl.DataFrame:
    return read_file(Path(path))


def population_frame(path: str) -> pl.DataFrame:
    """Return the table of a population; a file that did not change is read once."""
    try:
        changed = Path(path).stat().st_mtime_ns
    except OSError as error:
        raise TableError("cannot read the population", where=path, got=error.strerror or str(error)) from None
    return _read_population(path, changed)


def population_column(path: str, name: str, kind: pl.DataType) -> pl.Series:
    """Return a column of a population in the plain type that it has in the table.

    What is no value of that type is missing: :func:`shoal.pipeline.check.check` tells of it before.
    """
    frame = population_frame(path)
    if name not in frame.columns:
        return pl.Series("values", [], dtype=kind)
    return of_kind(to_plain(frame[name]), kind)


def of_kind(column: pl.Series, kind: pl.DataType) -> pl.Series:
    """Return a plain column in another plain type; what is no value of that type is missing.

    Examples
    --------
    >>> of_kind(pl.Series(["21", "old"]), pl.Int64()).to_list()
    [21, None]
    """
    if column.dtype == kind:
        return column
    if column.dtype.is_temporal() and isinstance(kind, pl.Datetime):
        return column.cast(kind, strict=False)
    if column.dtype.is_numeric() and kind.is_numeric():
        cast = column.cast(kind, strict=False)
        return cast.set(cast.cast(column.dtype, strict=False).ne_missing(column), None)
    return _parsed(column.cast(pl.String), kind)


def order_texts(domain: Domain, role: Sensitive) -> list[str] | None:
    """Return the values of a sensitive column in their order, or ``None`` where they have none.

    The order is that of numbers and dates, or the one that the hierarchy ``ordering`` declares.
    """
    declared = () if role.hierarchy is None else role.hierarchy.declared_order
    if declared:
        return [text for text in declared if text in set(domain.texts)]
    return list(domain.texts) if domain.ordered else None


def column_domain(table: CountedTable, name: str, policy: Policy, values: pl.Series | None = None) -> Domain:
    """Return all that a hierarchy may be built from: values, records of each, the policy's k, profiles.

    The domain that losses are measured against is the observed one, or as the policy declares it. Values of the
    population are observed too. ``values`` is the column in its plain type, where somebody has it.
    """
    spec, values = policy.quasi_identifiers[name], to_plain(table.frame[name]) if values is None else values
    declared = spec.hierarchy.leaves() if spec.hierarchy and spec.domain == "hierarchy" else ()
    limits = spec.domain if isinstance(spec.domain, tuple) else None
    others = None if policy.population is None else population_column(policy.population, name, values.dtype)
    # by value: what is done for each record costs more
    held = table.count_values(values, "records")
    known = held["values"] if others is None else pl.concat([held["values"], others.drop_nulls().alias("values")])
    domain = domain_of(known, declared=declared, limits=limits)
    counts = np.zeros(len(domain) + 1, np.int64)
    counts[codes_of(held["values"], domain)] = held["records"].to_numpy()
    rest = [other for other in policy.quasi_identifiers if other != name and other in table.frame.columns]
    profiles = partial(_profiles, table, values, domain, rest) if rest else None
    present, missing = counts[: len(domain)], int(counts[len(domain)])
    return replace(domain, counts=present, missing=missing, k=max(policy.k, 2), profiles=profiles)


def _profiles(table: CountedTable, values: pl.Series, domain: Domain, others: list[str]) -> Floats:
    """Return for each value the shares of the other columns' values among its records."""
    codes, count = codes_of(values, domain), len(domain)
    blocks = []
    for other in others:
        features, width = _features(table, to_plain(table.frame[other]))
        held = table.count_codes(codes * width + features, (count + 1) * width)[: count * width]
        block = held.reshape(count, width).astype(np.float64)
        blocks.append(block / np.maximum(block.sum(axis=1, keepdims=True), 1.0))
    return np.concatenate(blocks, axis=1)


_EIGHTHS, _FREQUENT = 8, 50


def _features(table: CountedTable, column: pl.Series) -> tuple[Ints, int]:
    """Return the feature of each record: numbers in eighths, the frequent categories, the missing value."""
    domain = domain_of(column)
    codes = codes_of(column, domain)
    counts = table.count_codes(codes, len(domain) + 1)[: len(domain)]
    if domain.ordered:
        reached = np.cumsum(counts) - counts
        feature = reached * _EIGHTHS // max(int(counts.sum()), 1)
        return np.append(feature, _EIGHTHS)[codes].astype(np.int64), _EIGHTHS + 1
    rank = np.argsort(np.argsort(-counts, kind="stable"))
    return np.append(np.minimum(rank, _FREQUENT), _FREQUENT + 1)[codes].astype(np.int64), _FREQUENT + 2

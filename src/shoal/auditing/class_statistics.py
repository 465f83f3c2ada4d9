"""Statistics: the second table of a release says of each class what its records hold."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import polars as pl

from shoal.auditing.original import OriginalTable
from shoal.auditing.reading import Reader
from shoal.auditing.suppression import stars_everywhere
from shoal.auditing.texts import read_columns, read_texts
from shoal.engines.columns import kind_of, to_plain
from shoal.engines.counted import CountedTable
from shoal.errors import Fault
from shoal.policy import Policy
from shoal.policy.outputs import STATISTICS, least_class

_DAY = 86_400_000_000
_NEAR = 1e-9
"""Numbers that differ by less, as a share, are the same: they were added up in another order."""
_ROUNDED = 1e-13
"""What rounding may add to a mean near 0, as a share of the largest number."""


def statistics_faults(
    published: CountedTable,
    statistics: pl.DataFrame | None,
    original: OriginalTable | None,
    policy: Policy,
    rows: pl.Series | None,
) -> Iterator[Fault]:
    """Yield what is wrong with class numbers and with what is told of each class.

    The published tables alone show whether numbers stand for classes one to one, whether counts add up to the sizes of
    classes, and whether enough values are behind a mean. With the original, whether what is told is possible for the
    texts; with the original record of each published one, which only the owner knows, whether it is so.
    """
    number, frame = policy.output.numbered or "", published.frame
    if statistics is None or number not in frame.columns:
        where = number if statistics is not None else policy.output.beside or ""
        yield Fault("a part of the release is missing", where, hint="give the second table too (beside)")
        return
    if statistics.columns != [number, *STATISTICS]:
        yield Fault("the columns of the statistics are others", got=", ".join(statistics.columns))
        return
    classes, wrong = _classes(published, policy, number)
    yield from wrong
    told = _told(statistics, number)
    if told is None:
        yield Fault("statistics that are no numbers", where=number)
        return
    misshapen = [] if wrong else list(_shape(told, classes, policy))
    yield from misshapen
    if wrong or misshapen:
        return  # nothing can be compared with these
    if original is not None:
        yield from _possible(told, classes, original)
    if original is not None and rows is not None:
        yield from _true(told, published, classes, original, rows)


def _classes(published: CountedTable, policy: Policy, number: str) -> tuple[pl.DataFrame, list[Fault]]:
    """Return number, texts and size of each class, and what is wrong with the numbers."""
    frame, texts = published.frame, read_columns(published.frame, policy.quasi_identifiers)
    keys = [column.name for column in texts]
    sizes = pl.Series("size", published.record_counts)
    table = pl.DataFrame([*texts, frame[number].cast(pl.Int64, strict=False).alias("class"), sizes])
    classes = table.group_by(["class", *keys]).agg(pl.col("size").sum()).sort(keys, nulls_last=False)
    # one to one, and in the order of the texts: a number tells nothing of its own
    if classes["class"].to_list() != list(range(1, table.select(keys).unique().height + 1)):
        return classes, [Fault("classes are not numbered one to one in the order of what they show", where=number)]
    starred = stars_everywhere(classes[key] for key in keys) & (classes.height > 1)
    return classes.with_columns(starred.alias("starred")), []


def _told(statistics: pl.DataFrame, number: str) -> pl.DataFrame | None:
    """Return the statistics with numbers as numbers, ``None`` where they are none."""
    kinds = {number: pl.Int64, "records": pl.Int64, "mean": pl.Float64, "variance": pl.Float64}
    columns = [read_texts(statistics[name]) for name in statistics.columns]
    read = [
        column.cast(kinds[name], strict=False) if name in kinds else column
        for name, column in zip(statistics.columns, columns, strict=True)
    ]
    if any(before.null_count() != after.null_count() for before, after in zip(columns, read, strict=True)):
        return None
    return pl.DataFrame([column.alias(name) for column, name in zip(read, ("class", *STATISTICS), strict=True)])


def _shape(told: pl.DataFrame, classes: pl.DataFrame, policy: Policy) -> Iterator[Fault]:
    """Yield classes without statistics, or with too many; counts that do not add up; means of too few."""
    index = {name: number for number, name in enumerate(policy.quasi_identifiers)}
    known = told.with_columns(
        pl.col("column").replace_strict(index, default=None, return_dtype=pl.Int64).alias("place")
    )
    order = ["class", "place", "value"]
    if known["place"].null_count() or not known.select(order).equals(known.select(order).sort(order, nulls_last=False)):
        yield Fault("statistics of other columns, or not in their order")
        return
    if known.select(order).is_duplicated().any():
        yield Fault("a class has two statistics of the same kind")
    kept = classes.filter(~pl.col("starred")).select("class", "size")
    wanted = kept.join(pl.DataFrame({"place": list(index.values())}), how="cross")
    sums = known.group_by("class", "place").agg(
        pl.col("records").sum(),
        pl.col("value").is_null().all().alias("measured"),
        pl.col("records").min().alias("least"),
    )
    both = wanted.join(sums, on=["class", "place"], how="full", coalesce=True)
    if both["size"].null_count() or both["records"].null_count():
        yield Fault("statistics are not those of the classes", hint="suppressed records have none")
        return
    off = both.filter(
        (pl.col("records") > pl.col("size"))
        | (pl.col("least") < 0)
        | (~pl.col("measured") & (pl.col("records") != pl.col("size")))
    )
    if off.height:
        yield Fault("counts do not add up to the sizes of classes", got=f"{off.height} classes and columns")
    few = known.filter(pl.col("mean").is_not_null() & (pl.col("records") < least_class(policy)))
    if few.height:
        yield Fault("means of fewer values than k", got=f"{few.height} of them")
    odd = known.filter(
        (pl.col("mean").is_null() != pl.col("variance").is_null())
        | (pl.col("mean").is_not_null() & pl.col("value").is_not_null())
        | (pl.col("variance") < 0)
        | pl.col("mean").is_nan()
        | pl.col("variance").is_nan()
    )
    if odd.height:
        yield Fault("means and variances that are none", got=f"{odd.height} of them")


def _possible(told: pl.DataFrame, classes: pl.DataFrame, original: OriginalTable) -> Iterator[Fault]:
    """Yield columns whose statistics no records could have that are published with these texts."""
    for index, (name, reader) in enumerate(original.readers.items()):
        measured = _is_measured(original.frame, name)
        texts = classes.select("class", pl.col(f"q{index}").alias("text"))
        rows = told.filter(pl.col("column") == name).join(texts, on="class", how="left")
        wrong = 0
        for value, mean, variance, text in rows.select("value", "mean", "variance", "text").unique().rows():
            if mean is not None:
                wrong += not (measured and _in_range(reader, text, mean, variance))
            elif measured:
                wrong += value is not None
            else:
                wrong += not reader.covers(text, value)
        if wrong:
            yield Fault("statistics that are not true of the texts of their classes", name, f"{wrong} of them")


def _in_range(reader: Reader, text: str | None, mean: float, variance: float) -> bool:
    """Whether numbers that a text covers can have this mean and variance (Bhatia and Davis 2000)."""
    values, _ = reader.values_of(text)
    if not values:
        return False
    scale = _DAY if reader.domain.kind == "datetime" else 1
    numbers = np.asarray(reader.domain.values)[list(values)].astype(np.float64) / scale
    low, high = float(numbers.min()), float(numbers.max())
    slack = _NEAR * max(abs(low), abs(high), 1.0)
    widest = (high - mean) * (mean - low) + slack * max(abs(low), abs(high), 1.0)
    return low - slack <= mean <= high + slack and variance <= widest


def _is_measured(raw: pl.DataFrame, name: str) -> bool:
    return kind_of(to_plain(raw[name])) not in ("text", "boolean")


def _true(
    told: pl.DataFrame, published: CountedTable, classes: pl.DataFrame, original: OriginalTable, rows: pl.Series
) -> Iterator[Fault]:
    raw, policy, frame = original.frame, original.policy, published.frame
    twice = not published.is_counted and rows.n_unique() != len(rows)
    if len(rows) != frame.height or twice or rows.max() >= raw.height:  # type: ignore[operator]
        yield Fault("the original records of the published ones are not known", got=f"{len(rows)} of {frame.height}")
        return
    often = np.repeat(np.arange(frame.height), published.record_counts)
    numbers = frame[policy.output.numbered or ""].cast(pl.Int64).alias("class").gather(often)
    starred = classes.filter(pl.col("starred"))["class"]
    for name in policy.quasi_identifiers:
        held = pl.DataFrame([numbers, to_plain(raw[name]).gather(rows).gather(often).alias("held")])
        held = held.filter(~pl.col("class").is_in(starred.implode()))
        theirs = told.filter(pl.col("column") == name)
        same = (
            _same_moments(theirs, held, least_class(policy)) if _is_measured(raw, name) else _same_counts(theirs, held)
        )
        if not same:
            yield Fault("statistics that are not those of the records", where=name)


def _same_counts(told: pl.DataFrame, held: pl.DataFrame) -> bool:
    counted = held.group_by("class", pl.col("held").cast(pl.String).alias("value")).agg(
        pl.len().cast(pl.Int64).alias("records")
    )
    keys = ["class", "value", "records"]
    return told.select(keys).sort(keys).equals(counted.select(keys).sort(keys))


def _same_moments(told: pl.DataFrame, held: pl.DataFrame, least: int) -> bool:
    number = pl.col("held")
    if isinstance(held["held"].dtype, pl.Datetime):
        number = number.cast(pl.Int64) / _DAY
    elif held["held"].dtype == pl.Date:
        number = number.cast(pl.Int32)
    number = number.cast(pl.Float64)
    counted = held.group_by("class").agg(
        number.count().cast(pl.Int64).alias("n"), number.mean().alias("m"), number.var(ddof=0).alias("v")
    )
    both = told.join(counted, on="class", how="full", coalesce=True)
    scale = max(float(held.select(number.abs().max()).item() or 0.0), 1.0)
    for records, mean, variance, n, m, v in both.select("records", "mean", "variance", "n", "m", "v").rows():
        if records != n or (mean is None) != (n < least):
            return False
        if mean is not None and not (
            math.isclose(mean, m, rel_tol=_NEAR, abs_tol=_ROUNDED * scale)
            and math.isclose(variance, v, rel_tol=_NEAR, abs_tol=_ROUNDED * scale * scale)
        ):
            return False
    return True

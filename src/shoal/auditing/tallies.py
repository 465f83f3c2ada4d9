"""tallies(): how often each sensitive value occurs in each published class, and in the whole table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from shoal.encoding.domains import STAR, Domain
from shoal.encoding.types import Ints
from shoal.engines.columns import domain_of, kind_of, plain
from shoal.engines.counted import Times, as_weights, records_of, value_counts
from shoal.errors import ShoalError
from shoal.hierarchies.ordering import Ordering
from shoal.models.base import Tally
from shoal.policy import Policy, Sensitive

_BLANK = "\0missing"
"""Stands for a missing value that is a value of its own; no published text holds the sign."""


def looked_at(policy: Policy) -> tuple[tuple[str, ...], ...]:
    """Return the columns that each model looks at together."""
    return tuple(dict.fromkeys(model.sensitive_columns for model in policy.models if "values" in model.needs))


def tallies(
    frame: pl.DataFrame,
    raw: pl.DataFrame | None,
    policy: Policy,
    classes: pl.Series,
    people: pl.Series | None,
    asked: Iterable[tuple[str, ...]],
    times: Times = None,
    raw_times: Times = None,
) -> dict[tuple[str, ...], Tally]:
    """Count the values of some columns, those that are asked for together taken as one.

    ``classes`` is the class of each published record, ``people`` its person where persons are counted; ``times`` and
    ``raw_times`` are how often each published and each original record occurs.
    """
    asked = [columns for columns in asked if columns]
    whole_times = times if raw is None else raw_times
    known = {
        name: Values.of(frame, raw, name, policy.sensitive[name], whole_times) for columns in asked for name in columns
    }
    whole, everyone = (frame, people) if raw is None else (raw, raw[policy.subject] if policy.subject else None)
    found = {}
    count = int(classes.max()) + 1 if len(classes) else 0  # type: ignore[arg-type]
    for columns in asked:
        parts = [known[name] for name in columns]
        numbers = _numbers(frame, columns, parts)
        published = _persons(numbers, people, classes, times)
        table = numbers if raw is None else _numbers(whole, columns, parts)
        persons = records_of(whole, whole_times) if everyone is None else everyone.n_unique()
        found[columns] = _tally(published, _persons(table, everyone, None, whole_times), persons, count, parts)
        if people is not None:
            alone = pl.Series(np.zeros(len(table), np.int64))
            unknown = [_unknown(numbers, classes, count, times), _unknown(table, alone, 1, whole_times)]
            found[columns] = replace(found[columns], unknown=np.concatenate(unknown))
    return found


def _tally(published: pl.DataFrame, table: pl.DataFrame, persons: int, count: int, parts: Sequence[Values]) -> Tally:
    known, blank = published.filter(pl.col("value") >= 0), np.zeros(count, np.int64)
    rest = published.filter(pl.col("value") < 0)
    blank[rest["class"].to_numpy()] = rest["count"].to_numpy()
    whole = dict(zip(table["value"].to_list(), table["count"].to_list(), strict=True))
    return Tally(
        known["class"].to_numpy().astype(np.int64),
        known["value"].to_numpy().astype(np.int64),
        known["count"].to_numpy().astype(np.int64),
        blank,
        {value: count for value, count in whole.items() if value >= 0},
        whole.get(-1, 0),
        persons,
        ranked=len(parts) == 1 and parts[0].ranked,
        paths=parts[0].paths if len(parts) == 1 else None,
    )


def _unknown(values: pl.Series, classes: pl.Series, count: int, times: Times) -> Ints:
    """Count the records of each class whose value may be any."""
    often = None if times is None else times.filter(values < 0)
    return np.bincount(classes.filter(values < 0).to_numpy(), as_weights(often), minlength=count).astype(np.int64)


def _numbers(frame: pl.DataFrame, columns: Sequence[str], parts: Sequence[Values]) -> pl.Series:
    """Return the value of each record; -1 may be any."""
    result, wild = pl.Series(np.zeros(frame.height, np.int64)), pl.Series(np.zeros(frame.height, bool))
    for name, part in zip(columns, parts, strict=True):
        if part.missing in ("wildcard", "suppress"):
            wild |= plain(frame[name]).is_null()
        result = result * len(part.texts) + part.numbers(frame[name])
    return pl.select(pl.when(wild).then(-1).otherwise(result).alias("value")).to_series()


def _persons(values: pl.Series, people: pl.Series | None, classes: pl.Series | None, times: Times) -> pl.DataFrame:
    """Count the persons (or records) of each class and value."""
    if people is None:
        return pairs_of(values, classes, times)
    table = pl.DataFrame([values, *([] if classes is None else [classes.alias("class")])])
    keys = ["value"] if classes is None else ["class", "value"]
    counted = table.with_columns(people.alias("subject")).group_by(keys).agg(pl.col("subject").n_unique())
    return counted.rename({"subject": "count"}).cast({"count": pl.Int64}).sort(keys)


def pairs_of(values: pl.Series, classes: pl.Series | None, times: Times = None) -> pl.DataFrame:
    """Count the records of each class and value: in a table of all pairs where that is small, by sorting elsewhere."""
    width = int(values.max() or 0) + 2  # type: ignore[arg-type]
    groups = np.zeros(len(values), np.int64) if classes is None else classes.to_numpy()
    pairs = groups * width + values.to_numpy() + 1  # the value -1 may be any
    if width * (int(groups.max(initial=0)) + 1) <= 4 * len(values) + 1_000:
        counts = np.bincount(pairs, as_weights(times))
        used = np.flatnonzero(counts)
        counts = counts[used]
    else:
        used, counts = _sorted_counts(pairs, times)
    held = {"value": used % width - 1, "count": counts.astype(np.int64)}
    return pl.DataFrame(held if classes is None else {"class": used // width, **held})


def _sorted_counts(pairs: Ints, times: Times) -> tuple[Ints, Ints]:
    if times is None:
        used, counts = np.unique(pairs, return_counts=True)
        return used, counts
    used, indices = np.unique(pairs, return_inverse=True)
    return used, np.bincount(indices, times.to_numpy()).astype(np.int64)


@dataclass(frozen=True)
class Values:
    """The values of a sensitive column, as texts, numbered."""

    texts: tuple[str, ...]
    ranked: bool
    """Whether they are in their order."""
    paths: tuple[tuple[str, ...], ...] | None
    missing: str

    @classmethod
    def of(
        cls, frame: pl.DataFrame, raw: pl.DataFrame | None, name: str, role: Sensitive, times: Times = None
    ) -> Values:
        """Find the values of a column in the published table, and in the original where that is given.

        ``times`` is how often each record of the original occurs, of the published table where there is none.
        """
        source = plain(frame[name] if raw is None else raw[name])
        values = source.unique()
        domain = domain_of(_typed(values) if raw is None else values)
        published = _texts(frame[name]).unique()
        unknown = sorted({*published.drop_nulls().to_list()} - {*domain.texts})
        blank = role.missing in ("own-value", "error") and bool(published.null_count() or values.null_count())
        order = _order(domain, role)
        texts = (*(order or domain.texts), *unknown, *([_BLANK] if blank else []))
        ranked = order is not None and not unknown and not blank
        paths = None if role.hierarchy is None else _paths(source, domain, role, texts, times)
        return cls(texts, ranked, paths, role.missing)

    def numbers(self, column: pl.Series) -> pl.Series:
        """Return the number of each record's value; one that is missing and no value of its own gets any number."""
        texts = _texts(column).fill_null(_BLANK)
        return texts.cast(pl.Enum(list(self.texts)), strict=False).to_physical().cast(pl.Int64).fill_null(0)


def _order(domain: Domain, role: Sensitive) -> tuple[str, ...] | None:
    if isinstance(role.hierarchy, Ordering) and role.hierarchy.order:
        present = {*domain.texts}
        return tuple(text for text in role.hierarchy.order if text in present)
    return domain.texts if domain.ordered else None


def _paths(
    source: pl.Series, domain: Domain, role: Sensitive, texts: Sequence[str], times: Times
) -> tuple[tuple[str, ...], ...]:
    """Return the labels of each value, from itself up to below the top; what has none stands alone on every level."""
    counts = dict(value_counts(source.cast(pl.String), times, "count").iter_rows())
    records = np.array([counts[text] for text in domain.texts], np.int64)
    assert role.hierarchy is not None
    try:
        steps = list(role.hierarchy.steps(replace(domain, counts=records))) if len(domain) else []
    except ShoalError:  # published texts that the hierarchy does not know
        steps = []
    steps = [step for step in steps if {*step.names} - {STAR, role.hierarchy.root}]
    labels = list(zip(domain.texts, *(step.labels for step in steps), strict=True))
    known = {path[0]: path for path in labels}
    return tuple(known.get(text, (text,) * (len(steps) + 1)) for text in texts)


def _texts(column: pl.Series) -> pl.Series:
    return plain(column).cast(pl.String).replace("", None)


def _typed(column: pl.Series) -> pl.Series:
    """Return texts of a file as the numbers or dates that they are, if every one of them is."""
    if kind_of(column) != "text":
        return column
    for read in _readings(column):
        if read.null_count() == column.null_count() and read.cast(pl.String).equals(column):
            return read
    return column


def _readings(texts: pl.Series) -> Iterator[pl.Series]:
    yield texts.cast(pl.Int64, strict=False)
    yield texts.cast(pl.Float64, strict=False)
    yield texts.str.to_date("%Y-%m-%d", strict=False)
    yield texts.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False, time_unit="us")

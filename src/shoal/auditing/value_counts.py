"""count_sensitive_values(): how often each value occurs in each published class, and in the whole table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from shoal.encoding.domains import STAR, Domain
from shoal.encoding.types import Ints
from shoal.engines.columns import domain_of, kind_of, order_texts, to_plain
from shoal.engines.counted import CountedTable
from shoal.errors import ShoalError
from shoal.models.base import ValueCounts
from shoal.policy import Policy, Sensitive

_BLANK = "\0missing"
"""Stands for a missing value that is a value of its own; no published text holds the sign."""


@dataclass(frozen=True)
class RecordClasses:
    """The class of each published record, and its person where persons are counted."""

    classes: pl.Series
    people: pl.Series | None = None

    @property
    def count(self) -> int:
        """How many classes there are."""
        return int(self.classes.max()) + 1 if len(self.classes) else 0  # type: ignore[arg-type]


def columns_together(policy: Policy) -> tuple[tuple[str, ...], ...]:
    """Return the columns that each model looks at together."""
    return tuple(dict.fromkeys(model.sensitive_columns for model in policy.models if "values" in model.needs))


def count_sensitive_values(
    published: CountedTable,
    original: CountedTable | None,
    policy: Policy,
    members: RecordClasses,
    together: Iterable[tuple[str, ...]],
) -> dict[tuple[str, ...], ValueCounts]:
    """Count the values of some columns, those that are looked at together taken as one."""
    together = [columns for columns in together if columns]
    names = dict.fromkeys(name for columns in together for name in columns)
    known = {name: SensitiveValues.of(published, original, name, policy.sensitive[name]) for name in names}
    whole, people = published, members.people
    if original is not None:
        whole, people = original, original.frame[policy.subject] if policy.subject else None
    everyone = RecordClasses(pl.Series(np.zeros(whole.frame.height, np.int64)), people)
    persons = whole.records if people is None else people.n_unique()
    counts = {}
    for columns in together:
        parts = [known[name] for name in columns]
        shown = _numbers(published.frame, columns, parts)
        held = shown if original is None else _numbers(whole.frame, columns, parts)
        table = _count_persons(held, everyone, whole)
        counted = _to_value_counts(_count_persons(shown, members, published), table, persons, members.count, parts)
        if members.people is not None:
            unknown = _count_unknown(shown, members, published), _count_unknown(held, everyone, whole)
            counted = replace(counted, unknown=np.append(unknown[0], unknown[1].sum()))
        counts[columns] = counted
    return counts


def _to_value_counts(
    published: pl.DataFrame, table: pl.DataFrame, persons: int, count: int, parts: Sequence[SensitiveValues]
) -> ValueCounts:
    known, blank = published.filter(pl.col("value") >= 0), np.zeros(count, np.int64)
    rest = published.filter(pl.col("value") < 0)
    blank[rest["class"].to_numpy()] = rest["count"].to_numpy()
    whole = dict(zip(table["value"].to_list(), table["count"].to_list(), strict=True))
    return ValueCounts(
        classes=known["class"].to_numpy().astype(np.int64),
        values=known["value"].to_numpy().astype(np.int64),
        counts=known["count"].to_numpy().astype(np.int64),
        blank=blank,
        table={value: count for value, count in whole.items() if value >= 0},
        table_blank=whole.get(-1, 0),
        table_persons=persons,
        ranked=len(parts) == 1 and parts[0].ranked,
        paths=parts[0].paths if len(parts) == 1 else None,
    )


def _count_unknown(values: pl.Series, members: RecordClasses, table: CountedTable) -> Ints:
    unknown = np.where(values.to_numpy() < 0, table.record_counts, 0)
    return np.bincount(members.classes.to_numpy(), unknown).astype(np.int64)


def _numbers(frame: pl.DataFrame, columns: Sequence[str], parts: Sequence[SensitiveValues]) -> pl.Series:
    """Return the value of each record; -1 may be any."""
    result, wild = pl.Series(np.zeros(frame.height, np.int64)), pl.Series(np.zeros(frame.height, bool))
    for name, part in zip(columns, parts, strict=True):
        if part.missing in ("wildcard", "suppress"):
            wild |= to_plain(frame[name]).is_null()
        result = result * len(part.texts) + part.numbers(frame[name])
    return pl.select(pl.when(wild).then(-1).otherwise(result).alias("value")).to_series()


def _count_persons(values: pl.Series, members: RecordClasses, table: CountedTable) -> pl.DataFrame:
    if members.people is None:
        return count_pairs(values, members.classes, table)
    # sorted as numbers: to collect the persons of each group takes several times the memory
    width = int(values.max() or 0) + 2  # type: ignore[arg-type]
    pairs = members.classes.to_numpy().astype(np.int64) * width + values.to_numpy() + 1
    used, groups = np.unique(pairs, return_inverse=True)
    persons = members.people.alias("people").rank("dense").fill_null(0).to_numpy().astype(np.int64)
    most = int(persons.max(initial=0)) + 1
    counts = np.bincount(np.unique(groups * most + persons) // most, minlength=len(used))
    return pl.DataFrame({"class": used // width, "value": used % width - 1, "count": counts})


def count_pairs(values: pl.Series, classes: pl.Series, table: CountedTable) -> pl.DataFrame:
    """Count the records of each class and value: in a table of all pairs where that is small, by sorting elsewhere."""
    width = int(values.max() or 0) + 2  # type: ignore[arg-type]
    groups = classes.to_numpy().astype(np.int64)
    pairs = groups * width + values.to_numpy() + 1  # the value -1 may be any
    if width * (int(groups.max(initial=0)) + 1) <= 4 * len(values) + 1_000:
        counts = np.bincount(pairs, table.weights)
        used = np.flatnonzero(counts)
        counts = counts[used]
    else:
        used, indices = np.unique(pairs, return_inverse=True)
        counts = table.count_codes(indices, len(used))
    return pl.DataFrame({"class": used // width, "value": used % width - 1, "count": counts.astype(np.int64)})


@dataclass(frozen=True)
class SensitiveValues:
    """The values of a sensitive column, as texts, numbered."""

    texts: tuple[str, ...]
    ranked: bool
    """Whether they are in their order."""
    paths: tuple[tuple[str, ...], ...] | None
    missing: str

    @classmethod
    def of(cls, published: CountedTable, original: CountedTable | None, name: str, role: Sensitive) -> SensitiveValues:
        """Find the values of a column in the published table, and in the original where that is given."""
        table = published if original is None else original
        source = to_plain(table.frame[name])
        values = source.unique()
        domain = domain_of(_typed(values) if original is None else values)
        shown = _texts(published.frame[name]).unique()
        unknown = sorted({*shown.drop_nulls().to_list()} - {*domain.texts})
        blank = role.missing in ("own-value", "error") and bool(shown.null_count() or values.null_count())
        order = order_texts(domain, role)
        texts = (*(order or domain.texts), *unknown, *([_BLANK] if blank else []))
        ranked = order is not None and not unknown and not blank
        paths = (
            None
            if role.hierarchy is None
            else _paths(table.count_values(source.cast(pl.String), "count"), domain, role, texts)
        )
        return cls(texts, ranked, paths, role.missing)

    def numbers(self, column: pl.Series) -> pl.Series:
        """Return the number of each record's value; one that is missing and no value of its own gets any number."""
        texts = _texts(column).fill_null(_BLANK)
        return texts.cast(pl.Enum(list(self.texts)), strict=False).to_physical().cast(pl.Int64).fill_null(0)


def _paths(held: pl.DataFrame, domain: Domain, role: Sensitive, texts: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the labels of each value, from itself up to below the top; what has none stands alone on every level."""
    counts = dict(held.iter_rows())
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
    return to_plain(column).cast(pl.String).replace("", None)


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

"""count(): the classes of a published table, by GROUP BY over its texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from shoal.auditing.populations import matched
from shoal.auditing.suppression import suppressed_classes
from shoal.auditing.tallies import looked_at, tallies
from shoal.encoding.types import Ints
from shoal.engines.columns import to_texts
from shoal.engines.counted import Times, records_of, value_counts
from shoal.errors import Fault
from shoal.models.base import Census, Tally
from shoal.policy import Policy, Sensitive


@dataclass(frozen=True)
class Counted:
    """The classes of a published table."""

    classes: pl.DataFrame
    """One row per class: its quasi-identifiers as ``q0``, ``q1``, …, and ``records``."""
    census: Census
    is_starred: pl.Series
    """Which class shows ``*`` everywhere, where that means that its records are suppressed."""
    starred: int
    """Records of that class."""
    of_each: pl.Series
    """The class of each record."""
    persons_told: bool = True
    """Whether it is known which records are about one person, where that matters."""


@dataclass(frozen=True)
class Often:
    """How often each record of both tables occurs, where they are tallied."""

    published: Times = None
    original: Times = None

    @property
    def is_tallied(self) -> bool:
        """Whether one of the tables is."""
        return self.published is not None or self.original is not None


def count(
    frame: pl.DataFrame,
    raw: pl.DataFrame | None,
    policy: Policy,
    subjects: object,
    weights: object = None,
    often: Often | None = None,
) -> tuple[Counted, list[Fault]]:
    """Count the classes of a published table, from its texts alone."""
    columns, often = tuple(policy.quasi_identifiers), often or Often()
    people, persons, fault = _persons(frame, raw, policy, subjects, often)
    classes, of_each, census = _census(frame, raw, policy, columns, people, persons, often)
    scenarios = dict.fromkeys(names for model in policy.models for names in model.scenarios(columns))
    known = {names: _census(frame, raw, policy, names, people, persons, often)[2] for names in scenarios}
    given, misfit = _owners(frame, weights, "weights")
    match, uncounted = matched(frame, raw, policy, classes, given)
    census = replace(
        census,
        columns=columns,
        known=known,
        persons=match.persons,
        population=match.population,
        records=_everyone(*((frame, often.published) if raw is None else (raw, often.original)), policy, people),
        uncovered=match.uncovered,
    )
    stars = suppressed_classes(classes, policy)
    starred = int(classes["records"].filter(stars).sum())
    persons_told = policy.subject is None or people is not None
    faults = [found for found in (fault, misfit, uncounted) if found]
    return Counted(classes, census, stars, starred, of_each, persons_told), faults


def _persons(
    frame: pl.DataFrame, raw: pl.DataFrame | None, policy: Policy, subjects: object, often: Often
) -> tuple[pl.Series | None, pl.Expr, Fault | None]:
    """Return the person of each record, how persons are counted, and what stands in the way."""
    if policy.subject is None:
        return None, _RECORDS, None
    people, fault = _subjects(frame, subjects)
    if people is not None:
        return people, pl.col("subject").n_unique(), fault
    if raw is None or policy.subject not in raw.columns:
        return None, _RECORDS, fault
    most = _most_records(raw, policy.subject, often.original)
    fault = None if most == 1 else _AT_LEAST
    if most > 1 and any("values" in model.needs for model in policy.models):
        fault = _NO_PERSONS
    return None, (_RECORDS + most - 1) // most, fault


def _census(
    frame: pl.DataFrame,
    raw: pl.DataFrame | None,
    policy: Policy,
    columns: Sequence[str],
    people: pl.Series | None,
    persons: pl.Expr,
    often: Often,
) -> tuple[pl.DataFrame, pl.Series, Census]:
    """Count the classes that some columns make, and what models look at in them; tell the class of each record."""
    # columns get names of our own: polars reads "*" and "^…$" in a name as a pattern
    keys = [f"q{index}" for index in range(len(columns))]
    table = pl.DataFrame(
        [
            *(texts_of(frame[name]).alias(key) for name, key in zip(columns, keys, strict=True)),
            *([] if people is None else [people.alias("subject")]),
        ]
    ).with_row_index("row")
    table = table.with_columns(pl.lit(1, pl.Int64).alias("times") if often.published is None else often.published)
    classes = table.group_by(keys).agg(_RECORDS.alias("records"), persons.alias("size"), pl.col("row"))
    classes = classes.sort(keys, nulls_last=False)
    sensitive = [name for name in policy.sensitive if name in frame.columns]
    asked = dict.fromkeys([*looked_at(policy), *((name,) for name in sensitive)])
    of_each = _class_of_each(classes, frame.height)
    counted = tallies(frame, raw, policy, of_each, people, asked, often.published, often.original)
    distinct = {name: _distinct(counted[name,], policy.sensitive[name]) for name in sensitive}
    return classes.drop("row"), of_each, Census(classes["size"].cast(pl.Int64).to_numpy(), distinct, counted)


def _class_of_each(classes: pl.DataFrame, records: int) -> pl.Series:
    """Return the class of each record, from the records of each class."""
    numbers = np.zeros(records, np.int64)
    numbers[classes["row"].explode().to_numpy()] = np.repeat(np.arange(classes.height), classes["row"].list.len())
    return pl.Series("class", numbers)


_RECORDS = pl.col("times").sum()


_AT_LEAST = Fault(
    "persons are counted from below: sizes are the least numbers of persons that the original allows",
    hint="for the exact numbers give the person of each published record (subjects)",
    kind="note",
)


_NO_PERSONS = Fault(
    "how many persons have each sensitive value cannot be counted: the subject column is not published",
    hint="give the person of each published record (subjects)",
)


def texts_of(column: pl.Series) -> pl.Series:
    """Return what a column shows; an empty text is a missing value."""
    if column.dtype.is_temporal():  # a cast would write the same moment in as many ways as there are units of time
        return to_texts(column)
    # under a name of our own: polars reads "^…$" in a name as a pattern
    return column.alias("values").cast(pl.String).replace("", None)


def _distinct(tally: Tally, role: Sensitive) -> Ints:
    """Return how many values each class has; a missing one adds to them unless it may be any of them."""
    known = np.bincount(tally.classes, minlength=len(tally.blank)).astype(np.int64)
    some = (tally.blank > 0).astype(np.int64)
    return np.maximum(known, some) if role.missing in ("wildcard", "suppress") else known + some


def _subjects(frame: pl.DataFrame, subjects: object) -> tuple[pl.Series | None, Fault | None]:
    if subjects is None:
        return None, Fault(
            "persons cannot be counted: the subject column is not published",
            hint="give the original table, or the person of each published record (subjects=)",
        )
    return _owners(frame, subjects, "subjects")


def _owners(frame: pl.DataFrame, told: object, what: str) -> tuple[pl.Series | None, Fault | None]:
    """Return what only the owner knows of each published record."""
    if told is None:
        return None, None
    column = told if isinstance(told, pl.Series) else pl.Series(list(told))  # type: ignore[call-overload]
    if len(column) != frame.height:
        return None, Fault(f"{what} do not fit the published table", got=f"{len(column)} for {frame.height} records")
    return column, None


def _everyone(whole: pl.DataFrame, times: Times, policy: Policy, people: pl.Series | None) -> int:
    """Return how many persons (or records) the table has as a whole."""
    if policy.subject is None:
        return records_of(whole, times)
    if policy.subject in whole.columns:
        return whole[policy.subject].n_unique()
    return records_of(whole, times) if people is None else people.n_unique()


def _most_records(raw: pl.DataFrame, subject: str, times: Times) -> int:
    highest = value_counts(raw[subject], times, "records")["records"].max()
    return int(highest) if isinstance(highest, int) else 1

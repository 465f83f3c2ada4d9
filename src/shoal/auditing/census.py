"""count(): the classes of a published table, by GROUP BY over its texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from shoal.auditing.populations import matched
from shoal.auditing.tallies import tallies
from shoal.domains import STAR
from shoal.errors import Fault
from shoal.models.base import Census
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


def count(
    frame: pl.DataFrame, raw: pl.DataFrame | None, policy: Policy, subjects: object, weights: object = None
) -> tuple[Counted, list[Fault]]:
    """Count the classes of a published table, from its texts alone."""
    columns = tuple(policy.quasi_identifiers)
    people, persons, fault = _persons(frame, raw, policy, subjects)
    classes, census = _census(frame, raw, policy, columns, people, persons)
    scenarios = dict.fromkeys(names for model in policy.models for names in model.scenarios(columns))
    known = {names: _census(frame, raw, policy, names, people, persons)[1] for names in scenarios}
    given, misfit = _owners(frame, weights, "weights")
    match, uncounted = matched(frame, raw, policy, classes, given)
    census = replace(
        census,
        columns=columns,
        known=known,
        persons=match.persons,
        population=match.population,
        records=_everyone(frame if raw is None else raw, policy, people),
        uncovered=match.uncovered,
    )
    keys = [f"q{place}" for place in range(len(columns))]
    stars = classes.select(pl.all_horizontal((pl.col(key) == STAR).fill_null(False) for key in keys)).to_series()
    if classes.height == 1:
        # every record shows the same: none was singled out
        stars = pl.Series(np.zeros(1, bool))
    starred = int(classes["records"].filter(stars).sum())
    return Counted(classes, census, stars, starred), [found for found in (fault, misfit, uncounted) if found]


def _persons(
    frame: pl.DataFrame, raw: pl.DataFrame | None, policy: Policy, subjects: object
) -> tuple[pl.Series | None, pl.Expr, Fault | None]:
    """Return the person of each record, how persons are counted, and what stands in the way."""
    if policy.subject is None:
        return None, pl.len(), None
    people, fault = _subjects(frame, subjects)
    if people is not None:
        return people, pl.col("subject").n_unique(), fault
    if raw is None or policy.subject not in raw.columns:
        return None, pl.len(), fault
    most = _most_records(raw, policy.subject)
    fault = None if most == 1 else _AT_LEAST
    if most > 1 and any("values" in model.needs for model in policy.models):
        fault = _NO_PERSONS
    return None, (pl.len() + most - 1) // most, fault


def _census(
    frame: pl.DataFrame,
    raw: pl.DataFrame | None,
    policy: Policy,
    columns: Sequence[str],
    people: pl.Series | None,
    persons: pl.Expr,
) -> tuple[pl.DataFrame, Census]:
    """Count the classes that some columns make, and what models look at in them."""
    # columns get names of our own: polars reads "*" and "^…$" in a name as a pattern
    keys = [f"q{place}" for place in range(len(columns))]
    sensitive = {name: f"s{place}" for place, name in enumerate(policy.sensitive) if name in frame.columns}
    table = pl.DataFrame(
        [
            *(texts_of(frame[name]).alias(key) for name, key in zip(columns, keys, strict=True)),
            *(_plain(frame[name]).alias(key) for name, key in sensitive.items()),
            *([] if people is None else [people.alias("subject")]),
        ]
    )
    values = [_distinct(key, policy.sensitive[name]).alias(f"values {key}") for name, key in sensitive.items()]
    classes = table.group_by(keys).agg(pl.len().alias("records"), persons.alias("size"), *values)
    classes = classes.sort(keys, nulls_last=False)
    counted = {}
    if any("values" in model.needs for model in policy.models):
        numbered = classes.select(keys).with_row_index("class")
        numbers = table.select(keys).join(numbered, on=keys, how="left", nulls_equal=True, maintain_order="left")
        counted = tallies(frame, raw, policy, numbers["class"], people)
    distinct = {name: classes[f"values {key}"].cast(pl.Int64).to_numpy() for name, key in sensitive.items()}
    return classes, Census(classes["size"].cast(pl.Int64).to_numpy(), distinct, counted)


_AT_LEAST = Fault(
    "persons are counted from below: sizes are the least numbers of persons that the original allows",
    hint="for the exact numbers give the person of each published record (subjects)",
    kind="note",
)


_NO_PERSONS = Fault(
    "how many persons have each sensitive value cannot be counted: the subject column is not published",
    hint="give the person of each published record (subjects)",
)


def _plain(column: pl.Series) -> pl.Series:
    """An empty text and a number that is none are missing values, as they are for the search."""
    column = column.alias("values")
    if column.dtype == pl.String or isinstance(column.dtype, (pl.Categorical, pl.Enum)):
        return texts_of(column)
    return column.fill_nan(None) if column.dtype.is_float() else column


def texts_of(column: pl.Series) -> pl.Series:
    """Return what a column shows; an empty text is a missing value."""
    # under a name of our own: polars reads "^…$" in a name as a pattern
    return column.alias("values").cast(pl.String).replace("", None)


def _distinct(key: str, role: Sensitive) -> pl.Expr:
    column = pl.col(key)
    if role.missing != "wildcard":
        return column.n_unique()
    known = column.drop_nulls().n_unique()
    return pl.max_horizontal(known, column.is_null().any().cast(pl.UInt32))


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


def _everyone(whole: pl.DataFrame, policy: Policy, people: pl.Series | None) -> int:
    """Return how many persons (or records) the table has as a whole."""
    if policy.subject is None:
        return whole.height
    if policy.subject in whole.columns:
        return whole[policy.subject].n_unique()
    return whole.height if people is None else people.n_unique()


def _most_records(raw: pl.DataFrame, subject: str) -> int:
    highest = raw[subject].alias("subject").value_counts(name="records")["records"].max()
    return int(highest) if isinstance(highest, int) else 1

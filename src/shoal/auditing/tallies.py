"""tallies(): how often each sensitive value occurs in each published class, and in the whole table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from shoal.domains import STAR, Domain
from shoal.errors import ShoalError
from shoal.hierarchies.ordering import Ordering
from shoal.models.base import PrivacyModel, Tally
from shoal.policy import Policy, Sensitive
from shoal.tables.columns import domain_of, kind_of, plain

_BLANK = "\0missing"
"""Stands for a missing value that is a value of its own; no published text holds the sign."""


def tallies(
    frame: pl.DataFrame, raw: pl.DataFrame | None, policy: Policy, classes: pl.Series, people: pl.Series | None
) -> dict[tuple[str, ...], Tally]:
    """Count the values of the columns that each model looks at together.

    ``classes`` is the class of each published record, ``people`` its person where persons are counted.
    """
    asked = dict.fromkeys(columns for model in policy.models if (columns := _counted(model)))
    known = {name: Values.of(frame, raw, name, policy.sensitive[name]) for columns in asked for name in columns}
    whole, everyone = (frame, people) if raw is None else (raw, raw[policy.subject] if policy.subject else None)
    found = {}
    for columns in asked:
        parts = [known[name] for name in columns]
        published = _persons(_numbers(frame, columns, parts), people, classes)
        lost = _lost(whole, columns, parts)
        rest = None if everyone is None else everyone.filter(~lost)
        table = _numbers(whole, columns, parts).filter(~lost)
        found[columns] = _tally(published, _persons(table, rest, None), classes.n_unique(), parts)
        persons = len(table) if rest is None else rest.n_unique()
        found[columns] = replace(found[columns], table_persons=persons, lost=bool(lost.any()))
    return found


def _counted(model: PrivacyModel) -> tuple[str, ...]:
    return model.sensitive_columns if "values" in model.needs else ()


def _tally(published: pl.DataFrame, table: pl.DataFrame, count: int, parts: Sequence[Values]) -> Tally:
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
        0,
        ranked=len(parts) == 1 and parts[0].ranked,
        paths=parts[0].paths if len(parts) == 1 else None,
    )


def _lost(whole: pl.DataFrame, columns: Sequence[str], parts: Sequence[Values]) -> pl.Series:
    """Return the records whose missing value keeps them out of every class."""
    lost = pl.Series(np.zeros(whole.height, bool))
    for name, part in zip(columns, parts, strict=True):
        if part.missing == "suppress":
            lost |= plain(whole[name]).is_null()
    return lost


def _numbers(frame: pl.DataFrame, columns: Sequence[str], parts: Sequence[Values]) -> pl.Series:
    """Return the value of each record; -1 may be any."""
    result, wild = pl.Series(np.zeros(frame.height, np.int64)), pl.Series(np.zeros(frame.height, bool))
    for name, part in zip(columns, parts, strict=True):
        if part.missing in ("wildcard", "suppress"):
            wild |= plain(frame[name]).is_null()
        result = result * len(part.texts) + part.numbers(frame[name])
    return pl.select(pl.when(wild).then(-1).otherwise(result).alias("value")).to_series()


def _persons(values: pl.Series, people: pl.Series | None, classes: pl.Series | None) -> pl.DataFrame:
    """Count the persons (or records) of each class and value."""
    table = pl.DataFrame([values, *([] if classes is None else [classes.alias("class")])])
    counted = pl.len()
    if people is not None:
        table, counted = table.with_columns(people.alias("subject")), pl.col("subject").n_unique()
    keys = ["value"] if classes is None else ["class", "value"]
    return table.group_by(keys).agg(counted.cast(pl.Int64).alias("count")).sort(keys)


@dataclass(frozen=True)
class Values:
    """The values of a sensitive column, as texts, numbered."""

    texts: tuple[str, ...]
    ranked: bool
    """Whether they are in their order."""
    paths: tuple[tuple[str, ...], ...] | None
    missing: str

    @classmethod
    def of(cls, frame: pl.DataFrame, raw: pl.DataFrame | None, name: str, role: Sensitive) -> Values:
        """Find the values of a column in the published table, and in the original where that is given."""
        source = _typed(frame[name]) if raw is None else plain(raw[name])
        domain = domain_of(source)
        published = _texts(frame[name])
        unknown = sorted({*published.drop_nulls().unique().to_list()} - {*domain.texts})
        blank = role.missing in ("own-value", "error") and bool(published.null_count() or source.null_count())
        order = _order(domain, role)
        texts = (*(order or domain.texts), *unknown, *([_BLANK] if blank else []))
        ranked = order is not None and not unknown and not blank
        paths = None if role.hierarchy is None else _paths(source, domain, role, texts)
        return cls(texts, ranked, paths, role.missing)

    def numbers(self, column: pl.Series) -> pl.Series:
        """Return the number of each record's value; one that is missing and no value of its own gets any number."""
        places = {text: number for number, text in enumerate(self.texts)}
        texts = _texts(column).fill_null(_BLANK)
        return texts.replace_strict(places, default=0, return_dtype=pl.Int64)


def _order(domain: Domain, role: Sensitive) -> tuple[str, ...] | None:
    if isinstance(role.hierarchy, Ordering) and role.hierarchy.order:
        present = {*domain.texts}
        return tuple(text for text in role.hierarchy.order if text in present)
    return domain.texts if domain.ordered else None


def _paths(source: pl.Series, domain: Domain, role: Sensitive, texts: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the labels of each value, from itself up to below the top; what has none stands alone on every level."""
    counts = dict(source.cast(pl.String).alias("values").drop_nulls().value_counts(name="count").iter_rows())
    records = np.array([counts[text] for text in domain.texts], np.int64)
    assert role.hierarchy is not None
    try:
        steps = list(role.hierarchy.steps(replace(domain, counts=records))) if len(domain) else []
    except ShoalError:  # published texts that the hierarchy does not know
        steps = []
    steps = [step for step in steps if step.names != (STAR,)]
    labels = list(zip(domain.texts, *(step.labels for step in steps), strict=True))
    known = {path[0]: path for path in labels}
    return tuple(known.get(text, (text,) * (len(steps) + 1)) for text in texts)


def _texts(column: pl.Series) -> pl.Series:
    return plain(column).cast(pl.String).replace("", None)


def _typed(column: pl.Series) -> pl.Series:
    """Return texts of a file as the numbers or dates that they are, if every one of them is."""
    column = plain(column)
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

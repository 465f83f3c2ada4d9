"""The population that a table was drawn from, as numbers; and what is wrong with it, before a search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import ROUND_FLOOR, Decimal

import numpy as np
import polars as pl

from shoal.encoding.types import Ints
from shoal.engines.columns import codes_of, population_column, population_frame, to_plain
from shoal.engines.counted import COUNTS
from shoal.engines.dictionary import TableDictionary
from shoal.errors import Fault, TableError, examples, nearest
from shoal.frequencies.populations import Population, Survey
from shoal.kernels.group import group
from shoal.policy import Policy
from shoal.recodings.base import Column

_PARTS = 10**6
"""A survey's weights are counted in parts of so many of a person, rounded down."""


def counts_by_weight(policy: Policy) -> bool:
    """Return whether models count persons by the weights of a survey."""
    return policy.survey_weight is not None and policy.population is None


def encode_population(words: TableDictionary, columns: Sequence[Column]) -> Population | None:
    """Return the population in the codes of the table; records with a value that these do not have are left out."""
    people = words.policy.population
    if people is None:
        return None
    codes, known = [], np.ones(population_frame(people).height, bool)
    for column in columns:
        domain = column.levels.domain.take(column.levels.position.astype(np.intp))  # in its natural order
        values = population_column(people, column.name, words.values(column.name).dtype)
        held = codes_of(values, domain)
        known &= (held < len(domain)) | column.levels.has_missing
        codes.append(np.append(column.levels.position, len(domain))[held])
    codes = [held[known] for held in codes]
    numbers, rows = group(codes, [column.levels.size for column in columns])
    tuples = np.stack([held[rows] for held in codes], axis=1).astype(np.int32)
    return Population(tuples, np.bincount(numbers, minlength=len(rows)).astype(np.int64))


def encode_survey(words: TableDictionary, index: int) -> tuple[Survey, Ints]:
    """Return the weights of a survey, and the code of each record's weight."""
    assert words.policy.survey_weight is not None
    values = words.values(words.policy.survey_weight)
    domain = words.occurring(words.policy.survey_weight)
    amounts = [int((Decimal(text) * _PARTS).to_integral_value(ROUND_FLOOR)) for text in domain.texts]
    return Survey(index, np.array(amounts, np.int64), _PARTS), codes_of(values, domain)


def unread_population_faults(policy: Policy) -> Iterator[Fault]:
    """Yield why the population's table cannot be read."""
    try:
        _ = None if policy.population is None else population_frame(policy.population)
    except TableError as error:
        yield from (Fault(fault.what, f"population, {fault.where}", fault.got, fault.hint) for fault in error.faults)


def population_faults(words: TableDictionary) -> Iterator[Fault]:
    """Yield what is wrong with the population, or with the weights of a survey."""
    policy, frame = words.policy, words.table.frame
    if policy.population is not None:
        yield from _misfits(words, population_frame(policy.population))
    if policy.survey_weight is not None and policy.survey_weight in frame.columns:
        yield from _survey_faults(words, policy.survey_weight)


def _misfits(words: TableDictionary, people: pl.DataFrame) -> Iterator[Fault]:
    """Yield columns and values that the population lacks; where it has all of them, combinations."""
    policy = words.policy
    assert policy.population is not None
    names = [name for name in policy.quasi_identifiers if name in words.table.frame.columns]
    own: list[pl.Series] = []
    theirs: list[pl.Series] = []
    whole = True
    for name in names:
        where = f"population.{name}"
        if name not in people.columns:
            yield Fault("no such column in the population", where, hint=nearest(name, people.columns))
            whole = False
            continue
        try:
            values = words.values(name)
        except TableError:  # told already
            whole = False
            continue
        try:
            others = population_column(policy.population, name, values.dtype)
            unread = to_plain(people[name]).filter(others.is_null() & to_plain(people[name]).is_not_null())
        except TableError as error:
            yield replace(error.faults[0], where=where, hint="")
            whole = False
            continue
        if len(unread):
            got = examples(unread.unique().sort().cast(pl.String).to_list())
            yield Fault("values of the population that the column of the table cannot hold", where, got)
        lacking = sorted({*values.drop_nulls().unique().to_list()} - {*others.drop_nulls().unique().to_list()})
        if lacking:
            hint = "the table must be a part of its population"
            yield Fault("values of the table that the population lacks", where, examples(map(str, lacking)), hint)
        whole &= not lacking
        own.append(values.alias(str(len(own))))
        theirs.append(others.alias(str(len(theirs))))
    if whole:
        yield from _combinations(pl.DataFrame(own), pl.DataFrame(theirs), words)


def _combinations(own: pl.DataFrame, theirs: pl.DataFrame, words: TableDictionary) -> Iterator[Fault]:
    """Yield that some combinations occur more often in the table than in its population."""
    table, subject = words.table, words.policy.subject
    keys, persons = own.columns, pl.col(COUNTS).sum()
    own = own.with_columns(pl.Series(COUNTS, table.record_counts))
    if subject is not None and subject in table.frame.columns:
        own, persons = own.with_columns(table.frame[subject].alias("subject")), pl.col("subject").n_unique()
    complete = own.drop_nulls(keys)  # whom a missing value matches is not told
    counted = complete.group_by(keys).agg(persons.alias("here"))
    there = theirs.group_by(keys).agg(pl.len().alias("there"))
    joined = counted.join(there, on=keys, how="left").with_columns(pl.col("there").fill_null(0))
    lacking = joined.filter(pl.col("here") > pl.col("there")).sort(keys)
    if lacking.height:
        shown = [", ".join(str(value) for value in row) for row in lacking.select(keys).head(6).iter_rows()]
        more = f" and {lacking.height - 5} more" if lacking.height > 5 else ""
        yield Fault(
            "combinations that occur more often in the table than in the population",
            "population",
            "; ".join(f"({text})" for text in shown[:5]) + more,
            "the table must be a part of its population",
        )


def _survey_faults(words: TableDictionary, name: str) -> Iterator[Fault]:
    try:
        column = words.values(name)
    except TableError as error:
        yield replace(error.faults[0], where="survey_weight", hint="")
        return
    if not column.dtype.is_numeric():
        got = examples(column.drop_nulls().unique().sort().cast(pl.String).to_list())
        yield Fault("weights of a survey must be numbers", "survey_weight", got)
    elif column.null_count() or not bool((column >= 1).all()):
        bad = column.filter(column.is_null() | (column < 1)).unique().sort()
        hint = "a record stands for one person at least"
        yield Fault("weights of a survey must be at least 1", "survey_weight", examples(bad.to_list()), hint)

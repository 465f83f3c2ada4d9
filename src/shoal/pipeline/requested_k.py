"""Requested k: how many persons each person wants to be among, read from a column that is never published."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from shoal.encoding.types import Bools, Ints
from shoal.engines.columns import to_plain
from shoal.engines.counted import CountedTable
from shoal.engines.dictionary import TableDictionary
from shoal.errors import Fault, TableError, examples
from shoal.models.base import RequestedK


def read_requested_k(frame: pl.DataFrame, request: RequestedK) -> Ints:
    """Return what each record is to be promised: what it asks for, up to the most; the default where it says nothing.

    Examples
    --------
    >>> read_requested_k(pl.DataFrame({"own": [3, None, 2.0]}, strict=False), RequestedK("own", default=5))
    array([3, 5, 2])
    """
    numbers = _numbers(to_plain(frame[request.column]))
    numbers = numbers if request.default is None else numbers.fill_null(request.default)
    requested_k = numbers.to_numpy().astype(np.int64)
    return requested_k if request.most is None else np.minimum(requested_k, request.most)


def _numbers(column: pl.Series) -> pl.Series:
    """Return whole numbers from 1 as such; whatever else is there is missing."""
    numbers = column.cast(pl.Float64, strict=False) if column.dtype == pl.String else column
    if not numbers.dtype.is_numeric():
        return pl.Series([None] * len(column), dtype=pl.Int64)
    whole = numbers.cast(pl.Int64, strict=False)
    return whole.set(((whole != numbers) | (whole < 1)).fill_null(True), None)


def find_unservable(requested_k: Ints, subjects: Ints | None, record_counts: Ints) -> Bools:
    """Return the records that ask for more persons than there are, even if all who can be served are in one class.

    Examples
    --------
    >>> asked = np.array([1, 2, 4, 9])  # without the last, three are left, and one of them asks for four
    >>> find_unservable(asked, None, np.ones(4, np.int64))
    array([False, False,  True,  True])
    """
    out = np.zeros(len(requested_k), bool)
    while True:
        left = ~out
        persons = int(record_counts[left].sum()) if subjects is None else len(np.unique(subjects[left]))
        more = left & (requested_k > persons)
        if not more.any():
            return out
        out |= more


def requested_k_faults(words: TableDictionary, request: RequestedK, where: str) -> Iterator[Fault]:
    """Yield what is wrong with what persons ask for: no number, none at all, two of one person, more than can be."""
    where, table, subject = f"{where}.on", words.table, words.policy.subject
    try:
        column = words.values(request.column)
        people = None if subject is None else words.values(subject)
    except (TableError, pl.exceptions.ColumnNotFoundError) as error:
        yield Fault("values of this type are no numbers of persons", where, str(error))
        return
    numbers = _numbers(column)
    wrong = numbers.is_null() & column.is_not_null()
    if wrong.any():
        got = f"{examples(column.filter(wrong).unique().sort().to_list())} in {_name_records(wrong, table)}"
        yield Fault("must hold whole numbers from 1", where, got)
    absent = column.is_null() if request.default is None else wrong
    if request.default is None and absent.any():
        hint = "give a default to the model, or the k of each person"
        yield Fault("no k is given", where, _name_records(absent, table), hint)
    if wrong.any() or absent.any() or not table.frame.height:
        return
    requested_k = read_requested_k(table.frame, request)
    if people is not None:
        yield from _of_two_minds(requested_k, people, where)
    yield from _more_than_there_are(requested_k, people, words, where)


def _name_records(which: pl.Series, table: CountedTable) -> str:
    """Name records by their numbers, the first is 1; where they were counted, say how many they are."""
    if table.is_counted:
        return f"{table.count_where(which):,} records"
    indices = which.arg_true().to_list()
    shown = ", ".join(str(index + 1) for index in indices[:5])
    more = f" and {len(indices) - 5} more" if len(indices) > 5 else ""
    return f"record{'s' if len(indices) > 1 else ''} {shown}{more}"


def _of_two_minds(requested_k: Ints, people: pl.Series, where: str) -> Iterator[Fault]:
    table = pl.DataFrame([people.alias("person"), pl.Series("ask", requested_k)])
    differing = table.group_by("person").agg(pl.col("ask").n_unique()).filter(pl.col("ask") > 1).height
    if differing:
        hint = "give all records of a person the same"
        yield Fault("persons ask for different k in their records", where, f"{differing} persons", hint)


def _more_than_there_are(
    requested_k: Ints, people: pl.Series | None, words: TableDictionary, where: str
) -> Iterator[Fault]:
    table, policy = words.table, words.policy
    subjects = None if people is None else people.alias("people").rank("dense").fill_null(0).to_numpy().astype(np.int64)
    out = find_unservable(requested_k, subjects, table.record_counts)
    if not out.any():
        return
    persons = table.records if people is None else people.n_unique()
    records = table.count_where(pl.Series(out))
    yield Fault(
        "these can only be suppressed: they ask to be among more persons than there are",
        where,
        f"{records} records that ask for up to {requested_k[out].max()} of {persons}",
        f"promise at most {persons} (most), or let them be suppressed (max_suppressed)",
        "warning" if records <= policy.may_suppress(table.records) else "infeasible",
    )

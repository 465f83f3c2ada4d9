"""Asks: how many persons each person wants to be among, read from a column that is never published."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from shoal.encoding.types import Bools, Ints
from shoal.engines.columns import plain
from shoal.errors import Fault, TableError, examples
from shoal.models.personal_k import PersonalK
from shoal.policy import Policy


def read_requested_k(frame: pl.DataFrame, model: PersonalK) -> Ints:
    """Return what each record is to be promised: what it asks for, up to the most; the default where it says nothing.

    Examples
    --------
    >>> from shoal.models import PersonalK
    >>> read_requested_k(pl.DataFrame({"own": [3, None, 2.0]}, strict=False), PersonalK(on="own", default=5))
    array([3, 5, 2])
    """
    numbers = _numbers(plain(frame[model.on]))
    numbers = numbers if model.default is None else numbers.fill_null(model.default)
    requested_k = numbers.to_numpy().astype(np.int64)
    return requested_k if model.most is None else np.minimum(requested_k, model.most)


def _numbers(column: pl.Series) -> pl.Series:
    """Return whole numbers from 1 as such; whatever else is there is missing."""
    numbers = column.cast(pl.Float64, strict=False) if column.dtype == pl.String else column
    if not numbers.dtype.is_numeric():
        return pl.Series([None] * len(column), dtype=pl.Int64)
    whole = numbers.cast(pl.Int64, strict=False)
    return whole.set(((whole != numbers) | (whole < 1)).fill_null(True), None)


def too_much(requested_k: Ints, subjects: Ints | None) -> Bools:
    """Return the records that ask for more persons than there are, even if all who can be served are in one class.

    Examples
    --------
    >>> too_much(np.array([1, 2, 4, 9]), None)  # without the last, three are left, and one of them requested_k for four
    array([False, False,  True,  True])
    """
    out = np.zeros(len(requested_k), bool)
    while True:
        left = ~out
        persons = int(left.sum()) if subjects is None else len(np.unique(subjects[left]))
        more = left & (requested_k > persons)
        if not more.any():
            return out
        out |= more


def ask_faults(frame: pl.DataFrame, model: PersonalK, policy: Policy, where: str) -> Iterator[Fault]:
    """Yield what is wrong with what persons ask for: no number, none at all, two of one person, more than can be."""
    where = f"{where}.on"
    try:
        column = plain(frame[model.on])
        people = None if policy.subject is None else plain(frame[policy.subject])
    except (TableError, pl.exceptions.ColumnNotFoundError) as error:
        yield Fault("values of this type are no numbers of persons", where, str(error))
        return
    numbers = _numbers(column)
    wrong = numbers.is_null() & column.is_not_null()
    if wrong.any():
        got = f"{examples(column.filter(wrong).unique().sort().to_list())} in {_records(wrong)}"
        yield Fault("must hold whole numbers from 1", where, got)
    absent = column.is_null() if model.default is None else wrong
    if model.default is None and absent.any():
        hint = "give a default to the model, or the k of each person"
        yield Fault("no k is given", where, _records(absent), hint)
    if wrong.any() or absent.any() or not frame.height:
        return
    if people is not None:
        yield from _of_two_minds(read_requested_k(frame, model), people, where)
    yield from _more_than_there_are(read_requested_k(frame, model), people, policy, where)


def _records(which: pl.Series) -> str:
    """Name records by their numbers, the first is 1."""
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


def _more_than_there_are(requested_k: Ints, people: pl.Series | None, policy: Policy, where: str) -> Iterator[Fault]:
    subjects = None if people is None else people.rank("dense").fill_null(0).to_numpy().astype(np.int64)
    out = too_much(requested_k, subjects)
    if not out.any():
        return
    persons = len(requested_k) if people is None else people.n_unique()
    enough = int(out.sum()) <= policy.may_suppress(len(requested_k))
    yield Fault(
        "these can only be suppressed: they ask to be among more persons than there are",
        where,
        f"{int(out.sum())} records that ask for up to {requested_k[out].max()} of {persons}",
        f"promise at most {persons} (most), or let them be suppressed (max_suppressed)",
        "warning" if enough else "infeasible",
    )

"""Identifiers that repeat: whom a record is about must then be said, or a class may be one person, many times."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from shoal.engines.columns import to_texts
from shoal.engines.counted import CountedTable
from shoal.errors import Fault, examples
from shoal.policy import Policy
from shoal.policy.policy import NO_SUBJECT


def find_repeating_identifiers(table: CountedTable, policy: Policy) -> list[str]:
    """Return the identifiers of which some value stands in several records."""
    if policy.declared_subject is not None:
        return []
    return [name for name in policy.identifiers if name in table.frame.columns and _repeats(table, table.frame[name])]


def _repeats(table: CountedTable, column: pl.Series) -> bool:
    values = column.alias("values").drop_nulls()
    if len(values) and not table.is_counted and values.dtype.is_integer():
        return values.n_unique() < len(values)
    held = table.count_values(to_texts(column).replace("", None), "records").drop_nulls()["records"]
    return bool((held > 1).any())


def repeats_faults(repeating: Sequence[str]) -> list[Fault]:
    """Return a fault where identifiers repeat and nothing says whom a record is about."""
    if not repeating:
        return []
    what = "an identifier repeats, and nothing says whom a record is about: a class may be one person, many times"
    hint = (
        f"say subject: {repeating[0]} if that column tells persons apart, or subject: {NO_SUBJECT} if each record is "
        "about another person"
    )
    return [Fault(what, "subject", examples(repeating), hint)]

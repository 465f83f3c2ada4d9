"""add_form(): a generalized table in the form that the policy asks for; and what stands in the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl

from shoal.engines.columns import codes_of
from shoal.engines.dictionary import TableDictionary
from shoal.errors import Fault, TableError
from shoal.pipeline.anatomy import find_largest_l
from shoal.pipeline.class_statistics import tabulate_classes
from shoal.pipeline.ends import add_ends, list_ended_columns
from shoal.pipeline.publish import Published
from shoal.policy.outputs import Anatomy, Statistics, least_class
from shoal.policy.published_columns import published_columns

_SECRET = 2**64
"""A seed below this could be guessed."""


def add_form(published: Published, words: TableDictionary) -> Published:
    """Return a generalized table with what its form adds: ends, numbers of classes, a table of statistics."""
    frame, policy = add_ends(published.table.frame, words), words.policy
    if not isinstance(policy.output, Statistics):
        return replace(published, table=published.table.with_frame(frame))
    statistics = tabulate_classes(published, words)
    numbers = published.classes.cast(pl.Int64).alias(policy.output.number)
    table = published.table.with_frame(frame.hstack([numbers]))
    return replace(published, table=table, companions={"statistics": statistics})


def output_faults(words: TableDictionary) -> Iterator[Fault]:
    """Yield what keeps a table from being released in a form, and what the form tells."""
    policy = words.policy
    yield from _names(words)
    if isinstance(policy.output, Statistics):
        least = least_class(policy)
        which = "are those numbers" if least == 2 else "and their range are often those numbers"
        yield Fault(
            f"mean and variance of {least} numbers {which}",
            "output",
            "statistics",
            "choose it only where the values of a class may be known, without who has which; a larger k helps little",
            "warning",
        )
    if isinstance(policy.output, Anatomy):
        yield from _anatomy(words)


def _names(words: TableDictionary) -> Iterator[Fault]:
    policy = words.policy
    shown = published_columns(words.table.frame.columns, policy)
    added = [] if policy.output.numbered is None else [policy.output.numbered]
    try:
        added += [f"{name}.{end}" for name in list_ended_columns(words) for end in ("low", "high")]
    except TableError:  # told already
        return
    for name in added:
        if name in shown or added.count(name) > 1:
            hint = "rename it, or say output: {number: …}" if name == policy.output.numbered else "rename it"
            yield Fault("the release would have two columns of that name", "output", repr(name), hint)


def _anatomy(words: TableDictionary) -> Iterator[Fault]:
    table, policy = words.table, words.policy
    yield Fault(
        "anatomy protects the link to the sensitive value only: quasi-identifiers are published as they are, and "
        "k-anonymity is not claimed",
        "output",
        hint="generalized hides who is in the table too",
        kind="warning",
    )
    if policy.seed < _SECRET:
        hint = "draw a secret one: python -c 'import secrets; print(secrets.randbits(128))'"
        what = "can be guessed; in a small table, groups can then be drawn again for every guess at its values"
        yield Fault(what, "seed", str(policy.seed), hint, "warning")
    (on,), asked = policy.sensitive, policy.models[0].asked
    if on not in table.frame.columns or not table.frame.height:
        return
    try:
        codes = codes_of(words.values(on), words.occurring(on))
    except TableError:  # told already
        return
    best = find_largest_l(np.repeat(codes, table.record_counts))
    if asked > best:
        got = f"l = {asked}, at most {best} is possible"
        hint = "no value may have more than 1/l of the records"
        yield Fault("a sensitive value is too frequent for anatomy", "models[0].l", got, hint, "infeasible")

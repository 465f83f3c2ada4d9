"""formed(): a generalized table in the form that the policy asks for; and what stands in the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import polars as pl

from shoal.engines.columns import codes_of, domain_of, plain
from shoal.errors import Fault, TableError
from shoal.pipeline.anatomy_groups import most_diverse
from shoal.pipeline.class_statistics import class_statistics
from shoal.pipeline.ends import ended_columns, with_ends
from shoal.pipeline.publish import Applied, published_columns
from shoal.policy import Policy
from shoal.policy.outputs import Anatomy, Statistics, least_class

_SECRET = 2**64
"""A seed below this could be guessed."""


@dataclass(frozen=True)
class Formed:
    """The tables of a release."""

    frame: pl.DataFrame
    parts: dict[str, pl.DataFrame] = field(default_factory=dict)
    """The name of a second table, and that table."""


def formed(applied: Applied, raw: pl.DataFrame, policy: Policy) -> Formed:
    """Return a generalized table with what its form adds."""
    frame = with_ends(applied.frame, raw, policy)
    if not isinstance(policy.output, Statistics):
        return Formed(frame)
    statistics = class_statistics(applied.frame, applied.classes, applied.rows, raw, policy)
    numbers = applied.classes.cast(pl.Int64).alias(policy.output.number)
    return Formed(frame.hstack([numbers]), {"statistics": statistics})


def output_faults(frame: pl.DataFrame, policy: Policy) -> Iterator[Fault]:
    """Yield what keeps a table from being released in a form, and what the form tells."""
    yield from _names(frame, policy)
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
        yield from _anatomy(frame, policy)


def _names(frame: pl.DataFrame, policy: Policy) -> Iterator[Fault]:
    """Yield columns of the release that would have the same name."""
    shown = published_columns(frame, policy)
    added = [] if policy.output.numbered is None else [policy.output.numbered]
    try:
        added += [f"{name}.{end}" for name in ended_columns(frame, policy) for end in ("low", "high")]
    except TableError:  # told already
        return
    for name in added:
        if name in shown or added.count(name) > 1:
            hint = "rename it, or say output: {number: …}" if name == policy.output.numbered else "rename it"
            yield Fault("the release would have two columns of that name", "output", repr(name), hint)


def _anatomy(frame: pl.DataFrame, policy: Policy) -> Iterator[Fault]:
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
    if on not in frame.columns or not frame.height:
        return
    try:
        values = plain(frame[on])
    except TableError:  # told already
        return
    best = most_diverse(codes_of(values, domain_of(values)))
    if asked > best:
        got = f"l = {asked}, at most {best} is possible"
        hint = "no value may have more than 1/l of the records"
        yield Fault("a sensitive value is too frequent for anatomy", "models[0].l", got, hint, "infeasible")

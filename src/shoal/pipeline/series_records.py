"""What the ways to follow earlier releases share: the persons, some of the records as numbers, and their order."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from shoal.auditing import OwnerView
from shoal.engines.columns import to_plain
from shoal.engines.series import PERSON, SeriesState
from shoal.errors import Fault, Infeasible
from shoal.pipeline.encode import BlockShare, Encoded, encode
from shoal.pipeline.prepare import Prepared
from shoal.pipeline.publish import Published, publish
from shoal.pipeline.solve import Solution
from shoal.pipeline.verify import Claims
from shoal.policy import Policy


@dataclass(frozen=True, kw_only=True)
class SeriesRecoding:
    """What is told of how a release of a series was made: its number and its counts."""

    number: int
    way: str
    counts: dict[str, int] = field(default_factory=dict)
    proof: None = None
    rounds: tuple[()] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return what the manifest and the audit tell."""
        return {"recoding": "local", "series": {"number": self.number, "way": self.way, **self.counts}}


@dataclass(frozen=True, kw_only=True)
class NextRelease:
    """What is published next, and what the owner keeps of it."""

    published: Published
    claims: Claims
    state: SeriesState


def name_persons(prepared: Prepared) -> pl.Series:
    """Return the person of each record as a text; each has one record (:mod:`shoal.pipeline.series_fit`)."""
    subject = prepared.policy.subject
    assert subject is not None
    return to_plain(prepared.words.table.frame[subject]).cast(pl.String).alias(PERSON)


def encode_some(prepared: Prepared, rows: pl.Series, allowed: int) -> tuple[Prepared, Encoded]:
    """Return some of the records of a table, prepared and as numbers; so many of them may be suppressed."""
    words = prepared.words.restrict(rows)
    some = replace(prepared, words=words, named=prepared.named.with_frame(prepared.named.frame[rows]))
    whole = encode(prepared.words).frequencies
    return some, replace(encode(words), part=BlockShare(whole=whole, allowed=allowed))


def publish_some(some: Prepared, rows: pl.Series, solution: Solution) -> Published:
    """Return what is published of some of the records, which are known by their places in the whole table."""
    published = publish(some.named, some.policy, solution.encoded, solution.publication)
    return replace(published, owner=replace(published.owner, rows=rows.gather(published.rows)))


def order_records(frame: pl.DataFrame, rows: pl.Series) -> tuple[pl.DataFrame, pl.Series]:
    """Return records in the order of what they show, with the original record of each."""
    keys = [str(index) for index in range(frame.width)]  # polars reads "*" and "^…$" in a name as a pattern
    named = pl.DataFrame([to_plain(column).alias(key) for key, column in zip(keys, frame, strict=True)])
    order = named.with_row_index("row").sort(keys, nulls_last=False)["row"]
    return frame[order], rows.gather(order)


def rank_shown(frame: pl.DataFrame, policy: Policy) -> pl.Series:
    """Return the class of each record that is in the order of what it shows, from 1."""
    shown = pl.DataFrame([frame[name].alias(str(index)) for index, name in enumerate(policy.quasi_identifiers)])
    return shown.select(pl.struct(pl.all()).rank("dense").cast(pl.Int64).alias("class"))["class"]


def view_rows(persons: pl.Series, rows: pl.Series, prepared: Prepared) -> OwnerView:
    """Return what only the owner knows of published records."""
    subject = prepared.policy.subject
    assert subject is not None
    return OwnerView(rows=rows, subjects=to_plain(prepared.named.frame[subject]).gather(rows))


def require_few(prepared: Prepared, held: int) -> None:
    """Raise where more records would be held back than may be suppressed."""
    allowed = prepared.policy.may_suppress(prepared.words.table.records)
    if held > allowed:
        what = "too many records cannot be published beside the others, now and in earlier releases"
        hint = "raise max_suppressed, or lower m: no value may have more than an m-th of the records"
        raise Infeasible(Fault(what, "series", f"{held:,}, allowed {allowed:,}", hint))

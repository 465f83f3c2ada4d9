"""apply(): a publication becomes a table again, in an order that tells nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.encoding.types import Ints
from shoal.engines.columns import codes_of, domain_of, plain
from shoal.engines.counted import Times
from shoal.pipeline.encode import Encoded
from shoal.policy import Policy
from shoal.recodings.equivalence_classes import EquivalenceClasses, pieces_of

_INDEX = re.compile(r"__index_level_\d+__")


def published_columns(frame: pl.DataFrame, policy: Policy) -> list[str]:
    """Return the columns that a release of this table has, in the table's order.

    The row index that pandas wrote into a file is not one of them, unless the policy names it.
    """
    shown = {*policy.quasi_identifiers, *policy.sensitive, *policy.pseudonyms.values()}
    if policy.others == "keep":
        shown |= {name for name in frame.columns if not _INDEX.fullmatch(name)} - set(policy.hidden)
    return [name for name in frame.columns if name in shown]


@dataclass(frozen=True)
class Applied:
    """The published table, and what only the owner's audit may see of how it was made."""

    frame: pl.DataFrame
    subjects: pl.Series | None
    """Where persons are counted: the person of each published record."""
    requested_k: pl.DataFrame
    """What the person of each published record asks for: a column for each model that reads it."""
    weights: pl.Series | None
    """Where the weights of a survey count: the weight of each published record."""
    rows: pl.Series
    """The original record of each published one."""
    classes: pl.Series
    """The class of each published record, from 1, in the order of what classes show."""
    times: Times = None
    """How often each published record occurs, where the table was given tallied."""


def apply(
    frame: pl.DataFrame, policy: Policy, encoded: Encoded, publication: EquivalenceClasses, times: Times = None
) -> Applied:
    """Return the published table; of a tallied one how often each published record occurs.

    Every quasi-identifier is written anew from the labels, no cell of it is copied; records are sorted by what
    is published, so that nothing of the original order is left.
    """
    names = published_columns(frame, policy)
    # columns get names of our own: polars reads "*" and "^…$" in a name as a pattern
    others = {name: f"o{index}" for index, name in enumerate(names) if name not in policy.quasi_identifiers}
    columns = [plain(frame[name]).alias(key) for name, key in others.items()]
    kept = pl.DataFrame([pl.Series("row", np.arange(frame.height)), *columns])
    rank = rank_of_class(publication)
    parts = shared_out(kept, encoded, publication, rank, times)
    table = kept[parts.rows].with_columns(pl.Series("class", rank[parts.members]), pl.Series("times", parts.times))
    if policy.subject is not None:
        table = table.with_columns(plain(frame[policy.subject])[parts.rows].alias("subject"))
    asked = {name: f"a{index}" for index, name in enumerate(policy.requested_k)}
    table = table.with_columns(plain(frame[name])[parts.rows].alias(key) for name, key in asked.items())
    table = table.sort(["class", *others.values()], nulls_last=False)
    by_rank = np.empty(len(rank), np.int64)
    by_rank[rank] = np.arange(len(rank))
    classes = by_rank[table["class"].to_numpy()]
    shown = {
        name: pl.Series(column.texts, dtype=pl.String).gather(pl.Series(column.ids[classes]))
        for name, column in zip(policy.quasi_identifiers, publication.columns, strict=True)
    }
    published = pl.DataFrame({name: _alone(shown[name] if name in shown else table[others[name]]) for name in names})
    rows = table["row"]
    requested_k = pl.DataFrame({name: table[key] for name, key in asked.items()})
    weights = plain(frame[policy.survey_weight]).gather(rows) if policy.survey_weight is not None else None
    people = None if policy.subject is None else table["subject"]
    shared = None if times is None else table["times"]
    return Applied(published, people, requested_k, weights, rows, table["class"] + 1, shared)


def _alone(column: pl.Series) -> pl.Series:
    """Return a column in memory of its own.

    A text column that was picked from another shares its memory, with all texts that were not picked: a file or a
    pickle of it would hold them.
    """
    if column.dtype != pl.String:
        return column
    domain = domain_of(column)
    return pl.Series([*domain.texts, None], dtype=pl.String).gather(pl.Series(codes_of(column, domain)))


@dataclass(frozen=True)
class Parts:
    """Records, each whole or in parts that go to several classes."""

    rows: Ints
    members: Ints
    """The class of each part, -1 for none."""
    times: Ints
    """How often each part occurs."""

    def inside(self, which: npt.NDArray[np.bool_]) -> Parts:
        """Return some of the parts."""
        return Parts(self.rows[which], self.members[which], self.times[which])


def shared_out(
    kept: pl.DataFrame, encoded: Encoded, publication: EquivalenceClasses, rank: Ints, times: Times
) -> Parts:
    """Return the records that are published, each with its class; one that several classes share in parts.

    ``kept`` is what is published of them as it is, with the number of each ``row``; ``rank`` the place of each class.
    """
    rows, often = np.arange(kept.height), np.ones(kept.height, np.int64) if times is None else times.to_numpy()
    cells, members, weights = pieces_of(publication)
    if publication.classes.cells is None:
        parts = Parts(rows, members[encoded.cell_of_record], often)
        return parts.inside(parts.members >= 0)
    # cells are split: share out their records in the order of what else is published of them, to classes in the order
    # of what these show, so that any engine that sees the published table alone shares them out the same way
    keys = ["cell", *(name for name in kept.columns if name != "row")]
    ordered = kept.with_columns(pl.Series("cell", encoded.cell_of_record)).sort(keys, nulls_last=False)
    rows = ordered["row"].to_numpy()
    order = np.lexsort([np.append(rank, len(rank))[members], cells])  # -1, left out, comes last
    members, weights = members[order], weights[order]
    if times is None:
        parts = Parts(rows, np.repeat(members, weights), often)
    else:
        mine, theirs = np.cumsum(often[rows]), np.cumsum(weights)  # where each record, and each piece of a cell, ends
        ends = np.union1d(mine, theirs[weights > 0])
        holders = rows[np.searchsorted(mine, ends)], members[np.searchsorted(theirs, ends)]
        parts = Parts(*holders, np.diff(ends, prepend=0))
    return parts.inside(parts.members >= 0)


def rank_of_class(publication: EquivalenceClasses) -> Ints:
    """Return the place of each class in the order of what it shows."""
    count = publication.classes.count
    if not count:
        return np.zeros(0, np.int64)
    shown = pl.DataFrame(
        [
            pl.Series(str(index), list(column.texts), dtype=pl.String).gather(pl.Series(column.ids))
            for index, column in enumerate(publication.columns)
        ]
    ).with_row_index("class")
    order = shown.sort([str(index) for index in range(len(publication.columns))], nulls_last=False)
    rank = np.empty(count, np.int64)
    rank[order["class"].to_numpy()] = np.arange(count)
    return rank

"""publish(): a solution becomes a table again, in an order that tells nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from shoal.auditing import OwnerView
from shoal.encoding.types import Bools, Ints
from shoal.engines.base import Room, unlimited
from shoal.engines.columns import own_texts, to_plain
from shoal.engines.counted import COUNTS, CountedTable
from shoal.pipeline.encode import Encoded
from shoal.pipeline.perturb import columns_looked_at, perturb_columns
from shoal.policy import Policy
from shoal.policy.published_columns import published_columns
from shoal.recodings.equivalence_classes import EquivalenceClasses, list_pieces


@dataclass(frozen=True, kw_only=True)
class Published:
    """What is published, and what only the owner's audit may see of how it was made."""

    table: CountedTable
    """The published records, each with how often it occurs where the original was counted."""
    owner: OwnerView
    """For each published record: its original, its person, what the person asks for, its weight in a survey."""
    classes: pl.Series
    """The class of each published record, from 1, in the order of what classes show."""
    bounds: tuple[float | None, ...] = ()
    """For each perturbation of the policy what it proved that no release under its promise stays below."""
    companions: dict[str, pl.DataFrame] = field(default_factory=dict)
    """The second table of a release that has two, by its name."""
    pairs: Mapping[str, pl.DataFrame] | None = None
    """Where no original record is known of a published one: for each quasi-identifier each ``value`` with each ``text``
    that is published of it, and whether the record is ``suppressed``."""

    @property
    def rows(self) -> pl.Series:
        """The original record of each published one."""
        assert self.owner.rows is not None
        return self.owner.rows


def publish(
    named: CountedTable, policy: Policy, encoded: Encoded, classes: EquivalenceClasses, room: Room = unlimited
) -> Published:
    """Return the published table: the records of a table as the classes that they are in show them.

    Every quasi-identifier is written anew from the labels, no cell of it is copied; records are sorted by what
    is published, so that nothing of the original order is left.
    """
    frame = named.frame
    names = published_columns(frame.columns, policy)
    # columns get names of our own: polars reads "*" and "^…$" in a name as a pattern
    others = {name: f"o{index}" for index, name in enumerate(names) if name not in policy.quasi_identifiers}
    unshown = [name for name in columns_looked_at(policy) if name not in names] if policy.perturb else []
    keys = others | {name: f"r{index}" for index, name in enumerate(unshown)}
    columns = [to_plain(frame[name]).alias(key) for name, key in keys.items()]
    kept = pl.DataFrame([pl.Series("row", np.arange(frame.height)), *columns])
    rank = rank_classes(classes)
    parts = divide_records(kept, encoded, classes, rank, named.weights)
    table = kept[parts.rows].with_columns(pl.Series("class", rank[parts.members]), pl.Series(COUNTS, parts.counts))
    beside = [others[name] for name in sorted(others) if name not in policy.perturbed]
    records = CountedTable(table.select("row", "class", *beside), table[COUNTS] if named.is_counted else None)
    changed = perturb_columns(named, records, policy, room)
    table = table[changed.parts].with_columns(
        pl.Series(COUNTS, changed.counts), *(column.alias(others[name]) for name, column in changed.columns.items())
    )
    table = table.sort(["class", *others.values()], nulls_last=False)
    by_rank = np.empty(len(rank), np.int64)
    by_rank[rank] = np.arange(len(rank))
    members = by_rank[table["class"].to_numpy()]
    labels = dict(zip(policy.quasi_identifiers, classes.columns, strict=True))

    def show(name: str) -> pl.Series:
        """Return a column as it is published; only its own labels are written at a time."""
        if name not in labels:
            return own_texts(table[others[name]])
        return _pick(labels[name].texts, labels[name].ids[members])

    shown = pl.DataFrame({name: show(name) for name in names})
    counts = table[COUNTS] if named.is_counted else None
    return Published(
        table=CountedTable(shown, counts),
        owner=view_records(named, policy, table["row"]),
        classes=table["class"] + 1,
        bounds=changed.bounds,
    )


def publish_perturbed(named: CountedTable, policy: Policy, room: Room = unlimited) -> Published:
    """Return the published table of a policy without quasi-identifiers: all records, sorted by what is published."""
    frame = named.frame
    names = published_columns(frame.columns, policy)
    beside = {name: to_plain(frame[name]) for name in sorted(names) if name not in policy.perturbed}
    row = pl.Series("row", np.arange(frame.height))
    whole = pl.DataFrame([row, *(column.alias(str(at)) for at, column in enumerate(beside.values()))])
    changed = perturb_columns(named, CountedTable(whole, named.counts), policy, room)
    shown = {name: column.gather(pl.Series(changed.parts)) for name, column in beside.items()} | {**changed.columns}
    keys = [str(index) for index in range(len(names))]  # polars reads "*" and "^…$" in a name as a pattern
    table = pl.DataFrame([shown[name].alias(key) for key, name in zip(keys, names, strict=True)])
    table = table.with_columns(pl.Series("row", changed.parts), pl.Series(COUNTS, changed.counts)).sort(keys)
    texts = {name: own_texts(table[key]) for name, key in zip(names, keys, strict=True)}
    return Published(
        table=CountedTable(pl.DataFrame(texts), table[COUNTS] if named.is_counted else None),
        owner=view_records(named, policy, table["row"]),
        classes=pl.Series("class", np.ones(table.height, np.int64)),
        bounds=changed.bounds,
    )


def _pick(texts: Sequence[str | None], ids: Ints) -> pl.Series:
    """Return the text of each record, in memory that holds no text that none of them shows."""
    is_shown = np.zeros(len(texts), bool)
    is_shown[ids] = True
    own = pl.Series([text for text, keep in zip(texts, is_shown, strict=True) if keep], dtype=pl.String)
    return own.gather(pl.Series((np.cumsum(is_shown) - 1)[ids]))


def view_records(named: CountedTable, policy: Policy, rows: pl.Series) -> OwnerView:
    """Return what only the owner knows of some records, given by their numbers."""

    def gather(name: str) -> pl.Series:
        return to_plain(named.frame[name]).gather(rows)

    return OwnerView(
        rows=rows,
        subjects=None if policy.subject is None else gather(policy.subject),
        requested_k=pl.DataFrame({name: gather(name) for name in policy.requested_k}) if policy.requested_k else None,
        weights=None if policy.survey_weight is None else gather(policy.survey_weight),
    )


@dataclass(frozen=True)
class Parts:
    """Records, each whole or in parts that go to several classes."""

    rows: Ints
    members: Ints
    """The class of each part, -1 for none."""
    counts: Ints
    """How often each part occurs."""

    def inside(self, which: Bools) -> Parts:
        """Return some of the parts."""
        return Parts(self.rows[which], self.members[which], self.counts[which])


def divide_records(
    kept: pl.DataFrame, encoded: Encoded, classes: EquivalenceClasses, rank: Ints, record_counts: Ints | None
) -> Parts:
    """Return the records that are published, each with its class; one that several classes share in parts.

    ``kept`` is what is published of them as it is, with the number of each ``row``; ``rank`` the place of each class.
    """
    rows, counts = np.arange(kept.height), record_counts
    if counts is None:
        counts = np.ones(kept.height, np.int64)
    cells, members, weights = list_pieces(classes)
    if classes.classes.cells is None:
        parts = Parts(rows, members[encoded.cell_of_record], counts)
        return parts.inside(parts.members >= 0)
    # cells are split: share out their records in the order of what else is published of them, to classes in the order
    # of what these show, so that any engine that sees the published table alone shares them out the same way
    keys = ["cell", *(name for name in kept.columns if name != "row")]
    ordered = kept.with_columns(pl.Series("cell", encoded.cell_of_record)).sort(keys, nulls_last=False)
    rows = ordered["row"].to_numpy()
    order = np.lexsort([np.append(rank, len(rank))[members], cells])  # -1, left out, comes last
    members, weights = members[order], weights[order]
    if record_counts is None:
        parts = Parts(rows, np.repeat(members, weights), counts)
    else:
        mine, theirs = np.cumsum(counts[rows]), np.cumsum(weights)  # where each record, and each piece of a cell, ends
        ends = np.union1d(mine, theirs[weights > 0])
        holders = rows[np.searchsorted(mine, ends)], members[np.searchsorted(theirs, ends)]
        parts = Parts(*holders, np.diff(ends, prepend=0))
    return parts.inside(parts.members >= 0)


def rank_classes(classes: EquivalenceClasses) -> Ints:
    """Return the place of each class in the order of what it shows."""
    count = classes.classes.count
    if not count:
        return np.zeros(0, np.int64)
    shown = pl.DataFrame(
        [
            pl.Series(str(index), list(column.texts), dtype=pl.String).gather(pl.Series(column.ids))
            for index, column in enumerate(classes.columns)
        ]
    ).with_row_index("class")
    order = shown.sort([str(index) for index in range(len(classes.columns))], nulls_last=False)
    rank = np.empty(count, np.int64)
    rank[order["class"].to_numpy()] = np.arange(count)
    return rank

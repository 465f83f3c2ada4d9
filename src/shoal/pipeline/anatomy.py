"""publish_in_two(): a table as two, quasi-identifiers with their group and the sensitive values of each group."""

from __future__ import annotations

import hashlib
import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.auditing import OwnerView
from shoal.encoding.types import Ints
from shoal.engines.columns import codes_of, domain_of, to_plain
from shoal.engines.counted import CountedTable
from shoal.engines.memory.write import to_bytes
from shoal.errors import Infeasible
from shoal.pipeline.publish import Published
from shoal.policy import Policy


@dataclass(frozen=True)
class Groups:
    """What anatomy answers in the place of a recoding: the group of each record."""

    members: Ints
    l: int  # noqa: E741 - the promise's own letter
    residue: int
    """Records that were left when fewer than l values were, and joined a group that had no such value."""
    proof: None = None
    rounds: tuple[()] = ()

    @property
    def count(self) -> int:
        """The number of groups."""
        return int(self.members.max(initial=-1)) + 1

    def to_dict(self) -> dict[str, Any]:
        """Return what the manifest says of it; who is in which group is in the release."""
        return {"recoding": "anatomy", "groups": self.count, "l": self.l, "residue": self.residue}


def find_largest_l(codes: Ints) -> int:
    """Return the greatest l that a table of these sensitive values is eligible for.

    A table is eligible for l if no value has more than n / l of its n records (Xiao & Tao 2006, section 5).

    Examples
    --------
    >>> find_largest_l(np.array([0, 0, 1, 1, 2, 2, 3, 4]))
    4
    """
    return len(codes) // int(np.bincount(codes).max()) if len(codes) else 0


def anatomize(codes: Ints, l: int, rng: np.random.Generator) -> Groups:  # noqa: E741 - as in the paper
    """Put records into groups of at least l, all with different sensitive values.

    Records are put into buckets by value. As long as l buckets are not empty, one record of each of the l largest
    makes a group; whoever is left then joins, one by one, a group that does not have their value. Which record of a
    bucket, and which group, is drawn at random.

    Why it is safe: a table that is eligible leaves at most l - 1 records, of different values, and there is a group
    for each (their Properties 1 and 2), so that no value has more than 1/l of a group. Taking the largest buckets
    first is what keeps the rest eligible.

    Cost: n log(values) for n records.

    References
    ----------
    Xiao, X. and Tao, Y. (2006). Anatomy: simple and effective privacy preservation. VLDB, section 5, Figure 3.

    Examples
    --------
    >>> illness = np.array([0, 1, 1, 0, 2, 3, 2, 4])  # 2-diverse by four groups of two
    >>> groups = anatomize(illness, 2, np.random.default_rng(0))
    >>> groups.count, np.bincount(groups.members).tolist()
    (4, [2, 2, 2, 2])
    """
    if not len(codes):
        raise Infeasible("the table has no records")
    best = find_largest_l(codes)
    if l > best:
        most = int(np.bincount(codes).max())
        what = f"a sensitive value has {most} of {len(codes)} records, where {len(codes) // l} may have it"
        raise Infeasible(what, attainable={"distinct-l-diversity": best} if best > 1 else {})
    drawn = draw_values(np.bincount(codes), l)
    shuffled = rng.permutation(len(codes))
    buckets = shuffled[np.argsort(codes[shuffled], kind="stable")]  # by value, each in an order of its own
    starts = np.searchsorted(codes[buckets], np.arange(codes.max() + 1))
    by_value = np.argsort(drawn, kind="stable")  # the draws of each value, in turn
    turns = np.arange(len(drawn)) - np.searchsorted(drawn[by_value], drawn[by_value])
    taken = buckets[starts[drawn[by_value]] + turns]
    members = np.full(len(codes), -1, np.int64)
    members[taken] = by_value // l
    return _with_residue(members, codes, l, len(drawn) // l, rng)


def draw_values(sizes: Ints, l: int) -> Ints:  # noqa: E741 - as in the paper
    """Return the values that are drawn: l for each group, always from the largest buckets (their Figure 3)."""
    heap = [(-size, value) for value, size in enumerate(sizes.tolist()) if size]
    heapq.heapify(heap)
    drawn: list[int] = []
    while len(heap) >= l:
        largest = [heapq.heappop(heap) for _ in range(l)]
        drawn += [value for _, value in largest]
        for size, value in largest:
            if size < -1:
                heapq.heappush(heap, (size + 1, value))
    return np.array(drawn, np.int64)


def _with_residue(members: Ints, codes: Ints, l: int, count: int, rng: np.random.Generator) -> Groups:  # noqa: E741
    """Let each record that is left join a group that does not have its value."""
    left = np.flatnonzero(members < 0)
    for record in left[np.argsort(codes[left], kind="stable")].tolist():
        free = np.setdiff1d(np.arange(count), members[codes == codes[record]])
        members[record] = free[rng.integers(len(free))]
    return Groups(members, l, len(left))


def publish_in_two(named: CountedTable, policy: Policy) -> tuple[Published, Groups]:
    """Return a table in two: quasi-identifiers as they are with their group, and the sensitive values of each group.

    Who is put together is drawn from the whole table and the seed, so that it does not depend on the order of the
    records and nobody can draw it again who does not know both. Groups are numbered, and both tables sorted, by what
    is published of them.
    """
    (model,), (on,) = policy.models, policy.sensitive
    frame = named.expand()  # who is put together with whom is drawn for each record by itself
    names = [name for name in frame.columns if name in {*policy.quasi_identifiers, *policy.pseudonyms.values()}]
    # columns get names of our own: polars reads "*" and "^…$" in a name as a pattern
    keys = [f"q{index}" for index in range(len(names))]
    values = to_plain(frame[on])
    texts = [to_plain(frame[name]).cast(pl.String).alias(key) for name, key in zip(names, keys, strict=True)]
    records = pl.DataFrame([*texts, values.cast(pl.String).alias("value")]).with_row_index("row")
    records = records.sort([*keys, "value"], nulls_last=False)
    codes = codes_of(values, domain_of(values))[records["row"].to_numpy()]
    groups = anatomize(codes, model.least_values, _random(records.drop("row"), policy.seed))
    records = records.with_columns(pl.Series("group", _numbered(records, keys, groups.members)))
    records = records.sort(["group", *keys], nulls_last=False)
    held = records.group_by("group", "value").agg(pl.len().cast(pl.Int64).alias("records"), pl.col("row").min())
    held = held.sort("group", "value", nulls_last=False)
    number = policy.output.numbered or ""
    released = {name: to_plain(frame[name]).gather(records["row"]) for name in names}
    sensitive = {number: held["group"], on: values.gather(held["row"]), "records": held["records"]}
    original = pl.Series(np.repeat(np.arange(named.frame.height), named.record_counts))
    published = Published(
        table=CountedTable(pl.DataFrame({**released, number: records["group"]})),
        owner=OwnerView(rows=original.gather(records["row"])),
        classes=records["group"],
        companions={"sensitive": pl.DataFrame(sensitive)},
    )
    return published, groups


def _random(records: pl.DataFrame, seed: int) -> np.random.Generator:
    """Return what is drawn from, after the whole table and the seed."""
    digest = hashlib.sha256(f"{seed}\n".encode() + to_bytes(records, "csv")).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))


def _numbered(records: pl.DataFrame, keys: list[str], members: Ints) -> Ints:
    """Return the group of each record, from 1, in the order of what groups show; records are in theirs."""
    changes = records.select(pl.any_horizontal(pl.col(key).ne_missing(pl.col(key).shift()) for key in keys))
    shown = changes.to_series().fill_null(True).cum_sum().to_numpy().astype(np.int64)
    values = records["value"].rank("dense").fill_null(0).to_numpy().astype(np.int64)
    ends = np.cumsum(np.bincount(members))[:-1]
    by_shown = np.split(shown[np.lexsort((shown, members))], ends)
    by_value = np.split(values[np.lexsort((values, members))], ends)
    order = sorted(range(len(by_shown)), key=lambda group: (by_shown[group].tolist(), by_value[group].tolist()))
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.arange(1, len(order) + 1)
    return numbers[members]

"""publish_in_two(): a table as two, quasi-identifiers with their group and the sensitive values of each group."""

from __future__ import annotations

import hashlib

import numpy as np
import polars as pl

from shoal.auditing import OwnerView
from shoal.encoding.types import Ints
from shoal.engines.columns import codes_of, domain_of, plain
from shoal.engines.counted import CountedTable
from shoal.engines.memory.write import to_bytes
from shoal.pipeline.anatomy_groups import Groups, anatomize
from shoal.pipeline.publish import Published
from shoal.policy import Policy


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
    values = plain(frame[on])
    texts = [plain(frame[name]).cast(pl.String).alias(key) for name, key in zip(names, keys, strict=True)]
    records = pl.DataFrame([*texts, values.cast(pl.String).alias("value")]).with_row_index("row")
    records = records.sort([*keys, "value"], nulls_last=False)
    codes = codes_of(values, domain_of(values))[records["row"].to_numpy()]
    groups = anatomize(codes, model.least_values, _random(records.drop("row"), policy.seed))
    records = records.with_columns(pl.Series("group", _numbered(records, keys, groups.members)))
    records = records.sort(["group", *keys], nulls_last=False)
    held = records.group_by("group", "value").agg(pl.len().cast(pl.Int64).alias("records"), pl.col("row").min())
    held = held.sort("group", "value", nulls_last=False)
    number = policy.output.numbered or ""
    released = {name: plain(frame[name]).gather(records["row"]) for name in names}
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

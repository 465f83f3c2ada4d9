"""audit_anatomy(): the two tables of an anatomy counted again, from their cells alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from shoal.auditing.assignment import count_unmet
from shoal.auditing.checks import Compared
from shoal.auditing.examples import ExampleRecords
from shoal.auditing.hygiene import columns_faults, write_comparable
from shoal.auditing.outputs import CompanionTable
from shoal.auditing.pseudonyms import pseudonym_faults
from shoal.auditing.texts import read_columns, read_texts
from shoal.auditing.treatments import untreated_faults
from shoal.auditing.verdict import Audit, ModelAudit
from shoal.engines.counted import CountedTable
from shoal.errors import Fault
from shoal.models.base import Census
from shoal.policy import Policy

ONLY_THE_LINK = Fault(
    "anatomy protects the link to the sensitive value only: quasi-identifiers are published as they are, so that "
    "records can be found, and k-anonymity is not claimed",
    where="output",
    kind="note",
)


@dataclass(frozen=True)
class GroupedTables:
    """Both tables, with columns of our own names."""

    records: pl.DataFrame
    """``q0``, ``q1``, … and ``group``: a row for each record."""
    held: pl.DataFrame
    """``group``, ``value``, ``records``: a row for each group and value."""


def audit_anatomy(compared: Compared) -> Audit:
    """Count both tables of an anatomy.

    A release holds if both have the same groups and as many records in each, no sensitive value has more than 1/l of a
    group, the order of neither tells anything and, where the original is given, all values are those of the original.
    """
    frame, policy, beside = compared.whole, compared.policy, compared.companion
    raw = None if compared.original is None else compared.original.table.expand()
    faults = [*_columns(frame, beside, raw, policy), *pseudonym_faults(frame, raw, policy)]
    tables = None if faults else _read(frame, beside, policy)
    if tables is None:
        faults = [*faults, Fault("the two tables of an anatomy are not there", kind="unreadable")]
        return _verdict(frame, raw, policy, np.zeros(0, np.int64), None, faults)
    faults += untreated_faults(frame, policy)
    faults += [*beside.bytes_faults(raw), *CompanionTable(frame, compared.path).bytes_faults(raw)]
    faults += [*_groups(tables, policy.models[0].asked), *_order(tables)]
    if raw is not None:
        faults += _against(frame, tables, raw, policy, _single_records(compared))
    groups = tables.held.group_by("group").agg(pl.len().alias("values"), pl.col("records").sum()).sort("group")
    (on,), sizes = policy.sensitive, groups["records"].to_numpy().astype(np.int64)
    census = Census(sizes=sizes, values={on: groups["values"].to_numpy().astype(np.int64)})
    return _verdict(frame, raw, policy, sizes, policy.models[0].recount(census), [*faults, ONLY_THE_LINK])


def _single_records(compared: Compared) -> pl.Series | None:
    """Return the original record of each published one, numbered as if equal ones stood one by one."""
    rows = compared.rows
    if rows is None or compared.original is None or not compared.original.table.is_counted:
        return rows
    counts = compared.original.table.record_counts
    rank = pl.DataFrame([rows.alias("row")]).select(pl.int_range(pl.len()).over("row")).to_series().to_numpy()
    if rows.max() >= len(counts) or (rank >= counts[rows.to_numpy()]).any():  # type: ignore[operator]
        return pl.Series([], dtype=pl.Int64)  # more of a record than there are
    first = np.cumsum(counts) - counts
    return pl.Series(first[rows.to_numpy()] + rank)


def _verdict(
    frame: pl.DataFrame,
    raw: pl.DataFrame | None,
    policy: Policy,
    sizes: np.ndarray[Any, Any],
    attained: int | None,
    faults: list[Fault],
) -> Audit:
    records, known = frame.height if raw is None else raw.height, attained is not None
    columns = {} if raw is None or not known else _told(frame, raw, policy)
    return Audit(
        policy=policy,
        records=records,
        published=frame.height,
        left_out=max(records - frame.height, 0),
        sizes=sizes,
        models=(ModelAudit(policy.models[0], attained, counted=known),),
        risk=_risk(frame, policy) if known else {},
        is_compared=raw is not None,
        risk_before={} if raw is None else _risk(raw, policy),
        faults=tuple(faults),
        columns=columns,
        examples=ExampleRecords.pick(CountedTable(frame)),
    )


def _risk(table: pl.DataFrame, policy: Policy) -> dict[str, dict[str, float]]:
    """Return the risk of being found: quasi-identifiers are published as they are, so it is what it was."""
    columns = [write_comparable(table[name]).alias(f"q{index}") for index, name in enumerate(policy.quasi_identifiers)]
    shown = pl.DataFrame(columns)
    sizes = shown.group_by(shown.columns).len("size")["size"]
    if not len(sizes):
        return {}
    least, alone = int(sizes.sort()[0]), int((sizes == 1).sum())
    return {"prosecutor": {"max": 1 / least, "mean": len(sizes) / table.height, "unique": alone / table.height}}


def _told(frame: pl.DataFrame, raw: pl.DataFrame, policy: Policy) -> dict[str, dict[str, Any]]:
    names = list(policy.quasi_identifiers)
    return {
        name: {"before": raw[name].n_unique(), "after": frame[name].n_unique(), "certainty-penalty": 0.0}
        for name in names
    }


def _columns(frame: pl.DataFrame, beside: CompanionTable, raw: pl.DataFrame | None, policy: Policy) -> Iterator[Fault]:
    """Yield columns that must not be there, and columns that are missing; the sensitive one stands in its own table."""
    number, (on,) = policy.output.numbered or "", policy.sensitive
    added = {number, *policy.pseudonyms.values()}
    first = frame.select(frame.get_column(name) for name in frame.columns if name not in added)
    for fault in columns_faults(CountedTable(first), raw, policy):
        if not (fault.kind == "unreadable" and fault.where == on):
            yield fault
    if on in frame.columns:
        yield Fault("the sensitive column stands beside the quasi-identifiers", where=on)
    if number not in frame.columns:
        yield Fault("the groups are missing", where=number)
    if beside.frame is None:
        hint = "give the second table too (beside)"
        yield Fault("a part of the release is missing", where=policy.output.beside or "", hint=hint)
    elif beside.frame.columns != [number, on, "records"]:
        yield Fault("the columns of the second table are others", got=", ".join(beside.frame.columns))


def _read(frame: pl.DataFrame, beside: CompanionTable, policy: Policy) -> GroupedTables | None:
    """Return both tables, ``None`` where a group or a count is no number."""
    number, (on,) = policy.output.numbered or "", policy.sensitive
    assert beside.frame is not None
    shown = [name for name in frame.columns if name != number]
    records = read_columns(frame, shown)
    numbers = [frame[number], beside.frame[number], beside.frame["records"]]
    first, second, counts = (column.cast(pl.Int64, strict=False) for column in numbers)
    if any(column.null_count() for column in (first, second, counts)):
        return None
    held = [second.alias("group"), read_texts(beside.frame[on]).alias("value"), counts.alias("records")]
    return GroupedTables(pl.DataFrame([*records, first.alias("group")]), pl.DataFrame(held))


def _groups(tables: GroupedTables, l: int) -> Iterator[Fault]:  # noqa: E741 - the promise's own letter
    """Yield groups that differ between the tables, and those in which a value has too large a share."""
    sizes = tables.records.group_by("group").agg(pl.len().cast(pl.Int64).alias("size"))
    told = tables.held.group_by("group").agg(pl.col("records").sum(), pl.col("records").max().alias("most"))
    if (tables.held["records"] < 1).any() or tables.held.select("group", "value").is_duplicated().any():
        yield Fault("a group has a value twice, or not at all")
    both = sizes.join(told, on="group", how="full", coalesce=True)
    off = both.filter(pl.col("size").ne_missing(pl.col("records"))).height
    if off:
        yield Fault("the two tables have other groups, or other numbers of records in them", got=f"{off} groups")
    frequent = both.filter(pl.col("most") * l > pl.col("records")).height
    if frequent:
        yield Fault(f"a sensitive value has more than 1/{l} of a group", got=f"{frequent} groups")


def _order(tables: GroupedTables) -> Iterator[Fault]:
    """Yield a table that is not sorted by what it shows, and groups that are not numbered so."""
    shown = [name for name in tables.records.columns if name != "group"]
    for table, keys in ((tables.records, ["group", *shown]), (tables.held, ["group", "value"])):
        if not table.select(keys).equals(table.select(keys).sort(keys, nulls_last=False)):
            yield Fault("the records do not stand in the order of what they show", hint="sort them")
            return
    distinct = tables.records.select(shown).unique().sort(shown, nulls_last=False).with_row_index("rank")
    ranked = tables.records.join(distinct, on=shown, how="left", nulls_equal=True, maintain_order="left")
    records = ranked.group_by("group", maintain_order=True).agg("rank")
    values = tables.held.with_columns(pl.col("value").rank("dense").fill_null(0))
    held = values.group_by("group", maintain_order=True).agg("value", "records")
    if records["group"].to_list() != list(range(1, records.height + 1)):
        yield Fault("groups are not numbered from 1")
        return
    both = records.join(held, on="group", how="left", maintain_order="left")
    contents = [(ranks, values or [], counts or []) for _, ranks, values, counts in both.rows()]
    if any(first > second for first, second in pairwise(contents)):
        yield Fault("groups are not numbered in the order of what they show")


def _against(
    frame: pl.DataFrame, tables: GroupedTables, raw: pl.DataFrame, policy: Policy, rows: pl.Series | None
) -> Iterator[Fault]:
    """Yield values that are not as often published as the original has them."""
    names, (on,) = list(policy.quasi_identifiers), policy.sensitive
    before, after = (
        pl.DataFrame([write_comparable(table[name]).alias(f"q{index}") for index, name in enumerate(names)])
        for table in (raw, frame)
    )
    if not before.sort(before.columns).equals(after.sort(after.columns)):
        yield Fault("quasi-identifiers are not those of the original", got=f"{after.height} of {before.height} records")
    values = write_comparable(raw[on]).alias("value")
    counts = values.value_counts(name="records").with_columns(pl.col("records").cast(pl.Int64)).sort("value")
    held = tables.held.with_columns(write_comparable(tables.held["value"]).alias("value"))
    if not held.group_by("value").agg(pl.col("records").sum()).sort("value").equals(counts):
        yield Fault("sensitive values are not as frequent as in the original", where=on)
    if rows is None:
        lost = _unexplained(after.with_columns(tables.records["group"]), held, before.with_columns(values).unique())
        if lost:
            what = "no assignment of original records explains the groups: values were exchanged between them"
            yield Fault(what, where=on, got=f"at least {lost:,} records that stand for nobody")
        return
    if len(rows) != frame.height or rows.n_unique() != raw.height:
        yield Fault("the original records of the published ones are not known", got=f"{len(rows)} of {frame.height}")
        return
    kept = before.select(pl.all().gather(rows)).equals(after)
    theirs = pl.DataFrame([tables.records["group"], values.gather(rows)]).group_by("group", "value")
    keys = ["group", "value", "records"]
    true = theirs.agg(pl.len().cast(pl.Int64).alias("records")).select(keys).sort(keys)
    if not kept or not true.equals(held.select(keys).sort(keys)):
        yield Fault("groups do not hold what their records hold")


def _unexplained(records: pl.DataFrame, held: pl.DataFrame, original: pl.DataFrame) -> int:
    """Return how many records cannot have a value of their group that the original has beside what they show, at best.

    A necessary condition, group by group: how often the original has both is not looked at.
    """
    keys = [name for name in records.columns if name != "group"]
    mine = records.group_by(["group", *keys]).agg(pl.len().alias("wanted")).with_row_index("taker")
    theirs = held.select("group", "value", "records").with_row_index("giver")
    pairs = mine.join(theirs, on="group").join(original, on=[*keys, "value"], how="semi", nulls_equal=True)
    takers, givers = (pairs[name].cast(pl.Int64).to_numpy() for name in ("taker", "giver"))
    return count_unmet(takers, givers, *(one.cast(pl.Int64).to_numpy() for one in (mine["wanted"], theirs["records"])))

"""VERIFY: the one list of what is looked at before a release exists, and again before its files get their names.

Whatever engine holds the table, in this order:

1. The published records are counted again by the audit, with what only the owner knows: promises, columns, truth
   record by record, order, values, labels (:mod:`shoal.auditing.checks` is the list).
2. What the audit counts is compared with what the search claims.
3. What the engine holds, and what the caller is given, is compared with what was audited, record by record; and that
   it carries nothing beside them.
4. After writing, what is read back from the files is compared with what was audited, and their bytes are searched for
   raw values; so is the order of the first records, where counting lost it.

An audit is a function of the cells of a table. So files whose cells are those that were audited need no second audit;
others are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from shoal.auditing import Audit, CompanionTable, OriginalTable, OwnerView, audit_table
from shoal.auditing.checks import Check, make_check
from shoal.auditing.hygiene import blocks_faults, bytes_faults
from shoal.auditing.order import drop_perturbed, order_faults, size_windows
from shoal.auditing.series import series_faults
from shoal.auditing.treatments import coding_faults
from shoal.auditing.truth import pair_faults
from shoal.engines.base import TableEngine
from shoal.engines.columns import of_kind
from shoal.engines.counted import COUNTS, CountedTable
from shoal.engines.formulas import read_published
from shoal.engines.keys import Key
from shoal.engines.limits import NO_ORDER
from shoal.engines.locations import Location
from shoal.engines.memory.source import MemoryTable
from shoal.engines.series import SeriesState
from shoal.engines.treatments import treat
from shoal.errors import Fault
from shoal.pipeline.prepare import Prepared
from shoal.pipeline.publish import Published
from shoal.recodings.base import RecodingSummary

_WHOLE = ("excel",)
"""Formats whose bytes are packed: they are searched when all of them are there."""


@dataclass(frozen=True, kw_only=True)
class Claims:
    """What a search says of its own answer."""

    recoding: RecodingSummary
    attained: Mapping[str, Any] | None = None
    loss: float = float("nan")
    bound: float | None = None
    bounds: tuple[float | None, ...] = ()
    """What each perturbation claims that no release under its promise goes below."""


@dataclass(frozen=True, kw_only=True)
class HeldTables:
    """The tables of a release as an engine holds them, and as the caller gets them."""

    release: TableEngine
    companions: Mapping[str, MemoryTable]


@dataclass(frozen=True)
class Following:
    """What the owner keeps of a series before and after a release."""

    before: SeriesState
    state: SeriesState


def verify_published(
    prepared: Prepared,
    published: Published,
    claims: Claims,
    held: HeldTables,
    following: Following | None = None,
) -> Audit:
    """Audit what is published, and see that the engine holds just that.

    Raises
    ------
    AuditFailed
        With all that is wrong.
    """
    audit = audit_published(prepared, published.table, published.owner, published.companions).claiming(
        claims.bound, claims.bounds
    )
    if published.pairs is not None:
        audit = audit.having(make_check("truth", pair_faults(published.pairs, prepared.original)))
    untreated = list(coding_faults(prepared.given.frame, prepared.words.table.frame, prepared.policy))
    audit = audit.having(make_check("treatments", untreated)) if untreated else audit
    audit = audit.having(_check_claims(audit, claims))
    if following is not None:
        audit = _audit_series(audit, prepared, published.table, following).told_series(claims.recoding.to_dict())
    return audit.having(make_check("held", holding_faults(published, held))).require()


def _audit_series(audit: Audit, prepared: Prepared, table: CountedTable, following: Following) -> Audit:
    """Return an audit with what the release is beside the earlier ones."""
    state, before = following.state, following.before
    return audit.having(make_check("series", series_faults(table, prepared.policy, state, before, prepared.original)))


def audit_published(
    prepared: Prepared, table: CountedTable, owner: OwnerView, companions: Mapping[str, pl.DataFrame]
) -> Audit:
    """Count a published table again, with all that the owner knows."""
    companion = CompanionTable(next(iter(companions.values()), None))
    return audit_table(table, prepared.policy, original=prepared.original, owner=owner, companion=companion)


def holding_faults(published: Published, held: HeldTables) -> Iterator[Fault]:
    """Yield where other records are held than those that were audited, and what is held beside them."""
    yield from other_records(held.release.count(what="auditing"), published.table)
    yield from held.release.uncounted_faults()
    for name, companion in held.companions.items():
        yield from other_records(companion.count(), CountedTable(published.companions[name]), f"table of {name}")
        yield from companion.uncounted_faults()


@dataclass(frozen=True, kw_only=True)
class WrittenFiles:
    """The tables of a release as they lie on the disk."""

    release: Location
    companions: Mapping[str, Location]
    format: str
    delimiter: str = ","


def verify_written(
    prepared: Prepared, published: Published, audit: Audit, held: TableEngine, files: WrittenFiles
) -> Audit:
    """Read the files of a release back, and return its audit with what only files tell: their bytes and their order.

    Raises
    ------
    AuditFailed
        The files hold other records than those that were audited, or more than them.
    """
    reopened = held.reopen(files.release, files.format)
    written = reopened.count(what="reading back")
    faults = [*other_records(written, published.table, "file"), *reopened.uncounted_faults()]
    if faults and not written.is_counted:  # say also what that means
        faults += audit_published(
            prepared, written, _fitting(published.owner, written), published.companions
        ).failures()
    faults += _companion_faults(prepared, published, files)
    audit = audit.having(make_check("written", faults)).having(_check_bytes(prepared, published, held, files))
    if prepared.given.is_counted:
        audit = audit.having(check_order(reopened, published.table, prepared.engine, prepared.original, prepared.key))
    return audit.require()


def _fitting(owner: OwnerView, table: CountedTable) -> OwnerView:
    rows = owner.rows
    return owner if rows is not None and len(rows) == table.frame.height else OwnerView()


def _companion_faults(prepared: Prepared, published: Published, files: WrittenFiles) -> list[Fault]:
    """Return what is wrong with a second table: where its cells were rounded by a format, the audit reads them."""
    read = {
        name: MemoryTable(table=CountedTable(published.companions[name]), delimiter=files.delimiter)
        .reopen(path, files.format)
        .table
        for name, path in files.companions.items()
    }
    if all(not other_records(table, CountedTable(published.companions[name])) for name, table in read.items()):
        return []
    faults = [
        Fault("the file's columns are not the release's", got=", ".join(table.frame.columns))
        for name, table in read.items()
        if table.frame.columns != published.companions[name].columns
    ]
    frames = {name: table.frame for name, table in read.items()}
    return [*faults, *audit_published(prepared, published.table, published.owner, frames).failures()]


def _check_bytes(prepared: Prepared, published: Published, held: TableEngine, files: WrittenFiles) -> Check:
    """Search the files for raw values, where it is known what they may show."""
    if held.uncounted:
        why = f"columns that are published as they are were not counted, and may show such values: {held.uncounted[0]}"
        return make_check("bytes", not_run=why if len(held.uncounted) == 1 else f"{why}, …")
    return make_check("bytes", _bytes_faults(prepared, published, held, files))


def _bytes_faults(prepared: Prepared, published: Published, held: TableEngine, files: WrittenFiles) -> Iterator[Fault]:
    """Yield raw values that a file holds and its table does not show."""
    tables = {files.release: published.table.frame}
    tables |= {path: published.companions[name] for name, path in files.companions.items()}
    container = held.container_bytes(files.release, files.format)
    for path, table in tables.items():
        blocks, raw = held.raw_bytes(path), prepared.words.table.frame
        if files.format in _WHOLE:
            yield from bytes_faults(b"".join(blocks), files.format, table, raw, held.delimiter)
        else:
            yield from blocks_faults(blocks, files.format, table, raw, container, held.delimiter)


def check_order(
    found: TableEngine, published: CountedTable, source: TableEngine, original: OriginalTable, key: Key | None = None
) -> Check:
    """Look at the first records of a published table and of the original, whose order was lost when they were
    counted."""
    top, window = size_windows(published.records, original.table.records)
    first = CountedTable(source.head(window))
    if not first.frame.height:
        return make_check("order", not_run=NO_ORDER)
    seen = treat(first, original.policy, key).frame
    shown = read_published(found.head(top), original.policy)
    return make_check("order", order_faults(drop_perturbed(shown, original.policy), seen, original.readers))


def _check_claims(audit: Audit, claims: Claims) -> Check:
    if claims.attained is None and claims.bound is None and not any(claims.bounds):
        return make_check("claims", not_run="no search claims anything of the whole table")
    return make_check("claims", disagreements(audit, claims))


def disagreements(audit: Audit, claims: Claims) -> list[Fault]:
    """Return where an audit counts other than the search claims."""
    claimed = {} if claims.attained is None else claims.attained
    faults = [
        Fault("search and audit disagree", name, f"the search claims {claimed.get(name)}, the audit counts {value}")
        for name, value in audit.attained.items()
        if claims.attained is not None and claimed.get(name) != value
    ]
    faults += [fault for one in audit.perturbations for fault in one.bound_faults()]
    lost = audit.utility.get("certainty-penalty")
    if claims.bound is not None and lost is not None and lost.total < claims.bound - 1e-9:
        got = f"the search claims that nothing goes below {claims.bound}, the audit counts {lost.total}"
        faults.append(Fault("search and audit disagree", where="bound", got=got))
    return faults


def other_records(found: CountedTable, released: CountedTable, where: str = "table") -> list[Fault]:
    """Return a fault where a table does not hold the released records, each as often and, where known, in their order.

    Examples
    --------
    >>> table = CountedTable(pl.DataFrame({"age": ["20", "30"]}))
    >>> other_records(table, table)
    []
    >>> print(*other_records(CountedTable(pl.DataFrame({"age": ["30", "20"]})), table))
    the table does not hold the released records, each as often; got 2 records.
    """
    if found.frame.columns != released.frame.columns:
        return [Fault(f"the {where}'s columns are not the release's", got=", ".join(found.frame.columns))]
    # names of our own: polars reads "^…$" in a name as a pattern
    ours = [column.alias(str(index)) for index, column in enumerate(released.frame)]
    theirs = [_read_as(column, mine.dtype).alias(mine.name) for column, mine in zip(found.frame, ours, strict=True)]
    tables = found.with_frame(pl.DataFrame(theirs)), released.with_frame(pl.DataFrame(ours))
    if not found.is_counted:
        same = tables[0].frame.equals(tables[1].expand(), null_equal=True)
    else:
        same = _in_order(tables[0]).equals(_in_order(tables[1]), null_equal=True)
    what = f"the {where} does not hold the released records, each as often"
    return [] if same else [Fault(what, got=f"{found.records:,} records")]


def _read_as(column: pl.Series, kind: pl.DataType) -> pl.Series:
    """Return a column in the type of another, as a file may give it: some have no missing text, only empty ones."""
    column = column.alias("values")
    return of_kind(column.replace("", None) if column.dtype == pl.String else column, kind)


def _in_order(table: CountedTable) -> pl.DataFrame:
    """Return each distinct record once, in the order of what it holds, with how often it occurs."""
    keys = table.frame.columns
    counted = table.frame.with_columns(pl.Series(COUNTS, table.record_counts))
    return counted.group_by(keys).agg(pl.col(COUNTS).sum()).sort(keys, nulls_last=False).select(*keys, COUNTS)

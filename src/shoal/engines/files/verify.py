"""read_back(): a file that was written part by part, counted again from its bytes, and audited."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl

from shoal.auditing import Audit, audit
from shoal.auditing.census import Often
from shoal.auditing.checks import bytes_check, order_check
from shoal.auditing.fidelity import Fidelity
from shoal.auditing.hygiene import blocks_faults
from shoal.auditing.order import order_faults, windows
from shoal.auditing.reading import Reader
from shoal.encoding.types import Progress
from shoal.engines.files.budget import Budget
from shoal.engines.files.count import Counted, count
from shoal.engines.files.scan import open_scan
from shoal.engines.memory.files import format_of
from shoal.engines.memory.source import Source
from shoal.engines.treatments import treated
from shoal.errors import AuditFailed, Fault
from shoal.pipeline.release import Release, disagreements, other_records
from shoal.policy import Policy

HEAD = 20_000
"""So many of the first original records are kept, to see whether the published ones still stand in their order."""
_BLOCK = 2**24
_AS_WRITTEN = {"csv": {"delimiter": ",", "quote": '"', "encoding": "utf-8"}, "parquet": {}}


def read_back(
    path: Path, release: Release, head: pl.DataFrame, budget: Budget, progress: Progress, *, statistics: bool
) -> Audit:
    """Audit the bytes on the disk; whatever differs from what was released is a failure.

    ``head`` are the first records of the original, in its order.
    """
    # as the file was written, nothing detected: the audit counts the cells that are in it
    scan = open_scan(path, **_AS_WRITTEN[format_of(path)])
    written = count(scan, budget, types=False, head=HEAD, progress=progress, what="reading back")
    progress("auditing", 0, 0)
    checked = audited((path,), written, release.policy, release.source, head, fitting(statistics, budget, written))
    checked = checked.claiming(release.audit.claimed_bound)
    often = Often(written.table.counts, release.times)
    faults = [*checked.failures(), *other_records(written.table.frame, release.frame, release.policy.hash, often)]
    faults += disagreements(checked, release.attained, release.audit)
    if faults:
        raise AuditFailed(faults)
    return checked


def audited(
    paths: tuple[Path, ...],
    published: Counted,
    policy: Policy,
    source: Source,
    head: pl.DataFrame,
    statistics: Fidelity | None,
) -> Audit:
    """Audit a counted file against the counted original, with what counts do not tell: its order and its bytes."""
    checked = audit(published.table, policy, original=source, statistics=statistics or False)
    if not checked.is_counted:
        return checked
    leaks = blocks_faults(_blocks(paths), format_of(paths[0]), published.table.frame, source.frame)
    more = order_check(_order_faults(published, policy, source, head)), bytes_check(leaks)
    for one in more:
        checked = replace(checked.having(one), faults=(*checked.faults, *one.faults))
    return checked


def fitting(statistics: Fidelity | bool, budget: Budget, published: Counted) -> Fidelity | None:
    """Return which statistics to make: of no more records than the memory allows."""
    asked = Fidelity() if statistics is True else statistics or None
    most = budget.sample(published.table.frame.width)
    return None if asked is None else asked.replace(sample=min(asked.sample, most))


def _order_faults(published: Counted, policy: Policy, source: Source, head: pl.DataFrame) -> list[Fault]:
    """Look at the first records of both files."""
    top, window = windows(published.table.records, source.records)
    readers = {name: Reader(source.frame, name, policy, source.times) for name in policy.quasi_identifiers}
    first = treated(Source(head.head(window), "polars"), policy).frame
    return order_faults(published.head.head(top), first, readers)


def _blocks(paths: tuple[Path, ...]) -> Iterator[bytes]:
    for path in paths:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                yield block

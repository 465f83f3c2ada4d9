"""anonymize_file(): a table in files that may be larger than memory, in; the files of its release, out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from shoal.algorithms.bounds.lower_bound import LowerBound
from shoal.auditing import Audit
from shoal.encoding.types import Progress, silent
from shoal.engines.counted import CountedTable
from shoal.engines.files.budget import Budget
from shoal.engines.files.count import count
from shoal.engines.files.refused import require_tallied
from shoal.engines.files.scan import KINDS, open_scan
from shoal.engines.files.verify import HEAD, read_back
from shoal.engines.files.write import write
from shoal.engines.memory.files import format_of
from shoal.engines.memory.write import ENDINGS
from shoal.errors import WriteError
from shoal.pipeline.anonymize import anonymize
from shoal.pipeline.check import layout_faults
from shoal.pipeline.publish import published_columns
from shoal.pipeline.release import Release
from shoal.pipeline.release_folder import publish, write_sidecars
from shoal.policy import Policy


@dataclass(frozen=True)
class Written:
    """A release that was written part by part."""

    release: Release
    """The release by its distinct records (:class:`~shoal.engines.counted.CountedTable`)."""
    audit: Audit = field(repr=False)
    """What was counted from the bytes on the disk."""
    files: dict[str, Path]
    """``release``, ``audit``, ``report`` and ``manifest``: where they are."""


def anonymize_file(
    path: str | Path,
    policy: Policy | Mapping[str, Any] | str | Path,
    out: str | Path,
    *,
    memory: str | int | None = None,
    format: str | None = None,
    progress: Progress = silent,
    bound: LowerBound | None = None,
    statistics: bool = True,
    **options: Any,
) -> Written:
    """Anonymize a table that may be larger than memory, from files to files.

    The table is counted in one pass: its distinct records, each with how often it occurs. The search, the release and
    the audit need no more. The release is written from the published counts, its file is counted again from its bytes
    and audited, and only then gets its name. It holds the same records in the same order as that of :func:`anonymize`.

    Parameters
    ----------
    path
        A Parquet or CSV file, a folder of them, or a pattern such as ``data/*.parquet``.
    policy
        As for :func:`anonymize`. What follows from single records only (pseudonyms, persons) is refused.
    out
        The folder for release, audit, report and manifest; all of them are written or nothing.
    memory
        How much memory the data may take, for example ``"4GB"``, on top of the program itself (about 0.3 GB); half of
        the machine's by default. Distinct records that do not fit are an error before the memory is used up.
    format
        ``csv`` or ``parquet``; the input's by default.
    progress
        Called with what is being done, how much is done, and how much there is.
    bound
        How to find what no local recoding can go below.
    statistics
        Whether to compare the distributions of original and published columns, for audit and report: on up to 200,000
        records, as the memory allows, drawn at random.
    options
        How to read a CSV: ``delimiter``, ``quote``, ``encoding``.

    Examples
    --------
    >>> import shoal, tempfile
    >>> table, policy = shoal.datasets.load("patients")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table.write_parquet(f"{folder}/patients.parquet")
    ...     written = shoal.anonymize_file(f"{folder}/patients.parquet", policy, f"{folder}/out", memory="1GB")
    ...     print(written.release, written.files["release"].name)
    <Release k-anonymity=2; 0.0% of records suppressed; loss 0.2917> release.parquet
    """
    policy = Policy.of(policy)
    budget = Budget.of(memory, policy.algorithm.footprint)
    watched = budget.watch(progress)
    scan = open_scan(path, **options)
    kind = format or format_of(scan.paths[0])
    if kind not in KINDS:
        raise WriteError("cannot be written in parts", where="format", got=repr(kind), hint="csv or parquet")
    require_tallied(policy, [fault for fault in layout_faults(scan.columns, policy) if fault.kind == "fault"])
    names = published_columns(pl.DataFrame(schema=dict.fromkeys(scan.columns, pl.String)), policy)
    given = count(scan, budget, names=names, head=HEAD, progress=watched)
    release = anonymize(given.table, policy, progress=watched, bound=bound)
    audits: list[Audit] = []

    def make(workshop: Path) -> list[str]:
        name = f"release{ENDINGS[kind]}"
        assert isinstance(release.table, CountedTable)
        write(release.table, workshop / name, kind, budget.rows(release.frame.width), watched)
        audits.append(read_back(workshop / name, release, given.head, budget, watched, statistics=statistics))
        return [name, *write_sidecars(workshop, audits[0], release.manifest)]

    files = publish(Path(out), make, scan.paths)
    return Written(release, audits[0], files)

"""Release: the published table, and everything needed to trust it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import isnan
from pathlib import Path
from typing import Any

import polars as pl

from shoal.auditing import Audit
from shoal.auditing.owner import OwnerView
from shoal.encoding.fragments import write_heading, write_table
from shoal.engines.base import TableEngine
from shoal.engines.counted import CountedTable
from shoal.engines.formulas import read_published
from shoal.engines.memory.source import MemoryTable, hold_companions
from shoal.engines.memory.write import to_bytes, write_bytes
from shoal.engines.series import SeriesState
from shoal.errors import WriteError
from shoal.pipeline.manifest import describe_release
from shoal.pipeline.prepare import Prepared
from shoal.pipeline.publish import Published
from shoal.pipeline.verify import Claims, Following, HeldTables, verify_published
from shoal.pipeline.write import write_release
from shoal.policy import Policy
from shoal.recodings.base import RecodingSummary

_SHOWN = 10
"""So many published records are shown in a notebook."""


def require_persons(policy: Policy, path: str | Path) -> None:
    """Raise that a policy knows no persons whom a file could name."""
    if policy.subject is None and not policy.requested_k:
        hint = "name a subject column"
        raise WriteError("the policy counts records, not persons", where=str(path), hint=hint)


@dataclass(frozen=True, kw_only=True)
class Release:
    """A published table that was audited, with its policy, recoding, attained values and manifest.

    A release exists only if its audit holds: see :func:`shoal.anonymize`.
    """

    policy: Policy
    audit: Audit = field(repr=False)
    """What was counted again in the published table."""
    recoding: RecodingSummary = field(repr=False)
    manifest: dict[str, Any] = field(repr=False)
    """Policy hash, data fingerprint, versions, seed, recoding."""
    published: TableEngine = field(repr=False)
    """The published table where it lies."""
    companions: Mapping[str, MemoryTable] = field(default_factory=dict, repr=False)
    """The second table of a release that has two, by its name."""
    details: Published = field(repr=False)
    """The published records with what only the owner may see of how they were made; never written."""
    prepared: Prepared = field(repr=False)
    """The original table."""
    claimed_loss: float = field(default=float("nan"), repr=False)
    """The loss that the search claims."""
    series: SeriesState | None = field(default=None, repr=False)
    """Of a series: what only the owner keeps, so that the next release can be made ``after`` this one."""
    files: dict[str, Path] = field(default_factory=dict, repr=False)
    """Where its files are, if it was written when it was made (:func:`shoal.anonymize_file`)."""

    @cached_property
    def table(self) -> Any:
        """The published table, of the same library as the input."""
        return self.published.native

    @cached_property
    def beside(self) -> Any:
        """The second table of a release that has two (statistics, anatomy), of the same library as the input."""
        return next((companion.native for companion in self.companions.values()), None)

    @property
    def frame(self) -> pl.DataFrame:
        """The published records; of a counted table each once."""
        return self.details.table.frame

    @property
    def values(self) -> CountedTable:
        """The published records by the values and labels that their texts stand for: what is computed with."""
        table = self.details.table
        return table.with_frame(read_published(table.frame, self.policy))

    @property
    def owner(self) -> OwnerView:
        """What only the owner knows of each published record: its original, its person; never written."""
        return self.details.owner

    @property
    def subjects(self) -> pl.Series | None:
        """The person of each published record, where persons count."""
        return self.owner.subjects

    @property
    def rows(self) -> pl.Series | None:
        """The original record of each published one, from 0."""
        return self.owner.rows

    @property
    def attained(self) -> dict[str, Any]:
        """Model name → what the published table attains."""
        return self.audit.attained

    @property
    def suppressed(self) -> float:
        """The share of records that show nothing."""
        return self.audit.suppressed / self.audit.records if self.audit.records else 0.0

    @property
    def loss(self) -> float:
        """The loss that the policy names: as the audit counts it, or the search where no published table tells it."""
        counted = self.audit.utility.get(self.policy.loss.key())
        return self.claimed_loss if counted is None else counted.total

    def __repr__(self) -> str:
        attained = ", ".join(f"{name}={value}" for name, value in self.attained.items())
        lost = "" if isnan(self.loss) else f"; loss {self.loss:.4f}"
        nothing = "; every record shows *" if self.audit.shows_nothing else ""
        return f"<Release {attained}; {self.suppressed:.1%} of records suppressed{lost}{nothing}>"

    def _repr_html_(self) -> str:
        shown = self.frame.head(_SHOWN)
        records = write_table(shown.columns, shown.rows())
        first = write_heading(f"The first {shown.height} of {self.details.table.records:,} published records")
        return self.audit._repr_html_() + first + records

    def write(self, out: str | Path, *, format: str | None = None, statistics: bool = True) -> dict[str, Any]:
        """Write release, audit, report and manifest into a folder; all of them or nothing.

        The release is read back from where it was written and compared with what was audited before it gets its name.
        ``format`` is ``csv``, ``parquet``, ``feather``, ``excel`` or ``jsonl``, as the engine can; the input's own by
        default, CSV for tables in memory. ``statistics`` compares the distributions of original and published columns,
        for audit and report. A table of Spark may also be written to where Hadoop can (``hdfs://…``, ``s3a://…``).
        """
        return write_release(self, out, format, statistics=statistics)[1]

    def write_subjects(self, path: str | Path) -> None:
        """Write the person of each published record and what they ask for, in order; never publish it.

        It is for the owner's later audits.
        """
        people = [] if self.owner.subjects is None else [self.owner.subjects.alias("subject")]
        asked = self.owner.requested_k
        requested_k = asked.get_columns() if isinstance(asked, pl.DataFrame) else []
        require_persons(self.policy, path)
        known = self.details.table.with_frame(pl.DataFrame([*people, *requested_k])).expand()
        try:
            write_bytes(Path(path), to_bytes(known, "csv"))
        except OSError as error:
            raise WriteError("cannot write", where=str(path), got=error.strerror or str(error)) from None


def verify_release(
    prepared: Prepared,
    published: Published,
    claims: Claims,
    held: TableEngine,
    following: Following | None = None,
) -> Release:
    """Verify what an engine holds of what is published, and return the release; nothing leaves otherwise."""
    companions = hold_companions(prepared.engine, published.companions)
    tables = HeldTables(release=held, companions=companions)
    manifest = describe_release(prepared.words, claims.recoding, prepared.engine)
    return Release(
        policy=prepared.policy,
        audit=verify_published(prepared, published, claims, tables, following),
        recoding=claims.recoding,
        manifest=manifest,
        series=None if following is None else following.state.bind(prepared.policy.hash, manifest["data_fingerprint"]),
        published=held,
        companions=companions,
        details=published,
        prepared=prepared,
        claimed_loss=claims.loss,
    )

"""Release: the published table, and everything needed to trust it."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from typing import Any

import polars as pl

from shoal.auditing import Audit, audit
from shoal.auditing.census import Often
from shoal.auditing.checks import bytes_check
from shoal.auditing.hygiene import bytes_faults
from shoal.engines.columns import of_kind
from shoal.engines.counted import Times, expanded, records_of
from shoal.engines.fingerprint import fingerprint
from shoal.engines.memory.files import format_of, read_file
from shoal.engines.memory.source import Source
from shoal.engines.memory.write import ENDINGS, to_bytes, write_bytes
from shoal.errors import AuditFailed, Fault, WriteError
from shoal.pipeline.release_folder import publish, write_sidecars
from shoal.policy import Policy
from shoal.recodings.base import RecodingSummary


@dataclass(frozen=True)
class Release:
    """A published table that was audited, with its policy, recoding, attained values and manifest.

    A release exists only if its audit holds: see :func:`shoal.anonymize`.
    """

    table: Any
    """The published table, of the same library as the input."""
    policy: Policy
    recoding: RecodingSummary = field(repr=False)
    attained: dict[str, Any]
    """Model name → what the published table attains."""
    audit: Audit = field(repr=False)
    manifest: dict[str, Any] = field(repr=False)
    """Policy hash, data fingerprint, versions, seed, recoding."""
    source: Source = field(repr=False)
    frame: pl.DataFrame = field(repr=False)
    subjects: pl.Series | None = field(default=None, repr=False)
    """The person of each published record, for the owner's audits; never written."""
    requested_k: pl.DataFrame | None = field(default=None, repr=False)
    """What the person of each published record asks for, for the owner's audits; never written."""
    weights: pl.Series | None = field(default=None, repr=False)
    """The weight of each published record where those of a survey count, for the owner's audits; never written."""
    claimed_loss: float = field(default=float("nan"), repr=False)
    """The loss that the search claims."""
    parts: dict[str, pl.DataFrame] = field(default_factory=dict, repr=False)
    """The second table of a release that has two, by name: ``statistics`` or ``sensitive``."""
    rows: pl.Series | None = field(default=None, repr=False)
    """The original record of each published one, for the owner's audits; never written."""
    times: Times = field(default=None, repr=False)
    """How often each published record occurs, where the table was given tallied."""

    @property
    def beside(self) -> Any:
        """The second table of a release that has two (statistics, anatomy), of the same library as the input."""
        return next((self.source.restore(part.clone()) for part in self.parts.values()), None)

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

    def write(self, out: str | Path, *, format: str | None = None, statistics: bool = True) -> dict[str, Path]:
        """Write release, audit, report and manifest into a folder; all of them or nothing.

        The release is read back from the disk and audited before it gets its name. ``format`` is ``csv``,
        ``parquet``, ``feather``, ``excel`` or ``jsonl``; the input's own by default, CSV for tables in memory.
        ``statistics`` compares the distributions of original and published columns, for audit and report.
        """
        folder = Path(out)
        kind = format or (format_of(self.source.path) if self.source.path else "csv")
        if kind not in ENDINGS:
            raise WriteError("no such format", where="format", got=repr(kind), hint="one of: " + ", ".join(ENDINGS))
        sources = [] if self.source.path is None else [self.source.path]
        return publish(folder, lambda workshop: self._write_all(workshop, kind, statistics=statistics), sources)

    def write_subjects(self, path: str | Path) -> None:
        """Write the person of each published record and what they ask for, in order; never publish it.

        It is for the owner's later audits.
        """
        people = [] if self.subjects is None else [self.subjects.alias("subject")]
        requested_k = [] if self.requested_k is None else self.requested_k.get_columns()
        if not people and not requested_k:
            hint = "name a subject column"
            raise WriteError("the policy counts records, not persons", where=str(path), hint=hint)
        try:
            write_bytes(Path(path), to_bytes(pl.DataFrame([*people, *requested_k]), "csv"))
        except OSError as error:
            raise WriteError("cannot write", where=str(path), got=error.strerror or str(error)) from None

    def _write_all(self, workshop: Path, kind: str, *, statistics: bool) -> list[str]:
        tables = {
            "release": expanded(self.frame, self.times),
            **{f"release-{name}": part for name, part in self.parts.items()},
        }
        paths = {name: workshop / f"{name}{ENDINGS[kind]}" for name in tables}
        for name, table in tables.items():
            write_bytes(paths[name], to_bytes(table, kind))
        checked = self._read_back(tables, paths, kind, statistics=statistics)
        return [*(path.name for path in paths.values()), *write_sidecars(workshop, checked, self.manifest)]

    def audit_again(self, table: object, beside: object = None, *, statistics: bool = False) -> Audit:
        """Audit a table as this release, with what only the owner knows of each published record."""
        return audit(
            table,
            self.policy,
            original=self.source,
            subjects=self._of_each(self.subjects),
            requested_k=None
            if self.requested_k is None or not self.requested_k.width
            else expanded(self.requested_k, self.times),
            weights=self._of_each(self.weights),
            statistics=statistics,
            beside=beside,
            rows=self._of_each(self.rows),
        )

    def _of_each(self, told: pl.Series | None) -> pl.Series | None:
        """Return what is known of each published record, one by one."""
        return None if told is None else expanded(told.to_frame(), self.times).to_series()

    def _read_back(
        self, tables: dict[str, pl.DataFrame], paths: dict[str, Path], kind: str, *, statistics: bool
    ) -> Audit:
        """Audit the bytes on the disk; whatever differs from what the search claimed is a failure."""
        # as the file was written, nothing detected: the audit counts the cells that are in it
        how = {"delimiter": ",", "quote": '"', "encoding": "utf-8"} if kind == "csv" else {}
        written = {name: read_file(path, types=False, **how) for name, path in paths.items()}
        checked = self.audit_again(*written.values(), statistics=statistics).claiming(self.audit.claimed_bound)
        faults = checked.failures()
        for name, table in tables.items():
            faults += bytes_faults(paths[name].read_bytes(), kind, table, self.source.frame)
            if name == "release":
                faults += other_records(written[name], table, self.policy.hash)
            else:  # what it tells is compared with the records by the audit
                faults += _other_columns(written[name], table)
        faults += disagreements(checked, self.attained, self.audit)
        if faults:
            raise AuditFailed(faults)
        return checked.having(bytes_check([]))


def other_records(written: pl.DataFrame, released: pl.DataFrame, salt: str, often: Often | None = None) -> list[Fault]:
    """Return a fault where a file holds other records than the released ones, each as often.

    ``often`` is how often each written (``published``) and each released (``original``) record occurs.
    """
    often = often or Often()
    if others := _other_columns(written, released):
        return others
    columns = [of_kind(written[name].alias("values"), released[name].dtype).alias(name) for name in written.columns]
    prints = fingerprint(pl.DataFrame(columns), salt, often.published), fingerprint(released, salt, often.original)
    if prints[0] == prints[1]:
        return []
    records = records_of(written, often.published)
    return [Fault("the file does not hold the released records, each as often", got=f"{records:,} records")]


def _other_columns(written: pl.DataFrame, released: pl.DataFrame) -> list[Fault]:
    if written.columns == released.columns:
        return []
    return [Fault("the file's columns are not the release's", got=", ".join(written.columns))]


def disagreements(checked: Audit, attained: dict[str, Any], claimed: Audit | None = None) -> list[Fault]:
    """Return where an audit counts other than the search claimed."""
    faults = [
        Fault(
            "search and audit disagree",
            where=name,
            got=f"the search claims {attained[name]}, the audit counts {value}",
        )
        for name, value in attained_by(checked).items()
        if attained.get(name) != value
    ]
    lost, bound = checked.utility.get("certainty-penalty"), checked.claimed_bound
    if bound is not None and lost is not None and lost.total < bound - 1e-9:
        faults.append(
            Fault(
                "search and audit disagree",
                where="bound",
                got=f"the search claims that nothing goes below {bound}, the audit counts {lost.total}",
            )
        )
    if claimed is not None and (claimed.published, claimed.classes) != (checked.published, checked.classes):
        faults.append(
            Fault(
                "the written table is not the released one",
                got=f"{checked.published} records in {checked.classes} classes, "
                f"not {claimed.published} in {claimed.classes}",
            )
        )
    return faults


def attained_by(checked: Audit) -> dict[str, Any]:
    """Return model name → attained value; models of one name are told apart."""
    return {title: entry.attained for title, entry in zip(checked.titles, checked.models, strict=True)}

"""audit_table(): a published table and its policy in, what holds out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from shoal.auditing.anatomy import audit_anatomy
from shoal.auditing.attacks import AttackPlan, measure_risks, run_attacks
from shoal.auditing.census import Counted, count_classes
from shoal.auditing.checks import AFTER_COUNTING, BEFORE_COUNTING, Check, Compared, run_checks
from shoal.auditing.evidence import Tables, at_hand, gather_evidence
from shoal.auditing.fidelity import Fidelity
from shoal.auditing.losses import measure_losses
from shoal.auditing.measured import measure_classes
from shoal.auditing.original import OriginalTable
from shoal.auditing.outputs import CompanionTable, drop_added, in_types_of
from shoal.auditing.owner import OwnerView
from shoal.auditing.requested_k import find_requested_k
from shoal.auditing.suppression import (
    SHOWS_NOTHING,
    count_signs,
    count_suppressed,
    describe_missing,
    shows_nothing,
    suppression_faults,
)
from shoal.auditing.verdict import Audit, ModelAudit
from shoal.encoding.types import Progress, silent
from shoal.engines.columns import plain
from shoal.engines.counted import CountedTable
from shoal.errors import Fault, Misfit
from shoal.models.base import Census, PrivacyModel
from shoal.policy import Policy
from shoal.risk.base import Evidence
from shoal.utility.base import Measured

NOTHING_KNOWN, AT_HAND_ONLY = OwnerView(), AttackPlan()
"""What is told where nobody tells anything: nothing of the owner's, and the attacks that cost next to nothing."""


def audit_table(  # noqa: PLR0913 - each is a question of its own, by name
    published: CountedTable,
    policy: Policy,
    *,
    original: CountedTable | OriginalTable | None = None,
    owner: OwnerView = NOTHING_KNOWN,
    companion: CompanionTable | None = None,
    statistics: Fidelity | None = None,
    attacks: AttackPlan = AT_HAND_ONLY,
    progress: Progress = silent,
    path: Path | None = None,
) -> Audit:
    """Count a published table again and say what holds.

    Parameters
    ----------
    published
        The published table.
    policy
        What was promised; without models the table is only measured.
    original
        The original table, treated and checked as the policy says; handed over as an :class:`OriginalTable`, what is
        read of its columns is made once for several audits.
    owner
        What only the owner knows of each published record.
    companion
        The second table of a release that has two (statistics, anatomy).
    statistics
        Which statistics of both tables to compare; they need the original.
    attacks
        Which attacks to run, and with what tables.
    progress
        Called with what is being done, how much is done, and how much there is.
    path
        The file that the published table was read from: its bytes are searched too.
    """
    before = None if original is None else OriginalTable.of(original, policy)
    companion = companion or CompanionTable()
    _require_records(published, before, statistics, attacks)
    if before is not None:
        published = published.with_frame(in_types_of(before.frame, published.frame, policy))
        companion = companion.in_types_of(before.frame, policy)
    compared = Compared(
        policy=policy,
        published=published,
        whole=published.frame,
        original=before,
        companion=companion,
        rows=owner.rows,
        path=path,
    )
    if not policy.output.generalizes:
        return audit_anatomy(compared)
    compared = replace(compared, published=drop_added(published, policy))
    return _audit(compared, owner, statistics, attacks, progress)


def _require_records(
    published: CountedTable, original: OriginalTable | None, statistics: Fidelity | None, attacks: AttackPlan
) -> None:
    """Raise where something is asked for that the tables cannot tell."""
    if statistics is not None and original is None:
        raise Misfit("statistics compare the published table with the original", hint="give original=")
    is_counted = published.is_counted or (original is not None and original.table.is_counted)
    if is_counted and attacks.needs_records:
        raise Misfit("attacks need the records one by one", got="a tallied table", hint="expand it")
    if statistics is not None and original is not None and original.table.apart:
        raise Misfit("statistics need whole records", got="columns that were counted apart")


def _audit(
    compared: Compared, owner: OwnerView, statistics: Fidelity | None, attacks: AttackPlan, progress: Progress
) -> Audit:
    policy, published, original = compared.policy, compared.published, compared.original
    records = published.records if original is None else original.table.records
    checks = run_checks(BEFORE_COUNTING, compared)
    faults = _faults_of(checks)
    if any(fault.kind == "unreadable" for fault in faults):
        models = tuple(ModelAudit(model, None, counted=False) for model in policy.models)
        return Audit(policy=policy, records=records, published=published.records, models=models, faults=tuple(faults))
    found = _count(compared, owner)
    counted = found.counted
    later = run_checks(AFTER_COUNTING, replace(compared, counted=counted))
    faults += [*found.faults, *_faults_of(later)]
    left_out, is_silent = max(records - published.records, 0), shows_nothing(counted.classes, policy)
    starred = count_suppressed(published, original, policy, owner.rows) if is_silent else counted.starred
    faults += [*([SHOWS_NOTHING] if is_silent else []), *suppression_faults(policy, records, starred + left_out)]
    utility: dict[str, Measured] = {}
    columns: dict[str, dict[str, Any]] = {}
    if original is not None:
        utility, columns, unread = measure_losses(published, original, counted, policy)
        faults += unread
    known = at_hand(counted, policy)
    tables = Tables.of(attacks, original, policy, owner)
    return Audit(
        policy=policy,
        records=records,
        published=published.records,
        starred=starred,
        left_out=left_out,
        sizes=counted.census.sizes,
        models=tuple(_recount(model, counted.census) for model in policy.models),
        utility=utility,
        risk=measure_risks(known),
        risk_before=_risk_before(original, known.least),
        faults=tuple(faults),
        columns=columns,
        statistics=None if original is None or statistics is None else statistics.compare(published, original),
        measured=measure_classes(counted, policy),
        checks=(*checks, *later),
        missing=describe_missing(counted.classes, published, None if original is None else original.table, policy),
        starred_as=count_signs(counted.classes, counted.is_starred, len(policy.quasi_identifiers)),
        attacks=run_attacks(
            attacks, known, lambda: gather_evidence(published.frame, tables, policy, counted, progress)
        ),
        shows_nothing=is_silent,
    )


@dataclass(frozen=True)
class _Count:
    counted: Counted
    faults: list[Fault]


def _count(compared: Compared, owner: OwnerView) -> _Count:
    """Count the classes, with what the owner tells of each record where that fits."""
    policy, published, original = compared.policy, compared.published, compared.original
    owner, misfits = owner.fit(published.frame.height)
    counted, uncounted = count_classes(published, original, policy, owner)
    requested, unknown = find_requested_k(published, original, policy, counted, owner)
    counted = replace(counted, census=replace(counted.census, requested_k=requested))
    return _Count(counted, [*misfits, *uncounted, *unknown])


def _faults_of(checks: list[Check]) -> list[Fault]:
    return [fault for check in checks for fault in check.faults]


def _recount(model: PrivacyModel, census: Census) -> ModelAudit:
    if any(name not in census.requested_k for name in model.hidden_columns):
        return ModelAudit(model, None, counted=False)
    return ModelAudit(model, model.recount(census))


def _risk_before(original: OriginalTable | None, least: int) -> dict[str, dict[str, float]]:
    """Return the risk of the original, where its combinations are known."""
    if original is None or original.table.apart:
        return {}
    sizes = _count_combinations(original)["size"].cast(pl.Int64).to_numpy()
    return measure_risks(Evidence(sizes, least))


def _count_combinations(original: OriginalTable) -> pl.DataFrame:
    """Return the combinations of the original, each with how many records, or persons, it has."""
    policy, raw = original.policy, original.frame
    columns = [plain(raw[name]).alias(f"q{index}") for index, name in enumerate(policy.quasi_identifiers)]
    keys = [column.name for column in columns]
    if policy.subject is not None:
        table = pl.DataFrame([*columns, raw[policy.subject].alias("subject")])
        return table.group_by(keys).agg(pl.col("subject").n_unique().alias("size"))
    table = pl.DataFrame([*columns, pl.Series("times", original.table.record_counts)])
    return table.group_by(keys).agg(pl.col("times").sum().alias("size"))

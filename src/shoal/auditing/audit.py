"""audit_table(): a published table and its policy in, what holds out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.auditing.anatomy import audit_anatomy
from shoal.auditing.attacks import AttackPlan, measure_risks, run_attacks
from shoal.auditing.census import CountedClasses, count_classes
from shoal.auditing.checks import (
    AFTER_COUNTING,
    BEFORE_COUNTING,
    WITHOUT_CLASSES,
    Check,
    Compared,
    make_check,
    run_checks,
)
from shoal.auditing.evidence import AttackTables, evidence_at_hand, gather_evidence
from shoal.auditing.examples import ExampleRecords
from shoal.auditing.fidelity import Fidelity
from shoal.auditing.losses import measure_losses
from shoal.auditing.measured import measure_classes
from shoal.auditing.original import OriginalTable
from shoal.auditing.outputs import CompanionTable, cast_like, drop_added
from shoal.auditing.owner import OwnerView
from shoal.auditing.perturbed import PerturbationAudit, test_perturbations
from shoal.auditing.recount import recount_models
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
from shoal.encoding.types import Ints, Progress, silent
from shoal.engines.columns import codes_of
from shoal.engines.counted import CountedTable
from shoal.engines.formulas import REFUSED_HINT, WARNED_HINT, formula_faults, read_published
from shoal.engines.limits import BOTH_TABLES, ONE_BY_ONE, WHOLE_RECORDS
from shoal.errors import Fault, Misfit
from shoal.guarantees import Guarantee, declare_guarantees
from shoal.policy import Policy
from shoal.risk.base import Evidence
from shoal.utility.base import Measured

NOTHING_KNOWN, AT_HAND_ONLY = OwnerView(), AttackPlan()
"""What is told where nobody tells anything: nothing of the owner's, and the attacks that cost next to nothing."""

_MOST_NUMBERS = 2**31
"""So many combinations are told apart by one number, at most."""


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
    given = [published, *([] if companion.frame is None else [CountedTable(companion.frame)])]
    published, companion = published.with_frame(read_published(published.frame, policy)), companion.read(policy)
    if before is not None:
        published = published.with_frame(cast_like(before.frame, published.frame, policy))
        companion = companion.cast_like(before.frame, policy)
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
        return _look_for_formulas(audit_anatomy(compared), given)
    compared = replace(compared, published=drop_added(published, policy))
    return _look_for_formulas(_audit(compared, owner, statistics, attacks, progress), given)


def _look_for_formulas(audit: Audit, given: Sequence[CountedTable]) -> Audit:
    """Return an audit with what a spreadsheet takes for formulas in its tables, as they are given: a fault where the
    policy leaves none, else a note."""
    if audit.policy.hygiene.looks_at_all_cells:
        faults = [fault for table in given for fault in formula_faults(table, "fault", REFUSED_HINT)]
        return audit.having(make_check("formulas", faults))
    notes = [note for table in given for note in formula_faults(table, "note", WARNED_HINT)]
    return replace(audit, faults=(*audit.faults, *notes))


def _require_records(
    published: CountedTable, original: OriginalTable | None, statistics: Fidelity | None, attacks: AttackPlan
) -> None:
    """Raise where something is asked for that the tables cannot tell."""
    if statistics is not None and original is None:
        raise Misfit([BOTH_TABLES])
    is_counted = published.is_counted or (original is not None and original.table.is_counted)
    if is_counted and attacks.needs_records:
        raise Misfit([ONE_BY_ONE])
    if statistics is not None and original is not None and original.table.apart:
        raise Misfit([WHOLE_RECORDS])


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
    perturbed = test_perturbations(compared, owner.fit(published.frame.height)[0].weights)
    faults += [fault for one in perturbed for fault in one.faults()]
    if not policy.quasi_identifiers:
        return _audit_without_classes(compared, perturbed, faults, checks)
    found = _count(compared, owner)
    counted = found.counted
    later = run_checks(AFTER_COUNTING, replace(compared, counted=counted))
    models, undecided = recount_models(published, policy, counted)
    faults += [*undecided, *found.faults, *_faults_of(later)]
    left_out, is_silent = max(records - published.records, 0), shows_nothing(counted.classes, policy)
    starred = count_suppressed(published, original, policy, owner.rows) if is_silent else counted.starred
    faults += [*([SHOWS_NOTHING] if is_silent else []), *suppression_faults(policy, records, starred + left_out)]
    utility: dict[str, Measured] = {}
    columns: dict[str, dict[str, Any]] = {}
    if original is not None:
        utility, columns, unread = measure_losses(published, original, counted, policy)
        faults += unread
    known = evidence_at_hand(counted, policy)
    tables = AttackTables.of(attacks, original, policy, owner)
    return Audit(
        policy=policy,
        records=records,
        published=published.records,
        starred=starred,
        left_out=left_out,
        sizes=counted.census.sizes,
        models=models,
        utility=utility,
        risk=measure_risks(known),
        risk_before=_risk_before(original, known.least),
        is_compared=original is not None,
        faults=tuple(faults),
        columns=columns,
        statistics=None
        if original is None or statistics is None
        else statistics.compare(published, original, owner.rows),
        measured=measure_classes(counted, policy),
        guarantees=_guarantees(compared),
        checks=(*checks, *later),
        missing=describe_missing(counted.classes, published, None if original is None else original.table, policy),
        starred_as=count_signs(counted.classes, counted.is_starred, len(policy.quasi_identifiers)),
        attacks=run_attacks(
            attacks, known, lambda: gather_evidence(published.frame, tables, policy, counted, progress)
        ),
        shows_nothing=is_silent,
        perturbations=perturbed,
        examples=ExampleRecords.pick(published.with_frame(compared.whole)),
    )


def _audit_without_classes(
    compared: Compared, perturbed: tuple[PerturbationAudit, ...], faults: list[Fault], checks: list[Check]
) -> Audit:
    """Return the audit of a table without quasi-identifiers: there are no classes to count, and no models."""
    published, original = compared.published, compared.original
    records = published.records if original is None else original.table.records
    later = run_checks(WITHOUT_CLASSES, compared)
    return Audit(
        policy=compared.policy,
        records=records,
        published=published.records,
        left_out=max(records - published.records, 0),
        models=(),
        is_compared=original is not None,
        faults=(*faults, *_faults_of(later)),
        guarantees=_guarantees(compared),
        checks=(*checks, *later),
        perturbations=perturbed,
        examples=ExampleRecords.pick(published.with_frame(compared.whole)),
    )


@dataclass(frozen=True)
class _Count:
    counted: CountedClasses
    faults: list[Fault]


def _count(compared: Compared, owner: OwnerView) -> _Count:
    """Count the classes, with what the owner tells of each record where that fits."""
    policy, published, original = compared.policy, compared.published, compared.original
    owner, misfits = owner.fit(published.frame.height)
    counted, uncounted = count_classes(published, original, policy, owner)
    requested, unknown = find_requested_k(published, original, policy, counted, owner)
    counted = replace(counted, census=replace(counted.census, requested_k=requested))
    return _Count(counted, [*misfits, *uncounted, *unknown])


def _guarantees(compared: Compared) -> dict[str, Guarantee]:
    """Return what is promised of each column of either table."""
    before = () if compared.original is None else compared.original.frame.columns
    return declare_guarantees((*before, *compared.whole.columns), compared.policy)


def _faults_of(checks: list[Check]) -> list[Fault]:
    return [fault for check in checks for fault in check.faults]


def _risk_before(original: OriginalTable | None, least: int) -> dict[str, dict[str, float]]:
    """Return the risk of the original, where its combinations are known."""
    if original is None or original.table.apart:
        return {}
    return measure_risks(Evidence(_count_combinations(original), least))


def _count_combinations(original: OriginalTable) -> Ints:
    """Return how many records, or persons, each combination of the original has."""
    combinations = np.zeros(original.frame.height, np.int64)
    for column in _pack_codes(original):  # numbered anew each time: a table of all columns takes far more memory
        combinations = np.unique(combinations * (int(column.max(initial=0)) + 1) + column, return_inverse=True)[1]
    if original.policy.subject is None:
        return np.bincount(combinations, original.table.record_counts).astype(np.int64)
    persons = (
        original.frame[original.policy.subject].alias("people").rank("dense").fill_null(0).to_numpy().astype(np.int64)
    )
    width = int(persons.max(initial=0)) + 1
    return np.bincount(np.unique(combinations * width + persons) // width)


def _pack_codes(original: OriginalTable) -> list[Ints]:
    """Return as few columns as tell the quasi-identifiers' combinations apart: several codes make one small number."""
    packed: list[Ints] = []
    room = 0  # how many numbers more the last one could tell apart
    for name in original.policy.quasi_identifiers:
        domain = original.words.domain(name)
        codes, size = codes_of(original.words.values(name), domain), len(domain) + 1
        if size <= room:
            packed[-1] = packed[-1] * size + codes
        else:
            packed, room = [*packed, codes], _MOST_NUMBERS
        room //= size
    return packed

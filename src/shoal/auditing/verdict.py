"""audit(): a published table and its policy in, what holds out."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.auditing.attacks import Asked, Attacks, attacked, chosen, risk_of
from shoal.auditing.census import Often, count
from shoal.auditing.checks import Check, Original, first_checks, later_checks
from shoal.auditing.criteria import criteria
from shoal.auditing.evidence import Tables, at_hand, gathered
from shoal.auditing.fidelity import Fidelity
from shoal.auditing.losses import losses
from shoal.auditing.measured import Measures, measured
from shoal.auditing.outputs import CompanionTable, in_types_of, without_added
from shoal.auditing.reading import Reader
from shoal.auditing.requested_k import Asks, find_requested_k
from shoal.auditing.roles import promised
from shoal.auditing.suppression import forced_suppression, missing_values, shows_nothing, written_as
from shoal.auditing.thresholds import thresholds
from shoal.encoding.types import Progress, silent
from shoal.engines.choice import engine_of
from shoal.engines.columns import plain
from shoal.engines.counted import Times
from shoal.engines.memory.source import Source, open_table
from shoal.engines.treatments import treated
from shoal.errors import AuditFailed, Fault, Misfit
from shoal.models.base import Census, PrivacyModel, titles
from shoal.pipeline.check import check
from shoal.policy import Policy
from shoal.policy.outputs import Anatomy
from shoal.risk.base import Evidence
from shoal.utility.base import Measured

FORMAT = 1
"""The number of the form of ``audit.json``; keys are added to it, none is taken away or changed."""


@dataclass(frozen=True)
class ModelAudit:
    """One promise, counted again."""

    model: PrivacyModel
    attained: Any
    """``None`` where there was nothing to count."""
    counted: bool = True
    """Whether the table could be counted at all."""

    @property
    def holds(self) -> bool:
        """Whether the attained value is as good as the asked one."""
        return self.counted and self.model.meets(self.attained)

    def to_dict(self) -> dict[str, Any]:
        """Return the promise as plain data."""
        about = {"on": list(self.model.sensitive_columns)} if self.model.sensitive_columns else {}
        return {
            "name": self.model.key(),
            "asked": self.model.asked,
            "attained": None if self.attained == math.inf else self.attained,
            "holds": self.holds,
            **about,
        }


@dataclass(frozen=True)
class Audit:
    """What an independent count of a published table found.

    Attributes
    ----------
    records, published
        Records of the original table (of the published one where the original is not given), and published ones.
    starred, left_out
        Suppressed records that are published as ``*``, and those that are not published.
    classes
        Number of distinct combinations of published quasi-identifiers.
    models
        Each promise with what is attained.
    utility, risk, risk_before
        Losses and risks by name; they need the original table, but for the risk after.
    faults
        What is wrong with the table itself: a column that must not be there, an index, a value nobody can read.
    """

    policy: Policy
    records: int
    published: int
    starred: int
    left_out: int
    classes: int
    sizes: np.ndarray[Any, Any] = field(repr=False)
    models: tuple[ModelAudit, ...]
    utility: dict[str, Measured]
    risk: dict[str, dict[str, float]]
    risk_before: dict[str, dict[str, float]]
    faults: tuple[Fault, ...]
    columns: dict[str, dict[str, Any]]
    """For each quasi-identifier: distinct values before and after, and its certainty penalty."""
    statistics: dict[str, Any] | None = None
    """Original against published, where that was asked for (:class:`~shoal.auditing.fidelity.Fidelity`)."""
    measured: Measures = field(default_factory=Measures)
    """What the table attains, whatever was promised."""
    checks: tuple[Check, ...] = ()
    """The checks of the table itself, with their outcome."""
    missing: dict[str, dict[str, Any]] = field(default_factory=dict)
    """For each column with a role: what a missing value is, and how many cells show nothing."""
    starred_as: dict[str, int] = field(default_factory=dict)
    """How the suppressed records that are published are written → how many are."""
    attacks: Attacks = field(default_factory=Attacks)
    """What attackers tried and found, and what was not tried."""
    shows_nothing: bool = False
    """Whether every published record shows ``*`` in every quasi-identifier."""
    claimed_bound: float | None = None
    """The certainty penalty that no local recoding can go below, as the search claims it; no audit counts that."""

    @property
    def suppressed(self) -> int:
        """Records that show nothing, starred or left out."""
        return self.starred + self.left_out

    @property
    def is_linkable(self) -> bool:
        """Whether records stand alone whatever the models say: by a pseudonym, or by exact quasi-identifiers."""
        return bool(self.policy.pseudonyms) or isinstance(self.policy.output, Anatomy)

    @property
    def holds(self) -> bool:
        """Whether every promise holds and nothing is wrong with the table; never where nothing was promised."""
        return bool(self.models) and all(model.holds for model in self.models) and self.is_clean

    @property
    def is_clean(self) -> bool:
        """Whether nothing is wrong with the table itself."""
        return all(fault.kind == "note" for fault in self.faults)

    @property
    def is_counted(self) -> bool:
        """Whether the classes could be counted; a table without its quasi-identifiers cannot."""
        return not any(fault.kind == "unreadable" for fault in self.faults)

    def having(self, made: Check) -> Audit:
        """Return the audit with a check that was made elsewhere, in the place of the one of its name."""
        return replace(self, checks=tuple(made if check.name == made.name else check for check in self.checks))

    def claiming(self, bound: float | None) -> Audit:
        """Return the audit with what the search claims that no local recoding can go below."""
        return replace(self, claimed_bound=bound)

    @property
    def titles(self) -> list[str]:
        """The name of each promise, those of one name told apart."""
        return titles([entry.model for entry in self.models])

    def failures(self) -> list[Fault]:
        """Return what does not hold."""
        broken = [
            Fault(
                f"{title} does not hold",
                where=", ".join(entry.model.sensitive_columns),
                got=f"{entry.attained} where {entry.model.asked} is asked",
            )
            for title, entry in zip(self.titles, self.models, strict=True)
            if entry.counted and not entry.holds
        ]
        if not self.models:
            broken = [Fault("nothing was promised: the policy names no model")]
        return [] if self.holds else [*broken, *self.faults]

    def require(self) -> Audit:
        """Return the audit if all holds, else raise :class:`~shoal.errors.AuditFailed`."""
        if not self.holds:
            raise AuditFailed(self.failures())
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as plain data: the content of ``audit.json``."""
        return {
            "format": FORMAT,
            "promised": bool(self.models),
            "holds": self.holds if self.models else None,
            "form": self.policy.output.form,
            "records": self.records,
            "published": self.published,
            "suppressed": self.suppressed,
            "shows_nothing": self.shows_nothing,
            "starred": self.starred,
            "left_out": self.left_out,
            "classes": self.classes,
            "counted": "persons" if self.policy.subject else "records",
            "models": [
                entry.to_dict() | ({"title": title} if title != entry.model.key() else {})
                for title, entry in zip(self.titles, self.models, strict=True)
            ],
            "utility": {name: _plain(value) for name, value in self.utility.items()},
            "risk": self.risk,
            "risk_before": self.risk_before,
            **self.attacks.to_dict(),
            "columns": self.columns,
            "faults": [{**fault.to_dict(), "kind": fault.kind} for fault in self.faults],
            "suppressed_as": {**self.starred_as, **({"left out": self.left_out} if self.left_out else {})},
            "measured": self.measured.to_dict(),
            "thresholds": thresholds(self.measured.k),
            "criteria": criteria(entry.model for entry in self.models if entry.holds and not self.is_linkable),
            "hygiene": [check.to_dict() for check in self.checks],
            "missing": self.missing,
            "policy_hash": self.policy.hash,
            **({} if self.statistics is None else {"statistics": self.statistics}),
        } | (
            {}
            if self.claimed_bound is None
            else {"bound": self.claimed_bound, "bound_is": "claimed by the search; the audit did not count it"}
        )

    def to_json(self) -> str:
        """Return the audit as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"


def _plain(value: Measured) -> dict[str, Any]:
    return {"total": value.total, "columns": value.columns} if value.columns else {"total": value.total}


def audit(
    table: object,
    policy: Policy | Mapping[str, Any] | str | Path,
    *,
    original: object = None,
    subjects: object = None,
    requested_k: Asks | None = None,
    weights: object = None,
    statistics: Fidelity | bool = False,
    attacks: Asked = None,
    external: object = None,
    earlier: Sequence[object] = (),
    progress: Progress = silent,
    beside: object = None,
    rows: pl.Series | None = None,
) -> Audit:
    """Count a published table again and say what holds.

    Parameters
    ----------
    table
        The published table, or the path of its file.
    policy
        What was promised. Without models (``{"quasi_identifiers": […], "sensitive": […]}``) the table is only measured:
        it may be anybody's.
    original
        The original table; losses, the risk before, and records that were left out need it.
    subjects
        Where persons are counted: the person of each published record, in order. Only the owner has this;
        without it the least possible number of persons is counted from the original, or the audit does not hold.
    asks
        Where persons ask for a k of their own: column → what the person of each published record asks for, in order.
        Only the owner has this; without it the most that the original allows is taken, or the audit does not hold.
    weights
        Where a survey's weights count and are not published: the weight of each published record, in order.
    statistics
        Whether to compare the distributions of both tables, and how (:class:`~shoal.auditing.fidelity.Fidelity`); for
        the owner, since it needs the original.
    attacks
        Which attacks to run: ``True`` for all, or names (:mod:`shoal.risk`), also with parameters. Without it those
        that cost next to nothing; all where ``external`` or ``earlier`` is given.
    external
        A table of persons that an attacker may hold, with some of the quasi-identifiers.
    earlier
        Earlier releases about the same people, or their paths.
    progress
        Called with what is being done, how much is done, and how much there is.
    beside
        The second table of a release that has two (statistics, anatomy), or the path of its file; the file that lies
        beside the first by default.
    rows
        The original record of each published one, from 0. Only the owner has this; without it statistics are found to
        be possible, not to be true.

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("patients")
    >>> shoal.audit(table, policy).models[0].attained  # the raw table: everyone stands alone
    1
    >>> shoal.audit(table, {"quasi_identifiers": ["age", "sex"], "sensitive": []}).measured.k
    1
    """
    if engine := engine_of(table, original):
        given_too = {"subjects": subjects, "asks": requested_k, "weights": weights, "attacks": attacks, "rows": rows}
        more = {"statistics": statistics, "external": external, "earlier": earlier, "beside": beside}
        there: Audit = engine.audit(table, policy, original=original, progress=progress, **given_too, **more)
        return there
    policy, asked = promised(policy), Fidelity() if statistics is True else statistics or None
    if asked is not None and original is None:
        raise Misfit("statistics compare the published table with the original", hint="give original=")
    published, given = _as_published(table), None if original is None else _original(original, policy)
    frame, raw = published.frame, None if given is None else given.frame
    often = Often(published.times, None if given is None else given.times)
    if often.is_tallied and (attacks or external is not None or earlier):
        raise Misfit("attacks need the records one by one", got="a tallied table", hint="expand it")
    if asked is not None and given is not None and given.apart:
        raise Misfit("statistics need whole records", got="columns that were counted apart")
    second = CompanionTable.of(beside, table, policy)
    if raw is not None:
        frame, second = in_types_of(raw, frame, policy), second.in_types_of(raw, policy)
    whole = frame
    if isinstance(policy.output, Anatomy):
        from shoal.auditing.anatomy import audit_anatomy

        return audit_anatomy(frame, raw, policy, second, rows, table if isinstance(table, (str, Path)) else None)
    frame, added = without_added(whole, raw, policy, second, rows)
    checks = [*added, *first_checks(frame, raw, policy, often)]
    faults = [fault for check in checks for fault in check.faults]
    if any(fault.kind == "unreadable" for fault in faults):
        return _unreadable(published.records if given is None else given.records, published.records, policy, faults)
    counted, uncounted = count(frame, raw, policy, subjects, weights, often)
    faults += uncounted
    told, unknown = find_requested_k(frame, raw, policy, counted, requested_k)
    faults += unknown
    census = replace(counted.census, requested_k=told)
    names = policy.quasi_identifiers
    readers = {} if raw is None else {name: Reader(raw, name, policy, often.original) for name in names}
    before = None if given is None else Original(given.frame, readers, given.apart)
    later = later_checks(table, whole, frame, before, counted, policy, often, rows)
    faults += [fault for check in later for fault in check.faults]
    models = tuple(_recounted(model, census) for model in policy.models)
    records = published.records if given is None else given.records
    left_out = max(records - published.records, 0)
    is_silent = shows_nothing(counted.classes, policy)
    starred = _starred_among_all(before, policy, rows, often, left_out) if is_silent else counted.starred
    faults += [*([_SHOWS_NOTHING] if is_silent else []), *_suppression_faults(policy, records, starred, left_out)]
    utility: dict[str, Measured] = {}
    columns: dict[str, dict[str, Any]] = {}
    if raw is not None:
        utility, columns, unread = losses(frame, counted, policy, left_out, readers, often.published)
        faults += unread
    known = at_hand(counted, policy)
    tables = Tables.of(raw, external, [_as_published(one).frame for one in earlier], policy, subjects)
    risks = chosen(attacks, given=tables.given)
    return Audit(
        policy,
        records,
        published.records,
        starred,
        left_out,
        len(counted.census.sizes),
        counted.census.sizes,
        models,
        utility,
        risk_of(known),
        _risk_before(_combinations(given, policy), known.least),
        tuple(faults),
        columns,
        None if raw is None or asked is None else asked.compare(frame, raw, policy, often),
        measured(counted, policy),
        (*checks, *later),
        missing_values(counted.classes, frame, raw, policy, often.published, often.original),
        written_as(counted.classes, counted.is_starred, len(policy.quasi_identifiers)),
        attacked(risks, known, lambda: gathered(frame, tables, policy, counted, progress), given=tables.given),
        is_silent,
    )


_SHOWS_NOTHING = Fault(
    "the table shows nothing: every record is * in every quasi-identifier",
    hint="ask for less, allow more records to be suppressed, or leave out the columns that block",
    kind="note",
)


def _starred_among_all(
    original: Original | None, policy: Policy, rows: pl.Series | None, often: Often, left_out: int
) -> int:
    """Return how many records are suppressed where all show ``*``: at least, if nobody tells which they are."""
    if original is None or original.apart:
        return 0
    forced = forced_suppression(original.frame, policy, original.readers)
    if rows is not None and len(rows) and rows.max() < len(forced):  # type: ignore[operator]
        return _records(forced.gather(rows), often.published)
    return max(_records(forced, often.original) - left_out, 0)


def _records(chosen: pl.Series, times: Times) -> int:
    return int(chosen.sum()) if times is None else int(times.filter(chosen).sum())


def _original(table: object, policy: Policy) -> Source:
    """Return the original table, treated as the policy says; one that losses cannot be measured against is refused."""
    raw = treated(open_table(table), policy)
    roles = ("quasi_identifiers", "sensitive", "subject", *(f"models[{n}].on" for n in range(len(policy.models))))
    misfits = [fault for fault in check(raw, policy) if fault.kind == "fault" and fault.where.startswith(roles)]
    if misfits:
        raise Misfit(misfits)
    return raw


def _as_published(table: object) -> Source:
    """Return a published table; a file is audited as it is written: its texts, not what they might be read as."""
    return open_table(table, types=False) if isinstance(table, (str, Path)) else open_table(table)


def _recounted(model: PrivacyModel, census: Census) -> ModelAudit:
    if any(name not in census.requested_k for name in model.hidden_columns):
        return ModelAudit(model, None, counted=False)
    return ModelAudit(model, model.recount(census))


def _suppression_faults(policy: Policy, records: int, starred: int, left_out: int) -> list[Fault]:
    allowed = policy.may_suppress(records)
    if starred + left_out > allowed:
        return [
            Fault(
                "more records are suppressed than the policy allows",
                got=f"{starred + left_out}, allowed {allowed}",
            )
        ]
    return []


def _unreadable(records: int, published: int, policy: Policy, faults: list[Fault]) -> Audit:
    """An audit of a table whose quasi-identifiers are not all there: nothing holds."""
    models = tuple(ModelAudit(model, None, counted=False) for model in policy.models)
    empty = np.zeros(0, np.int64)
    return Audit(policy, records, published, 0, 0, 0, empty, models, {}, {}, {}, tuple(faults), {})


def _risk_before(combinations: pl.DataFrame | None, least: int) -> dict[str, dict[str, float]]:
    """Return the risk of the original, where its combinations are known."""
    return {} if combinations is None else risk_of(Evidence(combinations["size"].cast(pl.Int64).to_numpy(), least))


def _combinations(given: Source | None, policy: Policy) -> pl.DataFrame | None:
    """Return the combinations of the original, each with its records and their persons; where they are known."""
    if given is None or given.apart:
        return None
    raw, times = given.frame, given.times
    columns = [plain(raw[name]).alias(f"q{index}") for index, name in enumerate(policy.quasi_identifiers)]
    table, records = pl.DataFrame(columns), pl.len()
    if times is not None:
        table, records = table.with_columns(times), pl.col("times").sum()
    persons = records
    if policy.subject is not None:
        table, persons = table.with_columns(raw[policy.subject].alias("subject")), pl.col("subject").n_unique()
    keys = [column.name for column in columns]
    return table.group_by(keys).agg(records.alias("records"), persons.alias("size"))

"""Audit: what an independent count of a published table found."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shoal.auditing.attacks import Attacks
from shoal.auditing.checks import Check
from shoal.auditing.criteria import assess_criteria, compare_thresholds
from shoal.auditing.examples import ExampleRecords
from shoal.auditing.measured import Measures
from shoal.auditing.perturbed import PerturbationAudit, claim_bounds
from shoal.auditing.statement import compare_risk, describe_variables, tell_context
from shoal.encoding.fragments import write_heading, write_list, write_table
from shoal.encoding.types import Ints
from shoal.errors import AuditFailed, Fault
from shoal.guarantees import Guarantee
from shoal.models.base import PrivacyModel, name_models
from shoal.policy import Policy
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
    decided: bool = True
    """Whether who counts knows enough to say; else only the owner of the table does."""

    @property
    def holds(self) -> bool:
        """Whether the attained value is as good as the asked one."""
        return self.counted and self.decided and self.model.meets(self.attained)

    def to_dict(self) -> dict[str, Any]:
        """Return the promise as plain data."""
        about = {"on": list(self.model.sensitive_columns)} if self.model.sensitive_columns else {}
        return {
            "name": self.model.key(),
            "asked": self.model.asked,
            "attained": None if self.attained == math.inf else self.attained,
            "holds": self.holds,
            **({} if self.decided else {"decided": False}),
            **about,
        }


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What an independent count of a published table found.

    Attributes
    ----------
    records, published
        Records of the original table (of the published one where the original is not given), and published ones.
    starred, left_out
        Suppressed records that are published as ``*``, and those that are not published.
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
    starred: int = 0
    left_out: int = 0
    sizes: Ints = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)
    """Persons (or records) of each class."""
    models: tuple[ModelAudit, ...]
    utility: dict[str, Measured] = field(default_factory=dict)
    risk: dict[str, dict[str, float]] = field(default_factory=dict)
    risk_before: dict[str, dict[str, float]] = field(default_factory=dict)
    faults: tuple[Fault, ...]
    is_compared: bool = False
    """Whether the original was given."""
    columns: dict[str, dict[str, Any]] = field(default_factory=dict)
    """For each quasi-identifier: distinct values before and after, and its certainty penalty."""
    statistics: dict[str, Any] | None = None
    """Original against published, where that was asked for (:class:`~shoal.auditing.fidelity.Fidelity`)."""
    measured: Measures = field(default_factory=Measures)
    """What the table attains, whatever was promised."""
    guarantees: Mapping[str, Guarantee] = field(default_factory=dict)
    """What is promised of each column, also of those that must not be there."""
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
    examples: ExampleRecords = field(default_factory=ExampleRecords, repr=False)
    """Some published records, for the report."""
    perturbations: tuple[PerturbationAudit, ...] = ()
    """What each perturbation promises of its columns, tested."""
    series: Mapping[str, Any] = field(default_factory=dict)
    """Of a series: the number of the release, and what became of the persons."""
    claimed_bound: float | None = None
    """The certainty penalty that no local recoding can go below, as the search claims it; no audit counts that."""

    @property
    def classes(self) -> int:
        """Number of distinct combinations of published quasi-identifiers."""
        return len(self.sizes)

    @property
    def suppressed(self) -> int:
        """Records that show nothing, starred or left out."""
        return self.starred + self.left_out

    @property
    def is_linkable(self) -> bool:
        """Whether records stand alone whatever the models say: by a pseudonym, or by exact quasi-identifiers."""
        return bool(self.policy.pseudonyms) or not self.policy.output.generalizes

    @property
    def holds(self) -> bool:
        """Whether every promise holds and nothing is wrong with the table; never where nothing was promised."""
        kept = [*(one.holds for one in self.models), *(one.holds for one in self.perturbations)]
        return self.is_promised and all(kept) and self.is_clean

    @property
    def is_promised(self) -> bool:
        """Whether anything was promised; else a table is only measured."""
        return bool(self.models or self.perturbations or self.policy.perturb)

    @property
    def undecided(self) -> list[Fault]:
        """Return what only the owner can count, with how."""
        return [fault for fault in self.faults if fault.kind == "undecided"]

    @property
    def is_undecided(self) -> bool:
        """Whether nothing was found that fails, and something cannot be counted without what only the owner knows."""
        failed = [entry for entry in self.models if entry.counted and entry.decided and not entry.holds]
        kinds = {fault.kind for fault in self.faults}
        return self.is_promised and not failed and "undecided" in kinds and kinds <= {"undecided", "note"}

    @property
    def is_clean(self) -> bool:
        """Whether nothing is wrong with the table itself."""
        return all(fault.kind == "note" for fault in self.faults)

    @property
    def is_counted(self) -> bool:
        """Whether the classes could be counted; a table without its quasi-identifiers cannot."""
        return not any(fault.kind == "unreadable" for fault in self.faults)

    @property
    def outcome(self) -> str:
        """The verdict in a few words."""
        if not self.is_counted:
            return "it could not be counted"
        if not self.is_promised:
            return "measured; nothing was promised"
        if self.is_undecided:
            return "undecided: the rest only the owner can count"
        return "every promise holds" if self.holds else "it does not hold"

    def __repr__(self) -> str:
        lines = [f"<Audit: {self.outcome}; {self._size}>", *self._promises()]
        faults = [f"  - {fault}" for fault in self.faults[:5]]
        more = [f"  … and {len(self.faults) - 5} more"] if len(self.faults) > 5 else []
        return "\n".join([*lines, *faults, *more])

    @property
    def _size(self) -> str:
        """How large the table is; without quasi-identifiers there are no classes to tell."""
        classes = f" in {self.classes:,} classes" if self.policy.quasi_identifiers else ""
        return f"{self.records:,} records{classes}"

    def _promises(self) -> list[str]:
        return [
            f"  {title}: asked {entry.model.asked}, attained {entry.attained if entry.decided else 'undecided'}"
            for title, entry in zip(self.titles, self.models, strict=True)
        ] + [f"  {one.title}: {one.told}" for one in self.perturbations]

    def _repr_html_(self) -> str:
        about = f"{self._size}, {self.suppressed:,} suppressed"
        told = [
            (title, entry.model.asked, entry.attained if entry.decided else "undecided", "yes" if entry.holds else "no")
            for title, entry in zip(self.titles, self.models, strict=True)
        ]
        promises = write_table(["promise", "asked", "attained", "holds"], told) if told else ""
        perturbed = [(one.title, one.told, "yes" if one.holds else "no") for one in self.perturbations]
        promises += write_table(["perturbation", "tested", "holds"], perturbed) if perturbed else ""
        lost = [(name, f"{values['certainty-penalty']:.1%}") for name, values in self.columns.items()]
        losses = write_table(["column", "lost"], lost) if lost else ""
        return write_heading(f"Audit: {self.outcome}; {about}") + promises + losses + write_list(self.faults)

    def having(self, made: Check) -> Audit:
        """Return the audit with a check that was made elsewhere, and its faults, in the place of that of its name."""
        checks = {**{check.name: check for check in self.checks}, made.name: made}
        return replace(self, checks=tuple(checks.values()), faults=(*self.faults, *made.faults))

    def claiming(self, bound: float | None, bounds: Sequence[float | None] = ()) -> Audit:
        """Return the audit with what the search claims that no local recoding can go below; and each perturbation."""
        perturbed = claim_bounds(self.perturbations, bounds) if bounds else self.perturbations
        return replace(self, claimed_bound=bound, perturbations=perturbed)

    def told_series(self, recoding: Mapping[str, Any]) -> Audit:
        """Return the audit with what is told of how the release follows earlier ones."""
        return replace(self, series=recoding["series"])

    @property
    def attained(self) -> dict[str, Any]:
        """Model name → attained value; models of one name are told apart."""
        return {title: entry.attained for title, entry in zip(self.titles, self.models, strict=True)}

    @property
    def titles(self) -> list[str]:
        """The name of each promise, those of one name told apart."""
        return name_models([entry.model for entry in self.models])

    def failures(self) -> list[Fault]:
        """Return what does not hold."""
        broken = [
            Fault(
                f"{title} does not hold",
                where=", ".join(entry.model.sensitive_columns),
                got=f"{entry.attained} where {entry.model.asked} is asked",
            )
            for title, entry in zip(self.titles, self.models, strict=True)
            if entry.counted and entry.decided and not entry.holds
        ]
        if not self.is_promised:
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
            "promised": self.is_promised,
            "holds": self.holds if self.is_promised else None,
            "decided": not self.is_undecided,
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
            "thresholds": compare_thresholds(self.measured.k),
            "criteria": assess_criteria(entry.model for entry in self.models if entry.holds and not self.is_linkable),
            "guarantees": {name: {"name": one.key(), **one.parameters()} for name, one in self.guarantees.items()},
            "hygiene": [check.to_dict() for check in self.checks],
            "missing": self.missing,
            "policy_hash": self.policy.hash,
            "context": tell_context(self.policy),
            "residual_risk": compare_risk(self.policy, self.risk_before, self.risk),
            "variables": describe_variables(self.guarantees, self.policy),
            **({"series": dict(self.series)} if self.series else {}),
            **({"perturbations": [one.to_dict() for one in self.perturbations]} if self.perturbations else {}),
            **({} if self.statistics is None else {"statistics": self.statistics}),
        } | (
            {}
            if self.claimed_bound is None
            else {
                "bound": self.claimed_bound,
                "bound_is": "claimed by the search; the audit did not count it",
                **({"bound_is_weak": True} if 2.0 * self.claimed_bound < self._lost else {}),
            }
        )

    @property
    def _lost(self) -> float:
        measured = self.utility.get("certainty-penalty")
        return 0.0 if measured is None else float(measured.total)

    def to_json(self) -> str:
        """Return the audit as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"


def _plain(value: Measured) -> dict[str, Any]:
    return {"total": value.total, "columns": value.columns} if value.columns else {"total": value.total}

"""Audit: what an independent count of a published table found."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shoal.auditing.attacks import Attacks
from shoal.auditing.checks import Check
from shoal.auditing.criteria import criteria
from shoal.auditing.measured import Measures
from shoal.auditing.thresholds import thresholds
from shoal.encoding.types import Ints
from shoal.errors import AuditFailed, Fault
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
    columns: dict[str, dict[str, Any]] = field(default_factory=dict)
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
        """Return the audit with a check that was made elsewhere, and its faults, in the place of that of its name."""
        checks = {**{check.name: check for check in self.checks}, made.name: made}
        return replace(self, checks=tuple(checks.values()), faults=(*self.faults, *made.faults))

    def claiming(self, bound: float | None) -> Audit:
        """Return the audit with what the search claims that no local recoding can go below."""
        return replace(self, claimed_bound=bound)

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

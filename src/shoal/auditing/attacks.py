"""run_attacks(): every attack that was asked for and can be run, and why the others were not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import polars as pl

from shoal.registry import OneOf, names
from shoal.risk.base import Evidence, Finding, Risk

Asked = bool | Sequence[str | Risk | Mapping[str, Any]] | None
"""All attacks, those that are named, or (``None``) those that cost next to nothing."""

_AT_HAND = {"sizes", "distinct", "population"}
"""What every audit has counted anyway."""


@dataclass(frozen=True, kw_only=True)
class AttackPlan:
    """Which attacks to run, and what tables they may use beside the release.

    Attributes
    ----------
    chosen
        ``True`` for all attacks, ``False`` for none, or those that are named (:mod:`shoal.risk`). ``None``: those that
        cost next to nothing; all where a table is given for them.
    external
        A table of persons that an attacker may hold, treated as the original is.
    earlier
        Earlier releases about the same people.
    """

    chosen: Asked = None
    external: pl.DataFrame | None = field(default=None, repr=False)
    earlier: tuple[pl.DataFrame, ...] = field(default=(), repr=False)

    @property
    def has_tables(self) -> bool:
        """Whether there is a table that only attacks look at."""
        return self.external is not None or bool(self.earlier)

    @property
    def needs_records(self) -> bool:
        """Whether somebody asks for attacks, which look at records one by one."""
        return bool(self.chosen) or self.has_tables

    def select(self) -> list[Risk]:
        """Return the attacks that are asked for; all where a table for them is given and nothing is said."""
        family = OneOf("risk")
        every = [cast("Risk", family.parse(name)) for name in names("risk")]
        if self.chosen is None and not self.has_tables:
            return [risk for risk in every if set(risk.needs) <= _AT_HAND]
        if self.chosen is None or self.chosen is True:
            return every
        return [] if self.chosen is False else [cast("Risk", family.parse(one)) for one in self.chosen]


@dataclass(frozen=True)
class Attack:
    """An attack and one of its findings.

    Examples
    --------
    >>> from shoal.risk import Uniqueness
    >>> Attack(Uniqueness(), Finding(False, {"unique": 0.0})).to_dict()
    {'name': 'uniqueness', 'found': False, 'measured': {'unique': 0.0}, 'worst': []}
    """

    risk: Risk
    finding: Finding

    def to_dict(self) -> dict[str, Any]:
        """Return the attack as plain data."""
        return {"name": self.risk.key(), **self.finding.to_dict()}


@dataclass(frozen=True)
class Attacks:
    """What attacks found, and why the others were not run: name → reason."""

    run: tuple[Attack, ...] = ()
    not_run: Mapping[str, str] = field(default_factory=dict)

    @property
    def leaks(self) -> tuple[Attack, ...]:
        """Those that found a leak."""
        return tuple(attack for attack in self.run if attack.finding.found)

    def to_dict(self) -> dict[str, Any]:
        """Return all as plain data."""
        reasons = [{"name": name, "reason": reason} for name, reason in self.not_run.items()]
        return {"attacks": [attack.to_dict() for attack in self.run], "attacks_not_run": reasons}


def run_attacks(plan: AttackPlan, at_hand: Evidence, gather: Callable[[], tuple[Evidence, str]]) -> Attacks:
    """Run the attacks; more evidence is gathered only where a table is given for that, or one of them needs it."""
    evidence, unread, risks = at_hand, "", plan.select()
    if risks and (plan.has_tables or any(not set(risk.needs) <= _AT_HAND for risk in risks)):
        evidence, unread = gather()
    run: list[Attack] = []
    reasons = dict.fromkeys(names("risk"), "not asked for")
    for risk in risks:
        name = risk.key()
        reasons.pop(name, None)
        lacking = risk.lacks(evidence)
        if lacking and unread and {"meaning", "people", "population"} & set(risk.needs):
            lacking = unread
        findings = [] if lacking else risk.run(evidence)
        if not findings:
            reasons[name] = lacking or "no column or table that it could look at"
        run += [Attack(risk, finding) for finding in findings]
    return Attacks(tuple(run), reasons)


def measure_risks(evidence: Evidence) -> dict[str, dict[str, float]]:
    """Return the risks that follow from the sizes of classes, and of a population where it is known."""
    simple = [risk for risk in AttackPlan(chosen=True).select() if set(risk.needs) <= {"sizes", "population"}]
    return {
        risk.key(): cast("dict[str, float]", dict(risk.run(evidence)[0].measured))
        for risk in simple
        if not risk.lacks(evidence)
    }

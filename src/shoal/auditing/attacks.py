"""attacked(): every attack that was asked for and can be run, and why the others were not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from shoal.registry import OneOf, names
from shoal.risk.base import Evidence, Finding, Risk

Asked = bool | Sequence[str | Risk | Mapping[str, Any]] | None
"""All attacks, those that are named, or (``None``) those that cost next to nothing."""

_AT_HAND = {"sizes", "distinct", "population"}
"""What every audit has counted anyway."""


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


def chosen(asked: Asked, *, given: bool) -> list[Risk]:
    """Return the attacks that are asked for; all where a table for them is given and nothing is said."""
    family = OneOf("risk")
    every = [cast("Risk", family.parse(name)) for name in names("risk")]
    if asked is None and not given:
        return [risk for risk in every if set(risk.needs) <= _AT_HAND]
    if asked is None or asked is True:
        return every
    return [] if asked is False else [cast("Risk", family.parse(one)) for one in asked]


def attacked(
    risks: Sequence[Risk], at_hand: Evidence, gather: Callable[[], tuple[Evidence, str]], *, given: bool
) -> Attacks:
    """Run the attacks; more evidence is gathered only where a table is given for that, or one of them needs it."""
    evidence, unread = at_hand, ""
    if risks and (given or any(not set(risk.needs) <= _AT_HAND for risk in risks)):
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


def risk_of(evidence: Evidence) -> dict[str, dict[str, float]]:
    """Return the risks that follow from the sizes of classes, and of a population where it is known."""
    simple = [risk for risk in chosen(True, given=False) if set(risk.needs) <= {"sizes", "population"}]
    return {
        risk.key(): cast("dict[str, float]", dict(risk.run(evidence)[0].measured))
        for risk in simple
        if not risk.lacks(evidence)
    }

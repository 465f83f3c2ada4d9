"""decide(): is a request answered with the data as they are, anonymized first, or not at all?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

from shoal.encoding.types import Codes
from shoal.errors import PolicyError, Refused
from shoal.gateway.answering import Evaluated, evaluate
from shoal.gateway.ledger import Earlier, apart
from shoal.gateway.owned_tables import Holding, Made, Version
from shoal.gateway.request import Request
from shoal.policy.disclosure_weights import Weighed, weigh

_WEIGHED = 4_096
"""Sums of weights that are remembered for a version of a table."""


@dataclass(frozen=True)
class Decided:
    """What an owner decided on a request, and why."""

    owner: str
    table: str
    version: str
    weighed: Weighed
    together: dict[str, float]
    """Columns of earlier answers as they are, weighed with those of this request."""
    action: Literal["release", "anonymize"]
    recoding: Literal["one", "each"] | None = None
    steps: tuple[dict[str, Any], ...] = ()
    attained: dict[str, Any] = field(default_factory=dict)
    """What the release attains that an anonymized answer is cut from."""
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the decision as plain data, for the answer and the ledger."""
        return {
            "owner": self.owner,
            "table": self.table,
            "version": self.version,
            **self.weighed.to_dict(),
            "together": self.together,
            "action": self.action,
            "recoding": self.recoding,
            "steps": [dict(step) for step in self.steps],
            "attained": {name: _told(value) for name, value in self.attained.items()},
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Outcome:
    """A decision, the answer that follows from it, and who is in which of its groups."""

    decided: Decided
    found: Evaluated
    weights: dict[str, float]
    groups: Codes | None


def decide(holding: Holding, asked: Request, earlier: Earlier) -> Outcome:
    """Decide on a request as Hussien et al. (2015), 3.2, and answer it.

    The weights of all columns that it touches are added up, with those that the client already has as they are. At or
    under the threshold it is answered with the data as they are; above, from a recoding that keeps the models: the
    one recoding of the table, or one of the requested columns. Where none can be found it is refused; and where answers
    of both kinds, linked by a column that both show as it is, would break a promise.
    """
    version = holding.now()
    missing = [name for name in asked.touched if name not in version.frame.columns]
    if missing:
        raise Refused("this owner's table lacks a column", where=holding.name, got=", ".join(missing))
    weighed, together = _remembered(holding, version, asked, earlier)
    weights = holding.weighed(asked.touched, weighed.weights)
    links = _links(holding, version, earlier, raw=weights) if weighed.action == "release" else frozenset()
    action: Literal["release", "anonymize"] = "anonymize" if links else weighed.action
    decided = Decided(holding.owner, holding.name, version.name, weighed, together, action, notes=_told_links(links))
    if action == "release":
        return Outcome(decided, evaluate(asked, version.raw), weights, None)
    _unpinned(holding, earlier)
    linked = _links(holding, version, earlier, published=weights)
    if linked:
        what = "what the client has as it is would tell apart the persons of this answer"
        hint = f"ask without the columns that it has beside {', '.join(sorted(linked))}"
        raise Refused(what, where=holding.name, hint=hint)
    made = holding.whole(version) if holding.said.recoding == "one" else holding.part(version, asked.touched)
    found = evaluate(asked, made.shown)
    groups = None if holding.said.recoding == "one" else _checked(holding, version, made, found, earlier)
    explained = replace(
        decided,
        recoding=holding.said.recoding,
        steps=made.steps,
        attained=made.attained,
        notes=(*decided.notes, *found.notes),
    )
    return Outcome(explained, found, weights, groups)


def _links(
    holding: Holding,
    version: Version,
    earlier: Earlier,
    *,
    raw: Iterable[str] = (),
    published: Iterable[str] = (),
) -> frozenset[str]:
    """Return the columns as they are that would break a promise of anonymized answers, once the client has these too.

    ``raw`` and ``published`` are the columns of the answer that is thought of, as it is or anonymized. The promises are
    those of every table of which the client has anonymized answers: a join's, where this is one of its parts. What the
    client has of an earlier version cannot be counted again: no more is linked to that.
    """
    known, shown = {*earlier.raw, *raw}, earlier.published | set(published)
    released = {*earlier.released, *([holding.name] if raw else [])}
    joined = any(table.is_join and table.name in released for table in holding.relatives)
    found: set[str] = set()
    for table in holding.relatives:
        if table.name in earlier.anonymized or (table is holding and published):
            now = version if table is holding else table.now()
            columns = table.linking(known, shown, joined=joined)
            gone = earlier.anonymized.get(table.name, frozenset()) - {now.name} if raw else frozenset()
            found |= columns if gone or not _kept(table, now, columns) else frozenset()
    return frozenset(found)


def _kept(table: Holding, version: Version, columns: frozenset[str]) -> bool:
    """Whether a table's promises hold beside these columns.

    With a recoding for each request nobody knows what later answers will show: there any link is one too many.
    """
    return not columns or (table.said.recoding == "one" and table.keeps_beside(version, columns))


def _told_links(columns: frozenset[str]) -> tuple[str, ...]:
    if not columns:
        return ()
    return (f"anonymized: as they are, {', '.join(sorted(columns))} would tell apart persons of an earlier answer",)


def _remembered(
    holding: Holding, version: Version, asked: Request, earlier: Earlier
) -> tuple[Weighed, dict[str, float]]:
    """Weigh a request, unless the same columns were weighed with the same earlier ones before."""
    same = asked.touched, tuple(earlier.raw.items())
    found = version.weighed.get(same)
    if found is None:
        if len(version.weighed) >= _WEIGHED:
            version.weighed.clear()  # another thread may do so too: what was found is in our hands
        found = version.weighed[same] = _weighed(holding, asked, earlier)
    return found


def _weighed(holding: Holding, asked: Request, earlier: Earlier) -> tuple[Weighed, dict[str, float]]:
    """Weigh a request together with what the client has as it is."""
    try:
        alone = weigh(holding.policy, asked.touched)
    except PolicyError:
        raise Refused("a column without a role in the owner's policy", where=holding.name) from None
    own = holding.weighed(asked.touched, alone.weights)
    now = holding.declared()  # the owner may have raised a weight since
    before = {name: max(weight, now.get(name, 0.0)) for name, weight in earlier.raw.items() if name not in own}
    total = sum((Fraction(repr(weight)) for weight in (*alone.weights.values(), *before.values())), Fraction(0))
    heavy = alone.threshold is not None and total > Fraction(repr(alone.threshold))
    action: Literal["release", "anonymize"] = "anonymize" if heavy else alone.action
    return replace(alone, total=float(total), action=action), before


def _unpinned(holding: Holding, earlier: Earlier) -> None:
    """Refuse to publish the same persons in a join and in its parts: their recodings could be laid over each other."""
    others = [table for table in earlier.anonymized if table != holding.name]
    if others and (holding.is_join or not holding.tables.issuperset(others)):
        raise Refused(
            "the client has an anonymized answer about the same persons from another table",
            where=holding.name,
            hint="a join and its parts are recoded apart; ask for one of them",
        )


def _checked(holding: Holding, version: Version, made: Made, found: Evaluated, earlier: Earlier) -> Codes:
    """Refuse an answer that could be laid over earlier ones to single out fewer than k persons."""
    groups = made.groups(found.matched)
    before = {name: held for (table, name), held in earlier.groups.items() if table == holding.name}
    if before.keys() - {version.name}:
        what = "the table changed since the client's earlier answers, and they cannot be compared with a new one"
        raise Refused(what, where=holding.name, hint="the owner may say recoding: one")
    if apart([*before.values(), groups], max(holding.policy.k, 2)):
        what = "with what the client already has, this answer would single out a group of fewer than k"
        raise Refused(what, where=holding.name, hint="ask for the same columns as before, without other conditions")
    return groups


def _told(value: Any) -> Any:
    return value if isinstance(value, (int, float, str, bool)) or value is None else str(value)

"""decide(): is a request answered with the data as they are, anonymized first, or not at all?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

from shoal.encoding.types import Codes
from shoal.errors import PolicyError, Refused
from shoal.gateway.evaluation import Evaluation
from shoal.gateway.ledger import ClientHistory, singles_out
from shoal.gateway.owned_tables import OwnedTable, TableVersion
from shoal.gateway.queryable_release import QueryableRelease
from shoal.gateway.request import Request
from shoal.policy.disclosure_weights import Weighed, weigh

_MAX_WEIGHINGS = 4_096
"""Sums of weights that are kept for a version of a table."""


@dataclass(frozen=True, kw_only=True)
class Decision:
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
            "attained": {name: _to_plain(value) for name, value in self.attained.items()},
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class OwnerAnswer:
    """A decision, the answer that follows from it, and who is in which of its groups."""

    decision: Decision
    evaluation: Evaluation
    weights: dict[str, float]
    groups: Codes | None


def decide(table: OwnedTable, request: Request, history: ClientHistory) -> OwnerAnswer:
    """Decide on a request as Hussien et al. (2015), 3.2, and answer it.

    The weights of all columns that it touches are added up, with those that the client already has as they are. At or
    under the threshold it is answered with the data as they are; above, from a release that keeps the models: the
    one release of the table, or one of the requested columns. Where there is none it is refused; and where answers
    of both kinds, linked by a column that both show as it is, would break a promise.
    """
    version = table.read_current()
    missing = [name for name in request.touched if name not in version.frame.columns]
    if missing:
        raise Refused("this owner's table lacks a column", where=table.name, got=", ".join(missing))
    weighed, together = _weigh_once(table, version, request, history)
    weights = table.qualify_weights(request.touched, weighed.weights)
    links = _find_links(table, version, history, raw=weights) if weighed.action == "release" else frozenset()
    decision = Decision(
        owner=table.owner,
        table=table.name,
        version=version.name,
        weighed=weighed,
        together=together,
        action="anonymize" if links else weighed.action,
        notes=_explain_links(links),
    )
    if decision.action == "release":
        return OwnerAnswer(decision, version.raw.answer(request), weights, None)
    _check_joins(table, history)
    _check_links(table, version, history, weights)
    one = table.config.recoding == "one"
    release = table.release_table(version) if one else table.release_columns(version, request.touched)
    evaluation = release.source.answer(request)
    groups = None if one else _check_intersections(table, version, release.group_persons(evaluation.matched), history)
    return OwnerAnswer(_explain(decision, table, release, evaluation), evaluation, weights, groups)


def _explain(decision: Decision, table: OwnedTable, release: QueryableRelease, evaluation: Evaluation) -> Decision:
    """Return the decision with what the client is told of the release."""
    return replace(
        decision,
        recoding=table.config.recoding,
        steps=release.steps,
        attained=release.attained,
        notes=(*decision.notes, *evaluation.notes),
    )


def _check_links(table: OwnedTable, version: TableVersion, history: ClientHistory, columns: Iterable[str]) -> None:
    """Refuse to anonymize columns whose records the client could link with what it has as it is."""
    links = _find_links(table, version, history, published=columns)
    if links:
        what = "what the client has as it is would tell apart the persons of this answer"
        hint = f"ask without the columns that it has beside {', '.join(sorted(links))}"
        raise Refused(what, where=table.name, hint=hint)


def _find_links(
    table: OwnedTable,
    version: TableVersion,
    history: ClientHistory,
    *,
    raw: Iterable[str] = (),
    published: Iterable[str] = (),
) -> frozenset[str]:
    """Return the columns as they are that would break a promise of anonymized answers, once the client has these too.

    ``raw`` and ``published`` are the columns of the answer that is thought of, as it is or anonymized. The promises are
    those of every table of which the client has anonymized answers: a join's, where this is one of its parts. What the
    client has of an earlier version cannot be counted again: no more is linked to that.
    """
    known, shown = {*history.raw, *raw}, history.published | set(published)
    released = {*history.released, *([table.name] if raw else [])}
    joined = any(related.is_join and related.name in released for related in table.related_tables)
    links: set[str] = set()
    for related in table.related_tables:
        if related.name in history.anonymized or (related is table and published):
            current = version if related is table else related.read_current()
            columns = related.find_linking_columns(known, shown, joined=joined)
            gone = history.anonymized.get(related.name, frozenset()) - {current.name} if raw else frozenset()
            links |= columns if gone or not _holds_beside(related, current, columns) else frozenset()
    return frozenset(links)


def _holds_beside(table: OwnedTable, version: TableVersion, columns: frozenset[str]) -> bool:
    """Whether a table's promises hold beside these columns.

    With a release for each request nobody knows what later answers will show: there any link is one too many.
    """
    return not columns or (table.config.recoding == "one" and table.models_hold_beside(version, columns))


def _explain_links(columns: frozenset[str]) -> tuple[str, ...]:
    if not columns:
        return ()
    return (f"anonymized: as they are, {', '.join(sorted(columns))} would tell apart persons of an earlier answer",)


def _weigh_once(
    table: OwnedTable, version: TableVersion, request: Request, history: ClientHistory
) -> tuple[Weighed, dict[str, float]]:
    """Weigh a request, unless the same columns were weighed with the same earlier ones before."""
    key = request.touched, tuple(history.raw.items())
    weighing = version.weighings.get(key)
    if weighing is None:
        if len(version.weighings) >= _MAX_WEIGHINGS:
            version.weighings.clear()  # another thread may do so too: what it held is in our hands
        weighing = version.weighings[key] = _weigh(table, request, history)
    return weighing


def _weigh(table: OwnedTable, request: Request, history: ClientHistory) -> tuple[Weighed, dict[str, float]]:
    """Weigh a request together with what the client has as it is."""
    try:
        alone = weigh(table.policy, request.touched)
    except PolicyError:
        raise Refused("a column without a role in the owner's policy", where=table.name) from None
    own = table.qualify_weights(request.touched, alone.weights)
    declared = table.list_declared_weights()  # the owner may have raised a weight since
    before = {name: max(weight, declared.get(name, 0.0)) for name, weight in history.raw.items() if name not in own}
    total = sum((Fraction(repr(weight)) for weight in (*alone.weights.values(), *before.values())), Fraction(0))
    heavy = alone.threshold is not None and total > Fraction(repr(alone.threshold))
    action: Literal["release", "anonymize"] = "anonymize" if heavy else alone.action
    return replace(alone, total=float(total), action=action), before


def _check_joins(table: OwnedTable, history: ClientHistory) -> None:
    """Refuse to publish the same persons in a join and in its parts: their recodings could be laid over each other."""
    others = [name for name in history.anonymized if name != table.name]
    if others and (table.is_join or not table.siblings.issuperset(others)):
        raise Refused(
            "the client has an anonymized answer about the same persons from another table",
            where=table.name,
            hint="a join and its parts are recoded apart; ask for one of them",
        )


def _check_intersections(table: OwnedTable, version: TableVersion, groups: Codes, history: ClientHistory) -> Codes:
    """Return the groups of an answer; refuse one that, laid over earlier ones, singles out fewer than k persons."""
    before = {number: earlier for (name, number), earlier in history.groups.items() if name == table.name}
    if before.keys() - {version.name}:
        what = "the table changed since the client's earlier answers, and they cannot be compared with a new one"
        raise Refused(what, where=table.name, hint="the owner may say recoding: one")
    if singles_out([*before.values(), groups], max(table.policy.k, 2)):
        what = "with what the client already has, this answer would single out a group of fewer than k"
        raise Refused(what, where=table.name, hint="ask for the same columns as before, without other conditions")
    return groups


def _to_plain(value: Any) -> Any:
    return value if isinstance(value, (int, float, str, bool)) or value is None else str(value)

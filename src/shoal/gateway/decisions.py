"""decide(): is a request answered with the data as they are, anonymized first, or not at all?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

from shoal.errors import PolicyError, Refused
from shoal.gateway.client_history import ClientHistory, SourceHistory
from shoal.gateway.evaluation import Evaluation
from shoal.gateway.known_sources import JOINED
from shoal.gateway.owned_tables import OwnedTable
from shoal.gateway.queryable_release import QueryableRelease
from shoal.gateway.request import Request
from shoal.gateway.spending import Budget
from shoal.gateway.table_version import TableVersion
from shoal.policy.disclosure_weights import Weighed, weigh

_GOES_ON = "the client goes on with the answers that it has"


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What an owner decided on a request, and why."""

    owner: str
    table: str
    version: str
    weighed: Weighed
    together: dict[str, float]
    """Columns of earlier answers as they are, weighed with those of this request."""
    action: Literal["release", "anonymize", "count"]
    recoding: Literal["one", "each"] | None = None
    noise: dict[str, Any] | None = None
    """How counts are blurred, and what of its budget a client has spent."""
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
            "noise": self.noise,
            "steps": [dict(step) for step in self.steps],
            "attained": dict(self.attained),
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class OwnerAnswer:
    """A decision, and the answer that follows from it."""

    decision: Decision
    evaluation: Evaluation
    weights: dict[str, float]
    budget: Budget | None = None
    """What it costs of a budget."""


def decide(table: OwnedTable, client: str, request: Request, history: ClientHistory) -> OwnerAnswer:
    """Decide on a request as Hussien et al. (2015), 3.2, and answer it.

    The weights of all columns that it touches are added up, with those that the client already has as they are. At or
    under the threshold it is answered with the data as they are; above, from a release that keeps the models: the
    one release of the table, or the one of the columns that this client asked for first.

    Why it is safe: what is decided follows from the request, the ledger and the policy, never from a value of the
    table. So a refusal tells nobody anything. All anonymized answers to a client are cut from one release, which it
    might as well read whole. Answers as they are show nothing that too few persons share; a column that an answer of
    each kind shows as it is would tell which record is which, so there are never both.
    """
    version = table.read_current()
    check_columns(table, version, request)
    _check_records(table, version, history)
    weighed, together = _weigh_once(table, version, client, request, history)
    weights = table.qualify_weights(request.touched, weighed.weights)
    why = _find_reason(table, version, history, weights) if weighed.action == "release" else None
    decision = Decision(
        owner=table.owner,
        table=table.name,
        version=version.raw_name if weighed.action == "release" and why is None else "",
        weighed=weighed,
        together=together,
        action=weighed.action if why is None else "anonymize",
        notes=() if why is None else (f"anonymized: {why}",),
    )
    if decision.action == "release":
        return OwnerAnswer(
            replace(decision, notes=_list_raw_notes(table)), version.raw.answer(client, request), weights
        )
    _check_others(table, request, history)
    _check_links(table, history, weights)
    release = _find_release(table, version, client, weights, history)
    evaluation = release.source.answer(client, request)
    explained = replace(
        decision,
        version=version.name(release.content_hash),
        recoding=table.config.recoding,
        steps=release.steps,
        attained=release.attained,
        notes=(*decision.notes, *evaluation.notes),
    )
    return OwnerAnswer(explained, evaluation, weights)


def check_columns(table: OwnedTable, version: TableVersion, request: Request) -> None:
    """Refuse a request for columns that the table does not have."""
    missing = [name for name in request.touched if name not in version.first.columns]
    if missing:
        raise Refused("this owner's table lacks a column", where=table.name, got=", ".join(missing))


def _check_records(table: OwnedTable, version: TableVersion, history: ClientHistory) -> None:
    """Refuse to answer from other records than a client has answers from, whether as they are or anonymized.

    They are other ones where the owner raised the edition, or the records that stood were lost.
    """
    if history.sources.get(table.identity, SourceHistory()).records - {version.records_name}:
        what = "the client has answers from earlier records of this table, with which these could be compared"
        raise Refused(what, where=table.name, hint=_GOES_ON)


def _list_raw_notes(table: OwnedTable) -> tuple[str, ...]:
    """Return what holds for every answer as it is, whether it left anybody out or not."""
    least = table.policy.raw_least
    return () if least == 1 else (f"records that fewer than {least} persons share are left out of answers as they are",)


def _find_reason(
    table: OwnedTable, version: TableVersion, history: ClientHistory, weights: dict[str, float]
) -> str | None:
    """Return why a request that is light enough is anonymized all the same, if it is."""
    links = find_links(table, history, raw=weights)
    if links:
        return f"as they are, {_list_columns(table, links)} would tell apart persons of an earlier answer"
    if table.policy.raw_least > 1:
        shown = {table.qualify(name) for name in table.policy.quasi_identifiers}
        if {name for name in history.raw if name.startswith(f"{table.identity}.")} - shown:
            return "the client has a column as it is that may not be shown beside these"
    earlier = history.sources.get(table.identity, SourceHistory()).raw_recodings
    if earlier - {version.raw_name.partition("-")[0]}:
        return "the client has records as they were, with which these could be compared"
    return None


def _find_release(
    table: OwnedTable, version: TableVersion, client: str, weights: dict[str, float], history: ClientHistory
) -> QueryableRelease:
    """Return the release that all anonymized answers to a client are cut from; refuse to cut from a second one."""
    known = history.sources.get(table.identity, SourceHistory())
    columns = None
    if table.config.recoding == "each":
        columns = table.choose_columns(version, known.first or frozenset(weights))
        shown = {name for name in version.first.columns if table.qualify(name) in weights} - set(table.policy.hidden)
        if columns is not None and not shown <= columns:
            what = "the client has an anonymized answer with fewer columns, and a second recoding could be laid over it"
            raise Refused(what, where=table.name, hint=f"ask for some of {', '.join(sorted(columns))}")
    release = table.release(version, columns, client=client)
    if known.recodings - {version.name(release.content_hash).partition("-")[0]}:
        what = "the table is recoded otherwise than in the client's earlier answers, and could be compared with them"
        raise Refused(what, where=table.name, hint=_GOES_ON)
    return release


def _shorten(qualified: str) -> str:
    return qualified.rpartition(".")[2]


def _list_columns(table: OwnedTable, names: Iterable[str]) -> str:
    return ", ".join(sorted(map(table.tell, names)))


def _check_links(table: OwnedTable, history: ClientHistory, columns: Iterable[str]) -> None:
    """Refuse to anonymize columns whose records the client could link with what it has as it is."""
    links = find_links(table, history, published=columns)
    if links:
        what = "what the client has as it is would tell apart the persons of this answer"
        hint = f"ask without the columns that it has beside {_list_columns(table, links)}"
        raise Refused(what, where=table.name, hint=hint)


def find_links(
    table: OwnedTable, history: ClientHistory, *, raw: Iterable[str] = (), published: Iterable[str] = ()
) -> frozenset[str]:
    """Return the columns as they are that could be linked with anonymized answers, once the client has these too.

    ``raw`` and ``published`` are the columns of the answer that is thought of, as it is or anonymized. Whether such a
    link would find anybody is not asked: the answer to that would tell something of the data.
    """
    known, shown = {*history.raw, *raw}, history.published | set(published)
    released = {name for name, have in history.sources.items() if have.raw_recodings}
    released |= {table.identity} if raw else set()
    joined = any(related.is_join and related.identity in released for related in table.related_tables)
    links: set[str] = set()
    for related in table.related_tables:
        earlier = history.sources.get(related.identity, SourceHistory()).recodings
        if earlier or (related is table and published):
            links |= related.find_linking_columns(known, shown, joined=joined)
    return frozenset(links)


def _weigh_once(
    table: OwnedTable, version: TableVersion, client: str, request: Request, history: ClientHistory
) -> tuple[Weighed, dict[str, float]]:
    """Weigh a client's request, unless the same columns were weighed with the same earlier ones before."""
    key = client, request.touched, tuple(history.raw.items())
    weighing = version.weighings.get(key)
    if weighing is None:
        weighing = _weigh(table, request, history)
        version.weighings.put(key, weighing)
    return weighing


def _weigh(table: OwnedTable, request: Request, history: ClientHistory) -> tuple[Weighed, dict[str, float]]:
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
    return replace(alone, total=float(total), action=action), {table.tell(name): held for name, held in before.items()}


def _check_others(table: OwnedTable, request: Request, history: ClientHistory) -> None:
    """Refuse to publish the same persons in two tables, where the recodings could be laid over each other.

    That is a join beside its parts, and tables that show the same column. Which columns a table that is gone showed of
    those that are hidden here is not known: they count.
    """
    others = [name for name, have in history.sources.items() if have.recodings and name != table.identity]
    if not others:
        return
    if table.is_join or any(JOINED in name for name in others):
        raise Refused(
            "the client has an anonymized answer about the same persons from another table",
            where=table.name,
            hint="a join and its parts are recoded apart; ask for one of them",
        )
    hidden = {name for related in table.related_tables for name in related.policy.hidden}
    starts = tuple(f"{name}." for name in others)
    shown = {_shorten(name) for name in history.published if name.startswith(starts)}
    common = (shown & set(request.touched)) - hidden
    if common:
        what = "the client has an anonymized answer about the same persons with the same columns from another table"
        raise Refused(what, where=table.name, got=", ".join(sorted(common)), hint="ask without them")

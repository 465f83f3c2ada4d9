"""decide_counts(): requests to an owner who answers with blurred counts, within a budget."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from shoal.errors import Refused
from shoal.gateway.count_source import check_counts
from shoal.gateway.decisions import Decision, OwnerAnswer, check_columns
from shoal.gateway.owned_tables import OwnedTable
from shoal.gateway.request import Request
from shoal.gateway.spending import Budget, Spending
from shoal.policy.answers import NoisyCounts
from shoal.policy.disclosure_weights import Weighed


def decide_counts(table: OwnedTable, client: str, asked: str, request: Request) -> OwnerAnswer:
    """Answer a request with counts, or refuse it where it asks for more, or its budget is spent.

    Why it is safe: what is decided follows from the request, the policy and what was spent. Counts have noise, or are
    rounded, whoever is in them; records, and figures of other kinds, are never given by such an owner, so that there is
    nothing to compare them with. What is charged is a *draw*: counts whose file is gone are drawn anew, and paid for.

    Parameters
    ----------
    asked
        What tells the request from all others.
    """
    version = table.read_current()
    check_columns(table, version, request)
    check_counts(request, table.policy)
    said = table.policy.answers
    assert said is not None
    name = version.count_name
    notes: tuple[str, ...] = ()
    noise: dict[str, Any] = {**said.model_dump()}
    budget = None
    if isinstance(said, NoisyCounts):
        budget = Budget(said.epsilon, said.client_budget, said.person_budget, table.related_sources)
        draw = version.counts.find_draw(asked, name)
        drawn = _name_draw(name, "not yet" if draw is None else draw)
        spent = table.ledger.read_spending(client, table.related_sources).add((asked, drawn), said.epsilon)
        _check_budget(table, spent, budget)
        noise |= {"client_spent": float(spent.by_client)}
        left = Fraction(repr(said.client_budget)) - spent.by_client
        notes = (f"of this client's budget of {said.client_budget:g}, {float(left):g} are left",)
    evaluation, draw = version.counts.answer(asked, name, request)
    decision = Decision(
        owner=table.owner,
        table=table.name,
        version=name if budget is None else _name_draw(name, draw),
        weighed=Weighed(dict.fromkeys(request.touched, 0.0), 0.0, None, (), "anonymize"),
        together={},
        action="count",
        noise=noise,
        notes=(*evaluation.notes, *notes),
    )
    weights = table.qualify_weights(request.touched, dict.fromkeys(request.touched, 0.0))
    return OwnerAnswer(decision, replace(evaluation, notes=decision.notes), weights, budget)


def _name_draw(version: str, draw: str) -> str:
    """Return what a client calls the version of its counts: other noise is another one."""
    return f"{version}-{draw}" if draw else version  # an earlier shoal kept no name of the draw


def _check_budget(table: OwnedTable, spent: Spending, budget: Budget) -> None:
    """Refuse what would tell more of a person than may be told, to this client or to all."""
    if spent.is_within(budget):
        return
    whose = "of this client" if spent.by_client > Fraction(repr(budget.client)) else "of all clients together"
    hint = "requests that were answered before are answered again"
    raise Refused(f"the budget {whose} is spent", where=table.name, hint=hint)

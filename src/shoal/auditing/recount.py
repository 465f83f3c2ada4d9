"""recount_models(): each promise counted again; and which cannot be, by whoever does not know the persons."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shoal.auditing.census import HOW_THE_OWNER_COUNTS, CountedClasses, count_classes
from shoal.auditing.owner import OwnerView
from shoal.auditing.verdict import ModelAudit
from shoal.engines.counted import CountedTable
from shoal.errors import Fault
from shoal.models.base import Census, PrivacyModel
from shoal.policy import Policy


def recount_models(
    published: CountedTable, policy: Policy, counted: CountedClasses
) -> tuple[tuple[ModelAudit, ...], list[Fault]]:
    """Return each promise, counted again, and a fault for each that only its owner can decide.

    Where the person of each record is not known, a class has at most as many persons as records, and at least as many
    as the original allows. A promise that fails with the most of them fails; one that holds with the least holds; any
    other is left undecided: nobody without the owner's knowledge can say either.
    """
    models = tuple(_recount(model, counted.census) for model in policy.models)
    if counted.persons == "exact":
        return models, []
    most = counted.census
    if counted.persons == "least" and not all(entry.holds for entry in models):
        most = count_classes(published, None, policy, OwnerView())[0].census
    judged = tuple(_judge(entry, counted.persons, most) for entry in models)
    told = [_undecided(entry, most) for entry in judged if not entry.decided] if counted.persons == "least" else []
    return judged, told


def _recount(model: PrivacyModel, census: Census) -> ModelAudit:
    if any(name not in census.requested_k for name in model.hidden_columns):
        return ModelAudit(model, None, counted=False)
    return ModelAudit(model, model.recount(census))


def _judge(entry: ModelAudit, persons: str, most: Census) -> ModelAudit:
    """Return a promise as far as the bounds of persons decide it; values of persons cannot be bounded by records."""
    if not entry.counted or (entry.holds and persons == "least" and "values" not in entry.model.needs):
        return entry
    at_most = entry.attained if persons == "most" else _attain(entry.model, most)
    if "values" not in entry.model.needs and not entry.model.meets(at_most):
        return entry
    return replace(entry, attained=entry.attained if persons == "least" else None, decided=False)


def _attain(model: PrivacyModel, census: Census) -> Any:
    return None if any(name not in census.requested_k for name in model.hidden_columns) else model.recount(census)


def _undecided(entry: ModelAudit, most: Census) -> Fault:
    return Fault(
        f"whether {entry.model.key()} holds in persons cannot be counted from outside",
        got=f"at most {_attain(entry.model, most)} where {entry.model.asked} is asked",
        hint=HOW_THE_OWNER_COUNTS,
        kind="undecided",
    )

"""explained(): an infeasible policy, with what blocks it and the cheapest changes that work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from shoal.errors import Infeasible, ShoalError
from shoal.hierarchies.suppress import Suppress
from shoal.models.base import PrivacyModel
from shoal.policy import Policy, Relaxation

Attempt = Callable[[Policy], float]
"""Tries a policy: returns its loss or raises."""

_SECONDS = 30.0
_MOST = 5


def explained(error: Infeasible, policy: Policy, attempt: Attempt) -> Infeasible:
    """Return the error with what blocks, what is attainable, and what would work.

    Every relaxation is tried on the data before it is offered.
    """
    deadline = time.monotonic() + _SECONDS

    def loss_of(candidate: Policy) -> float | None:
        if time.monotonic() > deadline:
            return None
        try:
            return _with_lost_column(policy, candidate, attempt(candidate))
        except ShoalError:
            return None

    attainable: dict[str, Any] = {}
    found: list[Relaxation] = []
    for model, value, candidate in _models(policy, loss_of):
        attainable[model.key()] = value
        if candidate is not None:
            _offer(found, f"ask for {model.key()} {value} instead of {model.asked}", candidate, loss_of)
    for text, candidate in (*_suppression(policy, loss_of), *_columns(policy), *_dropped_models(policy)):
        _offer(found, text, candidate, loss_of)
    blocking = list(error.blocking) or _blocking(policy, loss_of)
    found.sort(key=lambda relaxation: relaxation.loss)
    return Infeasible(error.faults, blocking=blocking, attainable=attainable, relaxations=found[:_MOST])


def _offer(found: list[Relaxation], text: str, candidate: Policy, loss_of: Callable[[Policy], float | None]) -> None:
    loss = loss_of(candidate)
    if loss is not None:
        found.append(Relaxation(text, candidate, loss))


def _with_lost_column(policy: Policy, candidate: Policy, loss: float) -> float:
    """A column that is not published is lost whole: it counts 1, where losses are shares."""
    before = {name: column.weight for name, column in policy.quasi_identifiers.items()}
    lost = sum(weight for name, weight in before.items() if name not in candidate.quasi_identifiers)
    total = sum(before.values())
    return (loss * (total - lost) + lost) / total if policy.loss.range[1] == 1.0 else loss


def _models(
    policy: Policy, loss_of: Callable[[Policy], float | None]
) -> Iterator[tuple[PrivacyModel, int, Policy | None]]:
    """Yield each model with the largest value that works while the others stay as they are, and its policy."""
    for number, model in enumerate(policy.models):

        def weaker(value: int, number: int = number, model: PrivacyModel = model) -> Policy | None:
            other = model.relaxed(value)
            if other is None:
                return None
            return policy.replace(models=[*policy.models[:number], other, *policy.models[number + 1 :]])

        low, high = 1, int(model.asked)  # low works (or is nothing), high does not
        while high - low > 1:
            middle = (low + high) // 2
            candidate = weaker(middle)
            if candidate is not None and loss_of(candidate) is not None:
                low = middle
            else:
                high = middle
        yield model, low, weaker(low)


def _suppression(policy: Policy, loss_of: Callable[[Policy], float | None]) -> Iterator[tuple[str, Policy]]:
    """Yield the least share of suppressed records that works, to a thousandth."""
    low, high = int(policy.max_suppressed * 1000), 1000
    if loss_of(policy.replace(max_suppressed=0.999)) is None:
        return
    while high - low > 1:
        middle = (low + high) // 2
        if loss_of(policy.replace(max_suppressed=middle / 1000)) is not None:
            high = middle
        else:
            low = middle
    share = high / 1000
    yield (
        f"allow {share:.1%} of the records to be suppressed instead of {policy.max_suppressed:.1%}",
        policy.replace(max_suppressed=share),
    )


def _columns(policy: Policy) -> Iterator[tuple[str, Policy]]:
    """Yield a hierarchy for columns that need one, another treatment of missing values, a column less."""
    for name, column in policy.quasi_identifiers.items():
        if column.hierarchy is None and policy.algorithm.needs_hierarchies:
            given = {**policy.quasi_identifiers, name: column.replace(hierarchy=Suppress())}
            yield f"give {name} the hierarchy suppress", policy.replace(quasi_identifiers=given)
        if column.missing == "suppress":
            given = {**policy.quasi_identifiers, name: column.replace(missing="own-value")}
            yield (
                f"treat missing values of {name} as a value of their own",
                policy.replace(quasi_identifiers=given),
            )
    for name in policy.quasi_identifiers if len(policy.quasi_identifiers) > 1 else ():
        yield f"do not publish {name}", _without(policy, name)


def _without(policy: Policy, name: str) -> Policy:
    rest = {other: column for other, column in policy.quasi_identifiers.items() if other != name}
    return policy.replace(quasi_identifiers=rest, identifiers=(*policy.identifiers, name))


def _dropped_models(policy: Policy) -> Iterator[tuple[str, Policy]]:
    for number, model in enumerate(policy.models if len(policy.models) > 1 else ()):
        rest = [*policy.models[:number], *policy.models[number + 1 :]]
        yield f"do not ask for {model.key()} {model.asked}", policy.replace(models=rest)


def _blocking(policy: Policy, loss_of: Callable[[Policy], float | None]) -> list[str]:
    """Return the columns without which the policy could be met, or the sensitive ones that fail."""
    alone = [
        name
        for name in (policy.quasi_identifiers if len(policy.quasi_identifiers) > 1 else ())
        if loss_of(_without(policy, name)) is not None
    ]
    if alone:
        return alone
    return sorted({name for model in policy.models for name in model.sensitive_columns})

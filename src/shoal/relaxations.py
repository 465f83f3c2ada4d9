"""explained(): an infeasible policy, with what blocks it and the cheapest changes that work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from shoal.errors import Infeasible, ShoalError
from shoal.hierarchies.suppress import Suppress
from shoal.policy import Policy, Relaxation

Attempt = Callable[[Policy], float]
"""Tries a policy: returns its loss or raises."""

_SECONDS = 30.0
_LEAST, _MOST = 2, 5


def explained(error: Infeasible, policy: Policy, attempt: Attempt) -> Infeasible:
    """Return the error with what blocks, what is attainable, and what would work.

    Every relaxation is tried on the data before it is offered.
    """
    trial = _Trial(policy, attempt, time.monotonic() + _SECONDS)
    attainable, found = _single_changes(policy, trial)
    if len(found) < _LEAST:
        for text, changed in (*_columns(policy), *_dropped_models(policy)):
            more = _single_changes(changed, trial)[1] if trial(changed) is None else []
            found += [Relaxation(f"{text}, and {other.text}", other.policy, other.loss) for other in more]
    blocking = list(error.blocking) or _blocking(policy, trial)
    found.sort(key=lambda relaxation: relaxation.loss)
    return Infeasible(error.faults, blocking=blocking, attainable=attainable, relaxations=found[:_MOST])


@dataclass(frozen=True)
class _Trial:
    """Tries policies while there is time: the loss of one that works, else ``None``."""

    policy: Policy
    attempt: Attempt
    deadline: float

    def __call__(self, candidate: Policy) -> float | None:
        if time.monotonic() > self.deadline:
            return None
        try:
            return self._with_lost_columns(candidate, self.attempt(candidate))
        except ShoalError:
            return None

    def offer(self, text: str, candidate: Policy) -> list[Relaxation]:
        loss = self(candidate)
        return [] if loss is None else [Relaxation(text, candidate, loss)]

    def _with_lost_columns(self, candidate: Policy, loss: float) -> float:
        """A column that is not published is lost whole: it counts 1, where losses are shares."""
        weights = {name: column.weight for name, column in self.policy.quasi_identifiers.items()}
        lost = sum(weight for name, weight in weights.items() if name not in candidate.quasi_identifiers)
        total = sum(weights.values())
        return (loss * (total - lost) + lost) / total if self.policy.loss.range[1] == 1.0 else loss


def _single_changes(policy: Policy, trial: _Trial) -> tuple[dict[str, Any], list[Relaxation]]:
    """Return the best attainable value of each model, and every single change that works."""
    attainable: dict[str, Any] = {}
    found: list[Relaxation] = []
    for number, model in enumerate(policy.models):
        attainable[model.key()] = best = _best_value(policy, number, trial)
        for value in dict.fromkeys((best, best // 2)):  # the nearest, and one that leaves room
            weaker = _weaker(policy, number, value)
            if weaker is not None:
                found += trial.offer(f"ask for {model.key()} {value} instead of {model.asked}", weaker)
    for text, candidate in (*_suppression(policy, trial), *_columns(policy), *_dropped_models(policy)):
        found += trial.offer(text, candidate)
    return attainable, found


def _weaker(policy: Policy, number: int, value: int) -> Policy | None:
    other = policy.models[number].relaxed(value)
    if other is None:
        return None
    return policy.replace(models=[*policy.models[:number], other, *policy.models[number + 1 :]])


def _best_value(policy: Policy, number: int, trial: _Trial) -> int:
    """Return the largest value of a model that works while all else stays as it is; 1 where none does."""
    low, high = 1, int(policy.models[number].asked)  # low works (or is nothing), high does not
    while high - low > 1:
        middle = (low + high) // 2
        weaker = _weaker(policy, number, middle)
        if weaker is not None and trial(weaker) is not None:
            low = middle
        else:
            high = middle
    return low


def _suppression(policy: Policy, trial: _Trial) -> Iterator[tuple[str, Policy]]:
    """Yield the least share of suppressed records that works, to a thousandth."""
    low, high = int(policy.max_suppressed * 1000), 1000
    if trial(policy.replace(max_suppressed=0.999)) is None:
        return
    while high - low > 1:
        middle = (low + high) // 2
        if trial(policy.replace(max_suppressed=middle / 1000)) is not None:
            high = middle
        else:
            low = middle
    share = high / 1000
    text = f"allow {share:.1%} of the records to be suppressed instead of {policy.max_suppressed:.1%}"
    yield text, policy.replace(max_suppressed=share)


def _columns(policy: Policy) -> Iterator[tuple[str, Policy]]:
    """Yield a hierarchy for columns that need one, another treatment of missing values, a column less."""
    for name, column in policy.quasi_identifiers.items():
        if column.hierarchy is None and policy.algorithm.needs_hierarchies:
            given = {**policy.quasi_identifiers, name: column.replace(hierarchy=Suppress())}
            yield f"give {name} the hierarchy suppress", policy.replace(quasi_identifiers=given)
        if column.missing == "suppress":
            given = {**policy.quasi_identifiers, name: column.replace(missing="own-value")}
            yield f"treat missing values of {name} as a value of their own", policy.replace(quasi_identifiers=given)
    for name in policy.quasi_identifiers if len(policy.quasi_identifiers) > 1 else ():
        yield f"do not publish {name}", _without(policy, name)


def _without(policy: Policy, name: str) -> Policy:
    rest = {other: column for other, column in policy.quasi_identifiers.items() if other != name}
    return policy.replace(quasi_identifiers=rest, identifiers=(*policy.identifiers, name))


def _dropped_models(policy: Policy) -> Iterator[tuple[str, Policy]]:
    for number, model in enumerate(policy.models if len(policy.models) > 1 else ()):
        rest = [*policy.models[:number], *policy.models[number + 1 :]]
        yield f"do not ask for {model.key()} {model.asked}", policy.replace(models=rest)


def _blocking(policy: Policy, trial: _Trial) -> list[str]:
    """Return the columns without which the policy could be met, or the sensitive ones that fail."""
    names = list(policy.quasi_identifiers) if len(policy.quasi_identifiers) > 1 else []
    alone = [name for name in names if trial(_without(policy, name)) is not None]
    return alone or sorted({name for model in policy.models for name in model.sensitive_columns})

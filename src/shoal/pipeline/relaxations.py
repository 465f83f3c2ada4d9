"""explain(): an infeasible policy, with what blocks it and the cheapest changes that work.

Advice protects. Changes that keep every promise come first, then weaker ones, and last what gives a promise up: never
is that the first or the only thing to be offered. What an attacker is said to know stays a quasi-identifier: a column
that a scenario names is not offered to be left out, not even beside a promise that is given up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.errors import Infeasible, PolicyError, ShoalError
from shoal.hierarchies.suppress import Suppress
from shoal.models.base import name_models
from shoal.policy import Policy, Relaxation

Attempt = Callable[[Policy], float]
"""Tries a policy: returns its loss or raises."""

_SECONDS = 30.0
_LEAST, _MOST = 2, 5


@dataclass(frozen=True)
class Limits:
    """What stands in the way of every recoding."""

    ceilings: Sequence[Any]
    """What all records together attain of each model: one that asks for more must be relaxed whatever else is done."""
    boundaries: Mapping[str, Mapping[str, int]]
    """The boundaries that make the models unreachable: column → boundary → records that it holds back."""
    blocked: bool
    """Whether too many records must be suppressed, whatever the models ask for."""


def explain(error: Infeasible, policy: Policy, attempt: Attempt, limits: Limits) -> Infeasible:
    """Return the error with what blocks, what is attainable, and what would work.

    Every relaxation is tried on the data before it is offered.
    """
    if policy.has_secret_seed:  # what is promised of a sample must not be chosen by what the data allow
        return error
    trial = _Trial(policy, attempt, time.monotonic() + _SECONDS)
    failing = [
        number
        for number, (model, ceiling) in enumerate(zip(policy.models, limits.ceilings, strict=True))
        if ceiling is not None and not model.meets(ceiling)
    ]
    if failing:
        attainable, found = _lowered(policy, failing, limits.ceilings, trial)
        blocking = sorted({name for number in failing for name in policy.models[number].sensitive_columns})
    else:
        attainable, found = _single_changes(policy, trial)
        blocking = list(limits.boundaries or error.blocking) or _blocking(policy, trial)
    if len(found) < _LEAST:
        for text, changed in (*_columns(policy, policy), *_dropped_models(policy)):
            more = _single_changes(changed, trial)[1] if trial(changed) is None else []
            found += [Relaxation(f"{text}, and {other.text}", other.policy, other.loss) for other in more]
    return type(error)(
        error.faults,
        blocking=blocking,
        attainable={} if limits.blocked else attainable,
        relaxations=_rank(found, policy)[:_MOST],
        boundaries=limits.boundaries,
    )


def _rank(found: Sequence[Relaxation], policy: Policy) -> list[Relaxation]:
    """Return what may be offered: what keeps most of the promises first, of equals what loses least."""
    ranked = sorted(found, key=lambda relaxation: (_give_up(relaxation.policy, policy), relaxation.loss))
    return [] if not ranked or _give_up(ranked[0].policy, policy) == _DROPPED else ranked


_KEPT, _WEAKENED, _DROPPED = range(3)


def _give_up(changed: Policy, policy: Policy) -> int:
    """Return how much of the promises is given up: none, some of what they ask for, or whole ones."""
    if len(changed.models) < len(policy.models):
        return _DROPPED
    return _KEPT if (changed.models, changed.sensitive) == (policy.models, policy.sensitive) else _WEAKENED


def _lowered(
    policy: Policy, failing: list[int], ceilings: Sequence[Any], trial: _Trial
) -> tuple[dict[str, Any], list[Relaxation]]:
    """Relax the models that ask for more than the whole table has; what else stands in the way is looked for then."""
    names, attainable = name_models(policy.models), dict[str, Any]()
    found: list[Relaxation] = []
    tried: Policy | None = None
    for part in (1, 2):  # just what the table has, and half of it, which leaves room to generalize less
        models, texts = list(policy.models), []
        for number in failing:
            ceiling = ceilings[number]
            value = (ceiling or 0) // part if isinstance(ceiling, int | None) else ceiling
            weaker = models[number].relaxed(value)
            value = value if weaker is None else weaker.asked
            texts.append(f"ask for {names[number]} {value} instead of {models[number].asked}")
            models[number] = weaker or models[number]
        changed = policy.asking(models)
        if changed == tried:  # there is no half of it
            continue
        tried = changed
        offered = trial.offer(" and ".join(texts), changed)
        if part == 1:
            attainable = _attainable(policy, failing, ceilings, trial, lowered=bool(offered))
        if not offered and part == 1:
            offered = [
                Relaxation(f"{' and '.join(texts)}, and {other.text}", other.policy, other.loss)
                for other in _single_changes(changed, trial)[1]
            ]
        found += offered
    rest = [model for number, model in enumerate(policy.models) if number not in failing]
    if rest:
        asked = " and ".join(names[number] for number in failing)
        found += trial.offer(f"do not ask for {asked}", policy.asking(rest))
    return attainable, _without_dominated(found)


def _attainable(
    policy: Policy, failing: list[int], ceilings: Sequence[Any], trial: _Trial, *, lowered: bool
) -> dict[str, Any]:
    """Return the most that can be asked of the failing models: what all records together attain, where that works."""
    if lowered:
        return {name_models(policy.models)[number]: ceilings[number] for number in failing}
    if len(failing) > 1:
        return {}
    return _best_told(policy, failing[0], trial)


def _best_told(policy: Policy, number: int, trial: _Trial) -> dict[str, Any]:
    """Return the best value of a model by its name; none where there was no time to find it."""
    best, model = _best_value(policy, number, trial), policy.models[number]
    if trial.late or (best is None and not isinstance(model.asked, int)):
        return {}
    return {name_models(policy.models)[number]: 1 if best is None else best}


def _without_dominated(found: list[Relaxation]) -> list[Relaxation]:
    """Leave out what asks for less and loses as much, as long as two are left."""
    kept: list[Relaxation] = []
    spare: list[Relaxation] = []
    for relaxation in found:
        dominated = any(abs(relaxation.loss - other.loss) < 1e-9 for other in kept)
        (spare if dominated else kept).append(relaxation)
    return [*kept, *spare[: max(_LEAST - len(kept), 0)]]


@dataclass(frozen=True)
class _Trial:
    """Tries policies while there is time: the loss of one that works, else ``None``."""

    policy: Policy
    attempt: Attempt
    deadline: float

    def __call__(self, candidate: Policy) -> float | None:
        if self.late:
            return None
        try:
            return self._with_lost_columns(candidate, self.attempt(candidate))
        except ShoalError:
            return None

    @property
    def late(self) -> bool:
        """Whether time is over, so that a policy which was not tried may still work."""
        return time.monotonic() > self.deadline

    def offer(self, text: str, candidate: Policy) -> list[Relaxation]:
        loss = self(candidate)
        given_up = [name for name in self.policy.presets if name not in candidate.presets]
        text += f" (then it no longer follows {', '.join(given_up)})" if given_up else ""
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
    spare: list[Relaxation] = []
    for number, (title, model) in enumerate(zip(name_models(policy.models), policy.models, strict=True)):
        best = _best_value(policy, number, trial)
        if not trial.late:
            attainable[title] = 1 if best is None and isinstance(model.asked, int) else best
        if best is None:
            continue
        nearest = _asking(policy, number, best, trial)
        less = model.weaker_thresholds[max(model.weaker_thresholds.index(best) - 1, 0) // 2]
        for other in _asking(policy, number, less, trial):  # leaves room: worth it only if it saves something
            (found if not nearest or other.loss < nearest[0].loss - 1e-9 else spare).append(other)
        found += nearest
    for text, candidate in (*_suppression(policy, trial), *_columns(policy, trial.policy), *_dropped_models(policy)):
        found += trial.offer(text, candidate)
    return attainable, found if len(found) >= _LEAST else [*found, *spare]


def _asking(policy: Policy, number: int, value: Any, trial: _Trial) -> list[Relaxation]:
    weaker = _weaker(policy, number, value)
    title, asked = name_models(policy.models)[number], policy.models[number].asked
    return [] if weaker is None else trial.offer(f"ask for {title} {value} instead of {asked}", weaker)


def _weaker(policy: Policy, number: int, value: Any) -> Policy | None:
    other = policy.models[number].relaxed(value)
    if other is None:
        return None
    return policy.asking([*policy.models[:number], other, *policy.models[number + 1 :]])


def _best_value(policy: Policy, number: int, trial: _Trial) -> Any:
    """Return the most that can be asked of a model while all else stays as it is; ``None`` where nothing can."""
    weaker_thresholds = policy.models[number].weaker_thresholds
    low, high = -1, len(weaker_thresholds)  # low works (or is nothing), high does not
    while high - low > 1:
        middle = (low + high) // 2
        weaker = _weaker(policy, number, weaker_thresholds[middle])
        if weaker is not None and trial(weaker) is not None:
            low = middle
        else:
            high = middle
    return weaker_thresholds[low] if low >= 0 else None


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


def _columns(policy: Policy, asked: Policy) -> Iterator[tuple[str, Policy]]:
    """Yield a hierarchy for columns that need one, another treatment of missing values, a column less.

    ``asked`` is the policy of the owner, which names what attackers know, where some of it is changed already.
    """
    for name, column in policy.quasi_identifiers.items():
        if column.hierarchy is None and policy.algorithm.needs_hierarchies:
            given = {**policy.quasi_identifiers, name: column.replace(hierarchy=Suppress())}
            yield f"give {name} the hierarchy suppress", policy.replace(quasi_identifiers=given)
        if column.missing == "suppress":
            given = {**policy.quasi_identifiers, name: column.replace(missing="own-value")}
            yield f"treat missing values of {name} as a value of their own", policy.replace(quasi_identifiers=given)
        if column.boundaries:
            given = {**policy.quasi_identifiers, name: column.replace(boundaries=())}
            yield f"lift the boundaries of {name}", policy.replace(quasi_identifiers=given)
    for name, role in policy.sensitive.items():
        if role.missing == "suppress":
            roles = {**policy.sensitive, name: role.replace(missing="own-value")}
            yield f"treat missing values of {name} as a value of their own", policy.replace(sensitive=roles)
    for name, changed in _without_one(policy, asked):
        yield f"do not publish {name}", changed


def _without_one(policy: Policy, asked: Policy) -> Iterator[tuple[str, Policy]]:
    """Yield the policy without each quasi-identifier, but for those that a model names or cannot do without."""
    named = {name for model in asked.models for known in model.scenarios(()) for name in known}
    spare = [name for name in policy.quasi_identifiers if name not in named]
    for name in spare if len(policy.quasi_identifiers) > 1 else ():
        try:
            changed = policy.hiding([name])
        except PolicyError:  # a scenario asks for as many columns as there are
            continue
        yield name, changed


def _dropped_models(policy: Policy) -> Iterator[tuple[str, Policy]]:
    names = name_models(policy.models)
    for number, model in enumerate(policy.models if len(policy.models) > 1 else ()):
        rest = [*policy.models[:number], *policy.models[number + 1 :]]
        yield f"do not ask for {names[number]} {model.asked}", policy.asking(rest)


def _blocking(policy: Policy, trial: _Trial) -> list[str]:
    """Return the columns without which the policy could be met, or the sensitive ones that fail."""
    alone = [name for name, changed in _without_one(policy, trial.policy) if trial(changed) is not None]
    return alone or sorted({name for model in policy.models for name in model.sensitive_columns})

"""What a board reads of a release: its context, the residual risk against a threshold, what was done to each column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from shoal.policy import Policy
from shoal.policy.context import NOT_STATED, Context, Variable

_MEASURES = {"maximum": "max", "average": "mean"}
Risks = Mapping[str, Mapping[str, float]]


def tell_context(policy: Policy) -> dict[str, Any]:
    """Return every field of the context, as it is stated or as not stated."""
    return (policy.context or Context()).tell()


def compare_risk(policy: Policy, before: Risks, after: Risks) -> dict[str, Any]:
    """Return the initial risk, the threshold and the residual risk of whoever knows all quasi-identifiers.

    Where the owner does not say which risk counts, it is the maximum, which is never less than the average. Where no
    threshold is stated it is what the promises say: no class smaller than k is no chance greater than one in k.

    Examples
    --------
    >>> policy = Policy(quasi_identifiers=["age"], models=[{"name": "k-anonymity", "k": 5}])
    >>> compared = compare_risk(policy, {"prosecutor": {"max": 1.0}}, {"prosecutor": {"max": 0.125}})
    >>> compared["initial"], compared["threshold"], compared["threshold_from"], compared["residual"], compared["met"]
    (1.0, 0.2, 'promises', 0.125, True)
    """
    stated = policy.context or Context()
    measure = stated.risk or "maximum"
    initial, residual = (risks.get("prosecutor", {}).get(_MEASURES[measure]) for risks in (before, after))
    threshold, source = stated.risk_threshold, "context"
    if threshold is None:
        threshold, source = _promised_risk(policy, measure), "promises"
    return {
        "measure": measure,
        "initial": initial,
        "threshold": threshold,
        "threshold_from": NOT_STATED if threshold is None else source,
        "residual": residual,
        "met": None if threshold is None or residual is None else residual <= threshold,
    }


def _promised_risk(policy: Policy, measure: str) -> float | None:
    """Return the greatest risk that the promises leave; none where they speak of no class's size."""
    smallest = max((model.least_records for model in policy.models if model.classwise), default=1)
    asked = [1 / smallest] if smallest > 1 and policy.output.generalizes else []
    if measure == "average":
        asked += [model.mean_risk for model in policy.models if model.mean_risk is not None]
    return min(asked, default=None)


def describe_variables(columns: Iterable[str], policy: Policy) -> dict[str, dict[str, str]]:
    """Return for each column of the table whether it identifies, what was done to it, and why.

    Examples
    --------
    >>> policy = Policy(identifiers=["name"], quasi_identifiers={"age": "suppress"}, others="drop",
    ...                 models=[{"name": "k-anonymity", "k": 5}])
    >>> describe_variables(["name", "age"], policy)["age"]
    {'identifier': 'indirect', 'technique': 'generalized (suppress)', 'reason': 'others may know it'}
    """
    stated = {} if policy.context is None else policy.context.variables
    names = dict.fromkeys((*policy.hidden, *policy.quasi_identifiers, *policy.sensitive, *columns))
    added = set(policy.added_columns)
    return {name: _variable(name, policy, stated.get(name) or Variable()) for name in names if name not in added}


def _variable(name: str, policy: Policy, stated: Variable) -> dict[str, str]:
    identifier, technique, reason = _by_role(name, policy)
    return {
        "identifier": stated.identifier or identifier,
        "technique": stated.technique or technique,
        "reason": stated.reason or reason,
    }


def _by_role(name: str, policy: Policy) -> tuple[str, str, str]:
    """Return what a column's role says of it."""
    if name in policy.pseudonyms:
        return "direct", "published as a pseudonym, made with a key", "names a person"
    if name == policy.subject:
        return "direct", "removed; its records count as one person", "tells persons apart"
    if name in policy.requested_k:
        return "none", "removed", "what each person asks for"
    if name in policy.identifiers:
        return "direct", "removed", "names a person"
    if name in policy.quasi_identifiers:
        return "indirect", _generalization(policy, name), "others may know it"
    if name in policy.sensitive:
        technique = _treatment(policy, name) if policy.output.generalizes else "told by group"
        return "none", technique, "sensitive: to be learned about nobody"
    return (
        NOT_STATED,
        "removed" if policy.others == "drop" and name not in policy.perturbed else _treatment(policy, name),
        NOT_STATED,
    )


def _generalization(policy: Policy, name: str) -> str:
    treated = _treatment(policy, name)
    if not policy.output.generalizes:
        return treated
    hierarchy = policy.quasi_identifiers[name].hierarchy
    how = f"generalized ({'ranges or sets' if hierarchy is None else hierarchy.key()})"
    return f"{treated}, then {how}" if name in policy.treated else how


def _treatment(policy: Policy, name: str) -> str:
    if name in policy.perturbed:
        how = f"perturbed ({policy.perturbed[name].key()})"
        return f"treated ({policy.treated[name]}), then {how}" if name in policy.treated else how
    return f"treated ({policy.treated[name]})" if name in policy.treated else "as it is"

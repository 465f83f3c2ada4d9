"""A policy while it is made: plain data that may not be a policy yet, and every change that a form makes to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.encoding import yaml as notation
from shoal.errors import PolicyError, ShoalError, nearest
from shoal.policy import Policy
from shoal.policy.presets import find_preset

Plain = dict[str, Any]
ROLES = {
    "identifiers": "names a person: never published",
    "quasi_identifiers": "others may know it: generalized",
    "sensitive": "nobody should learn it: published as it is",
    "others": "no role",
}
"""Role in a policy → what it says."""


def read_draft(text: str) -> Plain:
    """Return the plain data of a text, a policy or not yet one."""
    return {str(key): value for key, value in notation.parse_mapping(text, "policy").items()} if text.strip() else {}


def write_draft(data: Mapping[str, Any]) -> str:
    """Return plain data as the text of a policy: as the policy itself writes it, where it is one."""
    kept = {key: value for key, value in data.items() if value not in (None, {}, [])}
    try:
        return Policy(**kept).to_yaml()
    except ShoalError:
        return notation.dump(kept) if kept else ""


def list_role(data: Mapping[str, Any], role: str) -> Plain:
    """Return the columns of a role with what is said of each.

    Examples
    --------
    >>> list_role({"sensitive": ["illness"]}, "sensitive"), list_role({}, "identifiers")
    ({'illness': {}}, {})
    """
    named = data.get(role) or {}
    return (
        {str(name): spec or {} for name, spec in named.items()}
        if isinstance(named, Mapping)
        else {str(name): {} for name in named}
    )


def find_role(data: Mapping[str, Any], column: str) -> str:
    """Return the role of a column."""
    return next((role for role in list(ROLES)[:-1] if column in list_role(data, role)), "others")


def set_roles(data: Plain, columns: Sequence[str], role: str) -> Plain:
    """Give some columns a role; what was said of a column goes with its old one.

    Models that look at a column which is no longer sensitive no longer ask for anything.

    Examples
    --------
    >>> set_roles({"quasi_identifiers": {"age": {}, "sex": {}}}, ["sex"], "sensitive")
    {'quasi_identifiers': {'age': {}}, 'sensitive': {'sex': {}}}
    """
    _require(role, ROLES)
    moved = [name for name in columns if find_role(data, name) != role]
    changed = {key: {n: s for n, s in list_role(data, key).items() if n not in moved} for key in list(ROLES)[:-1]}
    if role != "others":
        changed[role] |= {name: {} for name in moved}
    data = {**data, **changed}
    data["models"] = [one for one in data.get("models", []) if not (set(_columns_of(one)) & {*moved})]
    if role == "others" and "others" not in data:
        data["others"] = "drop"
    return {key: value for key, value in data.items() if value not in ({}, [])}


def _columns_of(model: Any) -> list[str]:
    """Return the columns that a model looks at."""
    on = model.get("on") if isinstance(model, Mapping) else None
    return [] if on is None else [str(name) for name in on] if isinstance(on, list) else [str(on)]


def set_spec(data: Plain, column: str, **said: Any) -> Plain:
    """Say something of one column with a role; ``None`` takes it back."""
    role = find_role(data, column)
    if role == "others":
        raise PolicyError("has no role", where=column, hint="give it one first")
    columns = list_role(data, role)
    kept = {key: value for key, value in {**columns[column], **said}.items() if value is not None}
    return {**data, role: {**columns, column: kept}}


def set_hierarchy(data: Plain, column: str, method: str | None, parameters: Mapping[str, Any]) -> Plain:
    """Let a column be generalized in another way."""
    old = list_role(data, find_role(data, column)).get(column, {})
    own = {key: value for key, value in old.items() if key in _KEPT}
    spec = own if method is None else {"hierarchy": method, **parameters, **own}
    role = find_role(data, column)
    return {**data, role: {**list_role(data, role), column: spec}}


_KEPT = ("weight", "missing", "publish", "domain", "ends", "treatment")
"""What is said of a column whatever its hierarchy."""


def set_entry(data: Plain, key: str, name: str, parameters: Mapping[str, Any]) -> Plain:
    """Choose an algorithm or a loss."""
    return {**data, key: {"name": name, **parameters}}


def add_model(data: Plain, name: str, parameters: Mapping[str, Any]) -> Plain:
    """Ask for one promise more."""
    return {**data, "models": [*data.get("models", []), {"name": name, **parameters}]}


def set_model(data: Plain, number: int, parameters: Mapping[str, Any]) -> Plain:
    """Ask for another value of a promise."""
    models = list(data.get("models", []))
    _require(number, range(len(models)))
    models[number] = {"name": models[number]["name"], **parameters}
    return _without_unkept({**data, "models": models})


def drop_model(data: Plain, number: int) -> Plain:
    """Ask for one promise less."""
    models = list(data.get("models", []))
    _require(number, range(len(models)))
    del models[number]
    return _without_unkept({**data, "models": models})


def follow_preset(data: Plain, name: str) -> Plain:
    """Follow a published rule: what it asks for stands instead of weaker promises of the same kind.

    Examples
    --------
    >>> follow_preset({"models": [{"name": "k-anonymity", "k": 2}]}, "ema-0070")["models"]
    [{'name': 'k-anonymity', 'k': 11}]
    """
    asked = find_preset(name).models
    names = {model.key() for model in asked}
    rest = [one for one in data.get("models", []) if one.get("name") not in names]
    stated = [{"name": model.key(), **model.parameters()} for model in asked]
    presets = [*[one for one in data.get("presets", []) if one != name], name]
    return _without_unkept({**data, "models": [*stated, *rest], "presets": presets})


def _without_unkept(data: Plain) -> Plain:
    """Leave out published rules that the promises no longer keep."""
    if not data.get("presets"):
        return data
    try:
        models = Policy(**{**data, "presets": []}).models
    except ShoalError:
        return data
    kept = [name for name in data["presets"] if not find_preset(name).unmet(models)]
    return {**data, "presets": kept} if kept else {key: value for key, value in data.items() if key != "presets"}


def set_context(data: Plain, said: Mapping[str, Any]) -> Plain:
    """State what a board asks for and no count can tell."""
    old = dict(data.get("context") or {})
    kept = {key: value for key, value in {**old, **said}.items() if value is not None}
    return {**data, "context": kept}


def _require(given: Any, known: Any) -> None:
    if given not in known:
        hint = nearest(str(given), [str(one) for one in known])
        raise PolicyError("there is no such choice", got=repr(given), hint=hint)

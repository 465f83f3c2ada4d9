"""Policies from the configurations of other tools, with notes on what could not be taken over as it is."""

from __future__ import annotations

from math import ceil
from typing import Any

from shoal.encoding import yaml as notation
from shoal.hierarchies._vgh import UtdColumn, VghNode
from shoal.hierarchies.suppress import Suppress
from shoal.importers.utd_config import UtdConfig, hierarchy_of, name_of
from shoal.policy import Policy

Notes = list[str]

_USUAL = 10
"""The toolbox's k and l where a configuration leaves them out."""
_FULL_DOMAIN = ("datafly", "incognito", "incognito_k", "incognito_l", "incognito_t")
_DIVERSE = ("incognito_l", "anatomy")


def to_policy(config: UtdConfig) -> tuple[Policy, Notes]:
    """Return the policy that a configuration of the UTD toolbox stands for, and notes for its reader.

    Examples
    --------
    >>> from shoal.importers.utd_config import read_config
    >>> config = read_config('''<config method="Mondrian" k="5"><qid>
    ...   <att index="0" name="sex"><map><entry cat="F" int="0"/><entry cat="M" int="1"/></map>
    ...   <vgh value="[0:1]"/></att></qid></config>''')
    >>> policy, notes = to_policy(config)
    >>> policy.k, list(policy.quasi_identifiers), policy.algorithm.key()
    (5, ['sex'], 'mondrian')
    """
    notes = _describe_columns(config)
    algorithm = _algorithm(config, notes)
    policy = Policy(
        identifiers=[name_of(column) for column in config.identifiers],
        quasi_identifiers={name_of(c): _quasi_identifier(c, algorithm, notes) for c in config.quasi_identifiers},
        sensitive=[name_of(column) for column in config.sensitive],
        others="drop",
        models=_models(config, notes),
        algorithm=algorithm,
    )
    notes.append("others: the toolbox publishes columns without a role as they are; here they are dropped.")
    if config.format.lower() not in ("", "genvals"):
        notes.append(f"output: the format {config.format!r} is not known here; generalized values are published.")
    if config.extra:
        notes.append(f"config: passed over, as the toolbox does: {', '.join(sorted(config.extra))}.")
    return policy, notes


def to_yaml(policy: Policy, notes: Notes) -> str:
    """Return a policy as YAML with the notes as comments above it.

    Examples
    --------
    >>> policy = Policy(quasi_identifiers=["age"], models=[{"name": "k-anonymity", "k": 5}])
    >>> print(to_yaml(policy, ["age: no hierarchy"]), end="")
    # age: no hierarchy
    quasi_identifiers:
      age: {}
    models:
    - name: k-anonymity
      k: 5
    algorithm:
      name: shoal
    """
    # a name may hold a line break; a comment may not
    comments = "".join(f"# {' '.join(note.split())}\n" for note in notes)
    # the method was the configuration's choice, so it stands there even where it is the default
    data = {**policy.to_dict(), "algorithm": {"name": policy.algorithm.key(), **policy.algorithm.parameters()}}
    return comments + notation.dump({key: value for key, value in data.items() if value != []})


def _describe_columns(config: UtdConfig) -> Notes:
    columns = sorted(config.columns, key=lambda column: column.index or 0)
    indices = ", ".join(f"{name_of(column)} ({column.index})" for column in columns)
    notes = [f"columns: the toolbox goes by place (from 0), shoal by name; the table must name {indices}."]
    if config.input:
        cut = f", cut at {config.separator!r}" if config.separator else ""
        notes.insert(0, f"data: {config.input}{cut}.")
    return notes


def _algorithm(config: UtdConfig, notes: Notes) -> str:
    method = config.method.lower()
    if method in _FULL_DOMAIN:
        notes.append(
            f"algorithm: {config.method} is a full-domain search; exhaustive looks at all that it could find. "
            "It suppresses nothing unless max_suppressed allows it; the toolbox is told on its command line."
        )
        return "exhaustive"
    if method != "mondrian":
        named = f"no method {config.method!r} is known here" if method else "the configuration names no method"
        notes.append(f"algorithm: {named}; mondrian is taken.")
    return "mondrian"


def _quasi_identifier(column: UtdColumn, algorithm: str, notes: Notes) -> dict[str, Any]:
    name = name_of(column)
    hierarchy = hierarchy_of(column, "qid")
    if isinstance(hierarchy, Suppress):
        if algorithm == "mondrian":  # without labels in between, ranges tell far more than *
            notes.append(f"{name}: no ranges are declared; mondrian publishes those that it finds.")
            return {}
        return {"hierarchy": hierarchy}
    shared = None if column.map or column.vgh is None else _shared_end(column.vgh)
    if shared is not None:
        notes.append(
            f"{name}: where two ranges share an end, it belongs to the upper one: {shared:g} starts a range. "
            "The toolbox takes the first range that fits, the lower one."
        )
    return {"hierarchy": hierarchy}


def _shared_end(node: VghNode) -> float | None:
    for left, right in zip(node.under, node.under[1:], strict=False):
        if left.range.with_high and left.range.high == right.range.low:
            return right.range.low
    return next((end for child in node.under if (end := _shared_end(child)) is not None), None)


def _models(config: UtdConfig, notes: Notes) -> list[dict[str, Any]]:
    method = config.method.lower()
    diverse = _diversity(config, notes)
    if config.t is not None or method == "incognito_t":
        asked = "" if config.t is None else f" of {config.t:g}"
        notes.append(f"models: NOT PROMISED: t-closeness{asked}. The policy asks for less than the configuration.")
    if config.k is None and diverse:
        return diverse
    if config.k is None:
        notes.append(f"models: the configuration names no k; the toolbox would take {_USUAL}.")
    return [{"name": "k-anonymity", "k": config.k or _USUAL}, *diverse]


def _diversity(config: UtdConfig, notes: Notes) -> list[dict[str, Any]]:
    if config.l is None and config.method.lower() not in _DIVERSE:
        return []
    asked = float(_USUAL) if config.l is None else config.l
    if not config.sensitive:
        notes.append(f"models: NOT PROMISED: l-diversity of {asked:g}, as no column is sensitive.")
        return []
    notes.append(
        f"models: distinct l-diversity stands for the toolbox's own of {asked:g} "
        "(entropy, or recursive where it is given c), which asks for more."
    )
    return [
        {"name": "distinct-l-diversity", "on": name_of(column), "l": max(2, ceil(asked))} for column in config.sensitive
    ]

"""build_audit_schema(): the JSON Schema of ``audit.json``, so that scripts know what they may rely on."""

from __future__ import annotations

from typing import Any

_WHOLE = {"type": "integer", "minimum": 0}
_WHOLE_OR_NOT = {"type": ["integer", "null"], "minimum": 0}
_TEXT = {"type": "string"}
_YES = {"type": "boolean"}
_YES_OR_NOT = {"type": ["boolean", "null"]}


def _of(required: dict[str, Any], optional: dict[str, Any] | None = None, *, more: bool = False) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": more,
    }


def _each(value: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": value}


def _list(value: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": value}


_ATTAINED = {
    "anyOf": [{"type": ["number", "null"]}, {"type": "array", "items": {"type": "number"}}, {"type": "object"}]
}
_MODEL = _of(
    {"name": _TEXT, "asked": {}, "attained": _ATTAINED, "holds": _YES},
    {"on": _list(_TEXT), "title": _TEXT, "decided": {"const": False}},
)
_FAULT = _of(
    {"what": _TEXT, "kind": {"enum": ["fault", "note", "unreadable", "undecided"]}},
    {"where": _TEXT, "got": _TEXT, "hint": _TEXT},
)
_LOSS = _of({"total": {"type": "number"}}, {"columns": _each({"type": "number"})})
_RISK = _each(_each({"type": "number"}))
_COLUMN = _of({"before": _WHOLE, "after": _WHOLE, "certainty-penalty": {"type": "number"}}, more=True)
_READING = _of(
    {"name": _TEXT, "attained": {"type": ["number", "null"]}},
    {"c": {"type": "number"}, "distance": _TEXT, "unlimited": {"const": True}},
)
_MEASURED = _of(
    {
        "k": _of({"own_value": _WHOLE_OR_NOT, "matches_anything": _WHOLE_OR_NOT, "without_suppressed": _WHOLE_OR_NOT}),
        "sensitive": _each(_list(_READING)),
        "not_measured": _each(_TEXT),
    }
)
_THRESHOLD = _of({"name": _TEXT, "asked": _WHOLE, "attained": _WHOLE_OR_NOT, "met": _YES_OR_NOT, "source": _TEXT})
_STILL = {"enum": ["no", "may not", "yes"]}
_CRITERION = _of({"question": _TEXT, "still_a_risk": _STILL, "models": _each(_STILL), "caveat": _TEXT})
_CRITERIA = _of(
    {
        "source": _TEXT,
        "criteria": _of({"singling_out": _CRITERION, "linkability": _CRITERION, "inference": _CRITERION}),
        "taken_as": _each(_TEXT),
        "silent_about": _list(_TEXT),
    }
)
_CHECK = _of({"check": _TEXT, "asks": _TEXT, "outcome": {"enum": ["passed", "failed", "not run"]}}, {"why": _TEXT})
_MISSING = _of(
    {
        "role": {"enum": ["quasi-identifier", "sensitive"]},
        "missing": {"enum": ["own-value", "wildcard", "suppress", "error"]},
        "empty": _WHOLE,
    },
    {"starred": _WHOLE, "empty_before": _WHOLE},
)
_SHARE_OR_NOT = {"type": ["number", "null"]}
_RISK_LINE = _of(
    {
        "measure": {"enum": ["maximum", "average"]},
        "initial": _SHARE_OR_NOT,
        "threshold": _SHARE_OR_NOT,
        "threshold_from": {"enum": ["context", "promises", "not stated"]},
        "residual": _SHARE_OR_NOT,
        "met": _YES_OR_NOT,
    }
)
_VARIABLE = _of({"identifier": _TEXT, "technique": _TEXT, "reason": _TEXT})
_REQUIRED: dict[str, tuple[str, dict[str, Any]]] = {
    "format": ("The number of this form. Keys are added to it, none is taken away or changed.", {"const": 1}),
    "promised": ("Whether a policy with models was audited, or a table only measured.", _YES),
    "decided": ("Whether who counted could say; false where nothing fails and the rest only the owner counts.", _YES),
    "holds": ("Whether every promise holds and nothing is wrong; null where nothing was promised.", _YES_OR_NOT),
    "form": ("What the release is made of.", {"enum": ["generalized", "statistics", "anatomy"]}),
    "records": ("Records of the original table, of the published one where that was not given.", _WHOLE),
    "published": ("Records of the published table.", _WHOLE),
    "suppressed": ("Records that show nothing or are left out.", _WHOLE),
    "shows_nothing": ("Whether every record shows * in every quasi-identifier.", _YES),
    "starred": ("Those of them that are published.", _WHOLE),
    "left_out": ("Those of them that are not.", _WHOLE),
    "suppressed_as": ("How suppressed records are written, with their number.", _each(_WHOLE)),
    "classes": ("Distinct combinations of published quasi-identifiers.", _WHOLE),
    "counted": ("What sizes count.", {"enum": ["records", "persons"]}),
    "models": ("Each promise: what was asked, what is attained; null is unlimited or nothing to count.", _list(_MODEL)),
    "measured": ("What the table attains, whatever was promised.", _MEASURED),
    "thresholds": ("Class sizes that published rules ask for.", _list(_THRESHOLD)),
    "criteria": ("Singling out, linkability, inference: what the models that hold say.", _CRITERIA),
    "utility": ("Losses by name; empty without the original.", _each(_LOSS)),
    "risk": ("Risks by name and measure.", _RISK),
    "risk_before": ("The same of the original; empty without it.", _RISK),
    "columns": ("For each quasi-identifier its distinct values before and after, and its loss.", _each(_COLUMN)),
    "guarantees": ("What is promised of each column.", _each(_of({"name": _TEXT}, more=True))),
    "hygiene": (
        "Checks of the table itself, with their outcome; where a release is made also whether the search's claims, the"
        " table that is held and the files that were written are what was audited (claims, held, written).",
        _list(_CHECK),
    ),
    "missing": ("For each column what a missing value is, and how many cells show nothing.", _each(_MISSING)),
    "faults": ("What is wrong with the table, and notes.", _list(_FAULT)),
    "context": (
        "What the owner states of the release; 'not stated' where nothing is.",
        _each({"type": ["string", "number"]}),
    ),
    "residual_risk": ("Initial risk, threshold, residual risk: of whoever knows all quasi-identifiers.", _RISK_LINE),
    "variables": ("For each column whether it identifies, what was done to it, and why.", _each(_VARIABLE)),
    "policy_hash": ("SHA-256 of the policy.", {"type": "string", "pattern": "^[0-9a-f]{64}$"}),
}
_ATTACK = _of(
    {"name": _TEXT, "found": _YES, "measured": _each({}), "worst": _list(_WHOLE)}, {"on": _TEXT, "left_out": _TEXT}
)
_MORE = {"type": ["object", "array"]}
_TEST = _of(
    {"test": _TEXT, "asks": _TEXT, "outcome": {"enum": ["passed", "failed", "not run"]}},
    {"asked": {"type": "number"}, "attained": {"type": "number"}, "why": _TEXT, "got": _TEXT},
)
_PERTURBATION = _of(
    {
        "name": _TEXT,
        "guarantee": _of({"name": _TEXT}, more=True),
        "holds": _YES,
        "tests": _list(_TEST),
        "lost": _each({"type": "number"}),
    },
    {"bound": _of({"of": _TEXT, "least": {"type": "number"}, "is": _TEXT})},
)
_OPTIONAL: dict[str, tuple[str, dict[str, Any]]] = {
    "bound": ("The certainty penalty that no local recoding can go below.", {"type": "number"}),
    "bound_is": ("Who says so.", _TEXT),
    "bound_is_weak": ("That the bound is less than half of the loss, and tells little.", _YES),
    "attacks": ("Attacks that were run, with what they found.", _list(_ATTACK)),
    "attacks_not_run": ("Attacks that were not run, with the reason.", _list(_of({"name": _TEXT, "reason": _TEXT}))),
    "statistics": ("Statistics of the published table beside those of the original.", _MORE),
    "perturbations": ("What each perturbation promises of its columns, tested.", _list(_PERTURBATION)),
    "output": ("The form in which the table is published.", _MORE),
    "files": ("Files that were written, where a command prints the audit.", _each(_TEXT)),
}


def build_audit_schema() -> dict[str, Any]:
    """Return the JSON Schema of ``audit.json``; other keys than these may be there.

    Examples
    --------
    >>> schema = build_audit_schema()
    >>> schema["properties"]["format"]["const"], "models" in schema["required"]
    (1, True)
    """
    told = {name: {"description": says, **value} for name, (says, value) in {**_REQUIRED, **_OPTIONAL}.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "shoal audit",
        "description": "What an independent count of a published table found.",
        "type": "object",
        "properties": told,
        "required": list(_REQUIRED),
        "additionalProperties": True,
    }

"""view(): an audit in, the plain texts that the page shows out. The template only lays them out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.catalog import find
from shoal.errors import PolicyError
from shoal.models import presets
from shoal.reporting import charts
from shoal.reporting.attacks import attacks
from shoal.reporting.judgements import judgements
from shoal.reporting.kept import kept
from shoal.reporting.limits import limits
from shoal.reporting.words import NOTHING, between, chance, count, listed, number, share

if TYPE_CHECKING:
    from shoal.auditing import Audit, ModelAudit
    from shoal.catalog import Entry
    from shoal.policy import Policy, QuasiIdentifier

_MEASURES = {
    "max": ("worst", "the chance for the person who is easiest to find"),
    "mean": ("mean", "the chance on average over all"),
    "unique": ("alone", "the share that nobody else looks like"),
    "pairs": ("pairs", "the share that looks like one other"),
    "median": ("median", "what half do not exceed"),
    "p95": ("p95", "what 95 of 100 do not exceed"),
    "above": ("above", "the share with a greater chance than asked"),
    "linked": ("linked", "the share of right links to the population"),
    "unique_in_population": ("alone in the population", "the share that may stand for one person only"),
}
"""Measure of a risk → what it is called, and what it says; a measure that is not here keeps its own name."""
_SHARES = {"unique", "pairs", "above", "linked", "unique_in_population"}
"""Measures that are shares of the records, not chances."""


def view(audit: Audit, manifest: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return everything that the page shows, ready to be laid out."""
    policy = audit.policy
    unit = "persons" if policy.subject else "records"
    return {
        "external": False,
        "unit": unit,
        "verdict": _verdict(audit),
        "promises": [_promise(entry, _is_counted(audit)) for entry in audit.models],
        "presets": [presets.find(name) for name in policy.presets],
        "facts": _facts(audit),
        "details": list(_details(audit, unit)),
        "histogram": charts.histogram(audit.sizes, _least(policy), unit),
        "risks": _risks(audit),
        "risk_words": _risk_words(audit, unit),
        "risk_chart": _risk_chart(audit),
        "attacks": attacks(audit),
        "has_before": bool(audit.risk_before),
        "losses": [_loss(name, value.total, policy) for name, value in audit.utility.items()],
        "bound": _bound(audit),
        "loss_chart": charts.bars([(name, float(told["certainty-penalty"])) for name, told in _lost(audit)]),
        "columns": list(_columns(audit, _levels(manifest))),
        "kept": kept(audit.statistics),
        "judged": judgements(audit),
        "request": None if manifest is None else _request(manifest.get("request")),
        "rounds": [] if manifest is None else list(_rounds(manifest.get("recoding"))),
        "faults": [fault.to_dict() for fault in audit.faults],
        "limits": list(limits(audit)),
        "policy": policy.to_yaml(defaults=True),
        "policy_hash": policy.hash,
        "manifest": None if manifest is None else _manifest(manifest, policy),
    }


def _is_counted(audit: Audit) -> bool:
    """Whether the classes could be counted; a table without its quasi-identifiers cannot."""
    return not any(fault.kind == "unreadable" for fault in audit.faults)


def _verdict(audit: Audit) -> dict[str, Any]:
    failures = [str(fault) for fault in audit.failures()]
    if not _is_counted(audit):
        # nothing was counted: an attained value would say something about a table that was not read
        failures = [str(fault) for fault in audit.faults]
    if not audit.models and _is_counted(audit):
        return {
            "holds": False,
            "title": "Measured: nothing was promised",
            "text": "No model was asked for, so nothing can hold. What the table attains is counted below.",
            "failures": [str(fault) for fault in audit.faults],
        }
    promises = "the promise" if len(audit.models) == 1 else f"each of the {len(audit.models)} promises"
    if not audit.holds:
        return {
            "holds": False,
            "title": "Does not hold: do not publish this table",
            "text": "The published table was counted again, independently of the search that made it. What was found:",
            "failures": failures,
        }
    text = (
        f"The published table was counted again, independently of the search that made it: {promises} of the "
        "policy holds, and no fault was found in the table itself."
    )
    if not audit.published:
        text = "The published table has no records: every promise holds only because there is nothing to count."
    return {"holds": True, "title": "Holds: the table keeps its policy", "text": text, "failures": []}


def _promise(entry: ModelAudit, is_counted: bool) -> dict[str, Any]:
    model = entry.model
    attained = number(entry.attained)
    if not is_counted:
        attained = "not counted"
    elif entry.attained is None:
        attained = "nothing to count"
    elif entry.attained == math.inf:
        attained = "unlimited"
    return {
        "name": model.key(),
        "on": listed(model.sensitive_columns),
        "asked": number(model.asked),
        "attained": attained,
        "holds": entry.holds and is_counted,
        "summary": model.summary(),
        "why": _explanation(type(model)),
    }


def _explanation(entry: type[Entry]) -> str:
    """Return the second paragraph of an entry's docstring: why it is safe, and what it does not do."""
    paragraphs = (entry.__doc__ or "").split("\n\n")
    text = " ".join(paragraphs[1].split()) if len(paragraphs) > 1 else ""
    if "---" in text:  # a heading's underline: the docstring has no such paragraph
        return ""
    text = text.removeprefix("Why it is safe: ")  # the reader decides that
    return text[:1].upper() + text[1:]


def _entry(family: str, name: str) -> type[Entry] | None:
    """Return an entry; ``None`` for one of a package that is not installed here."""
    try:
        return find(family, name)
    except PolicyError:
        return None


def _suppressed(audit: Audit) -> tuple[int, int, int]:
    # more records than the original is a fault of its own; it is not a negative suppression
    left_out = max(0, audit.left_out)
    return audit.starred + left_out, audit.starred, left_out


def _facts(audit: Audit) -> list[tuple[str, str, str]]:
    suppressed, _, _ = _suppressed(audit)
    whole = "in the original table" if audit.risk_before else "the original was not given"
    if not _is_counted(audit):
        whole = "as given"
    return [
        ("Records", count(audit.records), whole),
        ("Published", count(audit.published), "in the published table"),
        (
            "Suppressed",
            count(suppressed) if _is_counted(audit) else NOTHING,
            _suppressed_words(audit, suppressed),
        ),
        (
            "Classes",
            count(audit.classes) if _is_counted(audit) else NOTHING,
            _class_words(audit),
        ),
    ]


def _class_words(audit: Audit) -> str:
    if not _is_counted(audit):
        return "not counted"
    mixed = audit.policy.output.form == "anatomy"
    return "groups whose sensitive values are told together" if mixed else "groups that look alike"


def _suppressed_words(audit: Audit, suppressed: int) -> str:
    if not _is_counted(audit):
        return "not counted"
    if not audit.records:
        return "of no records"
    # without the original nobody knows how many were left out, so no share of all can be told
    return f"{share(suppressed / audit.records)} of all records" if audit.risk_before else "and any left out: unknown"


def _details(audit: Audit, unit: str) -> Iterator[tuple[str, str, str]]:
    if not _is_counted(audit):
        return
    _, starred, left_out = _suppressed(audit)
    yield "Starred", count(starred), "suppressed records that are published as * in every quasi-identifier"
    if audit.risk_before:
        yield "Left out", count(left_out), "suppressed records that are not published"
    else:
        yield "Left out", NOTHING, "suppressed records that are not published; unknown without the original"
    if starred + left_out:
        why = "their class would break a promise, or they would cost the others more than they lose themselves"
        yield "Why", NOTHING, f"records are suppressed where {why}; who they are is told nowhere"
    allowed = audit.policy.max_suppressed
    yield "Allowed", share(allowed), "of the records may be suppressed, says the policy"
    if len(audit.sizes):
        sizes = np.asarray(audit.sizes)
        yield (
            "Smallest class",
            count(int(sizes.min())),
            unit if audit.policy.output.form == "anatomy" else f"{unit} that look alike",
        )
        yield "Median class", number(_whole(float(np.median(sizes)))), f"{unit}; half of the classes are no larger"
        yield "Largest class", count(int(sizes.max())), unit


def _whole(value: float) -> float | int:
    return int(value) if value.is_integer() else value


def _least(policy: Policy) -> int | None:
    """Return the size below which no class can keep the policy."""
    least = max((model.least_records for model in policy.models if model.classwise), default=1)
    return least if least > 1 else None


def _risks(audit: Audit) -> list[dict[str, Any]]:
    risks = []
    for name, measures in audit.risk.items():
        entry = _entry("risk", name)
        before = audit.risk_before.get(name, {})
        rows = [_risk_row(measure, before.get(measure), value) for measure, value in measures.items()]
        risks.append({"name": name, "summary": entry.summary() if entry else "", "rows": rows})
    return risks


def _risk_row(measure: str, before: float | None, after: float) -> dict[str, str]:
    title, meaning = _MEASURES.get(measure, (measure, ""))
    say = share if measure in _SHARES else chance
    return {
        "measure": title,
        "meaning": meaning,
        "before": number(before),
        "before_words": "" if before is None else say(before),
        "after": number(after),
        "after_words": say(after),
    }


def _risk_words(audit: Audit, unit: str) -> list[str]:
    """Return the risk as sentences, from the attacker who knows most."""
    if not audit.risk or not audit.published:
        return []
    after = audit.risk.get("prosecutor", {})
    before = audit.risk_before.get("prosecutor", {})
    one = unit.removesuffix("s")
    said = []
    if "max" in after:
        was = f"; in the original table, {_likely(before['max'])}" if "max" in before else ""
        said.append(
            "At worst, someone who knows that a person is in the table and knows all their quasi-identifiers picks the "
            f"right {one} {_likely(after['max'])}{was}."
        )
    if "unique" in after:
        was = f", where {share(before['unique'])} did in the original table" if "unique" in before else ""
        nobody = f"No {one} stands" if after["unique"] == 0 else f"{share(after['unique'])} of the {unit} stand"
        said.append(f"{nobody} alone{was}.")
    return said


def _likely(value: float) -> str:
    return "with certainty" if value >= 1 else f"with a chance of {chance(value)}"


def _risk_chart(audit: Audit) -> str:
    rows = [
        (
            f"{name}, {_MEASURES.get(measure, (measure,))[0]}",
            audit.risk_before.get(name, {}).get(measure),
            value,
        )
        for name, measures in audit.risk.items()
        for measure, value in measures.items()
    ]
    return charts.paired(rows, "Risk before and after, from 0 to 1")


def _loss(name: str, total: float, policy: Policy) -> dict[str, Any]:
    entry = _entry("utility", name)
    low, high = getattr(entry, "range", (0.0, float("inf")))
    return {
        "name": name,
        "value": number(total),
        "direction": getattr(entry, "direction", ""),
        "range": between(low, high),
        "summary": entry.summary() if entry else "",
        "is_searched": name == policy.loss.key(),
    }


def _bound(audit: Audit) -> str | None:
    """Return what the search claims that no local recoding can go below, as a sentence."""
    lost, bound = audit.utility.get("certainty-penalty"), audit.claimed_bound
    if lost is None or bound is None:
        return None
    return (
        f"Certainty penalty {lost.total:.4f}; no local recoding of this table that keeps the policy can go below "
        f"{bound:.4f}. The search that made the table proved that; the audit did not count it."
    )


def _lost(audit: Audit) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, told in audit.columns.items():
        if told.get("certainty-penalty") is not None:
            yield name, told


def _levels(manifest: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the level that the search chose for each column, where it chose one for all records."""
    recoding = {} if manifest is None else manifest.get("recoding")
    levels = recoding.get("levels") if isinstance(recoding, Mapping) else None
    return levels if isinstance(levels, Mapping) else {}


def _columns(audit: Audit, levels: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    policy = audit.policy
    for name, column in policy.quasi_identifiers.items():
        told = audit.columns.get(name, {})
        yield {
            "name": name,
            "role": "quasi-identifier",
            "treatment": "published as it is" if policy.output.form == "anatomy" else _treatment(column),
            "before": number(told.get("before")),
            "after": number(told.get("after")),
            "lost": number(told.get("certainty-penalty")),
        }
    for name in policy.sensitive:
        apart = policy.output.form == "anatomy"
        yield _untouched(name, "sensitive", "told by group" if apart else "published as it is")
    for name in policy.hidden:
        role = "subject" if name == policy.subject else "own k" if name in policy.asks else "identifier"
        yield _untouched(name, role, "published as a pseudonym" if name in policy.pseudonyms else "not published")


def _treatment(column: QuasiIdentifier) -> str:
    text = column.hierarchy.key() if column.hierarchy is not None else "none: ranges or sets"
    text += f", treatment {column.treatment}" if column.treatment else ""
    text += f", weight {column.weight:g}" if column.weight != 1 else ""
    text += f", never above {listed(column.boundaries, 'or')}" if column.boundaries else ""
    return text + (f", missing: {column.missing}" if column.missing != "own-value" else "")


def _untouched(name: str, role: str, treatment: str) -> dict[str, str]:
    numbers = dict.fromkeys(("before", "after", "lost"), NOTHING)
    return {"name": name, "role": role, "treatment": treatment, **numbers}


def _request(request: Any) -> str | None:
    """Return what a request for the whole table weighs, as a sentence."""
    if not isinstance(request, Mapping) or not isinstance(request.get("weights"), Mapping):
        return None
    named = listed(f"{name} {_plainly(weight)}" for name, weight in request["weights"].items())
    return (
        f"The columns weigh {_plainly(request.get('total'))} together ({named}); the threshold is "
        f"{_plainly(request.get('threshold'))}. It decides on requests: this table keeps its promises in any case."
    )


def _plainly(weight: Any) -> str:
    return f"{weight:g}" if isinstance(weight, int | float) else number(weight)


def _rounds(recoding: Any) -> Iterator[dict[str, str]]:
    """Yield the steps that the search tells."""
    told = recoding.get("rounds") if isinstance(recoding, Mapping) else None
    for step in told or ():
        yield {
            "column": str(step.get("column", "as it is")),
            "weight": _plainly(step.get("weight")),
            "level": number(step.get("level")),
            "attained": ", ".join(f"{name} {number(value)}" for name, value in step["attained"].items()),
            "failing": number(step["failing"]),
        }


def _what_is_shown(recoding: Any) -> Any:
    """Return a recoding without what is told elsewhere on the page."""
    if not isinstance(recoding, Mapping):
        return recoding
    return {key: value for key, value in recoding.items() if key not in ("proof", "rounds")}


def _proof(recoding: Any) -> str | None:
    proof = recoding.get("proof") if isinstance(recoding, Mapping) else None
    if not isinstance(proof, Mapping):
        return None
    return "; ".join([str(proof.get("text", "")), *map(str, proof.get("notes", ()))])


def _manifest(manifest: Mapping[str, Any], policy: Policy) -> dict[str, Any]:
    told = manifest.get("policy_hash")
    facts = [
        ("Data fingerprint", manifest.get("data_fingerprint")),
        ("Policy hash", told),
        ("Records", number(manifest.get("records")) if "records" in manifest else None),
        ("Seed", manifest.get("seed")),
        ("Recoding", _phrase(_what_is_shown(manifest.get("recoding")))),
        ("How near the best", _proof(manifest.get("recoding"))),
    ]
    return {
        "facts": [(title, str(value)) for title, value in facts if value not in (None, "")],
        "versions": _pairs(manifest.get("versions")),
        "files": _pairs(manifest.get("files")),
        "is_other": told is not None and told != policy.hash,
    }


def _pairs(value: object) -> list[tuple[str, str]]:
    return [(str(key), str(item)) for key, item in value.items()] if isinstance(value, Mapping) else []


def _phrase(value: object) -> str:
    """Return a recoding as text: its parts, one after the other."""
    if not isinstance(value, Mapping):
        return "" if value is None else str(value)
    return "; ".join(_worded(str(key), part) for key, part in value.items())


def _worded(key: str, part: object) -> str:
    if isinstance(part, Mapping):
        return f"{key}: " + ", ".join(f"{name} {item}" for name, item in part.items())
    return str(part) if key == "recoding" else f"{key}: {part}"

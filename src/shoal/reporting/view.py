"""report_view(), external_view(): an audit in, the plain texts of a page out. The template only lays them out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.encoding import yaml
from shoal.policy import presets
from shoal.policy.abridge import excerpt_large
from shoal.reporting.board import (
    EXTERNAL_TITLES,
    describe_columns,
    describe_context,
    describe_examples,
    describe_header,
    describe_losses,
    describe_risk_path,
)
from shoal.reporting.formatting import NOTHING, format_bounds, format_count, format_list, format_number, format_share
from shoal.reporting.judgements import describe_judgements
from shoal.reporting.limits import list_limits
from shoal.reporting.perturbed import describe_perturbations
from shoal.reporting.provenance import chosen_levels, describe_manifest, describe_request, describe_rounds
from shoal.reporting.risks import describe_attacks, describe_risks, draw_risks, find_entry, format_risks
from shoal.reporting.statistics import describe_statistics
from shoal.reporting.svg.class_sizes import draw_class_sizes

if TYPE_CHECKING:
    from shoal.auditing import Audit, ModelAudit
    from shoal.policy import Policy, QuasiIdentifier
    from shoal.registry import Entry


def report_view(audit: Audit, manifest: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return everything that the page shows, ready to be laid out."""
    policy = audit.policy
    unit = "persons" if policy.subject else "records"
    levels = chosen_levels(manifest)
    return {
        "external": False,
        "unit": unit,
        "header": describe_header(audit),
        "risk_path": describe_risk_path(audit),
        "column_losses": describe_losses(audit),
        "examples": describe_examples(audit),
        "context": describe_context(audit),
        "verdict": _verdict(audit),
        "promises": [
            _promise(title, entry, _is_counted(audit)) for title, entry in zip(audit.titles, audit.models, strict=True)
        ],
        "has_classes": bool(policy.quasi_identifiers),
        "perturbed": describe_perturbations(audit),
        "presets": [presets.find_preset(name) for name in policy.presets],
        "facts": _facts(audit),
        "details": list(_details(audit, unit)),
        "histogram": draw_class_sizes(audit.sizes, _least(policy), unit),
        "risks": describe_risks(audit),
        "risk_words": format_risks(audit, unit),
        "risk_chart": draw_risks(audit),
        "attacks": describe_attacks(audit),
        "has_before": bool(audit.risk_before),
        "losses": [_loss(name, value.total, policy) for name, value in audit.utility.items()],
        "bound": _bound(audit),
        "columns": list(_columns(audit, levels)),
        "kept": describe_statistics(audit.statistics),
        "judged": describe_judgements(audit),
        "request": None if manifest is None else describe_request(manifest.get("request")),
        "rounds": [] if manifest is None else list(describe_rounds(manifest.get("recoding"))),
        "faults": [fault.to_dict() for fault in audit.faults],
        "limits": list(list_limits(audit)),
        "policy": yaml.dump(excerpt_large(policy.effective())),
        "policy_hash": policy.hash,
        "manifest": None if manifest is None else describe_manifest(manifest, policy),
    }


def external_view(audit: Audit) -> dict[str, Any]:
    """Return what the external page shows.

    Left out is how values were generalized (hierarchies, boundaries, weights, the search and its seed): whoever knows
    it can undo some of it, and learns from what was not done. Left out is what attacks found: it shows where to look.
    Left out is what was counted in the original, the risk before and distinct values before among it, and the policy,
    the manifest and their hashes: a hash of little data can be guessed. Left out is of the context who else gets the
    table, whom the owner thought of and whom not, how the recipients are bound, and who has the secret of pseudonyms.
    What remains can be counted in the published table, but for the losses and the number of records.

    Raises
    ------
    shoal.errors.AuditFailed
        If something does not hold: then nobody gets the table.
    """
    internal = report_view(replace(audit.require(), statistics=None), None)
    after = replace(audit, risk_before={}, is_compared=False)
    return internal | {
        "external": True,
        "header": [row for row in describe_header(after) if row[0] != "Policy"],
        "risk_path": internal["risk_path"] | {"initial": None},
        "context": [row for row in internal["context"] if row[0] in EXTERNAL_TITLES and row[2]],
        "has_before": False,
        "risks": describe_risks(after),
        "risk_words": format_risks(after, internal["unit"]),
        "risk_chart": draw_risks(after),
        "details": [row for row in internal["details"] if row[0] not in ("Left out", "Allowed")],
        "losses": [{**loss, "is_searched": False} for loss in internal["losses"]],
        "attacks": {"run": [], "not_run": []},
        "bound": None,
        "perturbed": [{**one, "bound": ""} for one in internal["perturbed"]],
        "columns": [column for column in internal["columns"] if column["published"]],
        "faults": [],
        "policy": "",
        "policy_hash": "",
    }


def _is_counted(audit: Audit) -> bool:
    """Whether the classes could be counted; a table without its quasi-identifiers cannot."""
    return not any(fault.kind == "unreadable" for fault in audit.faults)


def _verdict(audit: Audit) -> dict[str, Any]:
    failures = [str(fault) for fault in audit.failures()]
    if not _is_counted(audit):
        # nothing was counted: an attained value would say something about a table that was not read
        failures = [str(fault) for fault in audit.faults]
    if not audit.is_promised and _is_counted(audit):
        return {
            "holds": False,
            "title": "Measured: nothing was promised",
            "text": "No model was asked for, so nothing can hold. What the table attains is counted below.",
            "failures": [str(fault) for fault in audit.faults],
        }
    count = len(audit.models) + len(audit.perturbations)
    promises = "the promise" if count == 1 else f"each of the {count} promises"
    if audit.is_undecided:
        what = "Nothing fails that can be counted from outside. What only the owner of the table can count, and how:"
        told = [str(fault) for fault in audit.undecided]
        return {"holds": False, "title": "Undecided: the owner must count", "text": what, "failures": told}
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
    title = "Holds: the table keeps its policy"
    if audit.shows_nothing:
        title = "Holds, but shows nothing: every record is * in every quasi-identifier"
    return {"holds": True, "title": title, "text": text, "failures": []}


def _promise(title: str, entry: ModelAudit, is_counted: bool) -> dict[str, Any]:
    model = entry.model
    attained = format_number(entry.attained)
    if not is_counted:
        attained = "not counted"
    elif not entry.decided:
        attained = "undecided"
    elif entry.attained is None:
        attained = "nothing to count"
    elif entry.attained == math.inf:
        attained = "unlimited"
    return {
        "name": title,
        "on": format_list(model.sensitive_columns),
        "asked": format_number(model.asked),
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


def _count_suppressed(audit: Audit) -> tuple[int, int, int]:
    # more records than the original is a fault of its own; it is not a negative suppression
    left_out = max(0, audit.left_out)
    return audit.starred + left_out, audit.starred, left_out


def _facts(audit: Audit) -> list[tuple[str, str, str]]:
    published = ("Published", format_count(audit.published), "in the published table")
    if not _is_counted(audit):
        uncounted = [(title, NOTHING, "not counted") for title in ("Suppressed", "Classes")]
        return [("Records", format_count(audit.records), "as given"), published, *uncounted]
    suppressed, _, _ = _count_suppressed(audit)
    whole = "in the original table" if audit.is_compared else "the original was not given"
    mixed = audit.policy.output.form == "anatomy"
    alike = "groups whose sensitive values are told together" if mixed else "groups that look alike"
    if not audit.policy.quasi_identifiers:
        perturbed = ("Perturbed", format_count(len(audit.policy.perturbed)), "columns that show other values")
        kept = format_count(audit.left_out) if audit.is_compared else NOTHING
        return [
            ("Records", format_count(audit.records), whole),
            published,
            ("Left out", kept, "not published"),
            perturbed,
        ]
    return [
        ("Records", format_count(audit.records), whole),
        published,
        ("Suppressed", format_count(suppressed), _format_suppressed(audit, suppressed)),
        ("Classes", format_count(audit.classes), alike),
    ]


def _format_suppressed(audit: Audit, suppressed: int) -> str:
    if not audit.records:
        return "of no records"
    if not audit.is_compared:
        return "and any left out: unknown"
    return f"{format_share(suppressed / audit.records)} of all records"


def _details(audit: Audit, unit: str) -> Iterator[tuple[str, str, str]]:
    if not (_is_counted(audit) and audit.policy.quasi_identifiers):
        return
    _, starred, left_out = _count_suppressed(audit)
    yield "Starred", format_count(starred), "suppressed records that are published as * in every quasi-identifier"
    if audit.is_compared:
        yield "Left out", format_count(left_out), "suppressed records that are not published"
    else:
        yield "Left out", NOTHING, "suppressed records that are not published; unknown without the original"
    if starred + left_out:
        why = "their class would break a promise, or they would cost the others more than they lose themselves"
        yield "Why", NOTHING, f"records are suppressed where {why}; who they are is told nowhere"
    allowed = audit.policy.max_suppressed
    yield "Allowed", format_share(allowed), "of the records may be suppressed, says the policy"
    if len(audit.sizes):
        sizes = np.asarray(audit.sizes)
        alike = unit if audit.policy.output.form == "anatomy" else f"{unit} that look alike"
        median = float(np.median(sizes))
        yield "Smallest class", format_count(int(sizes.min())), alike
        middle = format_count(int(median)) if median.is_integer() else f"{median:,.1f}"
        yield "Median class", middle, f"{unit}; half of the classes are no larger"
        yield "Largest class", format_count(int(sizes.max())), unit


def _least(policy: Policy) -> int | None:
    """Return the size below which no class can keep the policy."""
    least = max((model.least_records for model in policy.models if model.classwise), default=1)
    return least if least > 1 else None


def _loss(name: str, total: float, policy: Policy) -> dict[str, Any]:
    entry = find_entry("utility", name)
    low, high = getattr(entry, "range", (0.0, float("inf")))
    return {
        "name": name,
        "value": format_number(int(total) if high > 1 and float(total).is_integer() else total),
        "direction": getattr(entry, "direction", ""),
        "range": format_bounds(low, high),
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


def _columns(audit: Audit, levels: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    policy, said = audit.policy, describe_columns(audit, levels)
    for name, column in policy.quasi_identifiers.items():
        measured = audit.columns.get(name, {})
        yield {
            "name": name,
            "role": "quasi-identifier",
            "published": True,
            "said": said[name] | {"technique": said[name]["technique"] + _conditions(column)},
            "before": format_number(measured.get("before")),
            "after": format_number(measured.get("after")),
            "lost": format_number(measured.get("certainty-penalty")),
        }
    for name in (*policy.sensitive, *(other for other in said if other not in _named_columns(policy))):
        role = "sensitive" if name in policy.sensitive else "no role"
        published = policy.others == "keep" or role == "sensitive" or name in policy.perturbed
        yield _unchanged_column(name, role, said[name], published=published)
    for name in policy.hidden:
        role = "subject" if name == policy.subject else "own k" if name in policy.requested_k else "identifier"
        yield _unchanged_column(name, role, said[name], published=name in policy.pseudonyms)


def _named_columns(policy: Policy) -> set[str]:
    return {*policy.quasi_identifiers, *policy.sensitive, *policy.hidden}


def _conditions(column: QuasiIdentifier) -> str:
    """Return under what conditions a column was generalized."""
    text = f", weight {column.weight:g}" if column.weight != 1 else ""
    text += f", never above {format_list(column.boundaries, 'or')}" if column.boundaries else ""
    return text + (f", missing: {column.missing}" if column.missing != "own-value" else "")


def _unchanged_column(name: str, role: str, said: dict[str, str], *, published: bool) -> dict[str, Any]:
    numbers = dict.fromkeys(("before", "after", "lost"), NOTHING)
    return {"name": name, "role": role, "published": published, "said": said, **numbers}

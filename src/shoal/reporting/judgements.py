"""Which published rules are met, what the three criteria of WP216 say, what was checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from shoal.reporting.formatting import format_list

if TYPE_CHECKING:
    from shoal.auditing import Audit

_CRITERIA = {"singling_out": "Singling out", "linkability": "Linkability", "inference": "Inference"}
_STILL = {"no": "no longer a risk", "may not": "may not be a risk", "yes": "still a risk"}


def describe_judgements(audit: Audit) -> dict[str, Any]:
    """Return what the page shows of them."""
    audited = audit.to_dict()
    return {
        "thresholds": [rule for rule in audited.get("thresholds", []) if rule["met"] is not None],
        "criteria": list(_criteria(audited.get("criteria", {}))),
        "criteria_source": audited.get("criteria", {}).get("source", ""),
        "checks": [(check.asks, check.outcome, check.not_run) for check in audit.checks],
    }


def _criteria(judged: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for name, criterion in judged.get("criteria", {}).items():
        yield {
            "name": _CRITERIA.get(name, name),
            "question": criterion["question"],
            "still": _STILL.get(criterion["still_a_risk"], criterion["still_a_risk"]),
            "models": format_list(criterion["models"]) or "no model that the Opinion speaks of",
            "caveat": criterion["caveat"],
        }

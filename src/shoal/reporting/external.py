"""external_view(): the same report for those who get the table, without what helps an attacker."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shoal.reporting.risks import describe_risks, draw_risks, format_risks
from shoal.reporting.view import report_view

if TYPE_CHECKING:
    from shoal.auditing import Audit


def external_view(audit: Audit) -> dict[str, Any]:
    """Return what the external page shows.

    Left out is how values were generalized (hierarchies, boundaries, weights, the search and its seed): whoever knows
    it can undo some of it, and learns from what was not done. Left out is what attacks found: it shows where to look.
    Left out is what was counted in the original, the risk before and distinct values before among it, and the policy,
    the manifest and their hashes: a hash of little data can be guessed. What remains can be counted in the
    published table, but for the losses and the number of records.

    Raises
    ------
    shoal.errors.AuditFailed
        If something does not hold: then nobody gets the table.
    """
    internal = report_view(replace(audit.require(), statistics=None), None)
    after = replace(audit, risk_before={})
    return internal | {
        "external": True,
        "has_before": False,
        "risks": describe_risks(after),
        "risk_words": format_risks(after, internal["unit"]),
        "risk_chart": draw_risks(after),
        "details": [row for row in internal["details"] if row[0] not in ("Left out", "Allowed")],
        "losses": [{**loss, "is_searched": False} for loss in internal["losses"]],
        "attacks": {"run": [], "not_run": []},
        "bound": None,
        "columns": [column for column in internal["columns"] if column["treatment"] != "not published"],
        "faults": [],
        "policy": "",
        "policy_hash": "",
    }

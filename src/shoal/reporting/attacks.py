"""What attackers tried and found, as texts for the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.reporting.formatting import format_list, format_number

if TYPE_CHECKING:
    from shoal.auditing import Audit


def describe_attacks(audit: Audit) -> dict[str, Any]:
    """Return the attacks that were run, with what each asks and found, and the others with the reason."""
    rows = [
        {
            "name": one.risk.key(),
            "summary": one.risk.summary(),
            "on": one.finding.on,
            "found": one.finding.found,
            "means": one.risk.means if one.finding.found else "",
            "measured": [
                (name, text) for name, value in one.finding.measured.items() if (text := _format_measure(value))
            ],
            "left_out": one.finding.left_out,
        }
        for one in audit.attacks.run
    ]
    reasons: dict[str, list[str]] = {}
    for name, reason in audit.attacks.not_run.items():
        reasons.setdefault(reason, []).append(name)
    return {"run": rows, "not_run": [(reason, format_list(names)) for reason, names in reasons.items()]}


def _format_measure(value: Any) -> str:
    """Return one number, or a list of them, as text; nothing for what is neither."""
    if isinstance(value, list) and value and all(isinstance(item, (int, float)) for item in value):
        return ", ".join(map(_format_measure, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else format_number(value) if isinstance(value, float) else ""

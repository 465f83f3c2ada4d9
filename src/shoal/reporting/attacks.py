"""What attackers tried and found, as texts for the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.reporting.words import listed, number

if TYPE_CHECKING:
    from shoal.auditing import Audit


def attacks(audit: Audit) -> dict[str, Any]:
    """Return the attacks that were run, with what each asks and found, and the others with the reason."""
    rows = [
        {
            "name": one.risk.key(),
            "summary": one.risk.summary(),
            "on": one.finding.on,
            "found": one.finding.found,
            "means": one.risk.means if one.finding.found else "",
            "measured": [(name, told) for name, value in one.finding.measured.items() if (told := _told(value))],
            "left_out": one.finding.left_out,
        }
        for one in audit.attacks.run
    ]
    reasons: dict[str, list[str]] = {}
    for name, reason in audit.attacks.not_run.items():
        reasons.setdefault(reason, []).append(name)
    return {"run": rows, "not_run": [(reason, listed(names)) for reason, names in reasons.items()]}


def _told(value: Any) -> str:
    """Return one number, or a list of them, as text; nothing for what is neither."""
    if isinstance(value, list) and value and all(isinstance(item, (int, float)) for item in value):
        return ", ".join(map(_told, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else number(value) if isinstance(value, float) else ""

"""Risks before and after, and what attackers tried and found, as rows, sentences and a chart for the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.errors import PolicyError
from shoal.registry import find
from shoal.reporting.formatting import format_chance, format_list, format_number, format_share
from shoal.reporting.svg.bars import draw_pairs

if TYPE_CHECKING:
    from shoal.auditing import Audit
    from shoal.registry import Entry

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


def find_entry(family: str, name: str) -> type[Entry] | None:
    """Return an entry; ``None`` for one of a package that is not installed here."""
    try:
        return find(family, name)
    except PolicyError:
        return None


def describe_risks(audit: Audit) -> list[dict[str, Any]]:
    """Return each attacker with what was measured, before and after."""
    attackers = []
    for name, measures in audit.risk.items():
        entry = find_entry("risk", name)
        before = audit.risk_before.get(name, {})
        rows = [_risk_row(measure, before.get(measure), value) for measure, value in measures.items()]
        attackers.append({"name": name, "summary": entry.summary() if entry else "", "rows": rows})
    return attackers


def _risk_row(measure: str, before: float | None, after: float) -> dict[str, str]:
    title, meaning = _MEASURES.get(measure, (measure, ""))
    say = format_share if measure in _SHARES else format_chance
    return {
        "measure": title,
        "meaning": meaning,
        "before": format_number(before),
        "before_words": "" if before is None else say(before),
        "after": format_number(after),
        "after_words": say(after),
    }


def format_risks(audit: Audit, unit: str) -> list[str]:
    """Return the risk as sentences, from the attacker who knows most."""
    if not audit.risk or not audit.published:
        return []
    after = audit.risk.get("prosecutor", {})
    before = audit.risk_before.get("prosecutor", {})
    one = unit.removesuffix("s")
    sentences = []
    if "max" in after:
        was = f"; in the original table, {_likely(before['max'])}" if "max" in before else ""
        sentences.append(
            "At worst, someone who knows that a person is in the table and knows all their quasi-identifiers picks the "
            f"right {one} {_likely(after['max'])}{was}."
        )
    if "unique" in after:
        was = f", where {format_share(before['unique'])} did in the original table" if "unique" in before else ""
        nobody = f"No {one} stands" if after["unique"] == 0 else f"{format_share(after['unique'])} of the {unit} stand"
        sentences.append(f"{nobody} alone{was}.")
    return sentences


def _likely(value: float) -> str:
    return "with certainty" if value >= 1 else f"with a chance of {format_chance(value)}"


def draw_risks(audit: Audit) -> str:
    """Draw the risks before and after."""
    rows = [
        (
            f"{name}, {_MEASURES.get(measure, (measure,))[0]}",
            audit.risk_before.get(name, {}).get(measure),
            value,
        )
        for name, measures in audit.risk.items()
        for measure, value in measures.items()
    ]
    return draw_pairs(rows, "Risk before and after, from 0 to 1")


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

"""What a board reads: the context of a release, the way of its risk, and what was done to each column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shoal.auditing.statement import compare_risk, describe_variables, tell_context
from shoal.policy.context import NOT_STATED
from shoal.reporting.formatting import NOTHING, elide, format_count, format_share
from shoal.reporting.svg.bars import draw_share_bar

if TYPE_CHECKING:
    from shoal.auditing import Audit

_TITLES = {
    "purpose": "Purpose",
    "recipients": "Recipients",
    "sharing_model": "How it is shared",
    "controls": "Controls and possible harm",
    "threat_model": "Attackers thought of",
    "risk": "Maximum or average risk",
    "risk_reason": "Why that risk",
    "reidentification_study": "Re-identification study",
    "approval": "Approval and governance",
    "review_date": "To be judged again on",
    "pseudonyms": "Statement on pseudonyms",
}
EXTERNAL_TITLES = (_TITLES["sharing_model"], _TITLES["review_date"])
"""What those who get the table may read: nothing of who else does, whom one thought of, and who has a secret."""
_NARROW = 8
"""So many columns stand beside each other in a table of records; of more each has a line of its own."""
_SHORTEST, _LONGEST = 24, 40
"""So many signs of a value are shown."""


def describe_header(audit: Audit) -> list[tuple[str, str]]:
    """Return what the page is about: the dataset, the date, the policy, records and columns."""
    told = tell_context(audit.policy)
    stated = [("Dataset", told["dataset"]), ("Date", told["date"]), ("Policy", told["policy_name"])]
    records = f"{format_count(audit.published)} published"
    if audit.is_compared:
        records = f"{format_count(audit.records)} in the original, {records}"
    return [*stated, ("Records", records), ("Columns", _count_columns(audit)), *_describe_series(audit)]


def _describe_series(audit: Audit) -> list[tuple[str, str]]:
    """Say which release of a series it is, and what became of the persons."""
    if not audit.series:
        return []
    told = {name.replace("_", " "): count for name, count in audit.series.items() if isinstance(count, int)}
    number = told.pop("number")
    counts = ", ".join(f"{format_count(count)} {name}" for name, count in told.items())
    return [("Series", f"release {number}, {audit.series['way']}: {counts}")]


def _count_columns(audit: Audit) -> str:
    """Say how many columns there are; what is omitted was in the original alone, what is added in the release alone."""
    if not audit.guarantees:
        return "not counted"
    added = {*audit.policy.added_columns} & {*audit.guarantees}
    omitted = [name for name, one in audit.guarantees.items() if one.key() == "omitted"]
    shown = f"{format_count(len(audit.guarantees) - len(omitted))} published"
    return (
        f"{format_count(len(audit.guarantees) - len(added))} in the original, {shown}" if audit.is_compared else shown
    )


def describe_context(audit: Audit) -> list[tuple[str, str, bool]]:
    """Return each field of the context with its title, and whether it is stated."""
    told = tell_context(audit.policy)
    return [(title, str(told[name]), told[name] != NOT_STATED) for name, title in _TITLES.items()]


def describe_risk_path(audit: Audit) -> dict[str, Any]:
    """Return initial → threshold → residual risk as texts."""
    compared = compare_risk(audit.policy, audit.risk_before, audit.risk)
    stated = audit.policy.context is not None and audit.policy.context.risk is not None
    sources = {"context": "as the owner states", "promises": "by the promises"}
    return {
        "measure": compared["measure"] + ("" if stated else " (which one counts is not stated)"),
        "initial": _share(compared["initial"]),
        "threshold": _share(compared["threshold"], NOT_STATED),
        "source": sources.get(compared["threshold_from"], ""),
        "residual": _share(compared["residual"]),
        "met": compared["met"],
    }


def _share(value: float | None, otherwise: str = "not measured") -> str:
    return otherwise if value is None else format_share(value)


def describe_columns(audit: Audit, levels: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return for each column whether it identifies, the technique with what came of it, and the reason."""
    told = describe_variables(audit.guarantees, audit.policy)
    return {
        name: {**said, "technique": _outcome(said["technique"], name, audit, levels)} for name, said in told.items()
    }


def _outcome(technique: str, name: str, audit: Audit, levels: Mapping[str, Any]) -> str:
    if is_gone(audit, name):
        return f"{technique}: gone, no record shows anything"
    return f"{technique}, level {levels[name]}" if name in levels else technique


def is_gone(audit: Audit, name: str) -> bool:
    """Whether nothing of a quasi-identifier is left in any record."""
    lost = audit.columns.get(name, {}).get("certainty-penalty")
    return lost is not None and lost >= 1.0


def describe_losses(audit: Audit) -> list[tuple[str, str, str]]:
    """Return what each quasi-identifier lost, in words and as a bar."""
    rows = [(name, losses.get("certainty-penalty")) for name, losses in audit.columns.items()]
    return [
        (name, "gone" if is_gone(audit, name) else format_share(lost), draw_share_bar(lost, name))
        for name, lost in rows
        if lost is not None
    ]


def describe_examples(audit: Audit) -> dict[str, Any] | None:
    """Return ten published records; none where the table is not to be published."""
    found = audit.examples
    if not audit.holds or not found.rows:
        return None
    is_wide = len(found.columns) > _NARROW
    most = _SHORTEST if is_wide else _LONGEST
    rows = [[NOTHING if value is None else elide(value, most) for value in row] for row in found.rows]
    return {
        "is_wide": is_wide,
        "columns": list(found.columns),
        "rows": [(name, list(values)) for name, values in zip(found.columns, zip(*rows, strict=True), strict=True)]
        if is_wide
        else rows,
        "count": len(rows),
    }

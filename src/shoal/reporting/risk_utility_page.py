"""render_risk_utility_page(): the R-U map: what releases lose against what an attacker can do with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.reporting.formatting import format_number
from shoal.reporting.html import fill_template, write_page
from shoal.reporting.svg.lines import Panel, draw_panels

LOSS = "certainty-penalty"
RISKS = {"mean": "mean chance of a right link", "max": "worst chance of a right link"}
"""Measures of the prosecutor's risk, and what the axis says."""

Rows = Sequence[Mapping[str, Any]]


def map_risk_and_loss(rows: Rows) -> dict[str, Any]:
    """Return the points of the map: for each release its risks and its loss, and whether another is as good in both.

    A release is on the *front* where no other has less mean risk and no more loss, or less loss and no more risk: all
    others need not be looked at.

    References
    ----------
    Duncan, G. T., Keller-McNulty, S. A. and Stokes, S. L. (2001). Disclosure risk vs. data utility: the R-U
    confidentiality map. National Institute of Statistical Sciences, technical report 121.

    Examples
    --------
    >>> rows = [
    ...     {"algorithm": "a", "k": k, "attained": k, "risk": {"mean": 1 / k, "max": 1 / k}, LOSS: loss}
    ...     for k, loss in ((2, 0.1), (4, 0.5), (3, 0.6))
    ... ]
    >>> [(point["k"], point["front"]) for point in map_risk_and_loss(rows)["points"]]
    [(2, True), (4, True), (3, False)]
    """
    released = [row for row in rows if row.get("attained") is not None]
    points = [
        {
            "algorithm": row["algorithm"],
            "k": row["k"],
            "risk": {name: row["risk"][name] for name in RISKS},
            "loss": row[LOSS],
            "front": not any(_is_better(other, row) for other in released),
        }
        for row in released
    ]
    return {"risk": "prosecutor", "loss": LOSS, "points": points}


def _is_better(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    mine, theirs = (one["risk"]["mean"], one[LOSS]), (other["risk"]["mean"], other[LOSS])
    return mine != theirs and mine[0] <= theirs[0] and mine[1] <= theirs[1]


def draw_risk_utility(found: Mapping[str, Any]) -> str:
    """Draw loss against both risks, a line for each algorithm through its k."""
    points = found["points"]
    names = dict.fromkeys(point["algorithm"] for point in points)

    def lines(risk: str) -> dict[str, list[tuple[float, float]]]:
        return {
            name: sorted((point["risk"][risk], point["loss"]) for point in points if point["algorithm"] == name)
            for name in names
        }

    panels = [Panel(f"{found['loss']} (0: nothing lost)", across, lines(risk)) for risk, across in RISKS.items()]
    return draw_panels(panels, "Risk against loss: down and to the left is better")


def render_risk_utility_page(found: Mapping[str, Any]) -> str:
    """Return the map as one self-contained HTML page."""
    rows = [
        {
            **point,
            "mean": format_number(point["risk"]["mean"]),
            "max": format_number(point["risk"]["max"]),
            "loss": format_number(point["loss"]),
        }
        for point in found["points"]
    ]
    chart = draw_risk_utility(found) if rows else ""
    return fill_template("risk_utility.html.j2", {"loss": found["loss"], "chart": chart, "rows": rows})


def write_risk_utility_page(found: Mapping[str, Any], path: Path) -> None:
    """Write the page; it appears whole or not at all."""
    write_page(path, render_risk_utility_page(found), "map")

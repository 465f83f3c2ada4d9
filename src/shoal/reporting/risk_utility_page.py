"""render_risk_utility_page(): the R-U map: what releases lose against what an attacker can do with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.reporting.formatting import format_number
from shoal.reporting.html import fill_template, write_page
from shoal.reporting.svg.lines import Panel, draw_panels

LOSS = "certainty-penalty"


@dataclass(frozen=True, kw_only=True)
class MapAxes:
    """What a map shows of each release."""

    risk: str
    risks: Mapping[str, str]
    """Measures of the risk, and what the axis says; the first decides the front."""
    loss: str
    line: str
    """What makes a line of points, and what makes each point of it."""
    point: str
    means: str
    """What the risk is, in words."""


OF_ALGORITHMS = MapAxes(
    risk="prosecutor",
    risks={"mean": "mean chance of a right link", "max": "worst chance of a right link"},
    loss=LOSS,
    line="algorithm",
    point="k",
    means="the chance that somebody who knows a person to be in the table links the right record (prosecutor)",
)
OF_PERTURBATIONS = MapAxes(
    risk="record-linkage",
    risks={"distance": "share of right links, by distance", "probabilistic": "share of right links, by agreement"},
    loss="deviation",
    line="method",
    point="setting",
    means="the share of records that somebody who knows their original values links rightly (record-linkage)",
)

Rows = Sequence[Mapping[str, Any]]


def map_risk_and_loss(rows: Rows, axes: MapAxes = OF_ALGORITHMS) -> dict[str, Any]:
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
            axes.line: row[axes.line],
            axes.point: row[axes.point],
            "risk": {name: row["risk"][name] for name in axes.risks},
            "loss": row[axes.loss],
            "front": not any(_is_better(other, row, axes) for other in released),
        }
        for row in released
    ]
    return {"risk": axes.risk, "loss": axes.loss, "points": points}


def _is_better(one: Mapping[str, Any], other: Mapping[str, Any], axes: MapAxes) -> bool:
    first = next(iter(axes.risks))
    mine, theirs = (one["risk"][first], one[axes.loss]), (other["risk"][first], other[axes.loss])
    return mine != theirs and mine[0] <= theirs[0] and mine[1] <= theirs[1]


def draw_risk_utility(found: Mapping[str, Any], axes: MapAxes = OF_ALGORITHMS) -> str:
    """Draw loss against each risk, a line for each algorithm or method through its points."""
    points = found["points"]
    names = dict.fromkeys(point[axes.line] for point in points)

    def lines(risk: str) -> dict[str, list[tuple[float, float]]]:
        return {
            name: sorted((point["risk"][risk], point["loss"]) for point in points if point[axes.line] == name)
            for name in names
        }

    panels = [Panel(f"{found['loss']} (0: nothing lost)", across, lines(risk)) for risk, across in axes.risks.items()]
    return draw_panels(panels, "Risk against loss: down and to the left is better")


def render_risk_utility_page(found: Mapping[str, Any], axes: MapAxes = OF_ALGORITHMS) -> str:
    """Return the map as one self-contained HTML page."""
    rows = [
        {
            "names": [point[axes.line], point[axes.point]],
            "figures": [format_number(point["risk"][name]) for name in axes.risks] + [format_number(point["loss"])],
            "front": point["front"],
        }
        for point in found["points"]
    ]
    chart = draw_risk_utility(found, axes) if rows else ""
    return fill_template("risk_utility.html.j2", {"axes": axes, "chart": chart, "rows": rows})


def write_risk_utility_page(found: Mapping[str, Any], path: Path, axes: MapAxes = OF_ALGORITHMS) -> None:
    """Write the page; it appears whole or not at all."""
    write_page(path, render_risk_utility_page(found, axes), "map")

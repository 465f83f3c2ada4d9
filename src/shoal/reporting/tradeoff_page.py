"""render_tradeoff_page(): what several algorithms lose at several k, beside what no local recoding can go below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.reporting.formatting import format_number
from shoal.reporting.html import fill_template, write_page
from shoal.reporting.svg.lines import Panel, draw_panels

LOSS = "certainty-penalty"
BOUND = "no local recoding below"

Rows = Sequence[Mapping[str, Any]]


def render_tradeoff_page(rows: Rows) -> str:
    """Return the trade-off of loss and k as one self-contained HTML page.

    Parameters
    ----------
    rows
        What :func:`shoal.explore.compare.compare` returns.
    """
    feasible = [row for row in rows if row.get("attained") is not None]
    best = {k: min(row[LOSS] for row in feasible if row["k"] == k) for k in {row["k"] for row in feasible}}
    return fill_template(
        "tradeoff.html.j2",
        {
            "loss": LOSS,
            "chart": draw_tradeoff(rows) if feasible else "",
            "rows": [_row(row, best) for row in rows],
            "has_bound": any(row.get("bound") is not None for row in rows),
        },
    )


def draw_tradeoff(rows: Rows) -> str:
    """Draw loss and seconds against k, a line for each algorithm, and what no local recoding can go below."""
    feasible = [row for row in rows if row.get("attained") is not None]
    names = dict.fromkeys(row["algorithm"] for row in feasible)

    def lines(field: str) -> dict[str, list[tuple[float, float]]]:
        return {name: [(row["k"], row[field]) for row in feasible if row["algorithm"] == name] for name in names}

    losses, bounds = lines(LOSS), greatest_bounds(rows)
    below: dict[str, list[tuple[float, float]]] = {BOUND: sorted(bounds.items())} if bounds else {}
    title = "What each algorithm loses and needs at each k"
    seconds = Panel("seconds, logarithmic", "k", lines("seconds"), logarithmic=True)
    return draw_panels([Panel(f"{LOSS} (0: nothing lost)", "k", {**losses, **below}), seconds], title)


def greatest_bounds(rows: Rows) -> dict[float, float]:
    """Return k → what no local recoding can go below: each search proves some of it, and the most of it holds."""
    bounds: dict[float, float] = {}
    for row in rows:
        if row.get("bound") is not None:
            bounds[row["k"]] = max(row["bound"], bounds.get(row["k"], 0.0))
    return bounds


def write_tradeoff_page(rows: Rows, path: Path) -> None:
    """Write the page; it appears whole or not at all."""
    write_page(path, render_tradeoff_page(rows), "comparison")


def _row(row: Mapping[str, Any], best: Mapping[int, float]) -> dict[str, Any]:
    if row.get("attained") is None:
        return {"algorithm": row["algorithm"], "k": row["k"], "found": False, "why": row.get("infeasible", "")}
    figures = {
        name: format_number(row.get(name)) for name in ("attained", "suppressed", "classes", LOSS, "bound", "seconds")
    }
    return {
        "algorithm": row["algorithm"],
        "k": row["k"],
        "found": True,
        **figures,
        "is_best": row[LOSS] == best[row["k"]],
    }

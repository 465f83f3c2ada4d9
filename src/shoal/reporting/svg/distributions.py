"""Distributions before and after: a histogram and a distribution function for numbers, bars for categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.reporting.formatting import format_share
from shoal.reporting.svg.bars import draw_pairs
from shoal.reporting.svg.elements import (
    AFTER,
    BEFORE,
    GRID,
    INK,
    MUTED,
    Rect,
    Scale,
    draw_line,
    draw_rect,
    draw_sheet,
    draw_text,
    estimate_width,
    list_ticks,
    px,
)

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 380, 210, 48, 12, 30, 36
_MOST = 14
"""So many categories are drawn, which half a printed page has room for; the others are added up in one bar."""

ColumnStatistics = Mapping[str, Any]
"""What an audit tells of one column, before and after."""


def draw_distribution(name: str, statistics: ColumnStatistics) -> str:
    """Draw one column of an audit's statistics; nothing where it could not be compared.

    Examples
    --------
    >>> histogram = {"values": ["a", None], "before": [0.5, 0.5], "after": [0.4, 0.6]}
    >>> "(missing)" in draw_distribution("sex", {"kind": "category", "histogram": histogram})
    True
    """
    histogram = statistics.get("histogram")
    if not histogram:
        return ""
    if statistics["kind"] == "category":
        return draw_pairs(_bars(histogram), f"{name}: shares before and after")
    parts = [*_key(), *_histogram(histogram)]
    if statistics.get("distribution", {}).get("edges"):
        parts += [f'<g transform="translate({_WIDTH} 0)">', *_distribution(statistics["distribution"]), "</g>"]
    what = f"{name}: histogram and distribution before and after"
    return draw_sheet(2 * _WIDTH, _HEIGHT, what, "Shares of records, original and published", parts)


def _bars(histogram: ColumnStatistics) -> list[tuple[str, float | None, float]]:
    names = ["(missing)" if value is None else str(value) for value in histogram["values"]]
    rows = list(zip(names, histogram["before"], histogram["after"], strict=True))
    rest = rows[_MOST:]
    if rest:
        rows = [*rows[:_MOST], (f"({len(rest)} others)", sum(row[1] for row in rest), sum(row[2] for row in rest))]
    return rows


def _key() -> list[str]:
    return [
        draw_rect(Rect(_LEFT, 8, 10, 10), BEFORE),
        draw_text(_LEFT + 15, 17, "before", size=11),
        draw_rect(Rect(_LEFT + 70, 8, 10, 10), AFTER),
        draw_text(_LEFT + 85, 17, "after", size=11),
    ]


def _histogram(statistics: ColumnStatistics) -> list[str]:
    """Bars side by side; the outer bins are open, so all are drawn equally wide."""
    edges, before, after = statistics["edges"], statistics["before"], statistics["after"]
    up = Scale([0.0, max(*before, *after, 0.01)], _HEIGHT - _BOTTOM, _TOP)
    parts = _grid(up)
    step = (_WIDTH - _LEFT - _RIGHT) / len(before)
    for index, (one, other) in enumerate(zip(before, after, strict=True)):
        left, title = _LEFT + index * step, _bin(edges, index)
        for shift, value, colour, when in ((0.08, one, BEFORE, "before"), (0.5, other, AFTER, "after")):
            y = up(value)
            text = f"{title}, {when}: {format_share(value)}"
            parts.append(draw_rect(Rect(left + shift * step, y, 0.42 * step, _HEIGHT - _BOTTOM - y), colour, text))
    return [*parts, *_edges(edges, step)]


def _edges(edges: Sequence[float], step: float) -> list[str]:
    """Write as many edges under the bars as there is room for."""
    parts, free = [], 0.0
    for index, edge in enumerate(edges, start=1):
        x, label = _LEFT + index * step, f"{edge:g}"
        if x - estimate_width(label, 10) / 2 >= free:
            parts.append(draw_text(x, _HEIGHT - 20, label, anchor="middle", size=10))
            free = x + estimate_width(label, 10) / 2 + 6
    return parts


def _bin(edges: Sequence[float], index: int) -> str:
    if not edges:
        return "all"
    if index == 0:
        return f"below {edges[0]:g}"
    return f"{edges[-1]:g} and more" if index == len(edges) else f"{edges[index - 1]:g} to {edges[index]:g}"


def _distribution(statistics: ColumnStatistics) -> list[str]:
    """The share of records below each edge, before and after; after is dashed, to be statistics apart in grey."""
    edges = statistics["edges"]
    right, up = Scale(edges, _LEFT, _WIDTH - _RIGHT), Scale([0.0, 1.0], _HEIGHT - _BOTTOM, _TOP)
    right.low = min(edges)
    parts = [*_grid(up), draw_text(_LEFT, 17, "share of records below", size=11)]
    for name, colour, dash in (("before", MUTED, ""), ("after", AFTER, ' stroke-dasharray="5 3"')):
        path = " ".join(
            f"{px(right(edge))},{px(up(value))}" for edge, value in zip(edges, statistics[name], strict=True)
        )
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
    marks = list_ticks(min(edges), max(edges))
    return [*parts, *(draw_text(right(mark), _HEIGHT - 20, f"{mark:g}", anchor="middle", size=10) for mark in marks)]


def _grid(up: Scale) -> list[str]:
    parts = []
    for mark in up.marks():
        parts.append(draw_line(_LEFT, up(mark), _WIDTH - _RIGHT, up(mark), GRID))
        parts.append(draw_text(_LEFT - 6, up(mark) + 4, f"{100 * mark:.3g} %", anchor="end", size=10))
    return [*parts, draw_line(_LEFT, _HEIGHT - _BOTTOM, _WIDTH - _RIGHT, _HEIGHT - _BOTTOM, INK)]

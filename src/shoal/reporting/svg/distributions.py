"""Distributions before and after: a histogram and a distribution function for numbers, bars for categories."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shoal.reporting.formatting import format_date, format_share
from shoal.reporting.svg.bars import draw_pairs
from shoal.reporting.svg.elements import (
    AFTER,
    BEFORE,
    GRID,
    INK,
    MUTED,
    Rect,
    Scale,
    draw_key,
    draw_line,
    draw_polyline,
    draw_rect,
    draw_sheet,
    draw_text,
    estimate_width,
    list_ticks,
)

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 380, 210, 48, 12, 30, 36
_MOST = 14
"""So many categories are drawn, which half a printed page has room for; the others are added up in one bar."""

ColumnStatistics = Mapping[str, Any]
"""What an audit tells of one column, before and after."""


def draw_distribution(name: str, statistics: ColumnStatistics) -> str:
    """Draw one column of an audit's statistics; nothing where it could not be compared."""
    histogram = statistics.get("histogram")
    if not histogram:
        return ""
    if statistics["kind"] == "category":
        return draw_pairs(_bars(histogram), f"{name}: shares before and after")
    told = _teller(statistics.get("unit"))
    parts = [draw_key(_LEFT, 8, 10, 70, 11), *_histogram(histogram, told)]
    if statistics.get("distribution", {}).get("edges"):
        parts += [f'<g transform="translate({_WIDTH} 0)">', *_distribution(statistics["distribution"], told), "</g>"]
    what = f"{name}: histogram and distribution before and after"
    return draw_sheet(2 * _WIDTH, _HEIGHT, what, "Shares of records, original and published", parts)


def _bars(histogram: ColumnStatistics) -> list[tuple[str, float | None, float]]:
    names = ["(missing)" if value is None else str(value) for value in histogram["values"]]
    rows = list(zip(names, histogram["before"], histogram["after"], strict=True))
    others, last = histogram.get("others", 0), len(rows)
    if others:  # the last bar stands for several values
        last -= 1
    if last > _MOST:
        others, last = others + last - _MOST, _MOST
    rest = rows[last:]
    if rest:
        rows = [*rows[:last], (f"({others} others)", sum(row[1] for row in rest), sum(row[2] for row in rest))]
    return rows


Teller = Callable[[float], str]
"""Writes a number of a column: as it is, or the date that it stands for."""


def _teller(unit: str | None) -> Teller:
    return (lambda value: f"{value:g}") if unit is None else (lambda value: format_date(value, unit))


def _histogram(statistics: ColumnStatistics, told: Teller) -> list[str]:
    """Bars side by side; the outer bins are open, so all are drawn equally wide."""
    edges, before, after = statistics["edges"], statistics["before"], statistics["after"]
    up = Scale([0.0, max(*before, *after, 0.01)], _HEIGHT - _BOTTOM, _TOP)
    parts = _grid(up)
    step = (_WIDTH - _LEFT - _RIGHT) / len(before)
    for index, (one, other) in enumerate(zip(before, after, strict=True)):
        left, title = _LEFT + index * step, _bin(list(map(told, edges)), index)
        for shift, value, colour, when in ((0.08, one, BEFORE, "before"), (0.5, other, AFTER, "after")):
            y = up(value)
            text = f"{title}, {when}: {format_share(value)}"
            parts.append(draw_rect(Rect(left + shift * step, y, 0.42 * step, _HEIGHT - _BOTTOM - y), colour, text))
    return [*parts, *_edges(list(map(told, edges)), step)]


def _edges(edges: Sequence[str], step: float) -> list[str]:
    """Write as many edges under the bars as there is room for."""
    parts, free = [], 0.0
    for index, label in enumerate(edges, start=1):
        x = _LEFT + index * step
        if x - estimate_width(label, 10) / 2 >= free:
            parts.append(draw_text(x, _HEIGHT - 20, label, anchor="middle", size=10))
            free = x + estimate_width(label, 10) / 2 + 6
    return parts


def _bin(edges: Sequence[str], index: int) -> str:
    if not edges:
        return "all"
    if index == 0:
        return f"below {edges[0]}"
    return f"{edges[-1]} and more" if index == len(edges) else f"{edges[index - 1]} to {edges[index]}"


def _distribution(statistics: ColumnStatistics, told: Teller) -> list[str]:
    """The share of records below each edge, before and after; after is dashed, to be statistics apart in grey."""
    edges = statistics["edges"]
    right, up = Scale(edges, _LEFT, _WIDTH - _RIGHT), Scale([0.0, 1.0], _HEIGHT - _BOTTOM, _TOP)
    right.low = min(edges)
    parts = [*_grid(up), draw_text(_LEFT, 17, "share of records below", size=11)]
    for name, colour, dash in (("before", MUTED, ""), ("after", AFTER, "5 3")):
        points = zip(map(right, edges), map(up, statistics[name]), strict=True)
        parts.append(draw_polyline(points, colour, dash))
    marks = [(right(mark), told(mark)) for mark in _marks(edges, told)]
    return [
        *parts,
        *(draw_text(_within(x, label), _HEIGHT - 20, label, anchor="middle", size=10) for x, label in marks),
    ]


def _within(x: float, label: str) -> float:
    """Return where the middle of a label stands, so that all of it is on the sheet."""
    return min(x, _WIDTH - estimate_width(label, 10) / 2 - 2)


def _marks(edges: Sequence[float], told: Teller) -> Sequence[float]:
    """Return what is written below the axis: round numbers, or of dates three of the edges."""
    if told(edges[0]) == f"{edges[0]:g}":
        return list_ticks(min(edges), max(edges))
    return sorted({edges[0], edges[len(edges) // 2], edges[-1]})


def _grid(up: Scale) -> list[str]:
    parts = []
    for mark in up.marks():
        parts.append(draw_line(_LEFT, up(mark), _WIDTH - _RIGHT, up(mark), GRID))
        parts.append(draw_text(_LEFT - 6, up(mark) + 4, f"{100 * mark:.3g} %", anchor="end", size=10))
    return [*parts, draw_line(_LEFT, _HEIGHT - _BOTTOM, _WIDTH - _RIGHT, _HEIGHT - _BOTTOM, INK)]

"""Distributions before and after: a histogram and a distribution function for numbers, bars for categories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from shoal.reporting.charts import AFTER, BEFORE, paired
from shoal.reporting.signs import GRID, INK, MUTED, Scale, length, line, n, svg, text, ticks
from shoal.reporting.words import number, share

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 380, 210, 48, 12, 30, 36
_MOST = 14
"""So many categories are drawn, which half a printed page has room for; the others are added up in one bar."""

RecodingSummary = Mapping[str, Any]


def drawn(name: str, told: RecodingSummary) -> str:
    """Draw one column of an audit's statistics; nothing where it could not be compared.

    Examples
    --------
    >>> told = {"kind": "category", "histogram": {"values": ["a", None], "before": [0.5, 0.5], "after": [0.4, 0.6]}}
    >>> "(missing)" in drawn("sex", told)
    True
    """
    histogram = told.get("histogram")
    if not histogram:
        return ""
    if told["kind"] == "category":
        return paired(_bars(histogram), f"{name}: shares before and after")
    parts = [*_key(), *_histogram(histogram)]
    if told.get("distribution", {}).get("edges"):
        parts += [f'<g transform="translate({_WIDTH} 0)">', *_distribution(told["distribution"]), "</g>"]
    what = f"{name}: histogram and distribution before and after"
    return svg(2 * _WIDTH, _HEIGHT, what, "Shares of records, original and published", parts)


def words(told: RecodingSummary) -> str:
    """Say in a line how far a column is from what it was."""
    if "note" in told:
        return str(told["note"])
    if told["kind"] == "category":
        return f"Shares moved: {share(told['total_variation'])}."
    mean, spread = told["mean"], told["variance"]
    return (
        f"Mean {number(mean['before'])} → {number(mean['after'])}; variance {number(spread['before'])} → "
        f"{number(spread['after'])}; largest distance of the distributions {number(told['distance']['largest'])}."
    )


def tests(told: RecodingSummary) -> Iterator[tuple[str, str, str]]:
    """Yield the tests of a numeric column: name, statistic, p-value."""
    for name in ("kolmogorov-smirnov", "welch", "variance-ratio"):
        found = told.get(name)
        if found:
            yield name, number(found["statistic"]), _p_value(found["p_value"])


def _p_value(value: float | None) -> str:
    if value is None:
        return number(None)
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def _bars(histogram: RecodingSummary) -> list[tuple[str, float | None, float]]:
    names = ["(missing)" if value is None else str(value) for value in histogram["values"]]
    rows = list(zip(names, histogram["before"], histogram["after"], strict=True))
    rest = rows[_MOST:]
    if rest:
        rows = [*rows[:_MOST], (f"({len(rest)} others)", sum(row[1] for row in rest), sum(row[2] for row in rest))]
    return rows


def _key() -> list[str]:
    return [
        _box(_LEFT, 8, 10, 10, BEFORE),
        text(_LEFT + 15, 17, "before", size=11),
        _box(_LEFT + 70, 8, 10, 10, AFTER),
        text(_LEFT + 85, 17, "after", size=11),
    ]


def _histogram(told: RecodingSummary) -> list[str]:
    """Bars side by side; the outer bins are open, so all are drawn equally wide."""
    edges, before, after = told["edges"], told["before"], told["after"]
    up = Scale([0.0, max(*before, *after, 0.01)], _HEIGHT - _BOTTOM, _TOP)
    parts = _grid(up)
    step = (_WIDTH - _LEFT - _RIGHT) / len(before)
    for index, (one, other) in enumerate(zip(before, after, strict=True)):
        left, title = _LEFT + index * step, _bin(edges, index)
        for shift, value, colour, when in ((0.08, one, BEFORE, "before"), (0.5, other, AFTER, "after")):
            y = up(value)
            said = f"{title}, {when}: {share(value)}"
            parts.append(_box(left + shift * step, y, 0.42 * step, _HEIGHT - _BOTTOM - y, colour, said))
    return [*parts, *_edges(edges, step)]


def _edges(edges: Sequence[float], step: float) -> list[str]:
    """Write as many edges under the bars as there is room for."""
    parts, free = [], 0.0
    for index, edge in enumerate(edges, start=1):
        x, said = _LEFT + index * step, f"{edge:g}"
        if x - length(said, 10) / 2 >= free:
            parts.append(text(x, _HEIGHT - 20, said, anchor="middle", size=10))
            free = x + length(said, 10) / 2 + 6
    return parts


def _bin(edges: Sequence[float], index: int) -> str:
    if not edges:
        return "all"
    if index == 0:
        return f"below {edges[0]:g}"
    return f"{edges[-1]:g} and more" if index == len(edges) else f"{edges[index - 1]:g} to {edges[index]:g}"


def _distribution(told: RecodingSummary) -> list[str]:
    """The share of records below each edge, before and after; after is dashed, to be told apart in grey."""
    edges = told["edges"]
    right, up = Scale(edges, _LEFT, _WIDTH - _RIGHT), Scale([0.0, 1.0], _HEIGHT - _BOTTOM, _TOP)
    right.low = min(edges)
    parts = [*_grid(up), text(_LEFT, 17, "share of records below", size=11)]
    for name, colour, dash in (("before", MUTED, ""), ("after", AFTER, ' stroke-dasharray="5 3"')):
        path = " ".join(f"{n(right(edge))},{n(up(value))}" for edge, value in zip(edges, told[name], strict=True))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
    marks = ticks(min(edges), max(edges))
    return [*parts, *(text(right(mark), _HEIGHT - 20, f"{mark:g}", anchor="middle", size=10) for mark in marks)]


def _grid(up: Scale) -> list[str]:
    parts = []
    for mark in up.marks():
        parts.append(line(_LEFT, up(mark), _WIDTH - _RIGHT, up(mark), GRID))
        parts.append(text(_LEFT - 6, up(mark) + 4, f"{100 * mark:.3g} %", anchor="end", size=10))
    return [*parts, line(_LEFT, _HEIGHT - _BOTTOM, _WIDTH - _RIGHT, _HEIGHT - _BOTTOM, INK)]


def _box(x: float, y: float, width: float, height: float, colour: str, title: str = "") -> str:
    told = f"<title>{escape(title)}</title>" if title else ""
    return f'<rect x="{n(x)}" y="{n(y)}" width="{n(width)}" height="{n(height)}" fill="{colour}">{told}</rect>'

"""panels(): line charts side by side, as SVG. No clock and no fonts: the same figures are the same text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

COLOURS = ("#1b6ca8", "#c1662f", "#2e8b57", "#8e44ad", "#b8860b", "#20b2aa", "#5a6775")
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 380, 280, 62, 14, 34, 44
_COLUMNS = 2

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Panel:
    """One chart: a title, what its axes say, and a line for each name."""

    title: str
    across: str
    lines: Mapping[str, Points]
    logarithmic: bool = False
    mark: float | None = None
    """A height at which a dashed line is drawn."""


def panels(charts: Sequence[Panel]) -> str:
    """Return the charts, two in a row, one legend under them; a name has the same colour in each."""
    names = list(dict.fromkeys(name for chart in charts for name in chart.lines))
    colours = {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(names)}
    rows = math.ceil(len(charts) / _COLUMNS)
    width = _WIDTH * min(len(charts), _COLUMNS)
    height = rows * _HEIGHT + 18 * math.ceil(len(names) / 3) + 14
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for place, chart in enumerate(charts):
        x, y = place % _COLUMNS * _WIDTH, place // _COLUMNS * _HEIGHT
        parts += [f'<g transform="translate({x} {y})">', *_chart(chart, colours), "</g>"]
    for place, name in enumerate(names):
        x, y = 24 + place % 3 * (width - 24) // 3, rows * _HEIGHT + 12 + place // 3 * 18
        parts.append(f'<rect x="{x}" y="{y - 8}" width="14" height="4" fill="{colours[name]}"/>')
        parts.append(f'<text x="{x + 20}" y="{y - 2}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _chart(chart: Panel, colours: Mapping[str, str]) -> list[str]:
    points = [point for line in chart.lines.values() for point in line]
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    heights = [y for _, y in points] + ([] if chart.mark is None else [chart.mark])
    if chart.logarithmic:
        low = 10.0 ** math.floor(math.log10(min(heights)))
        high = 10.0 ** math.ceil(math.log10(max(heights)))
        powers = range(round(math.log10(low)), round(math.log10(high)) + 1)
        ticks = [10.0**power for power in powers]
    else:
        step = _nice(max(heights) / 4)
        ticks = [step * number for number in range(math.ceil(max(heights) / step) + 1)]
        low, high = 0.0, ticks[-1]

    def across(x: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (x - left) / ((right - left) or 1)

    def up(y: float) -> float:
        share = math.log(y / low) / math.log(high / low) if chart.logarithmic else (y - low) / (high - low)
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * share

    parts = [f'<text x="{_LEFT}" y="20" font-weight="bold">{escape(chart.title)}</text>']
    for tick in ticks:
        y = up(tick)
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e3e8ed"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:,.10g}</text>')
    shown = sorted({x for x, _ in points if x == left or not (right > 50 and x % 20)})
    parts += [f'<text x="{across(x):.1f}" y="{_HEIGHT - 28}" text-anchor="middle">{x:g}</text>' for x in shown]
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{_HEIGHT - 12}" text-anchor="middle">{escape(chart.across)}</text>')
    if chart.mark is not None:
        y = up(chart.mark)
        dashed = 'stroke="#a83a32" stroke-dasharray="4 3"'
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" {dashed}/>')
    for name, line in chart.lines.items():
        drawn = [(across(x), up(y)) for x, y in line if y > 0 or not chart.logarithmic]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in drawn)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colours[name]}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colours[name]}"/>' for x, y in drawn]
    return parts


def _nice(step: float) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    return next(times * power for times in (1, 2, 2.5, 5, 10) if times * power >= step * 0.999)

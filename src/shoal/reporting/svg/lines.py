"""draw_panels(): line charts side by side, as SVG. No clock and no fonts: the same figures are the same text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shoal.reporting.svg.elements import (
    ALARM,
    GRID,
    INK,
    Scale,
    draw_line,
    draw_polyline,
    draw_sheet,
    draw_text,
    draw_title,
    list_ticks,
    px,
)

COLOURS = ("#1b6ca8", "#c1662f", "#2e8b57", "#8e44ad", "#b8860b", "#20b2aa", "#5a6775")
DASHES = ("", "6 3", "2 3", "8 3 2 3")
"""With the colours, so that lines are told apart in grey too."""
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 380, 280, 62, 14, 34, 44
_COLUMNS = 2
_FEW = 20
"""So many values of the axis are written as they are."""

Points = Sequence[tuple[float, float]]
_SHAPES: Sequence[Points] = (
    [(0, -3), (2.1, -2.1), (3, 0), (2.1, 2.1), (0, 3), (-2.1, 2.1), (-3, 0), (-2.1, -2.1)],
    [(-2.7, -2.7), (2.7, -2.7), (2.7, 2.7), (-2.7, 2.7)],
    [(0, -3.6), (3.4, 2.6), (-3.4, 2.6)],
    [(0, -4), (3.4, 0), (0, 4), (-3.4, 0)],
)
"""What points look like: circles, squares, triangles, diamonds."""
Signs = Mapping[str, int]
"""The number of each line's sign: its colour, its dashes, the shape of its points."""


@dataclass(frozen=True)
class Panel:
    """One chart: a title, what its axes say, and a line for each name."""

    title: str
    across: str
    lines: Mapping[str, Points]
    logarithmic: bool = False
    mark: float | None = None
    """A height at which a dashed line is drawn."""
    dots: bool = True
    """Whether points are drawn on the lines; without them the signs of lines are colours and dashes alone."""

    @property
    def points(self) -> list[tuple[float, float]]:
        """All that can be drawn: on a logarithmic axis there is no zero."""
        every = [point for drawn in self.lines.values() for point in drawn]
        return [(x, y) for x, y in every if y > 0 or not self.logarithmic]


def draw_panels(charts: Sequence[Panel], title: str = "") -> str:
    """Return the charts, two in a row, one legend under them; a name has the same sign in each.

    Examples
    --------
    >>> drawn = draw_panels([Panel("loss", "k", {"mondrian": [(2, 0.1), (5, 0.2)], "shoal": [(2, 0.05), (5, 0.1)]})])
    >>> drawn.count("<polyline"), "mondrian" in drawn  # two lines, two keys
    (4, True)
    """
    names = list(dict.fromkeys(name for chart in charts for name in chart.lines))
    signs = {name: index for index, name in enumerate(names)}
    rows, width = math.ceil(len(charts) / _COLUMNS), _WIDTH * min(len(charts), _COLUMNS)
    across = max(width // 250, 1)
    parts = []
    for index, chart in enumerate(charts):
        x, y = index % _COLUMNS * _WIDTH, index // _COLUMNS * _HEIGHT
        parts += [f'<g transform="translate({x} {y})">', *_chart(chart, signs), "</g>"]
    for index, name in enumerate(names):
        left, down = 24 + index % across * (width - 24) / across, rows * _HEIGHT + 12 + index // across * 18
        parts.append(_stroke([(left, down), (left + 26, down)], index))
        if any(chart.dots for chart in charts):
            parts.append(_dot(left + 13, down, index))
        parts.append(draw_text(left + 34, down + 4, name, size=11))
    height = rows * _HEIGHT + 18 * math.ceil(len(names) / across) + 14
    title = title or "; ".join(chart.title for chart in charts)
    return draw_sheet(width, height, title, f"Lines: {', '.join(names)}", parts) + "\n"


def _stroke(points: Points, number: int) -> str:
    dash = DASHES[number // len(COLOURS) % len(DASHES) or number % len(DASHES)]
    return draw_polyline(points, _colour(number), dash)


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _dot(x: float, y: float, number: int, title: str = "") -> str:
    around = _SHAPES[number % len(_SHAPES)]
    corners = " ".join(f"{px(x + dx)},{px(y + dy)}" for dx, dy in around)
    return f'<polygon points="{corners}" fill="{_colour(number)}">{draw_title(title)}</polygon>'


def _chart(chart: Panel, signs: Signs) -> list[str]:
    points = chart.points or [(0.0, 1.0)]
    heights = [y for _, y in points] + ([] if chart.mark is None else [chart.mark])
    ticks = _powers(heights) if chart.logarithmic else _even(heights)
    across = Scale((x for x, _ in points), _LEFT, _WIDTH - _RIGHT, log=False, zero=False)
    up = Scale(ticks, _HEIGHT - _BOTTOM, _TOP, log=chart.logarithmic)
    parts = [draw_text(_LEFT, 20, chart.title, color=INK, bold=True, size=11)]
    for tick in ticks:
        parts.append(draw_line(_LEFT, up(tick), _WIDTH - _RIGHT, up(tick), GRID))
        parts.append(draw_text(_LEFT - 6, up(tick) + 4, f"{tick:,.10g}", anchor="end", size=11))
    parts += [
        draw_text(across(x), _HEIGHT - 28, f"{x:g}", anchor="middle", size=11)
        for x in _apart([x for x, _ in points], across)
    ]
    parts.append(draw_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 12, chart.across, anchor="middle", size=11))
    if chart.mark is not None:
        parts.append(draw_line(_LEFT, up(chart.mark), _WIDTH - _RIGHT, up(chart.mark), ALARM, dash="4 3"))
    for name, drawn in chart.lines.items():
        known = [(x, y) for x, y in drawn if y > 0 or not chart.logarithmic]
        parts.append(_stroke([(across(x), up(y)) for x, y in known], signs[name]))
        if chart.dots:
            titles = [f"{name}, {chart.across} {x:g}: {y:.4g}" for x, y in known]
            spots = zip(known, titles, strict=True)
            parts += [_dot(across(x), up(y), signs[name], title) for (x, y), title in spots]
    return parts


def _apart(values: Sequence[float], across: Scale) -> list[float]:
    """Return what can be written under an axis without touching: the values themselves if few, else round numbers."""
    shown: list[float] = []
    few = sorted(set(values))
    for value in few if len(few) <= _FEW else list_ticks(across.low, across.high):
        room = 6.5 * (len(f"{value:g}") + 1)
        if not shown or across(value) - across(shown[-1]) >= room:
            shown.append(value)
    return shown


def _powers(heights: Sequence[float]) -> list[float]:
    low, high = math.floor(math.log10(min(heights))), math.ceil(math.log10(max(heights)))
    return [10.0**power for power in range(low, max(high, low + 1) + 1)]


def _even(heights: Sequence[float]) -> list[float]:
    highest = max(heights)
    if highest <= 0:
        return [0.0, 1.0]
    power = 10.0 ** math.floor(math.log10(highest / 4))
    step = next(times * power for times in (1, 2, 2.5, 5, 10) if times * power >= highest / 4 * 0.999)
    return [step * number for number in range(math.ceil(highest / step * 0.9999) + 1)]

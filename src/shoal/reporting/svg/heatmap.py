"""draw_heatmap(): how strongly each two columns go together, before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.reporting.svg.elements import (
    INK,
    MUTED,
    Rect,
    draw_rect,
    draw_sheet,
    draw_text,
    estimate_width,
    mix_colors,
    shorten_text,
)

_CELL_WIDE, _CELL_TALL, _NAMES = 58, 34, 12
_MOST = 14
"""So many columns can be read in one drawing."""


def draw_heatmap(correlations: Mapping[str, Any]) -> str:
    """Draw the matrix of an audit's correlations: in each cell before and after, the darker the more it changed."""
    columns = list(correlations["columns"])[:_MOST]
    if len(columns) < 2:
        return ""
    room = min(max(estimate_width(name, _NAMES) for name in columns), 140)
    left, top = room + 16, 30
    foot = top + (len(columns) - 1) * _CELL_TALL + 14
    parts = [draw_text(left, 16, "above: before; below: after; the darker the cell, the more it changed", size=11)]
    for row, name in enumerate(columns[1:], start=1):
        y = top + (row - 1) * _CELL_TALL
        parts.append(draw_text(left - 8, y + 21, shorten_text(name, room, _NAMES), anchor="end", color=INK, title=name))
        for index, other in enumerate(columns[:row]):
            x = left + index * _CELL_WIDE
            before, after = (correlations[when][row][index] for when in ("before", "after"))
            parts.append(_draw_cell(x, y, f"{name} and {other}", before, after))
    for index, name in enumerate(columns[:-1]):
        middle, short = left + (index + 0.5) * _CELL_WIDE - 1, shorten_text(name, _CELL_WIDE - 4, 11)
        parts.append(draw_text(middle, foot, short, anchor="middle", size=11, color=INK, title=name))
    width = max(left + (len(columns) - 1) * _CELL_WIDE, left + 420)
    return draw_sheet(width, foot + 12, "Correlations before and after", "One cell for each two columns", parts)


def _draw_cell(x: float, y: float, names: str, before: float | None, after: float | None) -> str:
    change = 0.0 if before is None or after is None else abs(after - before)
    title = f"{names}: {_format(before)} before, {_format(after)} after"
    # grey is read on white only
    ink, soft = ("#fff", "#fff") if change > 0.33 else (INK, MUTED if change < 0.1 else INK)
    cell = draw_rect(Rect(x, y, _CELL_WIDE - 2, _CELL_TALL - 2), _shade(change), title)
    middle = x + _CELL_WIDE / 2 - 1
    return (
        cell
        + draw_text(middle, y + 13, _format(before), anchor="middle", size=10, color=soft)
        + draw_text(middle, y + 27, _format(after), anchor="middle", size=11, color=ink)
    )


def _format(value: float | None) -> str:
    return "–" if value is None else f"{round(value, 2) + 0.0:.2f}"


def _shade(change: float) -> str:
    """Return white for no change, dark blue for a half and more; it gets darker in grey too."""
    return mix_colors((244, 247, 250), (27, 70, 120), min(change / 0.5, 1.0))

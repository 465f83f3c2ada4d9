"""draw_heatmap(): how strongly each two columns go together, before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.reporting.svg.elements import (
    INK,
    MUTED,
    Rect,
    draw_rect,
    draw_sheet,
    draw_text,
    estimate_width,
    shorten_text,
)

_CELL_WIDE, _CELL_TALL, _NAMES = 58, 34, 12
_MOST = 14
"""So many columns can be read in one drawing."""


def draw_heatmap(correlations: Mapping[str, Any]) -> str:
    """Draw the matrix of an audit's correlations: in each cell before and after, the darker the more it changed.

    Examples
    --------
    >>> told = {"columns": ["age", "pay"], "before": [[1, 0.5], [0.5, 1]], "after": [[1, 0.3], [0.3, 1]]}
    >>> drawn = draw_heatmap(told)
    >>> "0.50" in drawn and "0.30" in drawn
    True
    """
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
            parts.append(
                _cell(
                    x,
                    y,
                    (name, other),
                    _value(correlations["before"], row, index),
                    _value(correlations["after"], row, index),
                )
            )
    for index, name in enumerate(columns[:-1]):
        middle = left + (index + 0.5) * _CELL_WIDE - 1
        parts.append(
            draw_text(
                middle, foot, shorten_text(name, _CELL_WIDE - 4, 11), anchor="middle", size=11, color=INK, title=name
            )
        )
    width = max(left + (len(columns) - 1) * _CELL_WIDE, left + 420)
    return draw_sheet(width, foot + 12, "Correlations before and after", "One cell for each two columns", parts)


def _value(matrix: Sequence[Sequence[float | None]], row: int, index: int) -> float | None:
    return matrix[row][index]


def _cell(x: float, y: float, names: tuple[str, str], before: float | None, after: float | None) -> str:
    change = 0.0 if before is None or after is None else abs(after - before)
    title = f"{names[0]} and {names[1]}: {_said(before)} before, {_said(after)} after"
    ink = "#fff" if change > 0.35 else INK
    soft = "#e8eef4" if change > 0.35 else MUTED
    cell = draw_rect(Rect(x, y, _CELL_WIDE - 2, _CELL_TALL - 2), _shade(change), title)
    middle = x + _CELL_WIDE / 2 - 1
    return (
        cell
        + draw_text(middle, y + 13, _said(before), anchor="middle", size=10, color=soft)
        + draw_text(middle, y + 27, _said(after), anchor="middle", size=11, color=ink)
    )


def _said(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _shade(change: float) -> str:
    """Return white for no change, dark blue for a half and more; it gets darker in grey too."""
    part = min(change / 0.5, 1.0)
    light, dark = (244, 247, 250), (27, 70, 120)
    red, green, blue = (round(one + (other - one) * part) for one, other in zip(light, dark, strict=True))
    return f"#{red:02x}{green:02x}{blue:02x}"

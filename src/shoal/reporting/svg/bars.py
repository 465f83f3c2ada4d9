"""Shares as bars: one for each name, or two, before and after."""

from __future__ import annotations

import math
from collections.abc import Iterable

from shoal.reporting.formatting import NOTHING, elide, format_number
from shoal.reporting.svg.elements import AFTER, BEFORE, INK, Rect, draw_frame, draw_key, draw_rect, draw_text

_WIDTH = 760
_TRACK = "#eef1f5"


def draw_pairs(values: Iterable[tuple[str, float | None, float]], title: str, *, legend: bool = True) -> str:
    """Draw shares before (pale) and after (dark), from 0 to 1; ``None`` leaves out the bar before."""
    rows = list(values)
    if not rows:
        return ""
    has_before = any(before is not None for _, before, _ in rows)
    y, drawn = 8.0, []
    if legend and has_before:
        drawn, y = [draw_key(212, 6, 12, 80, 12)], 34.0
    for label, before, after in rows:
        shown = [(AFTER, after)] if before is None else [(BEFORE, before), (AFTER, after)]
        middle = y + 9 * len(shown) + 1
        drawn.append(draw_text(200, middle + 3, elide(label, 26), anchor="end", size=13, color=INK, title=label))
        for color, value in shown:
            drawn.append(_scaled(y, value, color, label))
            y += 18
        y += 8
    return draw_frame(_WIDTH, y + 2, title, drawn)


def draw_share_bar(value: float, title: str) -> str:
    """Draw one share as a bar that fits into a line of text."""
    wide = 120 * min(max(value, 0.0), 1.0)
    parts = [draw_rect(Rect(0, 0, 120, 10), _TRACK), draw_rect(Rect(0, 0, wide, 10), AFTER, title)]
    return draw_frame(120, 10, title, parts)


def _scaled(y: float, value: float, color: str, label: str) -> str:
    wide = _WIDTH - 212 - 70
    length = min(max(value, 0.0), 1.0) * wide if math.isfinite(value) else 0.0
    track = draw_rect(Rect(212, y, wide, 14), _TRACK)
    figure = format_number(float(value)) if math.isfinite(value) else NOTHING
    # a loss or risk that is not 0 must be seen, however small
    bar = draw_rect(Rect(212, y, max(length, 1.5 if length > 0 else 0.0), 14), color, f"{label}: {figure}")
    return track + bar + draw_text(_WIDTH - 4, y + 11.5, figure, anchor="end", color=INK)

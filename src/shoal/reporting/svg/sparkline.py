"""How often the values of a column occur, so small that it fits into a line of a table."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.reporting.svg.elements import Rect, draw_frame, draw_rect

_WIDTH, _HEIGHT = 96, 24
_WIDEST = 6
_BAR = "#9db8c9"


def draw_sparkline(counts: Sequence[int], title: str) -> str:
    """Draw a bar for each count; the highest is as high as the line.

    Examples
    --------
    >>> draw_sparkline([3, 1], "sex: 2 values").count("<rect")
    2
    """
    most, step = max(counts, default=0), min(_WIDTH / max(len(counts), 1), _WIDEST)
    bars = []
    for index, count in enumerate(counts):
        tall = _HEIGHT * count / most if most else 0.0
        bars.append(draw_rect(Rect(index * step, _HEIGHT - max(tall, 1), max(step - 1, 0.5), max(tall, 1)), _BAR))
    return draw_frame(_WIDTH, _HEIGHT, title, bars)

"""How many equivalence classes have which size, as a histogram."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.encoding.types import Ints
from shoal.reporting.formatting import format_count
from shoal.reporting.svg.elements import (
    AFTER,
    ALARM,
    GRID,
    INK,
    MUTED,
    Rect,
    draw_frame,
    draw_line,
    draw_rect,
    draw_text,
)

_WIDTH = 760
_HEIGHT, _LEFT, _TOP, _BOTTOM = 250, 56, 30, 46
_FLOOR = _HEIGHT - _BOTTOM
_WIDEST = 64
"""Few bars stay bars."""
_LETTER = 6.4
"""The width of a letter under a bar, about."""


@dataclass(frozen=True)
class Bin:
    """Classes of like size: ``low`` to ``high`` records, or ``low`` and more where ``high`` is ``None``."""

    low: int
    high: int | None
    classes: int

    @property
    def label(self) -> str:
        """What stands under its bar."""
        if self.high is None:
            return f"≥ {self.low:,}"
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,}–{self.high:,}"


def bin_class_sizes(sizes: npt.ArrayLike, asked: int | None = None, most: int = 30) -> list[Bin]:
    """Sort class sizes into bins of equal width; few very large classes share the last one.

    No bin holds both sizes below the asked one and sizes that reach it.

    Examples
    --------
    >>> [(part.label, part.classes) for part in bin_class_sizes([3, 3, 4, 6], asked=3)]
    [('3', 2), ('4', 1), ('5', 0), ('6', 1)]
    >>> bin_class_sizes([2] * 200 + [5000], asked=2)[-1].label
    '≥ 4'
    """
    values = np.asarray(sizes, np.int64)
    if not len(values):
        return []
    low, top, highest = int(values.min()), _top(values), int(values.max())
    low, top = min(low, asked or low), max(top, asked or top)
    width = _nice(math.ceil((top - low + 1) / most))
    start = low if asked is None else asked - math.ceil((asked - low) / width) * width
    number_of = (top - start) // width + 1
    indices = np.minimum((values - start) // width, number_of)
    counts = np.bincount(indices, minlength=number_of + 1).tolist()
    bins = [
        Bin(max(1, start + index * width), start + (index + 1) * width - 1, counts[index]) for index in range(number_of)
    ]
    above = start + number_of * width
    return [*bins, Bin(above, None, counts[number_of])] if highest >= above else bins


def _top(values: Ints) -> int:
    """Return where the bins end: a few classes far above the others must not squeeze them into one bar."""
    low, most, highest = int(values.min()), int(np.quantile(values, 0.99, method="lower")), int(values.max())
    return highest if highest - low <= 1.3 * (most - low) + 12 else most + 1


def _nice(width: int) -> int:
    """Return the next of 1, 2, 5, 10, 20, 50, …"""
    scale = 1
    while True:
        for step in (1, 2, 5):
            if step * scale >= width:
                return step * scale
        scale *= 10


def draw_class_sizes(sizes: npt.ArrayLike, asked: int | None = None, unit: str = "records") -> str:
    """Draw how many classes have which size; sizes below the asked one stand out.

    Examples
    --------
    >>> draw_class_sizes([3, 3, 4, 6], asked=3).startswith("<svg")
    True
    >>> draw_class_sizes([])
    ''
    """
    bins = bin_class_sizes(sizes, asked)
    if not bins:
        return ""
    longest = _LETTER * max(len(part.label) for part in bins)
    right = _WIDTH - max(12.0, longest / 2)  # room for half of the last label
    step = min((right - _LEFT) / len(bins), _WIDEST)
    every = max(math.ceil(len(bins) / 12), math.ceil((longest + _LETTER) / step))
    ceiling, ticks = _ticks(max(part.classes for part in bins))
    tall = (_FLOOR - _TOP) / ceiling
    drawn = [_grid(tick, _FLOOR - tall * tick, right) for tick in ticks]
    drawn += _bars(bins, asked, step, tall)
    drawn += [_bin_label(bins[index], index, step) for index in _labelled(len(bins), every)]
    drawn.append(draw_line(_LEFT, _FLOOR, right, _FLOOR, MUTED))
    drawn.append(draw_text((_LEFT + right) / 2, _HEIGHT - 8, f"class size, in {unit}", anchor="middle"))
    drawn.append(draw_text(_LEFT - 8, 14, "classes", anchor="end", size=11))
    if asked is not None:
        drawn.append(_mark(bins, asked, step))
    return draw_frame(_WIDTH, _HEIGHT, f"Number of classes by class size, in {unit}", drawn)


def _bars(bins: Sequence[Bin], asked: int | None, step: float, tall: float) -> Iterator[str]:
    gap = min(2.0, step * 0.12)
    for index, part in enumerate(bins):
        is_low = asked is not None and part.high is not None and part.high < asked
        height = tall * part.classes
        rect = Rect(_LEFT + index * step + gap, _FLOOR - height, step - 2 * gap, height)
        title = f"size {part.label}: {format_count(part.classes)} classes"
        yield draw_rect(rect, ALARM if is_low else AFTER, title)


def _bin_label(part: Bin, index: int, step: float) -> str:
    return draw_text(_LEFT + (index + 0.5) * step, _FLOOR + 16, part.label, anchor="middle", size=11)


def _labelled(bins: int, every: int) -> list[int]:
    """Return which bins are named: the open last one always is, so its left neighbour gives way."""
    last = bins - 1
    return [*(index for index in range(0, last, every) if last - index >= every), last]


def _mark(bins: Sequence[Bin], asked: int, step: float) -> str:
    """Draw the line that no class may lie left of."""
    below = sum(part.high is not None and part.high < asked for part in bins)
    x, top = _LEFT + below * step, _TOP - 10
    side = "start" if x < _WIDTH * 0.7 else "end"
    words = draw_text(x + (6 if side == "start" else -6), top + 4, f"asked: at least {asked:,}", anchor=side)
    return draw_line(x, top - 6, x, _FLOOR, INK, dash="4 3") + words


def _ticks(highest: int) -> tuple[int, list[int]]:
    """Return the end of an axis and its three to six marks."""
    step = _nice(math.ceil(max(highest, 1) / 4))
    marks = list(range(step, highest + step, step)) or [step]
    return marks[-1], marks


def _grid(tick: int, y: float, right: float) -> str:
    return draw_line(_LEFT, y, right, y, GRID) + draw_text(_LEFT - 8, y + 4, format_count(tick), anchor="end", size=11)

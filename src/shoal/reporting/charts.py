"""Charts: data in, SVG out. No script, no fonts, no clock: the same data are the same text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import numpy.typing as npt

from shoal.reporting.signs import GRID, INK, MUTED, line, n, text
from shoal.reporting.words import NOTHING, count, number

_WIDTH = 760
_TRACK = "#eef1f5"
AFTER, BEFORE, _ALARM = "#35658f", "#aab6c3", "#a83a32"
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


def bins(sizes: npt.ArrayLike, asked: int | None = None, most: int = 30) -> list[Bin]:
    """Sort class sizes into bins of equal width; few very large classes share the last one.

    No bin holds both sizes below the asked one and sizes that reach it.

    Examples
    --------
    >>> [(part.label, part.classes) for part in bins([3, 3, 4, 6], asked=3)]
    [('3', 2), ('4', 1), ('5', 0), ('6', 1)]
    >>> bins([2] * 200 + [5000], asked=2)[-1].label
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
    found = [
        Bin(max(1, start + index * width), start + (index + 1) * width - 1, counts[index]) for index in range(number_of)
    ]
    above = start + number_of * width
    return [*found, Bin(above, None, counts[number_of])] if highest >= above else found


def _top(values: npt.NDArray[np.int64]) -> int:
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


def histogram(sizes: npt.ArrayLike, asked: int | None = None, unit: str = "records") -> str:
    """Draw how many classes have which size; sizes below the asked one stand out.

    Examples
    --------
    >>> histogram([3, 3, 4, 6], asked=3).startswith("<svg")
    True
    >>> histogram([])
    ''
    """
    parts = bins(sizes, asked)
    if not parts:
        return ""
    left, top, bottom = 56, 30, 46
    height, longest = 250, _LETTER * max(len(part.label) for part in parts)
    right = max(12.0, longest / 2)  # room for half of the last label
    floor, wide, tall = height - bottom, _WIDTH - left - right, height - top - bottom
    highest = max(part.classes for part in parts)
    step = min(wide / len(parts), _WIDEST)
    ceiling, ticks = _ticks(highest)
    drawn = [_grid(tick, floor - tall * tick / ceiling, left, _WIDTH - right) for tick in ticks]
    every = max(math.ceil(len(parts) / 12), math.ceil((longest + _LETTER) / step))
    for index, part in enumerate(parts):
        x, tall_bar = left + index * step, tall * part.classes / ceiling
        is_low = asked is not None and part.high is not None and part.high < asked
        title = f"size {part.label}: {count(part.classes)} classes"
        gap = min(2.0, step * 0.12)
        drawn.append(_bar(x + gap, floor - tall_bar, step - 2 * gap, tall_bar, _ALARM if is_low else AFTER, title))
        # the open last bin is always named, so its left neighbour gives way
        is_last = index == len(parts) - 1
        if (index % every == 0 and (is_last or len(parts) - 1 - index >= every or every == 1)) or is_last:
            drawn.append(text(x + step / 2, floor + 16, part.label, anchor="middle", size=11))
    drawn.append(line(left, floor, _WIDTH - right, floor, MUTED))
    drawn.append(text(left + wide / 2, height - 8, f"class size, in {unit}", anchor="middle"))
    drawn.append(text(left - 8, 14, "classes", anchor="end", size=11))
    if asked is not None:
        drawn.append(_mark(parts, asked, left, step, top - 10, floor))
    return _svg(height, f"Number of classes by class size, in {unit}", drawn)


def _mark(parts: Sequence[Bin], asked: int, left: float, step: float, top: float, floor: float) -> str:
    """Draw the line that no class may lie left of."""
    below = sum(part.high is not None and part.high < asked for part in parts)
    x = left + below * step
    side = "start" if x < _WIDTH * 0.7 else "end"
    words = text(x + (6 if side == "start" else -6), top + 4, f"asked: at least {asked:,}", anchor=side)
    return line(x, top - 6, x, floor, INK, dash="4 3") + words


def _ticks(highest: int) -> tuple[int, list[int]]:
    """Return the end of an axis and its three to six marks."""
    step = _nice(math.ceil(max(highest, 1) / 4))
    marks = list(range(step, highest + step, step)) or [step]
    return marks[-1], marks


def _grid(tick: int, y: float, left: float, right: float) -> str:
    return line(left, y, right, y, GRID) + text(left - 8, y + 4, count(tick), anchor="end", size=11)


def bars(values: Iterable[tuple[str, float]], title: str = "Loss per column") -> str:
    """Draw values between 0 and 1 as bars on a full scale, so that a small loss looks small.

    Examples
    --------
    >>> "0.2500" in bars([("age", 0.25)])
    True
    """
    return paired([(label, None, value) for label, value in values], title, legend=False)


def paired(values: Iterable[tuple[str, float | None, float]], title: str, *, legend: bool = True) -> str:
    """Draw shares before (pale) and after (dark), from 0 to 1; ``None`` leaves out the bar before.

    Examples
    --------
    >>> paired([("worst", 1.0, 0.1)], "Risk").count("<rect")  # two tracks, two bars, two keys
    6
    """
    rows = list(values)
    if not rows:
        return ""
    has_before = any(before is not None for _, before, _ in rows)
    y, drawn = 8.0, []
    if legend and has_before:
        drawn, y = [_legend()], 34.0
    for label, before, after in rows:
        shown = [(AFTER, after)] if before is None else [(BEFORE, before), (AFTER, after)]
        middle = y + 9 * len(shown) + 1
        drawn.append(text(200, middle + 3, _short(label), anchor="end", size=13, color=INK, title=label))
        for color, value in shown:
            drawn.append(_scaled(y, value, color, label))
            y += 18
        y += 8
    return _svg(y + 2, title, drawn)


def _legend() -> str:
    return _bar(212, 6, 12, 12, BEFORE) + text(230, 16, "before") + _bar(292, 6, 12, 12, AFTER) + text(310, 16, "after")


def _scaled(y: float, value: float, color: str, label: str) -> str:
    wide = _WIDTH - 212 - 70
    length = min(max(value, 0.0), 1.0) * wide if math.isfinite(value) else 0.0
    track = _bar(212, y, wide, 14, _TRACK)
    said = number(float(value)) if math.isfinite(value) else NOTHING
    # a loss or risk that is not 0 must be seen, however small
    bar = _bar(212, y, max(length, 1.5 if length > 0 else 0.0), 14, color, f"{label}: {said}")
    return track + bar + text(_WIDTH - 4, y + 11.5, said, anchor="end", color=INK)


def _short(label: str, most: int = 26) -> str:
    return label if len(label) <= most else label[: most - 1] + "…"


def _svg(height: float, title: str, parts: Iterable[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {n(height)}" role="img" '
        f'aria-label="{escape(title)}" font-family="inherit"><title>{escape(title)}</title>'
        f"{''.join(parts)}</svg>"
    )


def _bar(x: float, y: float, width: float, height: float, color: str, title: str = "") -> str:
    told = f"<title>{escape(title)}</title>" if title else ""
    return f'<rect x="{n(x)}" y="{n(y)}" width="{n(width)}" height="{n(height)}" fill="{color}">{told}</rect>'

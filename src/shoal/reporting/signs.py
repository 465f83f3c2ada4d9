"""What every drawing is made of: texts, lines, marks of an axis. Numbers in, SVG out; every text is escaped."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from html import escape

INK, MUTED, LINE, GRID = "#1d2733", "#5a6775", "#c3ccd5", "#e3e8ed"


def n(value: float) -> str:
    """Return a coordinate with one decimal: enough for the eye, and the same on every machine."""
    return f"{value:.1f}".removesuffix(".0")


def clean(text: str) -> str:
    """Return a text on one line, without what no drawing can show.

    Examples
    --------
    >>> clean("two\\nlines")
    'two�lines'
    """
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in text)


def line(x: float, y: float, to_x: float, to_y: float, color: str, dash: str = "") -> str:
    """Draw a line."""
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<line x1="{n(x)}" y1="{n(y)}" x2="{n(to_x)}" y2="{n(to_y)}" stroke="{color}"{dashed}/>'


def text(
    x: float,
    y: float,
    words: str,
    *,
    anchor: str = "start",
    size: float = 12,
    color: str = MUTED,
    bold: bool = False,
    halo: bool = False,
    title: str = "",
) -> str:
    """Write a text; with a halo where it may lie on something else, with a title where it does not say all."""
    extra = ' font-weight="600"' if bold else ""
    extra += ' stroke="#fff" stroke-width="3" stroke-linejoin="round" paint-order="stroke"' if halo else ""
    told = f"<title>{escape(clean(title))}</title>" if title and title != words else ""
    return (
        f'<text x="{n(x)}" y="{n(y)}" text-anchor="{anchor}" font-size="{n(size)}" fill="{color}"{extra}>'
        f"{escape(clean(words))}{told}</text>"
    )


def svg(width: float, height: float, title: str, description: str, parts: Iterable[str]) -> str:
    """Put drawn parts on a white sheet with a title and a description."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {n(width)} {n(height)}" width="{n(width)}" '
        f'height="{n(height)}" role="img" aria-label="{escape(clean(title))}" '
        "font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', Arial, sans-serif\">"
        f"<title>{escape(clean(title))}</title><desc>{escape(clean(description))}</desc>"
        f'<rect width="{n(width)}" height="{n(height)}" fill="#fff"/>{"".join(parts)}</svg>'
    )


def length(words: str, size: float) -> float:
    """Return about how many pixels a text is long, in any common font."""
    return size * sum(_wide(sign) for sign in words)


def _wide(sign: str) -> float:
    if sign in " []{}(),.;:'|!-–/ijlt⟨⟩":
        return 0.38
    return 1.02 if unicodedata.east_asian_width(sign) in "WF" else 0.64


def wrapped(words: str, room: float, size: float) -> list[str]:
    """Return a text on as many lines as it needs; a word that is longer than a line is cut.

    Examples
    --------
    >>> wrapped("age, sex, zip", 60, 12)
    ['age, sex,', 'zip']
    """
    lines = [""]
    for word in words.split(" "):
        longer = f"{lines[-1]} {word}".lstrip()
        if length(longer, size) <= room:
            lines[-1] = longer
        elif lines == [""]:
            lines = [cut(word, room, size)]
        else:
            lines.append(cut(word, room, size))
    return lines


def cut(word: str, room: float, size: float) -> str:
    """Return a word, or its beginning where it is longer than the room."""
    if length(word, size) <= room:
        return word
    kept = word
    while kept and length(kept + "…", size) > room:
        kept = kept[:-1]
    return kept + "…"


class Scale:
    """Where a number lies on an axis: by its logarithm where asked, and where the numbers span more than 1 : 100."""

    def __init__(self, values: Iterable[float], start: float, end: float, *, log: bool | None = None) -> None:
        known = list(values)
        low, high = (min(known), max(known)) if known else (0.0, 1.0)
        self.log = low > 0 and high / low > 100 if log is None else log
        if not self.log:
            low = min(low, 0.0) if high > 0 else low
        self.low, self.high, self.start, self.end = low, high, start, end

    def __call__(self, value: float) -> float:
        """Return the pixel of a number."""
        low, high, value = (map(math.log, (self.low, self.high, value))) if self.log else (self.low, self.high, value)
        part = (value - low) / (high - low) if high > low else 0.0
        return self.start + part * (self.end - self.start)

    def marks(self) -> list[float]:
        """Return round numbers between the ends.

        Examples
        --------
        >>> Scale([1, 500], 0, 100, log=True).marks()
        [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0]
        >>> Scale([0, 1], 0, 100).marks()
        [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
        """
        if not self.log:
            return ticks(self.low, self.high)
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        steps = (1, 2, 5) if last - first <= 4 else (1,)
        found = [step * 10.0**power for power in range(first, last + 1) for step in steps]
        return [mark for mark in found if self.low <= mark <= self.high] or [self.low]


def ticks(low: float, high: float) -> list[float]:
    """Return four to ten round numbers between two.

    Examples
    --------
    >>> ticks(0, 48)
    [0.0, 10.0, 20.0, 30.0, 40.0]
    """
    span = high - low
    if not span > 0 or not math.isfinite(span):
        return [low]
    step = float(10.0 ** math.floor(math.log10(span / 5)))
    step = next(step * factor for factor in (1, 2, 5, 10) if span / (step * factor) <= 8)
    digits = max(0, 1 - math.floor(math.log10(step)))
    return [round(turn * step, digits) for turn in range(math.ceil(low / step), math.floor(high / step + 1e-9) + 1)]

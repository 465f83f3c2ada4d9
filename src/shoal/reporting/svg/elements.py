"""What every drawing is made of: texts, lines, marks of an axis. Numbers in, SVG out; every text is escaped."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from html import escape
from typing import NamedTuple, TypedDict, Unpack

INK, MUTED, LINE, GRID = "#1d2733", "#5a6775", "#c3ccd5", "#e3e8ed"
Color = tuple[int, int, int]
AFTER, BEFORE, ALARM = "#35658f", "#aab6c3", "#a83a32"
_NARROWEST = 0.38
"""The width of a narrow letter, in sizes of the font."""


def px(value: float) -> str:
    """Return a coordinate with one decimal: enough for the eye, and the same on every machine."""
    return f"{value:.1f}".removesuffix(".0")


def replace_unprintable(text: str) -> str:
    """Return a text on one line, without what no drawing can show.

    Examples
    --------
    >>> replace_unprintable("two\\nlines")
    'two�lines'
    """
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in text)


def draw_line(x: float, y: float, to_x: float, to_y: float, color: str, dash: str = "") -> str:
    """Draw a line."""
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<line x1="{px(x)}" y1="{px(y)}" x2="{px(to_x)}" y2="{px(to_y)}" stroke="{color}"{dashed}/>'


def draw_polyline(points: Iterable[tuple[float, float]], color: str, dash: str = "") -> str:
    """Draw a line through points."""
    path = " ".join(f"{px(x)},{px(y)}" for x, y in points)
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"{dashed}/>'


class TextStyle(TypedDict, total=False):
    """How a text is written."""

    anchor: str
    size: float
    color: str
    bold: bool
    halo: bool
    """A white edge, where the text may lie on something else."""
    upright: bool
    """Turned by a quarter, read from below."""
    passive: bool
    """A click or a pointer means what lies below."""
    title: str
    """What is shown to who points at it, where the text does not say all."""


def draw_text(x: float, y: float, words: str, **style: Unpack[TextStyle]) -> str:
    """Write a text."""
    extra = ' font-weight="600"' if style.get("bold") else ""
    extra += f' transform="rotate(-90 {px(x)} {px(y)})"' if style.get("upright") else ""
    extra += ' pointer-events="none"' if style.get("passive") else ""
    extra += ' stroke="#fff" stroke-width="3" stroke-linejoin="round" paint-order="stroke"' if style.get("halo") else ""
    title = style.get("title", "")
    return (
        f'<text x="{px(x)}" y="{px(y)}" text-anchor="{style.get("anchor", "start")}" '
        f'font-size="{px(style.get("size", 12))}" fill="{style.get("color", MUTED)}"{extra}>'
        f"{escape(replace_unprintable(words))}{draw_title(title) if title != words else ''}</text>"
    )


def draw_title(title: str) -> str:
    """Return what is shown to who points at an element; nothing for no title."""
    return f"<title>{escape(replace_unprintable(title))}</title>" if title else ""


class Rect(NamedTuple):
    """Where a rectangle lies: its upper left corner and its size."""

    x: float
    y: float
    width: float
    height: float


def mix_colors(light: Color, dark: Color, part: float) -> str:
    """Return a colour between two."""
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in zip(light, dark, strict=True))


def draw_rect(rect: Rect, color: str, title: str = "", look: str = "") -> str:
    """Draw a rectangle; ``look`` is said in SVG's own attributes."""
    placed = f'x="{px(rect.x)}" y="{px(rect.y)}" width="{px(rect.width)}" height="{px(rect.height)}"'
    return f'<rect {placed} fill="{color}"{look}>{draw_title(title)}</rect>'


def draw_key(x: float, y: float, side: float, step: float, size: float) -> str:
    """Say which colour is before, which after."""
    return "".join(
        draw_rect(Rect(at, y, side, side), color) + draw_text(at + 1.5 * side, y + side / 2 + 4, words, size=size)
        for at, color, words in ((x, BEFORE, "before"), (x + step, AFTER, "after"))
    )


def draw_frame(width: float, height: float, title: str, parts: Iterable[str]) -> str:
    """Put drawn parts into a drawing with a title."""
    size = f'viewBox="0 0 {px(width)} {px(height)}" width="{px(width)}" height="{px(height)}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(replace_unprintable(title))}" '
        "font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', Arial, sans-serif\">"
        f"{draw_title(title)}{''.join(parts)}</svg>"
    )


def draw_sheet(width: float, height: float, title: str, description: str, parts: Iterable[str]) -> str:
    """Put drawn parts on a white sheet with a title and a description."""
    described = f"<desc>{escape(replace_unprintable(description))}</desc>"
    sheet = f'<rect width="{px(width)}" height="{px(height)}" fill="#fff"/>'
    return draw_frame(width, height, title, [described, sheet, *parts])


def estimate_width(words: str, size: float) -> float:
    """Return about how many pixels a text is long, in any common font."""
    return size * sum(_wide(sign) for sign in words)


def _wide(sign: str) -> float:
    if sign in " []{}(),.;:'|!-–/ijlt⟨⟩":
        return _NARROWEST
    return 1.02 if unicodedata.east_asian_width(sign) in "WF" else 0.64


def wrap_text(words: str, room: float, size: float) -> list[str]:
    """Return a text on as many lines as it needs; a word that is longer than a line is cut.

    Examples
    --------
    >>> wrap_text("age, sex, zip", 60, 12)
    ['age, sex,', 'zip']
    """
    lines = [""]
    for word in words.split(" "):
        longer = f"{lines[-1]} {word}".lstrip()
        if estimate_width(longer, size) <= room:
            lines[-1] = longer
        elif lines == [""]:
            lines = [shorten_text(word, room, size)]
        else:
            lines.append(shorten_text(word, room, size))
    return lines


def shorten_text(word: str, room: float, size: float) -> str:
    """Return a word, or its beginning where it is longer than the room."""
    if estimate_width(word, size) <= room:
        return word
    kept = word[: max(int(room / size / _NARROWEST), 0)]
    while kept and estimate_width(kept + "…", size) > room:
        kept = kept[:-1]
    return kept + "…"


class Scale:
    """Where a number lies on an axis: by its logarithm where asked, and where the numbers span more than 1 : 100.

    Without ``zero`` the axis begins at the least number, else at 0 where none is below.
    """

    def __init__(
        self, values: Iterable[float], start: float, end: float, *, log: bool | None = None, zero: bool = True
    ) -> None:
        known = list(values)
        low, high = (min(known), max(known)) if known else (0.0, 1.0)
        self.log = low > 0 and high / low > 100 if log is None else log
        if zero and not self.log and high > 0:
            low = min(low, 0.0)
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
            return list_ticks(self.low, self.high)
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        steps = (1, 2, 5) if last - first <= 4 else (1,)
        candidates = [step * 10.0**power for power in range(first, last + 1) for step in steps]
        return [mark for mark in candidates if self.low <= mark <= self.high] or [self.low]


def list_ticks(low: float, high: float) -> list[float]:
    """Return four to ten round numbers between two.

    Examples
    --------
    >>> list_ticks(0, 48)
    [0.0, 10.0, 20.0, 30.0, 40.0]
    """
    span = high - low
    if not span > 0 or not math.isfinite(span):
        return [low]
    step = float(10.0 ** math.floor(math.log10(span / 5)))
    step = next(step * factor for factor in (1, 2, 5, 10) if span / (step * factor) <= 8)
    digits = max(0, 1 - math.floor(math.log10(step)))
    return [round(turn * step, digits) for turn in range(math.ceil(low / step), math.floor(high / step + 1e-9) + 1)]

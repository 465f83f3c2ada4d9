"""Drawings of hierarchies: the labels of each level in, SVG out. No script, no fonts, no clock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Unpack

from shoal.hierarchies._nodes import Node, Row
from shoal.reporting.formatting import format_count, format_number, format_share
from shoal.reporting.svg.elements import (
    INK,
    LINE,
    MUTED,
    Rect,
    TextStyle,
    draw_frame,
    draw_line,
    draw_rect,
    draw_text,
    estimate_width,
    list_ticks,
    mix_colors,
    replace_unprintable,
    shorten_text,
)

WIDTH = 960
_PALE, _DARK = (0xEC, 0xF1, 0xF6), (0x1F, 0x4B, 0x76)
_GUTTER, _HEAD, _KEY = 92.0, 40.0, 44.0
_THIN = 2.0
"""Labels narrower than so many pixels are drawn together with their neighbours."""
_LEAF, _LEAVES = 18.0, 120
"""Up to so many values without a distance are drawn from left to right, each on a line of its own."""
_LEAST, _MOST = 30.0, 112.0
"""The heights of a level that is drawn from top to bottom."""
_ROOM = 0.915
"""How much of the width a scale has, where a missing value stands beside it."""
_UPRIGHT = 11.0
"""How wide a box must be for a label that stands upright."""


@dataclass(frozen=True)
class Cell:
    """One label, or several thin neighbours, and where it lies along the values, in pixels."""

    low: float
    high: float
    records: int
    nodes: tuple[Node, ...]

    @property
    def size(self) -> float:
        """How many pixels it has along the values."""
        return self.high - self.low

    @property
    def label(self) -> str:
        """What is written in it."""
        return display_name(self.nodes[0]) if len(self.nodes) == 1 else ""


def display_name(node: Node) -> str:
    """Return what a node is called in a drawing: on one line, and without what no drawing can show.

    Examples
    --------
    >>> display_name(Node("two\\nlines", 1, 1, None, None, 0.0, 0.0, 0, 0))
    'two�lines'
    """
    if node.label is None:
        return "(missing)"
    return replace_unprintable(node.label)


def draw_hierarchy(rows: Sequence[Row], title: str, *, kind: str = "text") -> str:
    """Draw the levels of a hierarchy as SVG, the root first and each label above what it covers.

    Numbers and dates lie on a scale, and a label is as wide as its range; other values have the same width each.
    The darker a label, the more records it has. Labels too thin to see are drawn together.

    Parameters
    ----------
    rows
        The labels of each level, the values first.
    title
        What the drawing is called.
    kind
        The kind of the column's values.

    Examples
    --------
    >>> root = Node("*", 3, 2, None, None, 1.0, 1.0, 0, 1)
    >>> leaves = (Node("a", 2, 1, None, None, 0, 0, 0, 0, (0,)), Node("b", 1, 1, None, None, 0, 0, 1, 1, (0,)))
    >>> draw_hierarchy([Row(0, leaves), Row(1, (root,))], "sizes").count("<rect")  # three labels, five keys
    8
    """
    if not rows or not rows[0].nodes:
        return draw_frame(WIDTH, 60, title, [_text(12, 34, "There are no values to draw.", color=MUTED)])
    scale = _scale(rows, kind)
    total = max(sum(node.records for node in rows[-1].nodes), 1)
    values = len(rows[0].nodes)
    if scale is None and values <= _LEAVES:
        return _from_left(rows, title, total)
    return _from_top(rows, title, total, scale, kind)


# Where labels lie


def _scale(rows: Sequence[Row], kind: str) -> tuple[float, float] | None:
    """Return the ends of the scale, where every label but the missing value's is a range."""
    if kind in ("text", "boolean"):
        return None
    ranges = [node for row in rows for node in row.nodes if not _is_blank(node, rows)]
    if not ranges or any(node.low is None or node.high is None for node in ranges):
        return None
    top = rows[-1].nodes[0]
    if top.low is None or top.high is None:
        return None
    return top.low, top.high + (0.0 if kind == "float" else 1.0)


def _is_blank(node: Node, rows: Sequence[Row]) -> bool:
    last = rows[0].nodes[-1]
    return node.low is None and last.low is None and node.first == node.last == last.first


def _places(
    rows: Sequence[Row], scale: tuple[float, float] | None, kind: str
) -> Iterator[list[tuple[Node, float, float]]]:
    """Yield for each level where its nodes start and end, from 0 to 1."""
    size = max(node.last for node in rows[0].nodes) + 1
    for row in rows:
        if scale is None:
            yield [(node, node.first / size, (node.last + 1) / size) for node in row.nodes]
            continue
        step = 0.0 if kind == "float" else 1.0
        low, span = scale[0], (scale[1] - scale[0]) or 1.0
        has_blank = rows[0].nodes[-1].low is None
        room = _ROOM if has_blank else 1.0
        placed = []
        for node in row.nodes:
            if node.low is None or node.high is None:
                placed.append((node, _ROOM + 0.01, 1.0))
            else:
                start, end = ((end - low) / span for end in (node.low, node.high + step))
                whole = has_blank and row is rows[-1]
                placed.append((node, _clip(start) * room, 1.0 if whole else _clip(end) * room))
        yield sorted(placed, key=lambda index: (index[1], index[2]))


def _clip(index: float) -> float:
    return min(max(index, 0.0), 1.0)


def _cells(placed: Sequence[tuple[Node, float, float]], length: float) -> list[Cell]:
    """Put the nodes of a level on so many pixels; neighbours that are too thin to see become one cell."""
    cells: list[Cell] = []
    for node, start, end in placed:
        low, high = start * length, end * length
        is_thin = high - low < _THIN
        last = cells[-1] if cells else None
        if is_thin and last is not None and last.size <= _THIN and low < last.low + _THIN:
            cells[-1] = replace(last, records=last.records + node.records, nodes=(*last.nodes, node))
        else:
            cells.append(Cell(low, max(high, min(low + _THIN, length)), node.records, (node,)))
    return cells


# The two ways to draw


def _from_left(rows: Sequence[Row], title: str, total: int) -> str:
    """Draw the root on the left and the values on the right, each on a line of its own."""
    tall = max(len(rows[0].nodes) * _LEAF, 3 * _LEAF)
    wide = WIDTH / len(rows)
    drawn = [_key()]
    for index, (row, placed) in enumerate(reversed(list(zip(rows, _places(rows, None, "text"), strict=True)))):
        x = index * wide
        drawn.append(_text(x + 2, _KEY + 14, f"level {row.level}", size=12, color=INK, bold=True))
        drawn.append(_text(x + 2, _KEY + 29, _format_nodes(len(row.nodes), row.level), size=11))
        for cell in _cells(placed, tall):
            box = Rect(x, _KEY + _HEAD + cell.low, wide, cell.size)
            drawn.append(_box(box, cell, total))
            drawn.append(_line_of(box, cell, total))
    return draw_frame(WIDTH, _KEY + _HEAD + tall + 6, title, drawn)


def _line_of(box: Rect, cell: Cell, total: int) -> str:
    """A label on the left of its box and its records on the right, where there is room for them."""
    x, y, wide, tall = box
    if tall < 12 or not cell.label:
        return ""
    color, soft = _on(cell.records / total)
    records = format_count(cell.records)
    room = wide - 14
    baseline = y + tall / 2 + 4
    label = _fit(cell.label, room - estimate_width(records, 10) - 8)
    if label != cell.label and estimate_width(cell.label, 11) <= room:
        return _text(x + 7, baseline, cell.label, color=color)
    end = _text(x + wide - 7, baseline, records, size=10, color=soft, anchor="end")
    return (_text(x + 7, baseline, label, color=color) if label else "") + end


def _from_top(rows: Sequence[Row], title: str, total: int, scale: tuple[float, float] | None, kind: str) -> str:
    """Draw the root on top and the values at the bottom, as wide as what they cover."""
    y, drawn = _KEY, [_key()]
    for row, placed in reversed(list(zip(rows, _places(rows, scale, kind), strict=True))):
        cells = _cells(placed, WIDTH - _GUTTER)
        tall = _tall(cells)
        middle = y + tall / 2
        baseline = middle - 2 if tall >= _LEAST else middle + 4
        drawn.append(_text(2, baseline, f"level {row.level}", size=12, color=INK, bold=True))
        if tall >= _LEAST:
            drawn.append(_text(2, middle + 12, _format_nodes(len(row.nodes), row.level)))
        else:
            drawn.append(_text(54, middle + 4, format_count(len(row.nodes)), size=10))
        for cell in cells:
            drawn.append(_box(Rect(_GUTTER + cell.low, y, cell.size, tall), cell, total))
            drawn.append(_label_of(_GUTTER + cell.low, y, cell, tall, total))
        y += tall + 3
    if scale is not None:
        drawn.append(_axis(rows, scale, kind, y))
        y += 24
    return draw_frame(WIDTH, y + 4, title, drawn)


def _tall(cells: Sequence[Cell]) -> float:
    """Return the height of a level: more where most labels stand upright, a strip where few can be written."""
    fitting = [cell for cell in cells if cell.label and _fits(cell.label, cell.size)]
    upright = [cell for cell in cells if cell.label and cell.size >= _UPRIGHT and not _fits(cell.label, cell.size)]
    if 2 * len(upright) >= len(cells):
        return min(max([_LEAST, *(estimate_width(cell.label, 11) + 10 for cell in upright)]), _MOST)
    return _LEAST if 10 * len(fitting) >= len(cells) else _LEAF


def _label_of(x: float, y: float, cell: Cell, tall: float, total: int) -> str:
    """A label with its records below, or upright where it is longer than wide, or shortened."""
    if not cell.label or tall < _LEAST:
        return ""
    color, soft = _on(cell.records / total)
    middle, records = x + cell.size / 2, format_count(cell.records)
    upright = _fit(cell.label, tall - 8) if cell.size >= _UPRIGHT else ""
    text = _fit(cell.label, cell.size - 6)
    if text != cell.label and len(upright) > len(text):
        return _text(middle + 4, y + tall / 2, upright, color=color, anchor="middle", upright=True)
    if not text:
        return ""
    if estimate_width(records, 10) > cell.size - 6:
        return _text(middle, y + tall / 2 + 4, text, color=color, anchor="middle")
    above = _text(middle, y + tall / 2 - 2, text, color=color, anchor="middle")
    return above + _text(middle, y + tall / 2 + 11, records, size=10, color=soft, anchor="middle")


def _axis(rows: Sequence[Row], scale: tuple[float, float], kind: str, y: float) -> str:
    known = [node for node in rows[0].nodes if node.low is not None]
    room = (WIDTH - _GUTTER) * (_ROOM if len(known) < len(rows[0].nodes) else 1.0)
    if kind in ("date", "datetime"):
        ends = ((_GUTTER, display_name(known[0]), "start"), (_GUTTER + room, display_name(known[-1]), "end"))
        return "".join(_text(x, y + 15, text, anchor=anchor) for x, text, anchor in ends)
    low, high = scale
    parts = []
    for tick in list_ticks(low, high):
        x = _GUTTER + (tick - low) / ((high - low) or 1.0) * room
        anchor = "start" if x < _GUTTER + 12 else "end" if x > WIDTH - 12 else "middle"
        parts.append(draw_line(x, y, x, y + 4, LINE))
        parts.append(_text(x, y + 16, f"{tick:,.10g}", anchor=anchor))
    return "".join(parts)


# Signs


def _box(box: Rect, cell: Cell, total: int) -> str:
    # thin lines between boxes, and none between boxes that are hardly wider than a line
    edge = ' stroke="#fff"' if min(box.width, box.height) > 3 else ""
    return draw_rect(box, _color(cell.records / total), _describe_cell(cell, total), edge)


def _describe_cell(cell: Cell, total: int) -> str:
    node = cell.nodes[0]
    records = f"{_format_plural(cell.records, 'record')} ({format_share(cell.records / total)})"
    if len(cell.nodes) > 1:
        ends = f"{display_name(node)} to {display_name(cell.nodes[-1])}"
        return f"{format_count(len(cell.nodes))} labels, {ends}: {records}"
    values = _format_plural(node.values, "value")
    return f"{display_name(node)}: {records}, {values}, distortion {format_number(float(node.distortion))}"


def _format_nodes(nodes: int, level: int) -> str:
    return _format_plural(nodes, "value" if level == 0 else "node")


def _format_plural(number: int, word: str) -> str:
    return f"{format_count(number)} {word if number == 1 else word + 's'}"


def _color(part: float) -> str:
    # by the cube root, so that one record in a thousand still differs from none
    return mix_colors(_PALE, _DARK, _clip(part) ** (1 / 3))


def _on(part: float) -> tuple[str, str]:
    """The colours of texts on a box: a label, its records."""
    strength = _clip(part) ** (1 / 3)
    if strength > 0.65:
        return "#ffffff", "#e6eef5"
    return INK, INK if strength > 0.3 else MUTED


def _key() -> str:
    shown = [(0.0, "0 %"), (0.01, "1 %"), (0.1, "10 %"), (0.5, "50 %"), (1.0, "100 %")]
    parts = [_text(2, 17, "share of records")]
    for index, (part, text) in enumerate(shown):
        x = 100 + index * 66
        parts.append(draw_rect(Rect(x, 7, 20, 12), _color(part)))
        parts.append(_text(x + 25, 17, text))
    return "".join(parts)


def _fits(label: str, size: float) -> bool:
    return estimate_width(label, 11) <= size - 6


def _fit(label: str, room: float) -> str:
    """Return a label, or its beginning, or nothing where fewer than three signs have room."""
    shown = shorten_text(label, room, 11)
    return shown if shown == label or len(shown) > 3 else ""


def _text(x: float, y: float, words: str, **style: Unpack[TextStyle]) -> str:
    """Write a text on a box; what is pointed at is the box."""
    passive: TextStyle = {"size": 11, **style, "passive": True}
    return draw_text(x, y, words, **passive)

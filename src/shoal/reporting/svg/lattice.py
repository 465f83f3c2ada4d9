"""The lattice itself: a Hasse diagram, or for many nodes what each height is like and what surrounds the optimum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from shoal.reporting.formatting import NOTHING, format_brief, format_count
from shoal.reporting.lattice_space import CUT, KINDS, SHORT, WHOLE, Point, Space
from shoal.reporting.svg.elements import (
    INK,
    LINE,
    MUTED,
    Rect,
    draw_line,
    draw_rect,
    draw_sheet,
    draw_text,
    draw_title,
    estimate_width,
    px,
    shorten_text,
    wrap_text,
)

WIDTH = 960.0
MOST, ACROSS = 150, 24
"""Up to so many nodes, and so many of the same height, are drawn one by one."""
_GUTTER, _MARGIN, _GAP = 66.0, 16.0, 10.0
_LINE = 13.0
"""The height of a line in a node."""
_FILL = {WHOLE: "#dff0e7", CUT: "#e3edf7", SHORT: "#ffffff"}
_EDGE = {WHOLE: "#1f7a53", CUT: "#35658f", SHORT: "#aab4bf"}
_DASH = {WHOLE: "", CUT: ' stroke-dasharray="4 2"', SHORT: ""}
_ROUND = {WHOLE: 12, CUT: 5, SHORT: 0}
_FULL = {WHOLE: "#1a6646", CUT: "#2b577e"}
"""The optimum stands out: dark, with white letters."""
_LINK = {False: "#ccd4dc", True: "#8fbda7"}
"""Edges; greener where both ends comply."""

Sheet = tuple[float, float, list[str]]
"""How wide and tall a drawing is, and what lies on it."""


def fits_whole(space: Space) -> bool:
    """Whether the lattice is small enough to be drawn node by node."""
    return len(space.points) <= MOST and space.widest <= ACROSS


def draw_lattice(space: Space) -> str:
    """Draw a lattice: every node if they are few, else a summary and the surroundings of the optimum."""
    wide, tall, parts = lattice_sheet(space)
    return draw_sheet(
        wide, tall, f"Generalization lattice of {', '.join(space.columns)}", describe_lattice(space), parts
    )


def describe_lattice(space: Space) -> str:
    """Say in one sentence what the lattice is like."""
    shown = ", ".join(f"{format_count(nodes)} {_PLURAL[kind]}" for kind, nodes in space.counts().items())
    best = f"; the optimum is {space.best.label}" if space.best else ""
    return f"{format_count(len(space.points))} {'node' if len(space.points) == 1 else 'nodes'}: {shown}{best}."


_PLURAL = {
    WHOLE: "comply with nothing suppressed",
    CUT: "comply with the allowed suppression",
    SHORT: "do not comply",
}


def lattice_sheet(space: Space) -> Sheet:
    """Return the drawing without its frame."""
    if not space.points:
        return WIDTH, 60.0, [draw_text(12, 34, "There are no nodes to draw.")]
    if fits_whole(space):
        return _below(_key(space), _hasse(space, space.rows()))
    parts = _below(_key(space), _heights(space))
    if space.best is None:
        return parts
    near = {point.levels for point in space.around(space.best)}
    rows = {height: [p for p in row if p.levels in near] for height, row in space.rows().items()}
    drawn = _hasse(space, {height: row for height, row in rows.items() if row}, space.best)
    heading = "The optimum between its direct predecessors (below) and successors (above)"
    return _below(_below(parts, (WIDTH, 44.0, [draw_text(12, 30, heading, color=INK, bold=True, size=13)])), drawn)


def _below(above: Sheet, under: Sheet) -> Sheet:
    """Put one drawing under another, in the middle."""
    wide, tall = max(above[0], under[0]), above[1] + under[1]
    moved = f'<g transform="translate({px((wide - under[0]) / 2)} {px(above[1])})">{"".join(under[2])}</g>'
    return wide, tall, [*above[2], moved]


def _key(space: Space) -> Sheet:
    at, parts = 12.0, []
    for kind, words in KINDS.items():
        parts.append(_frame(Rect(at, 9, 22, 14), kind))
        parts.append(draw_text(at + 28, 20, words))
        at += 52 + estimate_width(words, 11)
    if space.best is not None:
        parts.append(draw_rect(Rect(at, 9, 22, 14), _FULL[space.best.kind], look=' rx="5"'))
        parts.append(draw_text(at + 22, 14, "★", anchor="middle", color="#d08a00", size=14, halo=True))
        parts.append(draw_text(at + 33, 20, "optimum"))
    legend = f"⟨…⟩ levels of {', '.join(space.columns)} · k with nothing suppressed · {space.loss}"
    if any(point.kind == CUT for point in space.points):
        legend += " · (−n): n records are suppressed"
    lines = wrap_text(legend, WIDTH - 24, 11)
    parts.extend(draw_text(12, 43 + 16 * index, words) for index, words in enumerate(lines))
    return WIDTH, 50.0 + 16 * len(lines), parts


# The Hasse diagram


def _hasse(space: Space, rows: Mapping[int, Sequence[Point]], center: Point | None = None) -> Sheet:
    """Draw one row per height, the lowest at the bottom, and a line to each direct successor."""
    written = {point.levels: _lines(point, space, center) for row in rows.values() for point in row}
    wide_box = max(estimate_width(line.words, line.size) for lines in written.values() for line in lines) + 12
    tall_box = 8 + _LINE * max(len(lines) for lines in written.values())
    most = max(len(row) for row in rows.values())
    wide = max(WIDTH, _GUTTER + _MARGIN + most * (wide_box + _GAP))
    drop = tall_box + 26 + min(4 * most, 44)
    tall = len(rows) * drop - (drop - tall_box) + 20
    parts, boxes, indices = [], [], {}
    for number, (height, row) in enumerate(sorted(rows.items())):
        y = tall - 8 - tall_box - number * drop
        step = min((wide - _GUTTER - _MARGIN) / len(row), wide_box + 96)
        start = _GUTTER + (wide - _GUTTER - _MARGIN - step * len(row)) / 2
        parts.append(draw_text(12, y + tall_box / 2 + 4, f"height {height}", size=11))
        for turn, point in enumerate(row):
            box = Box(start + (turn + 0.5) * step, y, wide_box, tall_box)
            indices[point.levels] = box
            boxes.append(_node(point, box, written[point.levels], space))
    return wide, tall, [*parts, *_links([point for row in rows.values() for point in row], indices), *boxes]


class Box(NamedTuple):
    """Where a node is drawn: the middle of its upper edge, and its size."""

    x: float
    y: float
    wide: float
    tall: float


class Line(NamedTuple):
    """A line in a node."""

    words: str
    size: float = 10.5
    bold: bool = False


def _links(shown: Sequence[Point], indices: Mapping[tuple[int, ...], Box]) -> Iterable[str]:
    """Draw all edges of a colour as one path."""
    ways: dict[bool, list[str]] = {False: [], True: []}
    known = {point.levels: point for point in shown}
    for point in shown:
        for column, level in enumerate(point.levels):
            above = known.get((*point.levels[:column], level + 1, *point.levels[column + 1 :]))
            if above is not None:
                start, end = indices[point.levels], indices[above.levels]
                way = f"M{px(start.x)} {px(start.y)}L{px(end.x)} {px(end.y + end.tall)}"
                ways[SHORT not in (point.kind, above.kind)].append(way)
    for comply, way_of in ways.items():
        if way_of:
            drawn = "".join(way_of)
            yield f'<path class="edges" d="{drawn}" stroke="{_LINK[comply]}" stroke-width="1.1" fill="none"/>'


def _lines(point: Point, space: Space, center: Point | None) -> list[Line]:
    """What stands in a node; beside a node in the center, also which column differs from it."""
    out = f" (−{format_count(point.suppressed)})" if point.kind == CUT else ""
    facts = [Line(f"k {format_count(point.k)}{out}"), Line(format_brief(point.released))]
    if center is None:
        return [Line(point.label, 11, bold=True), *facts]
    steps = zip(space.columns, point.levels, center.levels, strict=True)
    step = next((f"{shorten_text(name, 66, 11)} {level}" for name, level, other in steps if level != other), "optimum")
    return [Line(step, 11, bold=True), Line(point.label, 9), *facts]


def _node(point: Point, box: Box, lines: Sequence[Line], space: Space) -> str:
    best = point == space.best
    ink = "#ffffff" if best else INK if point.kind != SHORT else MUTED
    outline = Rect(box.x - box.wide / 2, box.y, box.wide, box.tall)
    drawn = [_frame(outline, point.kind, _FULL[point.kind] if best else "")]
    for turn, (words, size, bold) in enumerate(lines):
        baseline = box.y + _LINE * (turn + 1) + 1.5
        drawn.append(draw_text(box.x, baseline, words, anchor="middle", size=size, color=ink, bold=bold))
    if best:
        drawn.append(
            draw_text(box.x + box.wide / 2, box.y + 5, "★", anchor="middle", size=17, color="#d08a00", halo=True)
        )
    return f'<g class="node {point.kind}">{draw_title(_describe_node(point, space))}{"".join(drawn)}</g>'


def _frame(rect: Rect, kind: str, full: str = "") -> str:
    edge = "" if full else f' stroke="{_EDGE[kind]}"{_DASH[kind]}'
    return draw_rect(rect, full or _FILL[kind], look=f' rx="{px(min(_ROUND[kind], rect.height / 2))}"{edge}')


def _describe_node(point: Point, space: Space) -> str:
    levels = ", ".join(f"{name} {level}" for name, level in zip(space.columns, point.levels, strict=True))
    suppressed, allowed = format_count(point.suppressed), format_count(point.allowed)
    parts = [
        f"{levels}: k {format_count(point.k)}",
        f"{suppressed} records in classes that break a model, {allowed} may be suppressed",
        f"{space.loss} {format_brief(point.released)}",
        KINDS[point.kind],
    ]
    return "; ".join(parts)


# The summary of a large lattice


_MIDDLE, _LONGEST, _STRIP = 300.0, 400.0, 19.0
_COLUMNS = (590.0, 670.0, 760.0, 940.0)


def _heights(space: Space) -> Sheet:
    """Draw each height as a strip as long as it has nodes, and say what its best nodes are."""
    rows = space.rows()
    parts = [
        draw_text(12, 32, "height", size=11),
        draw_text(_MIDDLE, 32, "nodes of this height", size=11, anchor="middle"),
    ]
    for x, words in zip(_COLUMNS, ("nodes", "comply", "largest k", "least loss that complies"), strict=True):
        parts.append(draw_text(x, 32, words, size=11, anchor="end"))
    parts.append(draw_line(12, 39, WIDTH - 12, 39, LINE))
    tall = 44 + _STRIP * len(rows)
    for number, (height, row) in enumerate(sorted(rows.items())):
        y = tall - _STRIP * (number + 1)
        here = space.best is not None and space.best.height == height
        parts.append(draw_text(12, y + 14, f"{height} ★" if here else f"{height}", size=11, color=INK, bold=here))
        parts.extend(_strip(row, y, space.widest))
        for x, words in zip(_COLUMNS, _best(row), strict=True):
            parts.append(draw_text(x, y + 14, words, size=11, color=INK, anchor="end", bold=here))
    return WIDTH, tall + 8, parts


def _strip(row: Sequence[Point], y: float, longest: int) -> Iterable[str]:
    """Draw the nodes of a height by kind; a kind that is there is seen, however few they are."""
    counts = {kind: sum(point.kind == kind for point in row) for kind in KINDS}
    sizes = {kind: max(nodes / longest * _LONGEST, 2.0) for kind, nodes in counts.items() if nodes}
    x = _MIDDLE - sum(sizes.values()) / 2
    for kind, size in sizes.items():
        title = f"{format_count(counts[kind])}: {KINDS[kind]}"
        yield draw_rect(Rect(x, y + 2, size, _STRIP - 4), _BAR[kind], title, f' class="strip {kind}"')
        x += size


_BAR = {WHOLE: "#1f7a53", CUT: "#7fa6ca", SHORT: "#d9dfe5"}


def _best(row: Sequence[Point]) -> tuple[str, str, str, str]:
    fit = [point for point in row if point.kind != SHORT]
    least = format_brief(min(point.released for point in fit)) if fit else NOTHING
    return format_count(len(row)), format_count(len(fit)), format_count(max(point.k for point in row)), least

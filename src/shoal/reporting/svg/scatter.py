"""k against loss: every node a dot, the Pareto front a stepped line. Small however many nodes there are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from shoal.reporting.formatting import format_brief, format_count
from shoal.reporting.lattice_space import CUT, KINDS, SHORT, WHOLE, Point, Space
from shoal.reporting.svg.elements import (
    GRID,
    INK,
    LINE,
    MUTED,
    Scale,
    draw_line,
    draw_sheet,
    draw_text,
    estimate_width,
    px,
)

WIDTH, _HEIGHT = 960.0, 500.0
_LEFT, _RIGHT, _TOP, _FLOOR = 84.0, 24.0, 64.0, 446.0
_FRONT = "#b4531a"
DOTS = {SHORT: ("#9fabb8", 4.0, "round"), CUT: ("#35658f", 5.0, "square"), WHOLE: ("#1f7a53", 6.0, "round")}
"""Kind → colour, size, shape: drawn in this order, so that what complies lies on top."""


def draw_scatter(space: Space) -> str:
    """Draw k, with nothing suppressed, on a logarithmic axis against the loss of every node.

    Dots that fall on the same pixel are drawn once, so the drawing of any number of nodes stays small.
    """
    title = f"k against {space.loss} of every node"
    height, parts = scatter_sheet(space)
    return draw_sheet(WIDTH, height, title, _describe_scatter(space), parts)


def scatter_sheet(space: Space) -> tuple[float, list[str]]:
    """Return how tall the drawing is, and what lies on it."""
    known = [point for point in space.points if math.isfinite(point.loss)]
    if not known:
        return 60.0, [draw_text(12, 34, "There are no nodes to draw.")]
    x = Scale(
        [1, 10, space.asked or 1, *(point.k for point in known if point.k)], _LEFT + 14, WIDTH - _RIGHT - 14, log=True
    )
    y = Scale(_losses(known, space), _FLOOR - 8, _TOP + 8)
    parts = [*_axes(x, y, space.loss), *_draw_asked(x, space.asked)]
    parts.extend(_dots([point for point in known if point.kind == kind], kind, x, y) for kind in DOTS)
    parts.append(_draw_front(space.front, x, y))
    if space.best is not None and math.isfinite(space.best.loss):
        parts.extend(_optimum(space.best, space.asked, x, y))
    return _HEIGHT, [*_legend(space), *parts]


def _losses(known: Sequence[Point], space: Space) -> list[float]:
    losses = [point.loss for point in known]
    if space.best is not None and math.isfinite(space.best.released):
        losses.append(space.best.released)
    return losses


def _describe_scatter(space: Space) -> str:
    ends = [space.front[0], space.front[-1]] if space.front else []
    between = " to ".join(f"k {format_count(point.k)} at a loss of {format_brief(point.loss)}" for point in ends)
    nodes, front = format_count(len(space.points)), format_count(len(space.front))
    return f"{nodes} nodes; the Pareto front has {front}, from {between}."


def _axes(x: Scale, y: Scale, loss: str) -> Iterable[str]:
    for mark in y.marks():
        yield draw_line(_LEFT, y(mark), WIDTH - _RIGHT, y(mark), GRID)
        yield draw_text(_LEFT - 8, y(mark) + 4, _round(mark), anchor="end", size=11)
    last = -math.inf
    for mark in x.marks():
        label = format_count(round(mark))
        if x(mark) - last < estimate_width(label, 11) + 10:
            continue
        last = x(mark)
        yield draw_line(last, _FLOOR, last, _FLOOR + 4, MUTED)
        yield draw_text(last, _FLOOR + 18, label, anchor="middle", size=11)
    yield draw_line(_LEFT, _FLOOR, WIDTH - _RIGHT, _FLOOR, MUTED)
    yield draw_text(
        (_LEFT + WIDTH - _RIGHT) / 2, _FLOOR + 40, "k with nothing suppressed (logarithmic)", anchor="middle"
    )
    yield draw_text(12, _TOP - 10, f"{loss}{' (logarithmic)' if y.log else ''}")


def _draw_asked(x: Scale, asked: int | None) -> Iterable[str]:
    if asked is None:
        return
    at = x(asked)
    side = "start" if at < WIDTH * 0.8 else "end"
    yield draw_line(at, _TOP - 4, at, _FLOOR, INK, dash="4 3")
    yield draw_text(
        at + (6 if side == "start" else -6), _TOP + 4, f"asked: k = {format_count(asked)}", anchor=side, color=INK
    )


def _dots(points: Iterable[Point], kind: str, x: Scale, y: Scale) -> str:
    """Draw each pixel that a node falls on once, all as one path."""
    color, size, shape = DOTS[kind]
    pixels = sorted({(round(x(max(point.k, 1))), round(y(point.loss))) for point in points})
    if not pixels:
        return ""
    way = "".join(f"M{across} {down}h0" for across, down in pixels)
    return (
        f'<path d="{way}" class="{kind}" stroke="{color}" stroke-width="{px(size)}" stroke-linecap="{shape}" '
        f'stroke-opacity=".55" fill="none"><title>{KINDS[kind]}</title></path>'
    )


def _draw_front(front: Sequence[Point], x: Scale, y: Scale) -> str:
    """Draw the least loss of a node with at least so large a k."""
    if not front:
        return ""
    way = f"M{px(x(1))} {px(y(front[0].loss))}H{px(x(max(front[0].k, 1)))}"
    way += "".join(f"V{px(y(point.loss))}H{px(x(point.k))}" for point in front[1:])
    marks = "".join(
        f'<circle cx="{px(x(max(point.k, 1)))}" cy="{px(y(point.loss))}" r="3.2"><title>'
        f"{escape(point.label)}: k {format_count(point.k)}, loss {format_brief(point.loss)}</title></circle>"
        for point in front
    )
    return (
        f'<path d="{way}" class="front" fill="none" stroke="{_FRONT}" stroke-width="1.6"/>'
        f'<g fill="#fff" stroke="{_FRONT}" stroke-width="1.6">{marks}</g>'
    )


def _optimum(best: Point, asked: int | None, x: Scale, y: Scale) -> Iterable[str]:
    """Ring the optimum; where it suppresses, also show what it is once that is done."""
    across, down = x(max(best.k, 1)), y(best.loss)
    words = f"optimum {best.label}: k {format_count(best.k)}, loss {format_brief(best.loss)}"
    if best.kind == CUT and asked is not None and math.isfinite(best.released):
        to_x, to_y = x(asked), y(best.released)
        yield draw_line(across, down, to_x, to_y, INK, dash="2 3")
        yield _ring(across, down)
        yield f'<path d="M{px(to_x)} {px(to_y - 6)}l6 6-6 6-6-6z" fill="{INK}" stroke="#fff"/>'
        across, down = to_x, to_y
        out = f"{format_count(best.suppressed)} suppressed"
        words = f"optimum {best.label}, {out}: k ≥ {format_count(asked)}, loss {format_brief(best.released)}"
    else:
        yield _ring(across, down)
    is_right = across + 14 + estimate_width(words, 12) < WIDTH - _RIGHT
    room, side = (14, "start") if is_right else (-14, "end")
    yield draw_text(across + room, min(down + 18, _FLOOR - 6), words, anchor=side, color=INK, bold=True, halo=True)


def _ring(across: float, down: float) -> str:
    return (
        f'<circle class="optimum" cx="{px(across)}" cy="{px(down)}" r="8" fill="none" stroke="#fff" stroke-width="5"/>'
        f'<circle cx="{px(across)}" cy="{px(down)}" r="8" fill="none" stroke="{INK}" stroke-width="2.2"/>'
    )


def _legend(space: Space) -> Iterable[str]:
    at = 12.0
    for kind in (WHOLE, CUT, SHORT):
        if any(point.kind == kind for point in space.points):
            color, size, shape = DOTS[kind]
            width = px(size + 2)
            yield f'<path d="M{px(at + 5)} 16h0" stroke="{color}" stroke-width="{width}" stroke-linecap="{shape}"/>'
            yield draw_text(at + 15, 20, KINDS[kind])
            at += 34 + estimate_width(KINDS[kind], 11)
    yield f'<path d="M{px(at)} 20h8v-7h8" fill="none" stroke="{_FRONT}" stroke-width="1.6"/>'
    yield draw_text(at + 22, 20, "Pareto front: least loss for at least this k")
    yield draw_line(0, 32, WIDTH, 32, LINE)


def _round(mark: float) -> str:
    return format_brief(mark) if abs(mark) >= 10_000 else f"{mark:,.10g}"

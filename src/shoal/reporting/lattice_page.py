"""draw_lattice_and_scatter(), page(), write(): the space of full-domain recodings as SVG and as one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.reporting.formatting import format_count, format_number
from shoal.reporting.html import fill_template, write_page
from shoal.reporting.lattice_space import Point, Space
from shoal.reporting.svg import lattice, scatter
from shoal.reporting.svg.elements import INK, draw_sheet, draw_text, px, replace_unprintable

_ROWS = 200
"""So many rows of the front are listed; lattice.csv has every node."""

Nodes = Sequence[Mapping[str, Any]]


def draw_lattice_and_scatter(nodes: Nodes, *, asked: int | None = None) -> str:
    """Return the lattice, and k against loss under it, as one SVG.

    Parameters
    ----------
    nodes
        What :func:`shoal.explore.lattice.lattice` returns.
    asked
        The k that the policy asks for.
    """
    space = Space.of(nodes, asked)
    wide, tall, parts = lattice.lattice_sheet(space)
    height, under = scatter.scatter_sheet(space)
    left = (wide - scatter.WIDTH) / 2
    heading = draw_text(left + 12, tall + 36, "k against loss", color=INK, bold=True, size=15)
    parts = [*parts, heading, f'<g transform="translate({px(left)} {px(tall + 52)})">{"".join(under)}</g>']
    title = f"Generalization lattice of {', '.join(space.columns)}, and k against {space.loss}"
    return draw_sheet(wide, tall + 52 + height, title, lattice.describe_lattice(space), parts)


def render_lattice_page(nodes: Nodes, *, asked: int | None = None) -> str:
    """Return the lattice, k against loss and the Pareto front as one self-contained HTML page."""
    space = Space.of(nodes, asked)
    counts = space.counts()
    fit = sum(counts.values()) - counts["short"]
    data = {
        "columns": [replace_unprintable(name) for name in space.columns],
        "loss": space.loss,
        "asked": None if asked is None else format_count(asked),
        "facts": [
            ("Nodes", format_count(len(space.points))),
            ("Comply", format_count(fit)),
            ("Comply, nothing suppressed", format_count(counts["whole"])),
            ("On the Pareto front", format_count(len(space.front))),
        ],
        "best": None if space.best is None else _row(space.best, space),
        "is_whole": lattice.fits_whole(space),
        "nodes": format_count(len(space.points)),
        "widest": format_count(space.widest),
        "most": format_count(lattice.MOST),
        "across": format_count(lattice.ACROSS),
        "lattice": lattice.draw_lattice(space),
        "scatter": scatter.draw_scatter(space),
        "inexact": format_count(space.inexact) if space.inexact else "",
        "is_exact_above": space.is_exact_above,
        "front": [_row(point, space) for point in space.front[:_ROWS]],
        "left_out": format_count(len(space.front) - _ROWS) if len(space.front) > _ROWS else "",
    }
    return fill_template("lattice.html.j2", data)


def _row(point: Point, space: Space) -> dict[str, Any]:
    return {
        "label": point.label,
        "levels": [str(level) for level in point.levels],
        "k": format_count(point.k),
        "suppressed": format_count(point.suppressed),
        "loss": format_number(point.loss),
        "released": format_number(point.released),
        "kind": point.kind,
        "is_best": point == space.best,
        "is_enough": space.asked is not None and point.k >= space.asked,
    }


def write_lattice_page(nodes: Nodes, folder: Path, *, asked: int | None = None) -> dict[str, Path]:
    """Write ``lattice.svg`` and ``lattice.html`` into a folder, and return where they are.

    Raises
    ------
    shoal.errors.WriteError
        If a file cannot be written.
    """
    files = {"page": folder / "lattice.html", "drawing": folder / "lattice.svg"}
    write_page(files["page"], render_lattice_page(nodes, asked=asked), "page")
    write_page(files["drawing"], draw_lattice_and_scatter(nodes, asked=asked) + "\n", "drawing")
    return files

"""draw(), page(), write(): the space of full-domain recodings as SVG and as one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.reporting import lattice_hasse, lattice_scatter
from shoal.reporting.html import fill, write_page
from shoal.reporting.lattices import Point, Space
from shoal.reporting.signs import INK, clean, n, svg, text
from shoal.reporting.words import count, number

_ROWS = 200
"""So many rows of the front are listed; lattice.csv has every node."""

Nodes = Sequence[Mapping[str, Any]]


def draw(nodes: Nodes, *, asked: int | None = None) -> str:
    """Return the lattice, and k against loss under it, as one SVG.

    Parameters
    ----------
    nodes
        What :func:`shoal.explore.lattice.lattice` returns.
    asked
        The k that the policy asks for.

    Examples
    --------
    >>> import shoal
    >>> from shoal.explore.lattice import lattice
    >>> draw(lattice(*shoal.datasets.load("patients")), asked=2).count('class="node ')
    12
    """
    space = Space.of(nodes, asked)
    wide, tall, parts = lattice_hasse.sheet(space)
    height, under = lattice_scatter.sheet(space)
    left = (wide - lattice_scatter.WIDTH) / 2
    heading = text(left + 12, tall + 36, "k against loss", color=INK, bold=True, size=15)
    parts = [*parts, heading, f'<g transform="translate({n(left)} {n(tall + 52)})">{"".join(under)}</g>']
    title = f"Generalization lattice of {', '.join(space.columns)}, and k against {space.loss}"
    return svg(wide, tall + 52 + height, title, lattice_hasse.told(space), parts)


def page(nodes: Nodes, *, asked: int | None = None) -> str:
    """Return the lattice, k against loss and the Pareto front as one self-contained HTML page.

    Examples
    --------
    >>> import shoal
    >>> from shoal.explore.lattice import lattice
    >>> "Pareto front" in page(lattice(*shoal.datasets.load("patients")), asked=2)
    True
    """
    space = Space.of(nodes, asked)
    counts = space.counts()
    fit = sum(counts.values()) - counts["short"]
    data = {
        "columns": [clean(name) for name in space.columns],
        "loss": space.loss,
        "asked": None if asked is None else count(asked),
        "facts": [
            ("Nodes", count(len(space.points))),
            ("Comply", count(fit)),
            ("Comply, nothing suppressed", count(counts["whole"])),
            ("On the Pareto front", count(len(space.front))),
        ],
        "best": None if space.best is None else _row(space.best, space),
        "is_whole": lattice_hasse.is_whole(space),
        "nodes": count(len(space.points)),
        "widest": count(space.widest),
        "most": count(lattice_hasse.MOST),
        "across": count(lattice_hasse.ACROSS),
        "lattice": lattice_hasse.lattice(space),
        "scatter": lattice_scatter.scatter(space),
        "inexact": count(space.inexact) if space.inexact else "",
        "is_exact_above": space.is_exact_above,
        "front": [_row(point, space) for point in space.front[:_ROWS]],
        "left_out": count(len(space.front) - _ROWS) if len(space.front) > _ROWS else "",
    }
    return fill("lattice.html.j2", data)


def _row(point: Point, space: Space) -> dict[str, Any]:
    return {
        "label": point.label,
        "levels": [str(level) for level in point.levels],
        "k": count(point.k),
        "suppressed": count(point.suppressed),
        "loss": number(point.loss),
        "released": number(point.released),
        "kind": point.kind,
        "is_best": point == space.best,
        "is_enough": space.asked is not None and point.k >= space.asked,
    }


def write(nodes: Nodes, folder: Path, *, asked: int | None = None) -> dict[str, Path]:
    """Write ``lattice.svg`` and ``lattice.html`` into a folder, and return where they are.

    Raises
    ------
    shoal.errors.WriteError
        If a file cannot be written.
    """
    files = {"page": folder / "lattice.html", "drawing": folder / "lattice.svg"}
    write_page(files["page"], page(nodes, asked=asked), "page")
    write_page(files["drawing"], draw(nodes, asked=asked) + "\n", "drawing")
    return files

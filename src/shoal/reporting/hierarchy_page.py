"""The page of a hierarchy: its drawing, what each level costs, what was compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shoal.hierarchies._nodes import Node, Row
from shoal.reporting.formatting import elide, format_count, format_number
from shoal.reporting.html import fill_template
from shoal.reporting.svg.hierarchy import display_name, draw_hierarchy


@dataclass(frozen=True, kw_only=True)
class HierarchyTitle:
    """What a page says of a hierarchy besides its labels."""

    column: str
    method: str
    kind: str = "text"
    """The kind of the column's values."""
    summary: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


def render_hierarchy_page(
    rows: Sequence[Row], title: HierarchyTitle, compared: Sequence[Mapping[str, Any]] = ()
) -> str:
    """Return a hierarchy as one self-contained HTML page: the drawing, what each level costs, what was compared.

    Examples
    --------
    >>> root = Node("*", 3, 1, None, None, 0.0, 1.0, 0, 0)
    >>> "<svg" in render_hierarchy_page([Row(0, (root,)), Row(1, (root,))], HierarchyTitle(column="a", method="mask"))
    True
    """
    total = sum(node.records for node in rows[-1].nodes) if rows else 0
    data = {
        "column": title.column,
        "method": title.method,
        "summary": title.summary,
        "parameters": dict(title.parameters),
        "facts": [
            ("Records", format_count(total)),
            ("Values", format_count(len(rows[0].nodes) if rows else 0)),
            ("Levels", format_count(len(rows))),
            ("Labels above the values", format_count(sum(len(row.nodes) for row in rows[1:]))),
        ],
        "drawing": draw_hierarchy(rows, f"{title.column}: {title.method}", kind=title.kind),
        "levels": [_level(row) for row in rows],
        "compared": [_candidate_row(row) for row in compared],
        "k": format_count(compared[0]["k"]) if compared else "",
        "split": next((row.level for row in rows if any(len(node.parents) > 1 for node in row.nodes)), None),
    }
    return fill_template("hierarchy.html.j2", data)


def _level(row: Row) -> dict[str, str]:
    least, middle, most = row.records
    return {
        "level": str(row.level),
        "nodes": format_count(len(row.nodes)),
        "least": format_count(least),
        "median": f"{middle:,.10g}",
        "most": format_count(most),
        "distortion": format_spread(row.distortion),
        "loss": format_number(float(row.loss)),
        "labels": format_examples(row.nodes),
    }


def _candidate_row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "method": row["method"],
        "at_k": format_number(row["loss_at_k"]),
        "loss": format_number(row["loss"]),
        "nodes": format_node_counts(row["nodes"]),
        "chosen": row["chosen"],
        "nested": row["nested"],
    }


def format_spread(ends: tuple[float, float] | Sequence[float]) -> str:
    """Return the least and the most of a measure, or one number where they are the same.

    Examples
    --------
    >>> format_spread((0.45, 0.96)), format_spread((5.0, 5.0))
    ('0.45–0.96', '5')
    """
    low, high = (f"{np.round(end, 3):.10g}" for end in ends)
    return low if low == high else f"{low}–{high}"


def format_node_counts(counts: Sequence[int]) -> str:
    """Return the number of nodes of each level, the values first.

    Examples
    --------
    >>> format_node_counts([100, 10, 1])
    '100 · 10 · 1'
    """
    return " · ".join(format_count(one) for one in counts)


def format_examples(nodes: Sequence[Node], most: int = 4, wide: int = 60) -> str:
    """Return the first labels of a level and how many more there are, on one short line."""
    shown: list[str] = []
    for node in nodes[:most]:
        shown.append(elide(display_name(node), wide // 2))
        if sum(map(len, shown)) > wide:
            break
    more = len(nodes) - len(shown)
    return "  ".join(shown) + (f"  … {format_count(more)} more" if more else "")

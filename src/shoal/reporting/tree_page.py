"""The page of a hierarchy: its drawing, what each level costs, what was compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shoal.hierarchies._nodes import Node, Row
from shoal.reporting.html import fill
from shoal.reporting.trees import draw, name
from shoal.reporting.words import count, number


def page(
    rows: Sequence[Row],
    column: str,
    *,
    method: str,
    kind: str = "text",
    summary: str = "",
    parameters: Mapping[str, str] | None = None,
    compared: Sequence[Mapping[str, Any]] = (),
) -> str:
    """Return a hierarchy as one self-contained HTML page: the drawing, what each level costs, what was compared.

    Examples
    --------
    >>> root = Node("*", 3, 1, None, None, 0.0, 1.0, 0, 0)
    >>> "<svg" in page([Row(0, (root,)), Row(1, (root,))], "size", method="suppress")
    True
    """
    total = sum(node.records for node in rows[-1].nodes) if rows else 0
    data = {
        "column": column,
        "method": method,
        "summary": summary,
        "parameters": dict(parameters or {}),
        "facts": [
            ("Records", count(total)),
            ("Values", count(len(rows[0].nodes) if rows else 0)),
            ("Levels", count(len(rows))),
            ("Labels above the values", count(sum(len(row.nodes) for row in rows[1:]))),
        ],
        "drawing": draw(rows, f"{column}: {method}", kind=kind),
        "levels": [_level(row) for row in rows],
        "compared": [_compared(row) for row in compared],
        "k": count(compared[0]["k"]) if compared else "",
        "split": next((row.level for row in rows if any(len(node.parents) > 1 for node in row.nodes)), None),
    }
    return fill("hierarchy.html.j2", data)


def _level(row: Row) -> dict[str, str]:
    least, middle, most = row.records
    return {
        "level": str(row.level),
        "nodes": count(len(row.nodes)),
        "least": count(least),
        "median": f"{middle:,.10g}",
        "most": count(most),
        "distortion": spread(row.distortion),
        "loss": number(float(row.loss)),
        "labels": examples_of(row.nodes),
    }


def _compared(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "method": row["method"],
        "at_k": number(row["loss_at_k"]),
        "loss": number(row["loss"]),
        "nodes": nodes_of(row["nodes"]),
        "chosen": row["chosen"],
        "nested": row["nested"],
    }


def spread(ends: tuple[float, float] | Sequence[float]) -> str:
    """Return the least and the most of a measure, or one number where they are the same.

    Examples
    --------
    >>> spread((0.45, 0.96)), spread((5.0, 5.0))
    ('0.45–0.96', '5')
    """
    low, high = (f"{np.round(end, 3):.10g}" for end in ends)
    return low if low == high else f"{low}–{high}"


def nodes_of(counts: Sequence[int]) -> str:
    """Return the number of nodes of each level, the values first.

    Examples
    --------
    >>> nodes_of([100, 10, 1])
    '100 · 10 · 1'
    """
    return " · ".join(count(one) for one in counts)


def examples_of(nodes: Sequence[Node], most: int = 4, wide: int = 60) -> str:
    """Return the first labels of a level and how many more there are, on one short line."""
    shown: list[str] = []
    for node in nodes[:most]:
        text = name(node)
        shown.append(text if len(text) <= wide // 2 else text[: wide // 2 - 1] + "…")
        if sum(map(len, shown)) > wide:
            break
    more = len(nodes) - len(shown)
    return "  ".join(shown) + (f"  … {count(more)} more" if more else "")

"""Fifteen records of who is good for a credit: the table whose scores are worked out by hand."""

from __future__ import annotations

from typing import Any

import polars as pl

from shoal.algorithms.cuts.trees import ValueTree
from shoal.policy import Policy

NODES = {"*": {"Secondary": ["9th", "10th"], "University": ["BSc", "MSc"]}}
COUNTS = [  # education, sex, good, bad
    ("9th", "M", 0, 2),
    ("9th", "F", 0, 2),
    ("10th", "M", 0, 2),
    ("BSc", "M", 2, 1),
    ("BSc", "F", 2, 0),
    ("MSc", "F", 3, 0),
]
TABLE = pl.DataFrame(
    [(e, s, c) for e, s, good, bad in COUNTS for c in ["good"] * good + ["bad"] * bad],
    schema=["education", "sex", "credit"],
    orient="row",
)


def credit_policy(name: str, k: int, class_column: str | None = None, **changes: Any) -> Policy:
    base: dict[str, Any] = {
        "quasi_identifiers": {"education": {"hierarchy": "tree", "nodes": NODES}, "sex": "suppress"},
        "sensitive": ["credit"],
        "models": [{"name": "k-anonymity", "k": k}],
        "algorithm": {"name": name, "class_column": class_column},
    }
    return Policy(**{**base, **changes})


def run_of(tree: ValueTree, node: int) -> str:
    """Return a label as its column and the first and last of its values."""
    names = tree.column.levels.domain.texts
    return f"{tree.column.name} {names[tree.codes[tree.low[node]]]}..{names[tree.codes[tree.high[node]]]}"

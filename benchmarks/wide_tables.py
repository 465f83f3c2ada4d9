"""Tables of many columns for full-domain searches: skewed, correlated, with hierarchies of several shapes.

No two are alike, so that no search is tuned to one; every draw has a seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from shoal.policy import Policy

RECORDS = 30_000
_FANOUTS = ((4, 5, 6), (6,), (2, 2, 3, 3), (5, 4), (3,), (9, 12), (2, 3, 4, 3), (2,))
"""Branches of a hierarchy from the top down."""
SHAPES: dict[str, tuple[int, int, float, float]] = {
    "24 correlated columns": (24, 3, 0.8, 1.5),
    "24 skewed columns": (24, 6, 0.45, 3.5),
    "16 columns": (16, 2, 0.65, 2.0),
}
"""Columns, common factors, how much columns follow them, and how skewed values are."""


def draw_table(shape: str) -> pl.DataFrame:
    """Return a table: each column follows one of some common factors, more or less, and has many rare values."""
    columns, factors, follows, skew = SHAPES[shape]
    draw = np.random.default_rng(columns + factors)
    common = draw.normal(size=(factors, RECORDS))
    drawn = {}
    for index in range(columns):
        own = follows * common[index % factors] + np.sqrt(1 - follows**2) * draw.normal(size=RECORDS)
        shares = (np.argsort(np.argsort(own)) + 0.5) / RECORDS
        values = int(np.prod(_FANOUTS[index % len(_FANOUTS)]))
        places = draw.permutation(values)[(values * shares**skew).astype(np.int64)]
        drawn[f"c{index:02d}"] = [f"c{index:02d}-{place:03d}" for place in places.tolist()]
    return pl.DataFrame(drawn)


def wide_policy(table: pl.DataFrame, algorithm: object, *, k: int = 5, most: float = 1.0) -> Policy:
    """Return a policy with a hierarchy for each column: the roots are ``*`` or, in every other column, have a name."""
    specs = {}
    for index, name in enumerate(table.columns):
        root = "*" if index % 2 else f"any {name}"
        tree = _grow(name, _FANOUTS[index % len(_FANOUTS)], iter(range(1_000)))
        specs[name] = {"hierarchy": "tree", "nodes": {root: tree}, "domain": "hierarchy"}
    models = [{"name": "k-anonymity", "k": k}]
    return Policy(quasi_identifiers=specs, models=models, algorithm=algorithm, max_suppressed=most)


def _grow(label: str, fanouts: tuple[int, ...], leaves: Iterator[int]) -> Any:
    first, *rest = fanouts
    name = label.split("/", maxsplit=1)[0]
    if not rest:
        return [f"{name}-{next(leaves):03d}" for _ in range(first)]
    return {f"{label}/{part}": _grow(f"{label}/{part}", tuple(rest), leaves) for part in range(first)}

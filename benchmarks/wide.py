"""Many columns and large k: loss and CPU seconds of local recoding on tables of several shapes; the worst case last.

The tables are drawn: skewed and correlated columns, numbers and hierarchies of several heights. Bars: what more effort
loses over what none does; CPU seconds of a large k over those of k = 5. ARX's losses were recorded on its Adult.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import erf, sqrt
from typing import Any

import numpy as np
import polars as pl

from benchmarks import data
from benchmarks.local_recoding import searched
from benchmarks.results import Result
from shoal.policy import Policy

NAME = "wide"
SHAPES = {"24 columns": (24, 1), "16 columns": (16, 2), "9 columns": (9, 3), "6 columns": (6, 5)}
"""Columns and seed of each table of 30,000 records."""
SIZES = (2, 3, 5, 8, 12, 20, 40, 80)
"""How many values a category may have."""
ARX = {2: 0.0326, 5: 0.0590, 10: 0.0842, 50: 0.1649, 100: 0.2069}
"""k → ARX's loss by its local recoding, recorded."""
BARS = {50: 0.95 * 0.1649, 100: 0.95 * 0.2069}
"""k → the most that may be lost at effort 2, which takes no more than 15 CPU seconds."""
MOST_TIMES = 3.0
"""CPU seconds that k = 50 may take, in those of k = 5."""


def run() -> Iterator[Result]:
    """Yield the figures of every shape, then ARX's table, then the worst case of all."""
    worst: list[tuple[float, str]] = []
    for shape, (columns, seed) in SHAPES.items():
        table, quasi = draw_table(30_000, columns, seed)
        yield from _compare(shape, table, quasi, worst)
    if data.ARX.exists():
        yield from against_arx()
    ratio, where = max(worst)
    yield Result(NAME, "worst: loss, effort 1 over effort 0", ratio, "×", target=1.0, note=where)


def _compare(
    shape: str, table: pl.DataFrame, quasi: dict[str, Any], worst: list[tuple[float, str]]
) -> Iterator[Result]:
    """Mondrian, no effort and some, at a small and a large k."""
    taken: dict[int, float] = {}
    for k in (5, 50):
        _, mondrian = searched(table, _policy(quasi, k, {"name": "mondrian"}), 1)
        quick, without = searched(table, _policy(quasi, k, {"name": "shoal", "effort": 0}), 1)
        spent, lost = searched(table, _policy(quasi, k, {"name": "shoal", "effort": 1}), 1)
        taken[k] = spent.cpu
        worst.append((lost / without, f"{shape}, k={k}"))
        note = f"CPU {quick.cpu:.2f} s; Mondrian {mondrian:.4f}"
        yield Result(NAME, f"{shape}, k={k}: loss, effort 0", without, "", target=mondrian, note=note)
        note = f"CPU {spent.cpu:.2f} s; {lost / without:.3f} × effort 0, {lost / mondrian:.3f} × Mondrian"
        yield Result(NAME, f"{shape}, k={k}: loss, effort 1", lost, "", target=without, note=note)
    yield Result(NAME, f"{shape}: CPU, k=50 over k=5, effort 1", taken[50] / taken[5], "×", target=MOST_TIMES)


def against_arx() -> Iterator[Result]:
    """Yield what ARX's own nine columns lose, without effort and with some."""
    table = data.arx_adult()
    quasi = {**data.arx_policy(0.0).quasi_identifiers, "age": {}}
    for k, theirs in ARX.items():
        for effort in (0, 1, 2) if k in BARS else (0, 1):
            spent, lost = searched(table, _policy(quasi, k, {"name": "shoal", "effort": effort}), 1)
            figure = f"ARX's 9 columns, k={k}: loss, effort {effort}"
            bar = BARS.get(k) if effort == 2 else None
            yield Result(NAME, figure, lost, "", bar, "ARX", theirs, cpu=spent.cpu)


def _policy(quasi: dict[str, Any], k: int, how: dict[str, Any]) -> Policy:
    return Policy(quasi_identifiers=quasi, models=[{"name": "k-anonymity", "k": k}], algorithm=how, others="drop")


def draw_table(records: int, columns: int, seed: int) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return a table whose columns follow three hidden ones, and its quasi-identifiers with their hierarchies."""
    draw = np.random.default_rng(seed)
    hidden = draw.normal(size=(records, 3))
    values: dict[str, list[Any]] = {}
    quasi: dict[str, Any] = {}
    for number in range(columns):
        mix = draw.normal(size=3)
        level = 0.6 * hidden @ mix / np.linalg.norm(mix) + 0.8 * draw.normal(size=records)
        if number % 6 == 0:
            values[f"n{number}"] = np.rint(40 + 12 * level + 15 * (level > 1.5)).astype(np.int64).tolist()
            quasi[f"n{number}"] = {}
            continue
        name, size = f"c{number}", int(draw.choice(SIZES))
        shares = np.arange(1, size + 1) ** -draw.uniform(0.6, 2.0)
        reached = np.cumsum(shares / shares.sum())
        place = np.array([0.5 * (1 + erf(one / sqrt(2))) for one in level.tolist()])
        codes = draw.permutation(size)[np.searchsorted(reached, place).clip(0, size - 1)]
        values[name] = [f"{name}-{code:02}" for code in codes.tolist()]
        quasi[name] = {"hierarchy": "tree", "nodes": _nodes(name, size)} if size > 3 else {"hierarchy": "suppress"}
    return pl.DataFrame(values), quasi


def _nodes(name: str, size: int) -> dict[str, Any]:
    """Values by threes, and these by fours where they are many."""
    leaves = [f"{name}-{code:02}" for code in range(size)]
    threes = {f"{name}:{start:02}": leaves[start : start + 3] for start in range(0, size, 3)}
    if len(threes) <= 4:
        return {"*": threes}
    names = list(threes)
    fours = [names[start : start + 4] for start in range(0, len(names), 4)]
    return {"*": {f"{name}/{index}": {one: threes[one] for one in four} for index, four in enumerate(fours)}}

"""Least loss where it is hard: against Mondrian, the best of the other entries, ARX, and against bars set before.

Models that look at sensitive values: Adult with the policy that is shipped, eight columns, ranges, occupation
sensitive, k = 10, 2 % may be suppressed. Large k: ARX's nine columns. Many columns: `many_columns` and `wide`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, cast

import polars as pl

import shoal
from benchmarks import data, wide
from benchmarks.results import Result
from shoal.algorithms.base import Algorithm
from shoal.policy import Policy
from shoal.registry import find, names
from shoal.testing import solve_table

NAME = "hard"
EFFORT = 1.0
ASKED: dict[str, tuple[dict[str, Any], float, float]] = {
    # model, what may be lost, what shoal lost when it asked models about finished classes only
    "distinct l = 5": ({"name": "distinct-l-diversity", "l": 5}, 0.0735, 0.0733),
    "distinct l = 8": ({"name": "distinct-l-diversity", "l": 8}, 0.1060, 0.1055),
    "entropy l = 6": ({"name": "entropy-l-diversity", "l": 6}, 0.18, 0.2930),
    "t-closeness .3": ({"name": "t-closeness", "t": 0.3}, 0.42, 0.5810),
    "t-closeness .2": ({"name": "t-closeness", "t": 0.2}, 0.55, 0.7535),
    "beta-likeness 2": ({"name": "beta-likeness", "beta": 2}, 0.50, 0.6629),
}


def run() -> Iterator[Result]:
    """Yield the loss with each model, the ratio to Mondrian's, and the one to what it was before."""
    table, shipped = shoal.datasets.load("adult")
    for title, (model, bar, before) in {"k only": ({}, 0.0520, 0.0517), **ASKED}.items():
        models = [{"name": "k-anonymity", "k": 10}, *([{**model, "on": "occupation"}] if model else [])]
        asked = shipped.replace(models=models, algorithm={"name": "shoal", "effort": EFFORT})
        theirs = solve_table(table, asked.replace(algorithm="mondrian")).loss
        loss, cpu = _solve(table, asked)
        yield Result(NAME, title, loss, "", bar, "mondrian", theirs, cpu=cpu)
        yield Result(NAME, f"{title}: before", loss, "", peer="shoal, classes as a wall", theirs=before)
        others = {name: solve_table(table, asked.replace(algorithm=name)).loss for name in _list_led(asked)}
        if others:
            best = min(others, key=others.__getitem__)
            yield Result(NAME, f"{title}: best of the published methods", loss, "", peer=best, theirs=others[best])
    if data.ARX.exists():
        yield from wide.against_arx()


def _list_led(asked: Policy) -> list[str]:
    """Return the entries that only go by some models, of which the policy names one."""
    entries = {name: cast("type[Algorithm]", find("algorithms", name)) for name in names("algorithms")}
    return [name for name, entry in entries.items() if entry.needs_models and entry().is_led_by(asked.models)]


def _solve(table: pl.DataFrame, asked: Policy) -> tuple[float, float]:
    started = time.process_time()
    loss = solve_table(table, asked).loss
    return loss, time.process_time() - started

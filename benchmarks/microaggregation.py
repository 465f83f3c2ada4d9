"""Microaggregation on the three tables of the field: MDAV's decimals, the best univariate classes, our own search."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

import shoal
from benchmarks.results import SHARED, Result
from shoal.perturbations.optimal_univariate import cut_line
from shoal.perturbations.shoal_microaggregation import ShoalMicroaggregation
from shoal.policy import Policy

NAME = "microaggregation"
_FOLDER = SHARED / "sdc"
_FILES = {"Tarragona": "Tarragona.csv", "Census": "CASCrefmicrodata.csv", "EIA": "EIA.csv"}
_BEFORE = {
    "Tarragona": {3: 14.601, 4: 17.222, 5: 20.168, 10: 30.156},
    "Census": {3: 4.7535, 4: 6.1437, 5: 7.388, 10: 11.501},
    "EIA": {3: 0.3497, 4: 0.4848, 5: 0.7323, 10: 1.9786},
}
"""What a prototype of our search lost, in percent."""
_EIA = 11


def run() -> Iterator[Result]:
    """Yield one result for each table and k."""
    if not _FOLDER.exists():
        yield Result(NAME, "tables", None, note=f"skipped: no {_FOLDER.name} in the shared data")
        return
    yield from _mdav()
    for table in _FILES:
        for k, before in _BEFORE[table].items():
            yield _own(table, k, before)
    yield from _large()


def read_table(name: str) -> pl.DataFrame:
    """Return the columns of a table that the benchmark uses."""
    table = pl.read_csv(_FOLDER / _FILES[name], infer_schema_length=None)
    if name != "EIA":
        return table
    numbers = [column.name for column in table if column.dtype.is_numeric() and column.name != "UTILITYID"]
    return table.select("UTILITYID", *numbers[1 - _EIA :])


def _release(table: pl.DataFrame, **method: Any) -> tuple[dict[str, float], float, float]:
    policy = Policy(others="drop", perturb=[{**method, "columns": table.columns}])
    began = time.process_time()
    audit = shoal.anonymize(table, policy).audit.perturbations[0]
    return audit.measured, audit.claimed_bound or float("nan"), time.process_time() - began


def _mdav() -> Iterator[Result]:
    with (_FOLDER / "oracle-microaggregation-sdcMicro-5.8.1.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["method"] == "mdav" and row["data"] in _FILES]
    for row in rows:
        measured, _, _ = _release(read_table(row["data"]), name="mdav", k=int(row["k"]))
        off = abs(round(100 * measured["share"], 4) - float(row["sse_share_percent"]))
        figure = f"MDAV, {row['data']}, k={row['k']}: off by"
        theirs = float(row["sse_share_percent"])
        yield Result(NAME, figure, off, unit="%", target=5e-5, peer="sdcMicro 5.8.1", theirs=theirs)


def _own(name: str, k: int, before: float) -> Result:
    measured, bound, cpu = _release(read_table(name), name="shoal-microaggregation", k=k)
    share = 100 * measured["share"]
    note = f"loss/bound {measured['sse'] / bound:.3f}"
    figure = f"own, {name}, k={k}"
    return Result(NAME, figure, share, unit="%", target=before, peer="prototype", theirs=before, cpu=cpu, note=note)


def _large() -> Iterator[Result]:
    rng = np.random.default_rng(0)
    values = rng.lognormal(size=1_000_000)
    cut_line(values[:100], np.ones(100), 3)
    began = time.process_time()
    cut_line(values, np.ones(len(values)), 10)
    yield Result(NAME, "univariate, 1,000,000 records", time.process_time() - began, target=3.0)
    points = rng.normal(size=(100_000, 10)) @ rng.normal(size=(10, 10))
    began = time.process_time()
    ShoalMicroaggregation(columns=["all"], k=5, effort=2).partition(points, np.ones(100_000), rng)
    yield Result(NAME, "own, quick, 100,000 x 10, k=5", time.process_time() - began, target=15.0)

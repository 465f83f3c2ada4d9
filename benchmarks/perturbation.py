"""Random methods: how long they take, a million records each; and what they lose against what they risk.

Writes docs/perturbation.svg: the R-U map of 2,000 records of UCI Adult in three columns of numbers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.results import Result
from shoal import datasets
from shoal.encoding.types import Ints
from shoal.explore.perturbation_grid import Grid, compare_perturbations
from shoal.perturbations.base import ColumnValues, Microdata, Perturbation
from shoal.perturbations.noise import Noise
from shoal.perturbations.pram import Pram
from shoal.perturbations.rank_swapping import RankSwapping
from shoal.perturbations.record_swapping import RecordSwapping
from shoal.perturbations.rounding import Rounding
from shoal.policy import Policy
from shoal.reporting.risk_utility_page import OF_PERTURBATIONS, draw_risk_utility, map_risk_and_loss

NAME = "perturbation"
_RECORDS, _COLUMNS = 1_000_000, 5
_MAPPED = ["age", "fnlwgt", "hours-per-week"]
_GRIDS: dict[str, Grid] = {
    "noise": {"noise.share": [0.001, 0.01, 0.1, 0.5]},
    "rank-swapping": {"rank-swapping.window": [0.002, 0.01, 0.05, 0.2]},
    "mdav": {"mdav.k": [2, 3, 5, 10, 25]},
}
DOCS = Path(__file__).parent.parent / "docs"


def run() -> Iterator[Result]:
    """Yield the CPU time of each method."""
    rng = np.random.default_rng(0)
    names = [f"c{number}" for number in range(_COLUMNS)]
    texts = {name: _as_text(rng.integers(0, 8, _RECORDS)) for name in names}
    numbers = {name: ColumnValues.of_numbers(rng.lognormal(8, 1, _RECORDS)) for name in names}
    homes = rng.integers(0, _RECORDS // 3, _RECORDS)
    people = {"home": _as_whole(homes), "town": _as_whole(homes % 400), "sex": _as_text(rng.integers(0, 2, _RECORDS))}
    swap = RecordSwapping(columns=["town"], household="home", similar=["sex"], rate=0.05)
    yield _time("PRAM, 1,000,000 x 5", Pram(columns=names, retain=0.8), texts)
    yield _time("PRAM, invariant, 1,000,000 x 5", Pram(columns=names, retain=0.8, invariant=True), texts)
    yield _time("correlated noise, 1,000,000 x 5", Noise(columns=names, share=0.1, method="correlated"), numbers)
    yield _time("rank swapping, 1,000,000 x 5", RankSwapping(columns=names, window=0.05), numbers)
    yield _time("rounding, 1,000,000 x 5", Rounding(columns=names, base=100), numbers)
    yield _time("record swapping of 333,000 households", swap, people, target=10.0)
    DOCS.joinpath("perturbation.svg").write_text(draw_map(), encoding="utf-8")


def draw_map() -> str:
    """Return the risk of record linkage against how far values move, for several methods at several parameters."""
    table = datasets.adult().sample(2_000, seed=0).select(_MAPPED)
    rows = [row for name, grid in _GRIDS.items() for row in compare_perturbations(table, _policy(name, grid), grid)]
    return draw_risk_utility(map_risk_and_loss(rows, OF_PERTURBATIONS), OF_PERTURBATIONS)


def _policy(name: str, grid: Grid) -> Policy:
    first = {parameter.partition(".")[2]: values[0] for parameter, values in grid.items()}
    return Policy(others="drop", perturb=[{"name": name, "columns": _MAPPED, **first}], seed=2**64)


def _as_text(codes: Ints) -> ColumnValues:
    categories = tuple(f"value {number}" for number in range(8))
    return ColumnValues("text", codes, np.zeros(len(codes), bool), categories)


def _as_whole(codes: Ints) -> ColumnValues:
    return ColumnValues("integer", codes, np.zeros(len(codes), bool))


def _time(figure: str, method: Perturbation, columns: dict[str, ColumnValues], target: float = 2.0) -> Result:
    method.perturb(Microdata(columns={name: column.take(np.arange(100)) for name, column in columns.items()}))
    began = time.process_time()
    method.perturb(Microdata(columns=columns, rng=np.random.default_rng(0)))
    return Result(NAME, figure, time.process_time() - began, target=target)

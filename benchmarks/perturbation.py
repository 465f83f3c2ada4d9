"""Random methods: how long they take, a million records each."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.results import Result
from shoal.encoding.types import Ints
from shoal.perturbations.base import ColumnValues, Microdata, Perturbation
from shoal.perturbations.noise import Noise
from shoal.perturbations.pram import Pram
from shoal.perturbations.rank_swapping import RankSwapping
from shoal.perturbations.record_swapping import RecordSwapping
from shoal.perturbations.rounding import Rounding

NAME = "perturbation"
_RECORDS, _COLUMNS = 1_000_000, 5


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

"""Random methods: how long they take."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.results import Result
from shoal.perturbations.base import ColumnValues, Microdata
from shoal.perturbations.pram import Pram

NAME = "perturbation"
_RECORDS, _COLUMNS = 1_000_000, 5


def run() -> Iterator[Result]:
    """Yield the time of PRAM."""
    rng = np.random.default_rng(0)
    names = [f"c{number}" for number in range(_COLUMNS)]
    present, categories = np.zeros(_RECORDS, bool), tuple(f"value {number}" for number in range(8))
    columns = {name: ColumnValues("text", rng.integers(0, 8, _RECORDS), present, categories) for name in names}
    for invariant in (False, True):
        method = Pram(columns=names, retain=0.8, invariant=invariant)
        began = time.process_time()
        method.perturb(Microdata(columns=columns, rng=rng))
        figure = f"PRAM{', invariant' * invariant}, 1,000,000 x 5"
        yield Result(NAME, figure, time.process_time() - began, target=2.0)

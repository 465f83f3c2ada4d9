"""Building any hierarchy for a column of 1,000,000 records and 10,000 distinct values: under a second each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from benchmarks.results import Result, timed
from shoal import registry as catalog
from shoal.engines.counted import CountedTable
from shoal.engines.dictionary import TableDictionary
from shoal.pipeline.encode import encode_column
from shoal.policy import Policy

_PARAMETERS: dict[str, dict[str, Any] | None] = {
    "intervals": {"widths": [10, 100, 1000]},
    "mask": {"keep": [3, 2, 1]},
    "tree": None,
    "dates": None,
}


def run() -> Iterator[Result]:
    """Yield the time of each builder, counting and encoding of the column included."""
    table = _table()
    for name in catalog.names("hierarchies"):
        parameters = _PARAMETERS.get(name, {})
        if parameters is None:
            continue
        column = "job" if name in ("rare", "similarity", "ordering") else "income"
        policy = Policy(
            quasi_identifiers={column: {"hierarchy": name, **parameters}, "sex": {}},
            others="drop",
            models=[{"name": "k-anonymity", "k": 10}],
        )
        taken, _ = timed(partial(_encode, table, column, policy), runs=3)
        yield Result("hierarchies", f"{name}, 1,000,000 records", taken.wall, target=1.0, cpu=taken.cpu)


def _encode(table: pl.DataFrame, column: str, policy: Policy) -> object:
    return encode_column(TableDictionary(CountedTable(table), policy), column)


def _table() -> pl.DataFrame:
    random = np.random.default_rng(0)
    values = np.sort(random.choice(1_000_000, 10_000, replace=False))
    codes = random.integers(0, 10_000, 1_000_000)
    sexes = np.where(random.random(1_000_000) < 0.5, "f", "m")
    return pl.DataFrame({"income": values[codes], "job": [f"job {code:05d}" for code in codes], "sex": sexes})

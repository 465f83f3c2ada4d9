"""Cell suppression: cells on the tables of sdcMicro beside its own counts, with bounds; a hundred thousand records.

sdcMicro 5.8.1's counts are recorded: they were measured with its ``localSuppression`` on the same tables.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import cast

import numpy as np
import polars as pl

from benchmarks.results import SHARED, Result
from shoal import anonymize
from shoal.algorithms import LocalSuppression
from shoal.policy import Policy
from shoal.recodings.cell_suppression import CellSuppression
from shoal.testing import encode_table

NAME = "cell_suppression"
_SDC = SHARED / "sdc"
_SEVEN = ("urbrur", "roof", "walls", "water", "electcon", "relat", "sex")
_CASES: dict[str, tuple[tuple[str, ...], dict[int, int | None]]] = {
    "testdata": (_SEVEN, {2: 157, 3: 293, 5: 500, 10: 911}),
    "testdata2": (_SEVEN, {2: 97, 3: 117, 5: 157, 10: 247}),
    "free1": (("REGION", "SEX", "AGE", "MARSTAT", "KINDPERS"), {2: 3162, 3: 3917, 5: 4302, 10: None}),
}
_MATCHING = {("testdata", 2): 94, ("testdata2", 2): 58}
"""What a maximum matching of unique records needs: no more may be."""
_MODELS = ("wildcard-k-anonymity", "k-anonymity")


def run() -> Iterator[Result]:
    """Yield the suppressed cells of each table, and what a hundred thousand records take."""
    for name, (keys, cases) in _CASES.items():
        if (_SDC / f"{name}.csv").exists():
            table = pl.read_csv(_SDC / f"{name}.csv").select(keys)
            for k, theirs in cases.items():
                yield from _count_cells(name, table, k, theirs)
    for name, table in _large_tables().items():
        for model in _MODELS:
            # one record in a thousand, if nobody shares a value with it
            yield _time(name, table, _policy(table, model, 5).replace(max_suppressed=0.001))


def _policy(table: pl.DataFrame, model: str, k: int) -> Policy:
    return Policy(
        quasi_identifiers=dict.fromkeys(table.columns, "suppress"),
        models=[{"name": model, "k": k}],
        algorithm=LocalSuppression(),
    )


def _count_cells(name: str, table: pl.DataFrame, k: int, theirs: int | None) -> Iterator[Result]:
    """Yield the cells under both readings; sdcMicro counts ``*`` as matching anything."""
    for model in _MODELS:
        policy = _policy(table, model, k)
        encoded = encode_table(table, policy)
        problem = policy.algorithm.to_classwise(encoded.problem(policy))
        start = time.process_time()
        found = cast("CellSuppression", policy.algorithm.search(problem)).summarize()
        cpu = time.process_time() - start
        note = "proven to be the fewest" if found["proven"] else f"no grouping needs fewer than {found['bound']:g}"
        weaker = model == _MODELS[0]
        release = anonymize(table, policy)
        attained = release.attained[model]
        asked = _MATCHING.get((name, k), theirs) if weaker else None
        yield Result(
            NAME,
            f"{name}, k={k}, {model}: cells",
            found["cells"],
            "",
            target=None if asked is None else asked + 1,
            peer="sdcMicro" if weaker and theirs else "",
            theirs=theirs if weaker else None,
            cpu=cpu,
            note=f"{note}; attained {attained}",
        )


def _large_tables() -> dict[str, pl.DataFrame]:
    """Tables of a hundred thousand records: few values, many values, columns that go together."""
    rng, count = np.random.default_rng(0), 100_000
    common = rng.normal(size=count)
    skewed = {f"c{index}": rng.zipf(1.6, count).clip(1, 40) for index in range(8)}
    wide = {f"c{index}": rng.integers(0, 4, count) for index in range(12)}
    together = {
        f"c{index}": np.rint(3 * (common + 0.5 * rng.normal(size=count))).astype(np.int64) for index in range(6)
    }
    return {name: pl.DataFrame(one) for name, one in (("skewed", skewed), ("wide", wide), ("correlated", together))}


def _time(name: str, table: pl.DataFrame, policy: Policy) -> Result:
    start = time.process_time()
    wall = time.perf_counter()
    release = anonymize(table, policy)
    cpu, wall = time.process_time() - start, time.perf_counter() - wall
    cells = sum(int((release.table[column].cast(pl.String) == "*").sum()) for column in table.columns)
    model = policy.models[0].key()
    share = cells / (table.height * table.width)
    note = f"{cells:,} cells ({share:.1%}); attained {release.attained[model]}; released and audited"
    return Result(NAME, f"{name}, 100,000 × {table.width}, k=5, {model}", wall, cpu=cpu, note=note)

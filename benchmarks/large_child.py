"""The processes of larger_than_memory: ``generate TABLE PATH RECORDS``, or ``TABLE ALGORITHM PATH OUT MEMORY``.

The table is ``adult``, whose records repeat, or ``different``, where each is another one.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

import shoal
from benchmarks import data

NOISE = 0.01
"""How often a cell is another record's: distinct records keep growing, ever more slowly."""
_BLOCK = 500_000


def generate(table: str, path: str, records: int) -> None:
    """Write a table."""
    if table == "different":
        data.different_records(records).write_parquet(path, row_group_size=_BLOCK)
    else:
        _generate_adult(path, records)


def _generate_adult(path: str, records: int) -> None:
    """Write records drawn from Adult: its joint distribution with some noise, and ages moved by some years."""
    adult = data.complete_adult().select([*data.EIGHT, "income"])

    def blocks(*_: object) -> Iterator[pl.DataFrame]:
        for start in range(0, records, _BLOCK):
            yield _block(adult, min(_BLOCK, records - start), seed=start)

    register_io_source(blocks, schema=adult.schema).sink_parquet(path, row_group_size=_BLOCK, engine="streaming")


def _block(adult: pl.DataFrame, size: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(0, adult.height, size), {}
    for column in adult:
        others = rng.integers(0, adult.height, size)
        columns[column.name] = column.gather(pl.Series(np.where(rng.random(size) < NOISE, others, rows)))
    moved = columns["age"].to_numpy() + rng.normal(0.0, 3.0, size)
    columns["age"] = pl.Series(np.clip(np.rint(moved), 17, 90).astype(np.int64))
    return pl.DataFrame(columns)


def anonymized(table: str, algorithm: str, path: str, out: str, memory: str) -> dict[str, object]:
    """Return the time, the memory and the loss of one release."""
    policy, few = _policy(table, algorithm), pl.scan_parquet(path).head(1000).collect()
    shoal.anonymize(few, policy)  # compiled once per machine
    base = _highest()
    seconds = _Phases()
    wall, cpu = time.perf_counter(), time.process_time()
    written = shoal.anonymize_file(path, policy, out, memory=memory, progress=seconds)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    seconds("", 0, 0)
    return {
        "wall": wall,
        "cpu": cpu,
        "phases": seconds.spent,
        "base": base,
        "peak": _highest(),
        "records": written.audit.records,
        "distinct": written.prepared.given.frame.height,
        "classes": written.audit.classes,
        "loss": written.audit.utility["certainty-penalty"].total,
    }


def _policy(table: str, algorithm: str) -> shoal.Policy:
    if table == "different":
        return data.ranges_policy(data.DIFFERENT, algorithm=algorithm)
    policy = data.eight_column_policy(algorithm=algorithm)
    return policy.replace(max_suppressed=0.05) if algorithm == "optimal" else policy


class _Phases:
    """A progress that tells how long each phase took; what a search tells of itself is one phase."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self._now, self._since = "", time.perf_counter()

    def __call__(self, what: str, done: int, total: int) -> None:
        now = time.perf_counter()
        if self._now:
            self.spent[self._now] = self.spent.get(self._now, 0.0) + now - self._since
        known = ("", "counting", "writing", "reading back", "auditing")
        self._now, self._since = what if what in known else "searching", now


def _highest() -> float:
    """Return the peak of the memory, in MB of a million bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024 / 1e6


if __name__ == "__main__":
    if sys.argv[1] == "generate":
        generate(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        print(json.dumps(anonymized(*sys.argv[1:6])))

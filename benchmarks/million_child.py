"""The process that mondrian_million and full_domain measure.

``warm`` is a later call in a process, ``cold`` a first call and its memory, ``keep`` the same when every other column
of the table is published too; ``lattice`` is counting and searching for a full-domain recoding, and their memory.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl

import shoal
from benchmarks import data, stopwatch
from shoal.policy import Policy
from shoal.testing import encode_table

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def main(mode: str, records: int) -> None:
    """Print the figures of one mode as JSON."""
    if mode == "lattice":
        print(json.dumps(_lattice()))
        return
    table, policy = data.million_adult(records), data.eight_column_policy()
    if mode == "keep":
        policy = policy.replace(others="keep")
    print(json.dumps(_warm(table, policy) if mode == "warm" else _cold(table, policy)))


def _warm(table: pl.DataFrame, policy: Policy) -> dict[str, object]:
    shoal.anonymize(data.complete_adult(), policy)
    rounds = []
    for _ in range(3):
        with stopwatch.watch(type(policy.algorithm), time.perf_counter) as measured:
            wall, cpu = time.perf_counter(), time.process_time()
            release = shoal.anonymize(table, policy)
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        rounds.append((wall, cpu, dict(measured.seconds)))
    middle = sorted(rounds, key=lambda each: each[0])[1]
    return {
        "wall": middle[0],
        "cpu": statistics.median(cpu for _, cpu, _ in rounds),
        "stages": middle[2],
        "classes": release.audit.classes,
        "loss": release.audit.utility["certainty-penalty"].total,
    }


def _cold(table: pl.DataFrame, policy: Policy) -> dict[str, object]:
    before, peak, how = _memory()
    wall, cpu = time.perf_counter(), time.process_time()
    release = shoal.anonymize(table, policy)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    highest = peak()
    return {
        "wall": wall,
        "cpu": cpu,
        "above": highest - before,
        "peak": highest,
        "table": table.estimated_size() / 1e6,
        "records": release.audit.published,
        "how": how,
    }


def _lattice() -> dict[str, object]:
    policies = [data.arx_policy(limit) for limit in (0.0, 0.05, 1.0)]
    small = encode_table(data.arx_adult(), policies[1])
    policies[1].algorithm.search(small.problem(policies[1]))  # warms up
    table = data.arx_million()
    before, peak, how = _memory()
    started = time.perf_counter()
    encoded = encode_table(table, policies[1])
    counting = time.perf_counter() - started
    searches = []
    for policy in policies:
        started = time.perf_counter()
        policy.algorithm.search(encoded.problem(policy))
        searches.append(time.perf_counter() - started)
    above = peak() - before
    return {
        "records": table.height,
        "tuples": len(encoded.frequencies.tuples),
        "counting": counting,
        "searches": searches,
        "above": above,
        "table": table.estimated_size() / 1e6,
        "how": how,
    }


def _memory() -> tuple[float, Callable[[], float], str]:
    """Return the memory now (MB of a million bytes), how to ask for the peak since now, and what answers.

    ``ru_maxrss`` may hold what the parent or the making of the table once used; Linux lets us start anew.
    """
    try:
        _CLEAR.write_text("5")
        return _status("VmRSS"), lambda: _status("VmHWM"), "VmHWM, reset before the call"
    except OSError:
        return _maxrss(), _maxrss, "ru_maxrss"


def _status(key: str) -> float:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) * 1024 / 1e6


def _maxrss() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

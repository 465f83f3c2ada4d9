"""Attacks on the gateway that worked once: each says how many persons it finds, which should be none.

Every attack is a file in ``benchmarks/attacks``; ``BENCH_SEED`` (0) draws other targets.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from benchmarks.attacks import run_all
from benchmarks.results import Result

NAME = "gateway_attacks"


def run() -> Iterator[Result]:
    """Yield for each attack how many persons it found, and how many all of them did."""
    total = 0
    for found in run_all(int(os.environ.get("BENCH_SEED", "0"))):
        total += found.persons
        note = f"of {found.tried:,}; {found.note}" if found.note else f"of {found.tried:,}"
        yield Result(NAME, found.attack, found.persons, unit="", target=1, note=note)
    yield Result(NAME, f"persons found: {total}", total, unit="", target=1)

"""Mondrian on a million records, in a process of its own so that its memory can be told."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from benchmarks import peers, stopwatch
from benchmarks.results import ROOT, Result

NAME = "mondrian_million"
RECORDS = 1_000_000


def run() -> Iterator[Result]:
    """Yield times, memory and records per second."""
    cold, warm = _child("cold"), _child("warm")
    whole, search = warm["wall"], warm["stages"]["search"]
    told = "warm: " + stopwatch.format_stages(warm["stages"], whole)
    yield Result(
        NAME,
        f"anonymize() of {RECORDS:,} records",
        whole,
        target=6.0,
        cpu=warm["cpu"],
        note=f"{told}; first call of a process {cold['wall']:.2f} s, CPU {cold['cpu']:.2f} s",
    )
    yield Result(NAME, "search only", search, note=f"{warm['classes']:,} classes, loss {warm['loss']:.4f}")
    yield _memory("peak memory above the table", cold)
    keep = _child("keep")
    yield Result(NAME, "anonymize(), first call, others: keep", keep["wall"], target=6.0, cpu=keep["cpu"])
    yield _memory("peak memory above the table, others: keep", keep)
    answer = peers.anjana()
    yield Result(
        NAME,
        "records per CPU second",
        RECORDS / warm["cpu"],
        "",
        peer=f"anjana {answer['version']}" if answer else "",
        theirs=answer["records"] / answer["cpu"] if answer else None,
        more_is_better=True,
        note=f"the peer measured at {answer['records']:,} records" if answer else "",
    )


def _memory(figure: str, child: dict[str, Any]) -> Result:
    note = f"peak of the process {child['peak']:,.0f} MB, table {child['table']:,.0f} MB; by {child['how']}"
    return Result(NAME, figure, child["above"], "MB", target=1000.0, note=note)


def _child(mode: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.million_child", mode, str(RECORDS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer

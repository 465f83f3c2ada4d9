"""A draft and a release by it, unedited, of tables that a stranger may bring: CPU seconds and memory, first calls."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.results import ROOT, Result

RECORDS = 2_000_000


def run() -> Iterator[Result]:
    """Measure a wide table and a long one, each in a process of its own."""
    with TemporaryDirectory() as folder:
        wide, long = Path(folder, "wide.parquet"), Path(folder, f"{RECORDS}.parquet")
        for path in (wide, long):
            _child("make", path)
        figures = _measure("draft", wide)
        yield _result("suggest, 6,000 × 60, CPU", figures["suggest"], "s", 2.0, figures)
        figures = _measure("release", long)
        yield _result("suggest + anonymize, 2,000,000 × 12, CPU", figures["cpu"], "s", 60.0, figures)
        yield _result("suggest + anonymize, 2,000,000 × 12, memory", figures["memory"] / 1e9, "GB", 2.0, figures)


def _result(figure: str, ours: float, unit: str, target: float, figures: dict[str, float]) -> Result:
    wall, memory, drafted = figures["wall"], figures["memory"] / 1e9, figures["suggest"]
    note = f"{wall:.1f} s on the clock, {memory:.2f} GB; the draft alone {drafted:.1f} s CPU"
    return Result(benchmark="first_try", figure=figure, ours=ours, unit=unit, target=target, note=note)


def _measure(part: str, path: Path) -> dict[str, float]:
    _child(part, path)  # machine code is compiled once per machine
    figures: dict[str, float] = json.loads(_child(part, path))
    return figures


def _child(part: str, path: Path) -> str:
    command = [sys.executable, "-m", "benchmarks.first_try_child", part, str(path)]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout

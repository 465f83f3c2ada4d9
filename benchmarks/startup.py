"""What a user waits for before any work: importing the package, and the help of the command line."""

from __future__ import annotations

import importlib.util
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import peers
from benchmarks.results import ROOT, Result

NAME = "startup"
_RUNS = 7


def run() -> Iterator[Result]:
    """Yield the times of the import and of ``shoal --help``."""
    other = peers.python()
    empty = _median(sys.executable, "-c", "pass")
    yield Result(
        NAME,
        "import shoal",
        _median(sys.executable, "-c", "import shoal"),
        target=0.3,
        peer="import anjana" if other else "",
        theirs=_median(str(other), "-c", "import anjana.anonymity") if other else None,
        note=f"an empty interpreter takes {empty:.3f} s",
    )
    first = "import shoal; shoal.anonymize, shoal.Policy, shoal.audit"
    yield Result(NAME, "import shoal, and touch anonymize", _median(sys.executable, "-c", first))
    yield _help()


def _help() -> Result:
    figure = "shoal --help"
    command = Path(sys.executable).with_name("shoal")
    if importlib.util.find_spec("shoal.cli") is None or not command.exists():
        return Result(NAME, figure, None, target=0.5, note="skipped: there is no command line yet")
    return Result(NAME, figure, _median(str(command), "--help"), target=0.5)


def _median(*command: str) -> float:
    return statistics.median(_seconds(command) for _ in range(_RUNS))


def _seconds(command: tuple[str, ...]) -> float:
    start = time.perf_counter()
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return time.perf_counter() - start

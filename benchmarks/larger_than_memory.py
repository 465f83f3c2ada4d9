"""Tables that are larger than memory, from Parquet to Parquet within 4 GB, each in a process of its own.

Cost growth is printed for 1, 3, 10 and 30 million records. A hundred million take some minutes: set ``HUNDRED=1``.
Where no record repeats there is nothing to count together: such tables are cut into blocks.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import large_child
from benchmarks.results import ROOT, Result

NAME = "larger_than_memory"
MEMORY = "4GB"
GROWTH = (1_000_000, 3_000_000, 10_000_000, 30_000_000)
MILLION = 1_000_000


def run() -> Iterator[Result]:
    """Yield times, memory and how they grow."""
    with tempfile.TemporaryDirectory(prefix="shoal-large-") as folder:
        before: dict[str, Any] | None = None
        for records in GROWTH:
            path = _generated(Path(folder), records)
            asked = _child(path, "optimal")
            bar = 60.0 if records == 10 * MILLION else None
            yield _time(f"full-domain, {records // MILLION} million records", asked, bar, _growth(before, asked))
            before = asked
            if records == 10 * MILLION:
                yield _memory("peak memory, full-domain, 10 million", asked)
                cut = _child(path, "mondrian")
                yield _time("mondrian, 10 million records", cut, 120.0)
                yield _memory("peak memory, mondrian, 10 million", cut)
            path.unlink()
        yield from _different(Path(folder), 3, 45.0)
        yield from _different(Path(folder), 10)
        if os.environ.get("HUNDRED"):
            yield from _hundred(Path(folder))


def _different(folder: Path, millions: int, bar: float | None = None) -> Iterator[Result]:
    path = _generated(folder, millions * MILLION, "different")
    asked = _child(path, "mondrian", "different")
    yield _time(f"all different, {millions} million", asked, bar)
    yield _memory(f"peak memory, all different, {millions} million", asked)
    path.unlink()


def _hundred(folder: Path) -> Iterator[Result]:
    if shutil.disk_usage(folder).free < 20 * 10**9:
        yield Result(NAME, "full-domain, 100 million records", None, note="needs 20 GB of disk")
        return
    path = _generated(folder, 100 * MILLION)
    asked = _child(path, "optimal")
    yield _time("full-domain, 100 million records", asked)
    yield _memory("peak memory, full-domain, 100 million", asked)


def _generated(folder: Path, records: int, table: str = "adult") -> Path:
    """Write the records with a process of its own: what that takes is not measured."""
    path = folder / f"{records}.parquet"
    _python("generate", table, str(path), str(records))
    return path


def _child(path: Path, algorithm: str, table: str = "adult") -> dict[str, Any]:
    out = path.with_suffix("")
    answer: dict[str, Any] = json.loads(_python(table, algorithm, str(path), str(out), MEMORY))
    shutil.rmtree(out)
    return answer


def _python(*arguments: str) -> str:
    command = [sys.executable, "-m", large_child.__name__, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def _growth(before: dict[str, Any] | None, asked: dict[str, Any]) -> str:
    if before is None:
        return ""
    more, wall, cpu = (asked[name] / before[name] for name in ("records", "wall", "cpu"))
    return f"{more:.3g} times the records take {wall:.3g} times as long, {cpu:.3g} times the CPU"


def _time(figure: str, asked: dict[str, Any], bar: float | None = None, more: str = "") -> Result:
    share = f"{bar / asked['wall']:.3g} times quicker than the bar" if bar else ""
    told = (
        f"{asked['records'] / asked['wall'] / 1e6:.2f} million records/s; {asked['distinct']:,} distinct records, "
        f"{asked['classes']:,} classes, loss {asked['loss']:.4f}"
    )
    phases = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in asked["phases"].items())
    note = "; ".join(filter(None, [told, share, more])) + f"\n    {phases}"
    return Result(NAME, figure, asked["wall"], target=bar, cpu=asked["cpu"], note=note)


def _memory(figure: str, asked: dict[str, Any]) -> Result:
    note = f"the whole process; with everything imported and compiled it took {asked['base']:,.0f} MB before"
    return Result(NAME, figure, asked["peak"], "MB", target=4000.0, note=note)

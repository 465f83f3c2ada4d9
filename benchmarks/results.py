"""Result: one measured claim.  timed(): medians of wall and CPU seconds."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data"
"""Reference data that is not part of the project; benchmarks that need it are skipped without it."""

_Answer = TypeVar("_Answer")
_WIDTHS = (16, 46, 12, 10, 7, 22, 12, 9)
_HEADS = ("benchmark", "figure", "ours", "target", "", "peer", "its figure", "ratio")


@dataclass(frozen=True)
class Timed:
    """Medians over some runs, in seconds."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Result:
    """One claim: our figure, what it should be, the peer's figure. Times are wall seconds."""

    benchmark: str
    figure: str
    ours: float | None
    unit: str = "s"
    target: float | None = None
    peer: str = ""
    theirs: float | None = None
    cpu: float | None = None
    their_cpu: float | None = None
    more_is_better: bool = False
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is met; ``None`` where there is no target or no figure."""
        if self.target is None or self.ours is None:
            return None
        return self.ours >= self.target if self.more_is_better else self.ours < self.target

    @property
    def ratio(self) -> float | None:
        """How many times better our figure is than the peer's."""
        if not self.ours or not self.theirs:
            return None
        return self.ours / self.theirs if self.more_is_better else self.theirs / self.ours

    @property
    def cpu_ratio(self) -> float | None:
        """The ratio of CPU seconds, which other work on the machine disturbs less."""
        return self.their_cpu / self.cpu if self.cpu and self.their_cpu else None

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data: a line of ``--json``."""
        return {**asdict(self), "met": self.met, "ratio": self.ratio, "cpu_ratio": self.cpu_ratio}

    def line(self) -> str:
        """Return the result as a line of the table, notes under it."""
        sign = "≥" if self.more_is_better else "<"
        cells = (
            self.benchmark,
            self.figure,
            _figure(self.ours, self.unit),
            "-" if self.target is None else f"{sign} {_figure(self.target, self.unit)}",
            {None: "", True: "met", False: "MISSED"}[self.met],
            self.peer or "-",
            _figure(self.theirs, self.unit),
            "-" if self.ratio is None else f"{self.ratio:.3g}×",
        )
        return "\n    ".join([_row(cells), *filter(None, [self._cpu_note(), self.note])])

    def _cpu_note(self) -> str:
        if self.cpu is None:
            return ""
        ours = f"CPU: ours {self.cpu:.3f} s"
        if self.cpu_ratio is None:
            return ours
        return f"{ours}, {self.peer} {self.their_cpu:.3f} s, ratio {self.cpu_ratio:.3g}×"


def head() -> str:
    """Return the head of the table."""
    return _row(_HEADS) + "\n" + "-" * (sum(_WIDTHS) + 2 * len(_WIDTHS) - 2)


def timed(work: Callable[[], _Answer], runs: int) -> tuple[Timed, _Answer]:
    """Run some work and return the medians of its times, and its last answer."""
    walls, cpus = [], []
    for _ in range(runs):
        wall, cpu = time.perf_counter(), time.process_time()
        answer = work()
        cpus.append(time.process_time() - cpu)
        walls.append(time.perf_counter() - wall)
    return Timed(statistics.median(walls), statistics.median(cpus)), answer


def _row(cells: tuple[str, ...]) -> str:
    return "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, _WIDTHS, strict=True)).rstrip()


def _figure(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    number = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.4g}"
    return f"{number} {unit}".strip()

"""Overhead: CPU seconds of each stage from table to written release, beside those before the stages were made one road.

What was before was measured once, by the same code and on one thread, at the commit that is named; ratios hold for the
machine that both were measured on, the shares of stages for any.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import shoal
from benchmarks import data
from benchmarks.results import Result
from benchmarks.stopwatch import Stopwatch, watch
from shoal.policy import Policy

NAME = "stages"
COMMIT = "e200b1b"
"""The commit that the figures below were measured at."""
BEFORE: Mapping[str, Mapping[str, float]] = {
    "Adult, 8 columns": {
        "all": 1.785,
        "statistics": 0.86,
        "auditing": 0.312,
        "fingerprint": 0.185,
        "verification": 0.158,
        "checking": 0.06,
        "report": 0.059,
        "publishing": 0.029,
        "reading": 0.028,
        "encoding": 0.023,
        "search": 0.022,
        "writing": 0.014,
        "other": 0.034,
        "all but the search": 1.763,
        "calls of column_domain": 56,
        "calls of hierarchy building": 32,
        "calls of treatment": 6,
        "calls of check": 3,
    },
    "24 columns": {
        "all": 13.873,
        "checking": 3.718,
        "reading": 2.74,
        "report": 2.132,
        "auditing": 1.742,
        "statistics": 1.416,
        "verification": 0.581,
        "encoding": 0.58,
        "fingerprint": 0.358,
        "search": 0.227,
        "publishing": 0.051,
        "writing": 0.02,
        "other": 0.308,
        "all but the search": 13.646,
        "calls of column_domain": 168,
        "calls of hierarchy building": 96,
        "calls of treatment": 6,
        "calls of check": 3,
    },
    "600,000 different": {
        "all": 45.997,
        "verification": 17.404,
        "auditing": 10.15,
        "statistics": 8.435,
        "publishing": 1.777,
        "search": 1.764,
        "fingerprint": 1.5,
        "reading": 1.04,
        "checking": 0.573,
        "encoding": 0.555,
        "writing": 0.374,
        "report": 0.044,
        "other": 2.38,
        "all but the search": 44.233,
        "calls of column_domain": 56,
        "calls of hierarchy building": 8,
        "calls of treatment": 6,
        "calls of check": 3,
    },
}
"""Case → CPU seconds of each stage, all of them, and how often what was made of a column was made."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One table and policy, from where they lie to the written release."""

    title: str
    release: Callable[[Path], None]
    """Anonymizes, and writes into a folder."""
    search: type
    target: float | None = None
    """CPU seconds for everything."""
    is_all_different: bool = False
    """Whether all that is not search or bound may take no more than twice those, and reading and writing."""


def cases(folder: Path) -> Iterator[Case]:
    """Yield the cases: Adult by Mondrian; 30,000 × 24 at fixed levels, from files; records that are all different."""
    adult, eight = data.complete_adult(), data.eight_column_policy()
    yield Case(title="Adult, 8 columns", release=_writer(adult, eight), search=type(eight.algorithm))
    path = data.write_wide_table(folder)
    fixed = shoal.algorithms.FixedLevels
    yield Case(title="24 columns", release=_reader(path), search=fixed, target=6.0)
    different, policy = data.different_records(600_000), data.ranges_policy(data.DIFFERENT)
    yield Case(
        title="600,000 different",
        release=_writer(different, policy),
        search=type(policy.algorithm),
        is_all_different=True,
    )


def _writer(table: Any, policy: Policy) -> Callable[[Path], None]:
    return lambda out: _release(table, policy, out)


def _reader(folder: Path) -> Callable[[Path], None]:
    return lambda out: _release(folder / "data.csv", Policy.read(folder / "policy.yaml"), out)


def _release(table: Any, policy: Policy, out: Path) -> None:
    shoal.anonymize(table, policy).write(out)


def run() -> Iterator[Result]:
    """Yield for each case all seconds, those of each stage, and how often what is made of a column is made."""
    with tempfile.TemporaryDirectory() as folder:
        _compile(Path(folder))
        for number, case in enumerate(cases(Path(folder))):
            whole, measured = measure(case, Path(folder) / str(number))
            yield from _results(case, whole, measured)


def _compile(folder: Path) -> None:
    """Have all kernels compiled that are not compiled yet, so that no stage is charged for it."""
    shoal.anonymize(data.complete_adult()[:500], data.eight_column_policy())
    small = folder / "small"
    small.mkdir()
    _reader(data.write_wide_table(small, records=200, columns=3, values=100))(small / "out")


def measure(case: Case, out: Path) -> tuple[float, Stopwatch]:
    """Return the CPU seconds of a case, and those of its stages."""
    with watch(case.search) as measured:
        start = time.process_time()
        case.release(out)
        return time.process_time() - start, measured


def _results(case: Case, whole: float, measured: Stopwatch) -> Iterator[Result]:
    rest = whole - sum(measured.seconds.values())
    seconds = {"all": whole, **measured.ranked(), "other": rest}
    seconds["all but the search"] = whole - measured.seconds["search"]
    before = BEFORE.get(case.title, {})
    for what, ours in seconds.items():
        target = case.target if what == "all" else None
        yield _result(f"{case.title}: {what}", ours, before.get(what), target=target)
    if case.is_all_different:
        search = measured.seconds["search"] + measured.seconds["bound"]
        allowed = 2 * search + measured.seconds["reading"] + measured.seconds["writing"]
        yield Result(
            NAME, f"{case.title}: outside the search, of what it may take", (whole - search) / allowed, "", 1.0
        )
    for what, calls in measured.calls.most_common():
        yield _result(f"{case.title}: calls of {what}", calls, before.get(f"calls of {what}"), unit="")


def _result(figure: str, ours: float, before: float | None, *, unit: str = "s", target: float | None = None) -> Result:
    return Result(NAME, figure, ours, unit, target=target, peer=COMMIT if before else "", theirs=before)

"""Draw new cases for some minutes, check each, and write a script for every new kind of finding.

``./dev explore --minutes 30 [--seed S] [--jobs 2] [--family NAME]``; ends with 1 where there is a finding.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from .cases import name_of
from .results import Finding, Result


@dataclass
class Told:
    """What a case came to, small enough to go from process to process."""

    seed: int
    family: str
    algorithm: str
    models: list[str]
    outcome: str
    seconds: float
    findings: list[Finding] = field(default_factory=list)
    checks: dict[str, int] = field(default_factory=dict)
    ratio: tuple[float, float] | None = None
    fault: str = ""
    """A mistake of the oracle itself."""


def look_at(task: tuple[int, str | None]) -> Told:
    """Draw and check one case; a mistake of the oracle is told, not raised."""
    from .families import FAMILIES, family_of

    seed, only = task
    family = only or family_of(seed)
    try:
        case = FAMILIES[family].draw(seed)
    except Exception:
        return Told(seed, family, "?", [], "oracle fault", 0.0, fault=traceback.format_exc(limit=4))
    policy = case.get("policy", {})
    algorithm = name_of(policy.get("algorithm", "shoal"))
    models = sorted({model.get("name", "preset") for model in policy.get("models", [])})
    try:
        result: Result = FAMILIES[family].run(case)
    except Exception:
        return Told(seed, family, algorithm, models, "oracle fault", 0.0, fault=traceback.format_exc(limit=4))
    return Told(
        seed,
        family,
        algorithm,
        models,
        result.outcome,
        result.seconds,
        result.findings,
        dict(result.checks),
        result.ratio,
    )


def tasks(first: int, until: float, only: str | None, most: int | None) -> Iterator[tuple[int, str | None]]:
    """Yield seeds for as long as there is time."""
    seed = first
    while time.monotonic() < until and (most is None or seed < first + most):
        yield seed, only
        seed += 1


class Summary:
    """What all cases together came to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count, self.started = 0, time.monotonic()
        self.families: Counter[str] = Counter()
        self.algorithms: Counter[str] = Counter()
        self.models: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.checks: Counter[str] = Counter()
        self.findings: dict[str, list[Finding]] = {}
        self.faults: list[str] = []
        self.ratios: dict[str, list[tuple[float, float]]] = {}

    def add(self, told: Told) -> None:
        """Take a case in."""
        from .reproduce import write_script

        self.count += 1
        self.families[told.family] += 1
        self.algorithms[told.algorithm] += 1
        self.models.update(told.models)
        self.outcomes[told.outcome.split(":")[0]] += 1
        self.checks.update(told.checks)
        if told.fault:
            self.faults.append(f"seed {told.seed} ({told.family}): {told.fault}")
            print(f"  ORACLE FAULT seed {told.seed} ({told.family}): {told.fault.splitlines()[-1]}", flush=True)
        if told.ratio is not None:
            self.ratios.setdefault(told.algorithm, []).append(told.ratio)
        for finding in told.findings:
            known = self.findings.setdefault(finding.signature, [])
            known.append(finding)
            if len(known) == 1:
                write_script(self.folder, finding)
                print(
                    f"  FINDING {told.family} {told.seed}: {finding.signature}\n      {finding.detail[:300]}",
                    flush=True,
                )

    def progress(self) -> str:
        """Return one line about how far it is."""
        passed = time.monotonic() - self.started
        return (
            f"{self.count:,} cases in {passed / 60:.1f} min ({passed / max(1, self.count):.2f} s each): "
            f"{dict(self.outcomes)}, {len(self.findings)} kinds of findings"
        )

    def render(self) -> str:
        """Return all of it."""
        from .reproduce import write_script

        lines = [self.progress()]
        for title, counts in (
            ("family", self.families),
            ("algorithm", self.algorithms),
            ("model", self.models),
            ("check", self.checks),
        ):
            lines.append(f"cases per {title}:" if title != "check" else "checks that said something:")
            lines += [f"  {number:7,}  {name}" for name, number in counts.most_common()]
        lines.append("loss over the least possible, on tiny tables:")
        for name, pairs in sorted(self.ratios.items()):
            best = sum(loss <= least + 1e-9 for loss, least in pairs)
            over = [loss / least for loss, least in pairs if least > 0]
            mean = sum(over) / len(over) if over else 1.0
            lines.append(
                f"  {name}: {best} of {len(pairs)} at the least ({best / len(pairs):.0%}), mean ratio {mean:.3f}"
            )
        lines.append(f"oracle faults: {len(self.faults)}")
        lines.append(f"kinds of findings: {len(self.findings)}")
        for signature, found in sorted(self.findings.items(), key=lambda item: -len(item[1])):
            path = write_script(self.folder, found[0], len(found))
            lines.append(f"  {len(found):5,} × {signature}  ({path})")
            lines.append(f"          {found[0].detail[:220]}")
        return "\n".join(lines)


def _quiet() -> None:
    """Each process works alone: threads of its own would only wait for each other."""
    for name in ("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def explore(
    minutes: float, seed: int, jobs: int, only: str | None, folder: Path, most: int | None = None, every: float = 30
) -> Summary:
    """Check new cases for some minutes."""
    _quiet()
    until = time.monotonic() + 60 * minutes
    summary, told_at = Summary(folder), time.monotonic()

    def take(told: Told) -> None:
        nonlocal told_at
        summary.add(told)
        if time.monotonic() - told_at > every:
            told_at = time.monotonic()
            print(summary.progress(), flush=True)

    if jobs == 1:
        for task in tasks(seed, until, only, most):
            take(look_at(task))
        return summary
    # processes of their own, that may start others, and new ones after a few hundred cases
    spawn = multiprocessing.get_context("spawn")
    given = tasks(seed, until, only, most)
    with ProcessPoolExecutor(jobs, mp_context=spawn, initializer=_quiet, max_tasks_per_child=400) as pool:
        open_tasks = {pool.submit(look_at, task) for task in itertools.islice(given, 2 * jobs)}
        while open_tasks:
            done, open_tasks = wait(open_tasks, return_when=FIRST_COMPLETED)
            open_tasks |= {pool.submit(look_at, task) for task in itertools.islice(given, len(done))}
            for future in done:
                take(future.result())
    return summary


def main() -> int:
    """Read the command line, explore, tell."""
    parser = argparse.ArgumentParser(prog="./dev explore", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=None, help="the first case; by default another one each time")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--family", default=None, help="only this kind of cases")
    parser.add_argument("--cases", type=int, default=None, help="at most so many")
    parser.add_argument("--out", type=Path, default=Path("build/explore"))
    parser.add_argument("--spark", action="store_true", help="also cases on Apache Spark, which start slowly")
    given = parser.parse_args()
    if given.spark:
        os.environ["SHOAL_EXPLORE_SPARK"] = "1"
    seed = int(time.time()) % 10**8 * 100 if given.seed is None else given.seed
    print(f"explore: cases from seed {seed}, {given.jobs} processes, {given.minutes:g} minutes; scripts in {given.out}")
    summary = explore(given.minutes, seed, given.jobs, given.family, given.out, given.cases)
    print(summary.render())
    return 1 if summary.findings or summary.faults else 0


if __name__ == "__main__":
    sys.exit(main())

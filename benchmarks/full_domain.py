"""Full-domain search on Adult with ARX's hierarchies (12,960 nodes), and beside anjana with ours.

ARX's seconds are recorded figures (ARX 3.9.2, Java 17, warm, CPU seconds of its search for the same k and limit by
its granularity loss, on 2 loaded cores), not measured here. Our seconds are wall seconds of the search, kernels warm.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl

import shoal
from benchmarks import data, peers
from benchmarks.results import ROOT, Result, timed
from shoal.algorithms.base import Problem
from shoal.algorithms.lattice.lattice import Lattice
from shoal.engines.counted import CountedTable
from shoal.pipeline.publish import publish
from shoal.policy import Policy
from shoal.recodings.full_domain import FullDomain
from shoal.registry import find
from shoal.testing import encode_table, solve_table
from shoal.utility.base import Metric

NAME = "full_domain"
_BARS = {"0": 0.05, "0.05": 0.25, "1.0": 0.6}
_ARX_CPU = {"0": 0.04, "0.05": 1.1, "1.0": 3.4}
_LOSSES = ("certainty-penalty", "discernibility", "non-uniform-entropy")


def run() -> Iterator[Result]:
    """Yield the times of each search, whether it finds the known optimum, and the figures of a million records."""
    yield from _beside_anjana()
    if not data.ARX.exists():
        yield Result(NAME, "ARX's Adult: skipped", None, note="needs ../shared/data/arx-adult, which is not here")
        return
    table = data.arx_adult()
    encoded = encode_table(table, data.arx_policy(0.0))
    yield _exhaustive(encoded.problem(data.arx_policy(1.0)))
    for row in _known_optima():
        yield _optimal(encoded.problem(data.arx_policy(float(row["suppression_limit"]))), row)
    yield _cold()
    yield from _million()


def _exhaustive(problem: Problem) -> Result:
    losses = [cast("Metric", find("utility", name)()) for name in _LOSSES]

    def walk() -> int:
        lattice = Lattice(problem)
        looked = lattice.look(lattice.nodes())
        for loss in losses:
            loss.totals(looked.outcome)
        return lattice.size

    walk()
    ours, nodes = timed(walk, 5)
    note = f"{nodes:,} nodes: k, suppressed, {', '.join(_LOSSES)}"
    figure = "exhaustive, every node, k=5"
    return Result(
        NAME, figure, ours.wall, target=0.6, peer="ARX entropy (recorded)", theirs=7.0, cpu=ours.cpu, note=note
    )


def _optimal(problem: Problem, known: Mapping[str, str]) -> Result:
    limit = known["suppression_limit"]
    policy = data.arx_policy(float(limit))
    ours, recoding = timed(lambda: cast("FullDomain", policy.algorithm.search(problem)), 9)
    every = cast("FullDomain", data.arx_policy(float(limit), "exhaustive").algorithm.search(problem))
    return Result(
        NAME,
        f"optimal, k=5, limit {float(limit):.0%}",
        ours.wall,
        target=_BARS[limit],
        peer="ARX 3.9.2 (recorded)",
        theirs=_ARX_CPU[limit],
        cpu=ours.cpu,
        note=_agreement(problem, recoding, every, known),
    )


def _agreement(problem: Problem, recoding: FullDomain, every: FullDomain, known: Mapping[str, str]) -> str:
    """Say whether loss, levels and suppressed records are those of exhaustive and of the list of optima."""
    assert recoding.proof is not None
    assert every.proof is not None
    levels = "|".join(str(level) for level in recoding.levels.values())
    suppressed = int(problem.frequencies.counts[recoding.suppressed].sum())
    differences = []
    if recoding.levels != every.levels or recoding.proof.loss != every.proof.loss:
        differences.append(f"exhaustive finds {every.levels}, loss {every.proof.loss!r}")
    if abs(recoding.proof.loss - float(known["best_value"])) > 1e-12 or levels != known["levels"]:
        differences.append(f"known is {known['levels']}, loss {known['best_value']}")
    if suppressed != int(known["suppressed"]):
        differences.append(f"{suppressed} suppressed, known {known['suppressed']}")
    found = f"levels {levels}, {suppressed:,} suppressed; {recoding.proof}"
    return f"DISAGREES: {'; '.join(differences)}; {found}" if differences else f"as exhaustive and as known: {found}"


def _known_optima() -> list[dict[str, str]]:
    with (data.ARX / "full-domain-optima.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [row for row in rows if (row["qi_set"], row["k"], row["objective"]) == ("q9", "5", "gcp")]


def _cold() -> Result:
    """The command line, file to release, in a new process whose kernels are compiled already."""
    with tempfile.TemporaryDirectory(prefix="shoal-bench-") as folder:
        policy = Path(folder) / "policy.yaml"
        data.arx_policy(0.05).write(policy)
        command = [sys.executable, "-m", "shoal", "anonymize", str(data.ARX / "adult.csv"), "--policy", str(policy)]
        command += ["--out", str(Path(folder) / "out"), "--quiet"]
        seconds = []
        for _ in range(3):
            started = time.perf_counter()
            subprocess.run(command, cwd=ROOT, check=True)
            seconds.append(time.perf_counter() - started)
    figure = "command line, file to release, limit 5%"
    peer = "ARX cold (recorded)"
    return Result(
        NAME, figure, float(np.median(seconds)), target=3.0, peer=peer, theirs=4.0, note="search, audit, report"
    )


def _million() -> Iterator[Result]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.million_child", "lattice", "0"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    child: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    told = f"{child['records']:,} records, {child['tuples']:,} tuples, counted in {child['counting']:.2f} s"
    arx = (0.8, 6.85, 6.5)
    for limit, seconds, theirs in zip(("0", "5 %", "100 %"), child["searches"], arx, strict=True):
        peer = "ARX 3.9.2 (recorded)"
        yield Result(NAME, f"optimal, a million records, limit {limit}", seconds, peer=peer, theirs=theirs, note=told)
    yield Result(
        NAME,
        "slowest search over the time of counting",
        max(child["searches"]) / child["counting"],
        "×",
        target=2.0,
        note="so count and search take at most three times the count",
    )
    note = f"counting and searching; {child['above']:,.0f} MB above a table of {child['table']:,.0f} MB; {child['how']}"
    yield Result(NAME, "memory over the table's", child["above"] / child["table"], "×", target=3.0, note=note)


def _beside_anjana() -> Iterator[Result]:
    """Our optimal beside anjana on the same hierarchies, k = 10: loss (our audit reads its table) and time."""
    table = data.complete_adult()
    for share in (0, 2, 5, 10):
        policy = data.eight_column_policy(algorithm="optimal").replace(max_suppressed=share / 100)
        whole, release = timed(lambda policy=policy: shoal.anonymize(table, policy), 3)  # type: ignore[misc]
        ours, _ = timed(lambda policy=policy: _published(table, policy), 3)  # type: ignore[misc]
        answer = peers.anjana(share)
        if answer is None or answer.published is None:
            yield Result(NAME, f"loss, k=10, limit {share} %", release.loss, "")
            continue
        published = answer.published.select(*data.EIGHT, "income")
        audit = shoal.audit(published, policy, original=table)
        peer, theirs = f"anjana {answer['version']}", audit.utility["certainty-penalty"].total
        note = f"the peer attains k={audit.models[0].attained}, {audit.suppressed:,} suppressed"
        yield Result(NAME, f"loss, k=10, limit {share} %", release.loss, "", peer=peer, theirs=theirs, note=note)
        yield Result(
            NAME,
            f"table to published table, limit {share} %",
            ours.wall,
            peer=peer,
            theirs=answer["wall"],
            cpu=ours.cpu,
            their_cpu=answer["cpu"],
            note=f"what the peer does: no audit; with ours, fingerprint and all {whole.wall:.2f} s",
        )


def _published(table: pl.DataFrame, policy: Policy) -> object:
    solution = solve_table(table, policy)
    return publish(CountedTable(table), policy, solution.encoded, solution.publication)

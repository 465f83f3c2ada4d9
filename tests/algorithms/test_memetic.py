"""Memetic: good nodes of lattices too large to walk, the same ones every time; and what stops a search."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings

import shoal
from shoal.algorithms import Heuristic, Optimal
from shoal.algorithms.base import Problem
from shoal.algorithms.full_domain.exhaustive import Exhaustive
from shoal.algorithms.lattice.best import Best
from shoal.algorithms.lattice.lattice import Lattice
from shoal.algorithms.lattice.memetic import Memetic
from shoal.errors import Infeasible
from shoal.policy import Policy
from shoal.testing import encode_table

from .cases import cases


def correlated(columns: int, records: int = 600) -> pl.DataFrame:
    """Columns of 30 values that follow a few common ones."""
    draw = np.random.default_rng(columns)
    common = draw.normal(size=(3, records))
    drawn = {
        f"c{index}": np.clip(np.rint(15 + 5 * common[index % 3] + 2 * draw.normal(size=records)), 0, 29).astype(int)
        for index in range(columns)
    }
    return pl.DataFrame(drawn)


def policy(columns: int, algorithm: Any = "optimal", **more: Any) -> Policy:
    steps = {"hierarchy": "intervals", "widths": [2, 6, 12]}
    return Policy(
        quasi_identifiers={f"c{index}": steps for index in range(columns)},
        **{"models": [{"name": "k-anonymity", "k": 5}], "algorithm": algorithm, "max_suppressed": 0.3, **more},
    )


def problem_of(columns: int, **more: Any) -> Problem:
    asked = policy(columns, **more)
    return encode_table(correlated(columns), asked).problem(asked)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(cases())
def test_what_it_finds_is_allowed_and_never_better_than_the_best(case: tuple[pl.DataFrame, Policy]) -> None:
    table, asked = case
    try:
        problem = encode_table(table, asked).problem(asked)
        best = Exhaustive().search(problem).proof
    except Infeasible:
        return
    found = Best(problem)
    memetic = Memetic(Lattice(problem), found)
    for _ in memetic.start():
        pass
    for _ in islice(memetic.follow(), 60):
        pass
    assert best is not None and found.node is not None
    exact = Lattice(problem).look(found.node[None, :])
    assert int(exact.suppressed[0]) <= problem.most_suppressed
    assert found.loss == pytest.approx(float(np.asarray(problem.loss.totals(exact.outcome))[0]))
    assert found.loss >= best.loss - 1e-9 * max(abs(best.loss), 1.0)


def test_it_finds_the_optimum_of_a_lattice_that_can_be_proven() -> None:
    problem = problem_of(7)
    best, found = Optimal().search(problem).proof, Best(problem)
    memetic = Memetic(Lattice(problem), found)
    steps = memetic.follow()
    while memetic.looks < 1_500:
        next(steps)
    assert best is not None and best.proven
    assert found.loss == pytest.approx(best.loss)


def test_the_same_looks_give_the_same_node_and_more_looks_none_that_is_worse() -> None:
    problem, losses = problem_of(16), []
    for looks in (100, 1_000, 3_000):
        first, again = (Heuristic(looks=looks).search(problem) for _ in range(2))
        assert first.levels == again.levels and first.proof == again.proof
        assert first.proof is not None and first.proof.stopped == f"after {looks:,} looks"
        assert first.proof.bound is not None and 0.0 < first.proof.bound < first.proof.loss
        losses.append(first.proof.loss)
    assert losses == sorted(losses, reverse=True) and losses[-1] < losses[0]


def test_more_suppression_never_loses_more() -> None:
    losses = []
    for share in (0.0, 0.1, 0.3, 1.0):
        proof = Heuristic(looks=2_000).search(problem_of(12, max_suppressed=share)).proof
        assert proof is not None
        losses.append(proof.loss)
    assert losses == sorted(losses, reverse=True)


def test_optimal_ends_after_its_looks_and_tells_the_gap() -> None:
    told: list[str] = []
    asked = policy(16)
    problem = encode_table(correlated(16), asked).problem(asked, lambda what, done, total: told.append(what))
    proof = Optimal(looks=3_000).search(problem).proof
    assert proof is not None and proof.stopped == "after 3,000 looks" and not proof.proven
    assert proof.bound is not None and 0.0 < proof.bound < proof.loss
    assert any(", gap 0." in what for what in told)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["optimal", {"name": "heuristic", "looks": 10_000_000}])
def test_ctrl_c_ends_a_search_of_many_columns_in_seconds(tmp_path: Path, algorithm: Any) -> None:
    correlated(20, 4_000).write_csv(tmp_path / "data.csv")
    policy(20, algorithm).write(tmp_path / "policy.yaml")
    command = ["anonymize", "data.csv", "--policy", "policy.yaml", "--out", "out"]
    child = subprocess.Popen(
        [sys.executable, "-m", "shoal", *command], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stderr is not None
    for line in child.stderr:
        if b"nodes counted, best" in line:
            break
    time.sleep(1.0)
    child.send_signal(signal.SIGINT)
    sent = time.monotonic()
    _, rest = child.communicate(timeout=120)
    assert child.returncode == 0, rest.decode()
    assert time.monotonic() - sent < 60  # seconds on a machine that does nothing else
    proof = json.loads((tmp_path / "out" / "manifest.json").read_text())["recoding"]["proof"]
    assert proof["stopped"] == "by the user" and 0.0 < proof["loss"] < 1.0


def test_a_random_table_of_24_columns_is_not_all_stars() -> None:
    draw = np.random.default_rng(1)
    table = pl.DataFrame({f"c{index}": draw.integers(0, 30, 500) for index in range(24)})
    made = shoal.anonymize(table, policy(24, {"name": "heuristic", "looks": 400}, max_suppressed=0.0))
    assert not made.audit.shows_nothing and made.loss < 1.0

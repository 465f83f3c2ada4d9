"""Lower bounds on Adult (30,162 records): basic and raised, beside the lowest losses known from prototypes."""

from __future__ import annotations

import json
from collections.abc import Iterator

from benchmarks import data
from benchmarks.results import SHARED, Result, timed
from shoal.algorithms.base import Problem
from shoal.bounds import LowerBound
from shoal.policy import Policy
from shoal.tables.encode import encode

NAME = "bounds"
_CASES = {
    # columns: k → basic bound and best loss of the notes on local recoding
    5: {3: (0.00474, 0.00756), 6: (0.01007, 0.01732), 12: (0.01791, 0.03217), 21: (0.02684, 0.05070)},
    8: {5: (0.0245, 0.0409), 10: (0.0368, 0.0663), 50: (0.0755, 0.1508)},
}


def run() -> Iterator[Result]:
    """Yield for each case the basic bound, and the share of the best known loss that raised ones reach."""
    path = SHARED / "adult-trees.json"
    if not path.exists():
        yield Result(NAME, "skipped: adult-trees.json is not there", None)
        return
    trees = json.loads(path.read_text(encoding="utf-8"))
    for width, cases in _CASES.items():
        for k, (known, best) in cases.items():
            problem = _problem(trees, width, k)
            LowerBound(effort=0).of(problem)  # loads the kernel
            time, basic = timed(lambda problem=problem: LowerBound(effort=0).of(problem), 5)  # type: ignore[misc]
            what = f"{width} columns, k={k}"
            yield Result(NAME, f"{what}: basic bound", basic.total, "", peer="notes", theirs=known, cpu=time.cpu)
            yield Result(NAME, f"{what}: basic bound, time", time.wall, cpu=time.cpu)
            for effort in (LowerBound().effort, 4.0, 10.0):
                time, raised = timed(lambda p=problem, e=effort: LowerBound(effort=e).of(p), 1)  # type: ignore[misc]
                yield Result(
                    NAME,
                    f"{what}: bound / best loss known, effort {effort:g}",
                    raised.total / best,
                    "",
                    target=0.8 if width == 5 and k <= 6 and effort > 1 else None,
                    more_is_better=True,
                    cpu=time.cpu,
                    note=f"bound {raised.total:.5f}, loss {best:.5f}; {raised.how}",
                )


def _problem(trees: dict[str, object], width: int, k: int) -> Problem:
    columns = data.EIGHT[:width]
    policy = Policy(
        quasi_identifiers={
            name: {"hierarchy": "tree", "nodes": trees[name]} if name in trees else {} for name in columns
        },
        others="drop",
        models=[{"name": "k-anonymity", "k": k}],
        algorithm="mondrian",
    )
    return encode(data.complete_adult(), policy).problem(policy)

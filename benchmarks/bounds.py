"""Lower bounds on Adult (30,162 records): basic and raised, beside the lowest losses known from prototypes.

And on tiny tables, beside the best of all recodings.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks import data
from benchmarks.results import Result, timed
from shoal.algorithms.base import Problem
from shoal.algorithms.bounds.lower_bound import LowerBound
from shoal.policy import Policy
from shoal.recodings.forms import FORMS
from shoal.recodings.forms import ClassMembers as Members
from shoal.testing import encode_table

NAME = "bounds"
_CASES = {
    # columns: k → basic bound and best loss of the notes on local recoding
    5: {3: (0.00474, 0.00756), 6: (0.01007, 0.01732), 12: (0.01791, 0.03217), 21: (0.02684, 0.05070)},
    8: {5: (0.0245, 0.0409), 10: (0.0368, 0.0663), 50: (0.0755, 0.1508)},
}
_EFFORTS = (0.25, 2.0, 10.0)
_TINY, _DRAWN = 11, 20
"""Records of a tiny table, and how many such tables are drawn."""


def run() -> Iterator[Result]:
    """Yield for each case the basic bound, and the share of the best known loss that raised ones reach."""
    yield from _tiny_tables()
    for width, cases in _CASES.items():
        for k, (known, best) in cases.items():
            policy = data.local_policy(data.EIGHT[:width], k, "mondrian")
            problem = encode_table(data.complete_adult(), policy).problem(policy)
            LowerBound(effort=0).of(problem)  # loads the kernel
            time, basic = timed(lambda problem=problem: LowerBound(effort=0).of(problem), 5)  # type: ignore[misc]
            what = f"{width} columns, k={k}"
            yield Result(NAME, f"{what}: basic bound", basic.total, "", peer="notes", theirs=known, note=basic.how)
            yield Result(NAME, f"{what}: basic bound, time", time.wall, cpu=time.cpu)
            for effort in _EFFORTS:
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


def _tiny_tables() -> Iterator[Result]:
    """The mean of bound / least loss, over tables of neighbours in Adult."""
    kinds: dict[str, Policy] = {
        "5 columns, labels": data.local_policy(data.EIGHT[:5], 3, "mondrian"),
        "5 columns, sets": data.sets_policy(data.EIGHT[:5], 3, "mondrian"),
        "3 columns of numbers": data.sets_policy(("age", "hours-per-week", "fnlwgt"), 3, "mondrian"),
    }
    for kind, policy in kinds.items():
        table = data.complete_adult().sort(list(policy.quasi_identifiers))
        starts = np.random.default_rng(0).integers(0, table.height - _TINY, _DRAWN).tolist()
        problems = [encode_table(table[start : start + _TINY], policy).problem(policy) for start in starts]
        cases = [(problem, best) for problem in problems if (best := least_loss(problem)) > 0]
        for what, effort in (("basic", 0.0), ("raised", 0.25)):
            ratios = [LowerBound(effort=effort).of(problem).total / best for problem, best in cases]
            note = f"lowest {min(ratios):.2f}; {len(cases)} tables of {_TINY} records, k=3"
            figure = f"tiny tables, {kind}: {what} bound / least loss"
            yield Result(NAME, figure, float(np.mean(ratios)), "", more_is_better=True, note=note)


def least_loss(problem: Problem) -> float:
    """Return the least certainty penalty of all ways to put a few records into classes, found subset by subset."""
    tuples = np.repeat(problem.frequencies.tuples, problem.frequencies.counts, axis=0).astype(np.int64)
    count = len(tuples)
    subset, record = np.nonzero(np.arange(1, 2**count)[:, None] >> np.arange(count) & 1)
    members, costs = Members(subset, 2**count - 1), np.zeros(2**count - 1)
    for index, column in enumerate(problem.columns):
        costs += FORMS[column.form](column, members, tuples[record, index]).penalties * column.weight
    sizes = np.bincount(subset)
    costs = np.append(0.0, np.where(sizes < problem.least_records, np.inf, costs * sizes))
    best = np.full(2**count, np.inf)
    best[0] = 0.0
    for whole in range(1, 2**count):
        low, part = whole & -whole, whole  # the class of the first record, then the rest
        while part:
            if part & low:
                best[whole] = min(best[whole], costs[part] + best[whole ^ part])
            part = (part - 1) & whole
    return float(best[-1]) / (float(problem.weights.sum()) * count)

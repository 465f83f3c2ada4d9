"""Single-dimensional cuts: cut columns, not regions, as long as every class of the whole table complies."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np

from shoal.algorithms.base import Algorithm, Problem
from shoal.encoding.types import Bools, Codes, Ints
from shoal.frequencies.frequencies import Classes
from shoal.kernels.group import group
from shoal.recodings.base import Column
from shoal.recodings.forms import weigh_class
from shoal.recodings.intervals import IntervalRecoding, show_runs


class SingleDimensional(Algorithm):
    """Cut columns, not regions: a cut goes through the whole table, and every class must comply.

    The greedy method that Mondrian improves on. The widest run of values is cut at its most even allowable
    place; where labels are published, only between children of the run's lowest common ancestor. A value is
    published the same way in every record, which readers of a table find easier, at a higher loss.

    Why it is safe: a cut is made only if every model then holds on every class.

    Cost: one count of the tuples for each place that is tried.

    References
    ----------
    LeFevre, K., DeWitt, D. and Ramakrishnan, R. (2006). Mondrian multidimensional k-anonymity. ICDE.
    Sarrafi, M. (2017), Figure 2-9 (a).

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("patients")
    >>> shoal.anonymize(table, policy.replace(algorithm=SingleDimensional())).attained
    {'k-anonymity': 2}
    """

    def search(self, problem: Problem) -> IntervalRecoding:
        """Cut the widest run until no run has an allowable cut."""
        if not problem.holds(problem.together()).all():
            raise problem.infeasible()
        tuples = problem.frequencies.tuples
        runs = [_between_boundaries(column) for column in problem.columns]
        if not _allowable(problem, runs):
            runs = [np.zeros_like(run) for run in runs]
        waiting = [
            (-_width(column, tuples[:, index], low, high), index, low, high)
            for index, column in enumerate(problem.columns)
            for low, high in _ends(runs[index])
        ]
        heapq.heapify(waiting)
        while waiting:
            _, index, low, high = heapq.heappop(waiting)
            column = problem.columns[index]
            for cut in _places(column, tuples[:, index], problem.frequencies.counts, low, high):
                trial = _cut(runs, index, cut)
                if _allowable(problem, trial):
                    runs = trial
                    for first, last in ((low, cut), (cut + 1, high)):
                        width = _width(column, tuples[:, index], first, last)
                        heapq.heappush(waiting, (-width, index, first, last))
                    break
            problem.progress("cutting", sum(int(run[-1]) for run in runs), 0)
        names = [column.name for column in problem.columns]
        return IntervalRecoding(np.zeros(len(tuples), bool), dict(zip(names, runs, strict=True)))


def _between_boundaries(column: Column) -> Ints:
    """The runs of a column that no cut has to be found for: values under different boundaries share no class."""
    return np.append(0, np.cumsum(np.diff(column.bounded_by) != 0)).astype(np.int64)[: column.levels.size]


def _ends(runs: Ints) -> Iterator[tuple[int, int]]:
    starts = np.flatnonzero(np.diff(runs, prepend=-1))
    return zip(starts.tolist(), [*(starts[1:] - 1).tolist(), len(runs) - 1], strict=True)


def _width(column: Column, codes: Codes, low: int, high: int) -> float:
    """The weighted certainty penalty of a run."""
    inside = np.unique(codes[(codes >= low) & (codes <= high)])
    return weigh_class(column, inside) if len(inside) > 1 else 0.0


def _places(column: Column, codes: Codes, counts: Ints, low: int, high: int) -> Iterator[int]:
    """Yield where a run may be cut, the most even place first; codes up to the place go left."""
    per_code = np.bincount(codes, weights=counts, minlength=column.levels.size)[low : high + 1]
    occurring = low + np.flatnonzero(per_code)
    if len(occurring) < 2:
        return
    left = np.cumsum(per_code[occurring - low])[:-1]
    gaps = list(zip(occurring[:-1].tolist(), occurring[1:].tolist(), strict=True))
    if column.form == "labels":
        joins = [int(column.levels.joins[first:last].max()) for first, last in gaps]
        allowed = np.array(joins) == max(joins)
    else:
        allowed = np.ones(len(gaps), bool)
    even = np.minimum(left, left[-1] + per_code[occurring[-1] - low] - left)
    for number in np.argsort(-even, kind="stable"):
        if allowed[number]:
            yield gaps[number][0]


def _cut(runs: list[Ints], index: int, cut: int) -> list[Ints]:
    changed = runs[index].copy()
    changed[cut + 1 :] += 1
    return [changed if number == index else run for number, run in enumerate(runs)]


def _allowable(problem: Problem, runs: list[Ints]) -> bool:
    tuples = problem.frequencies.tuples
    coded = [run[tuples[:, index]] for index, run in enumerate(runs)]
    groups, rows = group(coded, [int(run.max(initial=0)) + 1 for run in runs])
    classes = Classes.of(problem.frequencies, groups[problem.frequencies.cell_tuples], len(rows))
    return bool(problem.holds(classes).all()) and not _shows_nothing(problem, runs, tuples[rows]).any()


def _shows_nothing(problem: Problem, runs: list[Ints], tuples: Codes) -> Bools:
    """Return which classes would show ``*`` everywhere, and so look suppressed."""
    codes = problem.frequencies.tuples.T
    shown = [
        show_runs(column, run, np.unique(own), run[chosen])
        for column, run, own, chosen in zip(problem.columns, runs, codes, tuples.T, strict=True)
    ]
    return np.asarray(np.logical_and.reduce([column.stars for column in shown]))

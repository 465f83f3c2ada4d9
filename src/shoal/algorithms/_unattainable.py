"""Held back: what the boundaries keep apart, and who breaks the models even in the most general table they allow."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from shoal.algorithms.base import Problem
from shoal.encoding.types import Bools, Ints
from shoal.frequencies.frequencies import Classes
from shoal.kernels.group import group
from shoal.recodings.bounded import Capped


def separate_by_boundaries(problem: Problem) -> Ints:
    """Return the part of each tuple: boundaries keep records of different parts apart, so a search may start there.

    Where a part breaks a model all are in one: then it is for the search to find out whom to give up.
    """
    if not _has_boundaries(problem):
        return np.zeros(len(problem.frequencies.tuples), np.int64)
    members, holds = generalize_fully(problem)
    return members if holds.all() else np.zeros_like(members)


def find_unattainable(problem: Problem) -> Bools:
    """Return which tuples no recoding within the boundaries can keep, whatever it does with the others.

    They break, in the most general table, a model that still holds whatever joins a class: then no part of their class
    keeps it. Of other models nothing is said.
    """
    sure = replace(problem, models=tuple(model for model in problem.models if model.absorbing))
    if not _has_boundaries(problem) or not sure.models or not sure.absorbing:
        return np.zeros(len(problem.frequencies.tuples), bool)
    return _find_failing(sure, as_they_are=False)


def find_blocking_boundaries(problem: Problem, *, as_they_are: bool) -> dict[str, dict[str, int]]:
    """Return which boundaries make the models unreachable: column → boundary → records that it holds back.

    A class lies under one boundary of each column, so in the table where every value shows its boundary the classes
    are as large as they can be. If more records break a model there than may be suppressed, and would not without
    boundaries, boundaries are to blame: of a column that would be enough to lift, else of all that have some.

    ``as_they_are``: columns without a hierarchy can only be published as they are.
    """
    bounded = [index for index, column in enumerate(problem.columns) if column.limits is not None]
    failing = _find_failing(problem, as_they_are=as_they_are)
    if (
        not bounded
        or _fits(problem, failing)
        or not _fits(problem, _find_failing(problem, bounded, as_they_are=as_they_are))
    ):
        return {}
    enough = [one for one in bounded if _fits(problem, _find_failing(problem, [one], as_they_are=as_they_are))]
    return {problem.columns[index].name: _count_under(problem, index, failing) for index in enough or bounded}


def _has_boundaries(problem: Problem) -> bool:
    return any(column.limits is not None for column in problem.columns)


def _fits(problem: Problem, failing: Bools) -> bool:
    """Whether so many records may be suppressed, and some are left."""
    lost = int(problem.frequencies.counts[failing].sum())
    return lost <= problem.most_suppressed


def _find_failing(problem: Problem, lifted: Collection[int] = (), *, as_they_are: bool) -> Bools:
    """Return which tuples break a model in the most general table, the boundaries of some columns lifted."""
    members, holds = generalize_fully(problem, lifted, as_they_are=as_they_are)
    return np.asarray(~holds[members])


def generalize_fully(
    problem: Problem, lifted: Collection[int] = (), *, as_they_are: bool = False
) -> tuple[Ints, Bools]:
    """Return the class of each tuple in the most general table, and which classes satisfy every model."""
    labels, sizes = [], []
    for index, (column, codes) in enumerate(zip(problem.columns, problem.frequencies.tuples.T, strict=True)):
        fixed = as_they_are and column.max_level == 0 and column.limits is None
        shown = np.arange(column.levels.size) if fixed else column.bounded_by * (index not in lifted)
        labels.append(shown[codes])
        sizes.append(int(shown.max(initial=0)) + 1)
    members, rows = group(labels, sizes)
    classes = Classes.of(problem.frequencies, members[problem.frequencies.cell_tuples], len(rows))
    return members, problem.holds(classes)


def _count_under(problem: Problem, index: int, failing: Bools) -> dict[str, int]:
    """Return the boundaries of a column that hold some of the failing records back, and how many."""
    column, counts = problem.columns[index], problem.frequencies.counts
    shown = Capped.of(column, column.levels.height)
    records = np.bincount(shown.ids[problem.frequencies.tuples[failing, index]], counts[failing], len(shown.texts))
    named = {text: int(held) for text, held in zip(shown.texts, records, strict=True) if text and held}
    return {text: held for text, held in named.items() if text in column.boundaries}

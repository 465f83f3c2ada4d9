"""What can be attained at all: whom boundaries keep apart, whom no recoding keeps, the coarsest classes that comply."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np

from shoal.algorithms.base import Problem
from shoal.encoding.types import Bools, Ints
from shoal.frequencies.frequencies import Classes, Frequencies
from shoal.kernels.group import group, number_values
from shoal.recodings.bounded import Capped
from shoal.recodings.local import Local


def separate_by_boundaries(problem: Problem) -> Ints:
    """Return the part of each tuple: boundaries keep records of different parts apart, so a search may start there.

    Where a part breaks a model all are in one: then it is for the search to find out whom to give up.
    """
    if not _has_boundaries(problem):
        return np.zeros(len(problem.frequencies.tuples), np.int64)
    members, holds = generalize_fully(problem)
    return members if holds.all() else np.zeros_like(members)


def find_unattainable(problem: Problem, *, as_they_are: bool = False) -> Bools:
    """Return which tuples no recoding within the boundaries can keep, whatever it does with the others.

    They break, in the most general table, a model that still holds whatever joins a class: then no part of their class
    keeps it. Of other models nothing is said.

    ``as_they_are``: columns without a hierarchy can only be published as they are.
    """
    sure = replace(problem, models=tuple(model for model in problem.models if model.absorbing))
    if not (as_they_are or _has_boundaries(problem)) or not sure.models or not sure.absorbing:
        return np.zeros(len(problem.frequencies.tuples), bool)
    return _find_failing(sure, as_they_are=as_they_are)


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
    return int(problem.frequencies.counts[failing].sum()) <= problem.most_suppressed


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


@dataclass(frozen=True)
class Remainder:
    """Some of the records in classes that comply; the others are given up."""

    problem: Problem
    members: Ints
    """The class of each cell."""
    kept: Ints
    """How many records of each cell are not given up."""

    @property
    def given_up(self) -> int:
        """How many records are."""
        return self.problem.frequencies.records - int(self.kept.sum())

    def recoding(self) -> Local:
        """Return these classes as they are."""
        numbers = number_values(self.members[self.cells])
        return self.extend(Local(numbers, stopped="without an answer: these are the coarsest classes that comply"))

    @property
    def cells(self) -> Ints:
        """The cells of which some record is left."""
        return np.flatnonzero(self.kept)

    def restrict(self) -> Problem:
        """Return the problem without the records that are given up."""
        whole, cells = self.problem.frequencies, self.cells
        tuples, index = np.unique(whole.cell_tuples[cells], return_inverse=True)
        frequencies = Frequencies(
            whole.tuples[tuples],
            index.astype(np.int64),
            self.kept[cells],
            whole.sensitive[cells],
            None if whole.subjects is None else whole.subjects[cells],
        )
        left = self.problem.max_suppressed - self.given_up
        forced_suppression = self.problem.forced_suppression + self.given_up
        return replace(
            self.problem, frequencies=frequencies, max_suppressed=left, forced_suppression=forced_suppression
        )

    def extend(self, recoding: Local) -> Local:
        """Return a recoding of the restricted problem as one of the whole: who is given up is suppressed."""
        counts, cells = self.problem.frequencies.cell_counts, self.cells
        own = np.arange(len(recoding.members)) if recoding.cells is None else recoding.cells
        weights = self.kept[cells] if recoding.weights is None else recoding.weights
        out = np.flatnonzero(self.kept < counts)
        made = Local.of(
            np.append(recoding.members, np.full(len(out), -1)),
            np.append(cells[own], out),
            np.append(weights, (counts - self.kept)[out]),
        )
        return replace(made, stopped=recoding.stopped)


def find_coarsest_classes(problem: Problem) -> Iterator[Remainder]:
    """Yield classes of which each complies by itself, and which give up no more records than may be suppressed.

    1. All records in one class.
    2. Records that no boundary keeps apart in one class; classes that fail are given up, or
    3. thinned: of the sensitive values that they have too often some records are given up, the same share everywhere.
    4. Records that are equal in one class; classes that fail are given up.

    Why it is safe: each class was checked, as in any search; the records that are given up are suppressed.
    """
    frequencies = problem.frequencies
    together = np.zeros(len(frequencies.cell_counts), np.int64)
    general = generalize_fully(problem)[0][frequencies.cell_tuples]
    for members in (together, general, frequencies.cell_tuples):
        for kept in (_keep_complying(problem, members, frequencies.cell_counts), _thin_out(problem, members)):
            found = Remainder(problem, members, kept)
            if kept.any() and found.given_up <= problem.most_suppressed:
                yield found


def _keep_complying(problem: Problem, members: Ints, kept: Ints) -> Ints:
    """Return how many records of each cell are left where classes that fail are given up."""
    return np.where(_holds(problem, members, kept)[members], kept, 0)


def _thin_out(problem: Problem, members: Ints) -> Ints:
    """Return how many records of each cell are left where no sensitive value has more than a class can bear.

    The most that each value may have is found for each class by halving: the more even the values are, the more
    diverse the class is, until it is too small.
    """
    frequencies = problem.frequencies
    kept, count = frequencies.cell_counts, int(members.max(initial=-1)) + 1
    if frequencies.subjects is not None:  # a person may have several records: who is given up is not a matter of counts
        return _keep_complying(problem, members, kept)
    for columns in dict.fromkeys(model.sensitive_columns for model in problem.models if model.sensitive_columns):
        values = _combine_values(problem, columns)
        low, high = np.ones(count, np.int64), np.full(count, max(int(kept.sum()), 1), np.int64)
        while (low < high).any():
            middle = (low + high + 1) // 2
            left = _cap_values(kept, members, values, middle)
            small = np.bincount(members, left, minlength=count) < problem.least_records
            raised = small | _holds(problem, members, left)
            low, high = np.where(raised, middle, low), np.where(raised, high, middle - 1)
        kept = _cap_values(kept, members, values, low)
    return _keep_complying(problem, members, kept)


def _combine_values(problem: Problem, columns: tuple[str, ...]) -> Ints:
    """Return the number of what each cell has in some sensitive columns together."""
    indices = [column.place for column in problem.background.known(columns)]
    held = problem.frequencies.sensitive[:, indices].astype(np.int64) + 1
    return group(list(held.T), [int(column.max(initial=0)) + 1 for column in held.T])[0]


def _cap_values(kept: Ints, members: Ints, values: Ints, most: Ints) -> Ints:
    """Return how many records of each cell are left where no value has more than ``most`` of its class.

    The records of a value are given up evenly over its cells, in their order.
    """
    pairs = number_values(members * (int(values.max(initial=0)) + 1) + values)
    order = np.argsort(pairs, kind="stable")
    own, numbers = kept[order], pairs[order]
    totals = np.bincount(pairs, kept).astype(np.int64)[numbers]
    ends = np.cumsum(own)
    before = ends - own
    begins = before[np.searchsorted(numbers, numbers)]
    # the product of two counts may not fit: then in whole numbers of any size
    room = object if int(totals.max(initial=0)) ** 2 >= 2**63 else np.int64
    allowed = np.minimum(most[members[order]], totals).astype(room)
    share = (ends - begins) * allowed // np.maximum(totals, 1) - (before - begins) * allowed // np.maximum(totals, 1)
    result = np.empty_like(kept)
    result[order] = share.astype(np.int64)
    return result


def _holds(problem: Problem, members: Ints, kept: Ints) -> Bools:
    """Return which classes comply with so many records of each cell."""
    cells = np.flatnonzero(kept)
    count = int(members.max(initial=-1)) + 1
    if not len(cells):
        return np.zeros(count, bool)
    return problem.holds(Classes(count, members[cells], cells, kept[cells], problem.frequencies))

"""find_coarsest_classes(): what a local search can still answer when it found nothing; violators are left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from shoal.algorithms._unattainable import generalize_fully
from shoal.algorithms.base import Problem
from shoal.encoding.types import Ints
from shoal.frequencies.frequencies import Classes, Frequencies
from shoal.kernels.group import group
from shoal.recodings.local import Local


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
        numbers: Ints = np.unique(self.members[self.cells], return_inverse=True)[1].astype(np.int64)
        return self.extended(Local(numbers, stopped="without an answer: these are the coarsest classes that comply"))

    @property
    def cells(self) -> Ints:
        """The cells of which some record is left."""
        return np.flatnonzero(self.kept)

    def restricted(self) -> Problem:
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

    def extended(self, recoding: Local) -> Local:
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
        for kept in (_keep_complying(problem, members), _thin_out(problem, members)):
            found = Remainder(problem, members, kept)
            if kept.any() and found.given_up <= problem.most_suppressed:
                yield found


def _keep_complying(problem: Problem, members: Ints) -> Ints:
    """Return how many records of each cell are left where classes that fail are given up."""
    counts = problem.frequencies.cell_counts
    return np.where(_holds(problem, members, counts)[members], counts, 0)


def _thin_out(problem: Problem, members: Ints) -> Ints:
    """Return how many records of each cell are left where no sensitive value has more than a class can bear.

    The most that each value may have is found for each class by halving: the more even the values are, the more
    diverse the class is, until it is too small.
    """
    frequencies = problem.frequencies
    kept, count = frequencies.cell_counts, int(members.max(initial=-1)) + 1
    if frequencies.subjects is not None:  # a person may have several records: who is given up is not a matter of counts
        return np.where(_holds(problem, members, kept)[members], kept, 0)
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
    return np.where(_holds(problem, members, kept)[members], kept, 0)


def _combine_values(problem: Problem, columns: tuple[str, ...]) -> Ints:
    """Return the number of what each cell has in some sensitive columns together."""
    indices = [column.place for column in problem.background.known(columns)]
    held = problem.frequencies.sensitive[:, indices].astype(np.int64) + 1
    return group(list(held.T), [int(column.max(initial=0)) + 1 for column in held.T])[0]


def _cap_values(kept: Ints, members: Ints, values: Ints, most: Ints) -> Ints:
    """Return how many records of each cell are left where no value has more than ``most`` of its class.

    The records of a value are given up evenly over its cells, in their order.
    """
    pairs = np.unique(members * (int(values.max(initial=0)) + 1) + values, return_inverse=True)[1].astype(np.int64)
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


def _holds(problem: Problem, members: Ints, kept: Ints) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which classes comply with so many records of each cell."""
    cells = np.flatnonzero(kept)
    count = int(members.max(initial=-1)) + 1
    if not len(cells):
        return np.zeros(count, bool)
    return problem.holds(Classes(count, members[cells], cells, kept[cells], problem.frequencies))

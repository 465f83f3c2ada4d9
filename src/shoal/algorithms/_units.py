"""Units: the records that local recoding puts into classes, and what boxes around them cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.algorithms._costs import Words, bits_of_codes, codes_of
from shoal.algorithms.base import Ints, Problem
from shoal.frequencies import Classes, Codes
from shoal.kernels.widths import Costs
from shoal.recodings.local import Local


@dataclass(frozen=True)
class Units:
    """The records to be put into classes.

    Where models only count records, a unit may be several records of one tuple; else it is a single record (a single
    person's records of one cell, where persons are counted).

    Attributes
    ----------
    codes, bits
        ``codes[unit, column]``, boundaries after all columns, and for columns that show sets the bits of the codes.
    weights
        How much of a class's least size a unit is.
    tuples, cells
        The tuple of each unit, and its cell where units are parts of cells.
    records
        Its records.
    """

    problem: Problem
    codes: Codes
    bits: Words
    weights: Ints
    records: Ints
    tuples: Ints
    cells: Ints | None

    @classmethod
    def of(cls, problem: Problem, costs: Costs) -> Units:
        """Cut the frequencies into units."""
        frequencies, least = problem.frequencies, max(problem.least_records, 1)
        counts_only = frequencies.subjects is None and not any(model.sensitive_columns for model in problem.models)
        if counts_only:
            runs, rest = np.divmod(frequencies.counts, least)
            number = runs + rest
            tuples = np.repeat(np.arange(len(number)), number)
            place = np.arange(len(tuples)) - np.repeat(np.cumsum(number) - number, number)
            weights = np.where(place < runs[tuples], least, 1)
            records, cells = weights, None
        elif frequencies.subjects is None:
            cells = np.repeat(np.arange(len(frequencies.cell_counts)), frequencies.cell_counts)
            tuples = frequencies.cell_tuples[cells]
            weights = records = np.ones(len(cells), np.int64)
        else:
            cells, tuples = np.arange(len(frequencies.cell_counts)), frequencies.cell_tuples
            weights, records = np.ones(len(cells), np.int64), frequencies.cell_counts
        codes = codes_of(problem.columns, frequencies.tuples)[tuples]
        return cls(problem, codes, bits_of_codes(codes, costs), weights, records, tuples, cells)

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def counts_only(self) -> bool:
        """Whether the models look at nothing but the sizes of classes."""
        return self.cells is None

    def classes(self, members: Ints) -> Classes:
        """Return the classes that the units make; -1 is in none."""
        count = int(members.max(initial=-1)) + 1
        if self.cells is None:
            counted = np.bincount(members[members >= 0], self.records[members >= 0], minlength=count).astype(np.int64)
            return Classes(count, members, self._some_cell, self.records, self.problem.frequencies, counted)
        return Classes(count, members, self.cells, self.records, self.problem.frequencies)

    @property
    def _some_cell(self) -> Ints:
        first = np.searchsorted(self.problem.frequencies.cell_tuples, np.arange(len(self.problem.frequencies.tuples)))
        return first.astype(np.int64)[self.tuples]

    def recoding(self, members: Ints) -> Local:
        """Return the classes as a recoding: which records of each cell are in which class."""
        frequencies = self.problem.frequencies
        if self.cells is not None:
            return Local.of(members, self.cells, self.records)
        # the units of a tuple share its cells: lay both side by side and cut where either ends
        order = np.argsort(self.tuples, kind="stable")
        unit_ends, cell_ends = np.cumsum(self.records[order]), np.cumsum(frequencies.cell_counts)
        ends = np.union1d(unit_ends, cell_ends)
        unit = order[np.searchsorted(unit_ends, ends)]
        return Local.of(members[unit], np.searchsorted(cell_ends, ends), np.diff(ends, prepend=0))

"""Intervals: each column's values are cut into runs, the same for the whole table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from shoal.encoding.types import Codes, Ints
from shoal.recodings.base import Column, ColumnLabels, GlobalRecoding
from shoal.recodings.forms import ClassMembers, show_column


@dataclass(frozen=True)
class IntervalRecoding(GlobalRecoding):
    """A value is published as the run of values that it lies in, whatever the other columns are.

    References
    ----------
    LeFevre, K., DeWitt, D. and Ramakrishnan, R. (2006). Mondrian multidimensional k-anonymity. ICDE, section 1:
    single-dimensional global recoding.
    """

    kind: ClassVar[str] = "intervals"

    runs: dict[str, Ints] = field(repr=False)
    """Column → the run of each code; runs are numbered from 0 in the order of the codes."""

    def number_codes(self, column: Column) -> Ints:
        """Number codes by their runs."""
        return self.runs[column.name]

    def show(self, column: Column, codes: Codes, chosen: Ints) -> ColumnLabels:
        """Show what all values that occur in a run need."""
        run = self.runs[column.name]
        return show_runs(column, run, np.unique(codes), run[codes[chosen]])

    def summarize(self) -> dict[str, Any]:
        """Return the number of runs of each column."""
        return {"runs": {name: int(run.max(initial=-1)) + 1 for name, run in self.runs.items()}}


def show_runs(column: Column, run_of_code: Ints, codes: Codes, runs: Ints) -> ColumnLabels:
    """Return what each of some runs shows: the label, range or set of all codes that occur in it."""
    occurring, numbers = np.unique(run_of_code[codes], return_inverse=True)
    members = ClassMembers(numbers.astype(np.int64), len(occurring))
    return show_column(column, members, codes).take(np.searchsorted(occurring, runs))

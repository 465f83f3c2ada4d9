"""Intervals: each column's values are cut into runs, the same for the whole table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.encoding.types import Ints
from shoal.frequencies.frequencies import Frequencies
from shoal.kernels.group import group
from shoal.recodings.base import ClassAssignment, Column, ColumnLabels, Recoding
from shoal.recodings.forms import FORMS, Members


@dataclass(frozen=True)
class Intervals(Recoding):
    """A value is published as the run of values that it lies in, whatever the other columns are.

    References
    ----------
    LeFevre, K., DeWitt, D. and Ramakrishnan, R. (2006). Mondrian multidimensional k-anonymity. ICDE, section 1:
    single-dimensional global recoding.
    """

    runs: dict[str, Ints] = field(repr=False)
    """Column → the run of each code; runs are numbered from 0 in the order of the codes."""
    suppressed: npt.NDArray[np.bool_] = field(repr=False)
    """For each tuple whether it is suppressed."""

    def draft(self, frequencies: Frequencies, columns: tuple[Column, ...]) -> ClassAssignment:
        """Group the tuples by their runs; a run shows what its own values need."""
        runs = [self.runs[column.name][frequencies.tuples[:, index]] for index, column in enumerate(columns)]
        kept = ~self.suppressed
        groups, rows = group(
            [run[kept] for run in runs], [int(self.runs[column.name].max(initial=0)) + 1 for column in columns]
        )
        members = np.full(len(frequencies.tuples), -1, np.int64)
        members[kept] = groups
        first = np.flatnonzero(kept)[rows]
        shown = tuple(
            _shown(column, self.runs[column.name], np.unique(frequencies.tuples[kept, index]), run[first])
            for index, (column, run) in enumerate(zip(columns, runs, strict=True))
        )
        return ClassAssignment(members[frequencies.cell_tuples], None, frequencies.cell_counts, len(rows), shown)

    def extended(self, frequencies: Frequencies) -> Intervals:
        """Suppress the tuples that the search did not see."""
        more = np.ones(len(frequencies.tuples) - len(self.suppressed), bool)
        return Intervals(self.runs, np.append(self.suppressed, more))

    def to_dict(self) -> dict[str, Any]:
        """Return the number of runs of each column."""
        return {
            "recoding": "intervals",
            "runs": {name: int(run.max(initial=-1)) + 1 for name, run in self.runs.items()},
        }


def _shown(column: Column, run_of_code: Ints, codes: npt.NDArray[np.int32], runs: Ints) -> ColumnLabels:
    """What each class shows: the label, range or set of all values that occur in its run."""
    occurring, numbers = np.unique(run_of_code[codes], return_inverse=True)
    members = Members(numbers.astype(np.int64), len(occurring))
    per_run = FORMS[column.form](column.levels, members, codes.astype(np.int64))
    return per_run.take(np.searchsorted(occurring, runs))

"""FullDomain: one level per column, for the whole table."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.encoding.types import Bools
from shoal.frequencies.frequencies import Frequencies
from shoal.kernels.group import group
from shoal.recodings.base import ClassAssignment, Column, ColumnLabels, Proof, Recoding


@dataclass(frozen=True)
class FullDomain(Recoding):
    """Every value of a column is published at the same level; some tuples may be suppressed.

    References
    ----------
    Samarati, P. (2001). Protecting respondents' identities in microdata release. IEEE Transactions on Knowledge
    and Data Engineering 13(6).
    """

    levels: dict[str, int]
    suppressed: npt.NDArray[np.bool_] = field(repr=False)
    """For each tuple whether it is suppressed."""
    proof: Proof | None = None

    def draft(self, frequencies: Frequencies, columns: tuple[Column, ...]) -> ClassAssignment:
        """Group the tuples by their labels."""
        chosen = [self.levels[column.name] for column in columns]
        labels = [
            column.levels.codes[level][frequencies.tuples[:, index]]
            for index, (column, level) in enumerate(zip(columns, chosen, strict=True))
        ]
        kept = ~self.suppressed
        sizes = [len(column.levels.labels[level]) for column, level in zip(columns, chosen, strict=True)]
        groups, rows = group([column[kept] for column in labels], sizes)
        members = np.full(len(frequencies.tuples), -1, np.int64)
        members[kept] = groups
        first = np.flatnonzero(kept)[rows]
        shown = tuple(
            ColumnLabels(
                column.levels.labels[level],
                labels[index][first].astype(np.int64),
                column.levels.penalties[level][frequencies.tuples[first, index]],
                column.levels.lowest[level][frequencies.tuples[first, index]],
                column.levels.records[level][frequencies.tuples[first, index]],
                partial(_covers, column, level),
            )
            for index, (column, level) in enumerate(zip(columns, chosen, strict=True))
        )
        return ClassAssignment(members[frequencies.cell_tuples], None, frequencies.cell_counts, len(rows), shown)

    def extended(self, frequencies: Frequencies) -> FullDomain:
        """Suppress the tuples that the search did not see."""
        more = np.ones(len(frequencies.tuples) - len(self.suppressed), bool)
        return replace(self, suppressed=np.append(self.suppressed, more))

    def to_dict(self) -> dict[str, Any]:
        """Return the levels, and how sure they are the best."""
        proof = {} if self.proof is None else {"proof": self.proof.to_dict()}
        return {"recoding": "full-domain", "levels": dict(self.levels), **proof}


def _covers(column: Column, level: int) -> Bools:
    """Which values the labels of a level cover."""
    start = int(column.levels.label_offsets[level])
    return column.levels.covers[start : start + len(column.levels.labels[level])]

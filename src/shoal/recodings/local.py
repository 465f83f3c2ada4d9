"""Local: each class shows what its own records need."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from shoal.encoding.types import Codes, Ints
from shoal.frequencies.frequencies import Frequencies
from shoal.recodings.base import ClassAssignment, Column, ColumnLabels, Proof, Recoding
from shoal.recodings.forms import ClassMembers, show_column, show_narrowest


@dataclass(frozen=True)
class Local(Recoding):
    """Records are put into classes; each class shows its labels, ranges or value sets.

    References
    ----------
    Xu, J., Wang, W., Pei, J., Wang, X., Shi, B. and Fu, A. W.-C. (2006). Utility-based anonymization using local
    recoding. KDD.
    """

    kind: ClassVar[str] = "local"

    members: Ints = field(repr=False)
    """The class of each piece; -1 is suppressed."""
    cells: Ints | None = field(default=None, repr=False)
    """The cell of each piece, where cells are split; pieces of a cell stand in order."""
    weights: Ints | None = field(default=None, repr=False)
    """The records of each piece, where cells are split."""
    proof: Proof | None = None
    """The certainty penalty, and what no local recoding can go below."""
    stopped: str = ""
    """Why the search ended early, if it did."""
    part: bool = False
    """Whether there are other classes beside these: then one that shows nothing would look suppressed."""

    @classmethod
    def of(cls, members: Ints, cells: Ints, weights: Ints) -> Local:
        """Return the recoding of pieces in any order; those of one cell and class become one.

        Examples
        --------
        >>> Local.of(np.array([1, 0, 1]), np.array([2, 0, 2]), np.array([4, 5, 6])).weights
        array([ 5, 10])
        """
        count = int(members.max(initial=-1)) + 2
        keys, index = np.unique(cells * count + members + 1, return_inverse=True)
        added = np.bincount(index, weights, minlength=len(keys)).astype(np.int64)
        return cls(keys % count - 1, keys // count, added)

    @property
    def count(self) -> int:
        """The number of classes."""
        return int(self.members.max(initial=-1)) + 1

    def draft(self, frequencies: Frequencies, columns: tuple[Column, ...]) -> ClassAssignment:
        """Find what each class must show to cover its records."""
        weights = frequencies.cell_counts if self.weights is None else self.weights
        tuples = frequencies.cell_tuples if self.cells is None else frequencies.cell_tuples[self.cells]
        inside = self.members >= 0
        members, chosen = ClassMembers.of(self.members[inside], tuples[inside], self.count)
        shown = show_classes(members, frequencies.tuples[chosen], columns, alone=self.count == 1 and not self.part)
        return ClassAssignment(self.members, self.cells, weights, self.count, shown)

    def extend(self, frequencies: Frequencies) -> Local:
        """Suppress the cells that the search did not see."""
        seen = len(self.members) if self.cells is None else int(self.cells.max(initial=-1)) + 1
        more = np.arange(seen, len(frequencies.cell_counts))
        members = np.append(self.members, np.full(len(more), -1, np.int64))
        if self.cells is None or self.weights is None:
            return replace(self, members=members)
        weights = np.append(self.weights, frequencies.cell_counts[more])
        return replace(self, members=members, cells=np.append(self.cells, more), weights=weights)

    def summarize(self) -> dict[str, Any]:
        """Return the number of classes; what they are is the published table."""
        return {"classes": self.count}


def show_classes(
    members: ClassMembers, tuples: Codes, columns: tuple[Column, ...], *, alone: bool
) -> tuple[ColumnLabels, ...]:
    """Return what classes of tuples show in each column; a class that is alone may show ``*`` everywhere."""
    shown = tuple(show_column(column, members, codes) for column, codes in zip(columns, tuples.T, strict=True))
    return shown if alone else _say_something(shown, columns, members, tuples)


def _say_something(
    shown: tuple[ColumnLabels, ...], columns: tuple[Column, ...], members: ClassMembers, tuples: Codes
) -> tuple[ColumnLabels, ...]:
    """Where a class would show ``*`` everywhere, show its range or its values in the column that they cost least.

    Such a class would look suppressed though its records are not. (Where a missing value matches anything, it has
    nothing else to say.)
    """
    silent = np.logical_and.reduce([own.stars for own in shown])
    if not silent.any():
        return shown
    subset, inside = members.where(silent)
    chosen = tuples[inside].T.astype(np.int64)
    instead = [show_narrowest(column, subset, codes) for column, codes in zip(columns, chosen, strict=True)]
    costs = np.stack([np.where(own.stars, 2.0, own.penalties) for own in instead])
    best = np.where(costs.min(axis=0) <= 1.0, costs.argmin(axis=0), -1)
    patched = []
    for index, (old, new) in enumerate(zip(shown, instead, strict=True)):
        changed = silent.copy()
        changed[silent] = best == index
        patched.append(old.replace_classes(changed, new.take(best == index)))
    return tuple(patched)

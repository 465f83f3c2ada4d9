"""Frequencies: the table as a search sees it.  Classes: the records that would look alike.

Models, searches, risks and losses need no rows, only the distinct combinations and how often each occurs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Frequencies:
    """Distinct quasi-identifier *tuples*, and the distinct *cells* (tuple, sensitive values, subject) in them.

    Cells are sorted by tuple, then by sensitive values, then by subject, so that equal tables have equal
    frequencies whatever the order of their records.

    Attributes
    ----------
    tuples
        ``tuples[t, column]``: codes of the quasi-identifiers, in lexicographic order.
    cell_tuples, cell_counts
        The tuple of each cell, and its number of records.
    sensitive
        ``sensitive[cell, column]``: codes of the sensitive columns; -1 is a missing value that matches anything.
    subjects
        The person of each cell, where the policy names a ``subject`` column; else ``None``: every record is one.
    """

    tuples: Codes
    cell_tuples: Ints
    cell_counts: Ints
    sensitive: Codes
    subjects: Ints | None = None

    @cached_property
    def counts(self) -> Ints:
        """The number of records of each tuple."""
        counted = np.bincount(self.cell_tuples, weights=self.cell_counts, minlength=len(self.tuples))
        return counted.astype(np.int64)

    @cached_property
    def records(self) -> int:
        """The number of records."""
        return int(self.cell_counts.sum())

    @cached_property
    def persons(self) -> int:
        """The number of persons: distinct subjects, or records where there are no subjects."""
        return self.records if self.subjects is None else len(np.unique(self.subjects))


@dataclass(frozen=True)
class Classes:
    """Equivalence classes: the records that would look alike in the published table.

    A record counts once, or, where there are subjects, a person counts once per class however many of the
    records are theirs.

    Examples
    --------
    >>> table = Frequencies(np.zeros((2, 1), np.int32), np.array([0, 1]), np.array([3, 1]),
    ...                     np.array([[0], [1]], np.int32))
    >>> classes = Classes.of(table, np.array([0, 0]))
    >>> classes.sizes, classes.distinct(0)
    (array([4]), array([2]))
    """

    count: int
    members: Ints
    """The class of each piece (a cell, or a part of one); -1 is in no class."""
    cells: Ints | None
    """The cell of each piece; ``None`` when the pieces are the cells."""
    weights: Ints
    """The records of each piece."""
    frequencies: Frequencies
    counted: Ints | None = None
    """The records of each class, where they are known already."""

    @classmethod
    def of(cls, frequencies: Frequencies, members: Ints, count: int | None = None) -> Classes:
        """Group whole cells."""
        number = int(members.max(initial=-1)) + 1 if count is None else count
        return cls(number, members, None, frequencies.cell_counts, frequencies)

    def _per_piece(self, values: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        return values if self.cells is None else values[self.cells]

    @cached_property
    def records(self) -> Ints:
        """The number of records of each class."""
        if self.counted is not None:
            return self.counted
        inside = self.members >= 0
        counted = np.bincount(self.members[inside], self.weights[inside], minlength=self.count)
        return counted.astype(np.int64)

    @cached_property
    def sizes(self) -> Ints:
        """The number of persons of each class."""
        if self.frequencies.subjects is None:
            return self.records
        subjects = self._per_piece(self.frequencies.subjects).astype(np.int64)
        return self._distinct_pairs(subjects)[0]

    def distinct(self, column: int) -> Ints:
        """Return how many distinct values of a sensitive column each class holds.

        A missing value that matches anything could be any of the others, so it adds none (and a class of only
        such values counts one).
        """
        values = self._per_piece(self.frequencies.sensitive[:, column]).astype(np.int64)
        counted, wild = self._distinct_pairs(values)
        return np.maximum(counted, wild) if wild.any() else counted

    def _distinct_pairs(self, values: Ints) -> tuple[Ints, Ints]:
        """Distinct non-negative values per class, and whether the class holds a negative one."""
        keep = self.members >= 0
        classes, kept = self.members[keep], values[keep]
        wild = np.zeros(self.count, np.int64)
        wild[classes[kept < 0]] = 1
        classes, kept = classes[kept >= 0], kept[kept >= 0]
        width = int(kept.max(initial=0)) + 1
        if self.count * width <= max(4 * len(kept), 1 << 22):
            present = np.zeros(self.count * width, bool)
            present[classes * width + kept] = True
            return present.reshape(self.count, width).sum(axis=1, dtype=np.int64), wild
        pairs = np.sort(classes * width + kept)  # np.unique hashes first, which takes ten times as long
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]
        return np.bincount(pairs // width, minlength=self.count).astype(np.int64), wild

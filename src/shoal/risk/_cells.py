"""Cells: how many of each class have each value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.encoding.types import Ints
from shoal.risk.base import Attribute, Evidence, PublishedClasses


@dataclass(frozen=True)
class Cells:
    """How many persons (or records) of each class have each value of a column, in order of classes and values.

    Examples
    --------
    >>> release = PublishedClasses(np.array([0, 0, 1]), np.array([[0], [1]]), np.array([2, 1]))
    >>> cells = Cells.of(release, np.array([7, -1, 7]))
    >>> cells.classes, cells.values, cells.counts, cells.wild
    (array([0, 1]), array([7, 7]), array([1, 1]), array([1, 0]))
    """

    classes: Ints
    values: Ints
    counts: Ints
    wild: Ints
    """For each class, those whose value may be any."""

    @classmethod
    def of(cls, release: PublishedClasses, codes: Ints, persons: Ints | None = None) -> Cells:
        """Count the values of the records; a person who has several records with a value counts once."""
        width = int(codes.max(initial=0)) + 2
        keys = release.classes * width + codes + 1
        if persons is not None:
            people = int(persons.max(initial=0)) + 1
            keys = np.unique(keys * people + persons) // people
        keys, counts = np.unique(keys, return_counts=True)
        classes, values = keys // width, keys % width - 1
        wild = np.zeros(len(release.sizes), np.int64)
        wild[classes[values < 0]] = counts[values < 0]
        known = values >= 0
        return cls(classes[known], values[known], counts[known].astype(np.int64), wild)

    @classmethod
    def about(cls, evidence: Evidence, attribute: Attribute) -> Cells:
        """Count the values of a sensitive column in each class of the release."""
        assert evidence.release is not None
        return cls.of(evidence.release, attribute.codes, evidence.persons)

    @property
    def known(self) -> Ints:
        """For each class, those whose value is known."""
        return np.bincount(self.classes, self.counts, len(self.wild)).astype(np.int64)

    @property
    def starts(self) -> Ints:
        """Where the cells of each class begin, and where those of the last end."""
        return np.append(0, np.cumsum(np.bincount(self.classes, minlength=len(self.wild)))).astype(np.int64)

    def most(self, many: int) -> Ints:
        """Return ``[class, index]``: the counts of the most frequent values of each class, the greatest first.

        Examples
        --------
        >>> release = PublishedClasses(np.array([0, 0, 0, 1]), np.array([[0], [1]]), np.array([3, 1]))
        >>> Cells.of(release, np.array([4, 2, 4, 2])).most(2)
        array([[2, 1],
               [1, 0]])
        """
        order = np.lexsort((-self.counts, self.classes))
        index = np.arange(len(order)) - self.starts[:-1][self.classes[order]]
        inside = index < many
        table = np.zeros((len(self.wild), many), np.int64)
        table[self.classes[order][inside], index[inside]] = self.counts[order][inside]
        return table

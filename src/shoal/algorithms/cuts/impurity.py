"""Impurity: how mixed the classes of a class column are, and what a division gains."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.encoding.types import Floats, Ints
from shoal.frequencies.frequencies import Frequencies


class Impurity:
    """How mixed the classes of a class column are among the records under a label: records times entropy, in bits.

    Examples
    --------
    >>> table = Frequencies(np.array([[0], [1]], np.int32), np.array([0, 0, 1]), np.array([1, 1, 2]),
    ...                     np.array([[0], [1], [1]], np.int32))
    >>> mixed = Impurity(table, np.array([0, 1]), 0)
    >>> mixed.of(0, 0), mixed.of(1, 1), round(mixed.of(0, 1), 3)
    (2.0, 0.0, 3.245)
    """

    def __init__(self, frequencies: Frequencies, codes: Ints, class_place: int) -> None:
        cell_codes = codes[frequencies.cell_tuples]
        order = np.argsort(cell_codes, kind="stable")
        self._codes = cell_codes[order]
        self._values = frequencies.sensitive[order, class_place]
        self._counts = frequencies.cell_counts[order]

    def _inside(self, low: int, high: int) -> slice:
        return slice(*np.searchsorted(self._codes, [low, high + 1]))

    def of(self, low: int, high: int) -> float:
        """Return the impurity of the records whose code is between two codes."""
        inside = self._inside(low, high)
        _, numbers = np.unique(self._values[inside], return_inverse=True)
        counts = np.bincount(numbers, self._counts[inside])
        return float(_bits(counts.sum()) - _bits(counts).sum())

    def gain(self, low: int, high: int, parts: list[tuple[int, int]]) -> float:
        """Return the information gain of a division: the entropy of the whole minus the mean one of its parts."""
        drop = self.of(low, high) - sum(self.of(*part) for part in parts)
        return float(drop / self._counts[self._inside(low, high)].sum())

    def gains(self, low: int, high: int) -> Floats:
        """Return the information gain of dividing after each code but the last."""
        inside = self._inside(low, high)
        counts, codes = self._counts[inside], self._codes[inside] - low
        order = np.lexsort([codes, self._values[inside]])
        counts, codes = counts[order], codes[order]
        _, starts, number = np.unique(self._values[inside][order], return_index=True, return_inverse=True)
        running = np.cumsum(counts)
        before = running - counts - (running - counts)[starts][number]
        after = before + counts
        total = np.bincount(number, counts)[number]
        size = high - low + 1
        left = np.cumsum(np.bincount(codes, _bits(after) - _bits(before), minlength=size))
        taken = np.cumsum(np.bincount(codes, _bits(total - before) - _bits(total - after), minlength=size))
        ends = np.cumsum(np.bincount(codes, counts, minlength=size))
        whole = taken[-1]
        parts = (_bits(ends) - left) + (_bits(ends[-1] - ends) - (whole - taken))
        gains: Floats = (_bits(ends[-1]) - whole - parts)[:-1] / ends[-1]
        return gains


def _bits(counts: npt.ArrayLike) -> Floats:
    """x log2 x, and 0 for 0."""
    values = np.asarray(counts, np.float64)
    return values * np.log2(np.maximum(values, 1.0))

"""Tuples and classes as boxes, for searches that put records into classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.algorithms._costs import Words, bits_of_codes, codes_of, costs_of
from shoal.algorithms.base import Ints
from shoal.frequencies import Codes
from shoal.kernels.boxes import Boxes, enclose
from shoal.kernels.widths import Costs
from shoal.recodings.base import Column


@dataclass(frozen=True)
class Points:
    """Tuples, each a box of its own, and what boxes around them cost."""

    costs: Costs
    codes: Codes
    bits: Words

    @classmethod
    def of(cls, columns: tuple[Column, ...], tuples: Codes) -> Points:
        """Lay tuples out."""
        costs, codes = costs_of(columns), codes_of(columns, tuples)
        return cls(costs, codes, bits_of_codes(codes, costs))

    def __len__(self) -> int:
        return len(self.codes)

    def at(self, places: Ints) -> Points:
        """Return some of the tuples."""
        return Points(self.costs, self.codes[places], self.bits[places])

    def room(self, count: int) -> Boxes:
        """Return room for so many boxes."""
        low, high = (np.zeros((count, self.codes.shape[1]), np.int32) for _ in range(2))
        bits = np.zeros((count, self.bits.shape[1]), np.uint64)
        return Boxes(low, high, bits, np.zeros(count), np.zeros(count, np.int64))

    def boxes(self, records: Ints, classes: Ints, count: int) -> Boxes:
        """Return the box of each class of the tuples."""
        boxes = self.room(count)
        enclose(self.costs, self.codes, self.bits, records, classes, boxes)
        return boxes


def taken(boxes: Boxes, rows: npt.NDArray[np.generic]) -> Boxes:
    """Return some of the boxes, given by their numbers or by a mask."""
    return Boxes(*(array[rows] for array in boxes))

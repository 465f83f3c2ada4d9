"""Tuples and classes as boxes, for searches that put records into classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.algorithms.local._costs import Slots
from shoal.encoding.types import Codes, Ints
from shoal.kernels.boxes import Paid, enclose
from shoal.kernels.widths import Boxes, Costs
from shoal.recodings.base import Column


@dataclass(frozen=True)
class Points:
    """Tuples, each a box of its own, and what boxes around them cost."""

    costs: Costs
    tuples: Boxes

    @classmethod
    def of(cls, columns: Sequence[Column], tuples: Codes) -> Points:
        """Lay tuples out."""
        slots = Slots.of(columns)
        return cls(slots.costs, slots.boxes(tuples))

    def __len__(self) -> int:
        return len(self.tuples.lows)

    def at(self, indices: Ints) -> Points:
        """Return some of the tuples."""
        lows, highs, held = self.tuples
        return Points(self.costs, Boxes(lows[indices], highs[indices], held[indices]))

    def room(self, count: int) -> Paid:
        """Return room for so many boxes."""
        lows, highs = (np.zeros((count, self.tuples.lows.shape[1]), np.int32) for _ in range(2))
        held = np.zeros((count, self.tuples.held.shape[1]), np.uint64)
        return Paid(lows, highs, held, np.zeros(count), np.zeros(count, np.int64))

    def boxes(self, records: Ints, classes: Ints, count: int) -> Paid:
        """Return the box of each class of the tuples."""
        boxes = self.room(count)
        enclose(self.costs, self.tuples, records, classes, boxes)
        return boxes


def select_boxes(boxes: Paid, rows: npt.NDArray[np.generic]) -> Paid:
    """Return some of the boxes, given by their numbers or by a mask."""
    return Paid(*(array[rows] for array in boxes))

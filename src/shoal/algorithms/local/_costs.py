"""What boxes around records cost in each column, laid out for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shoal.encoding.types import Codes, Floats, Ints
from shoal.kernels.widths import LINE, SET, STRIDE, TABLE, TREE, Boxes, Costs
from shoal.recodings.base import Column

_FEW = 256
"""Codes of a column up to which the cost of every pair is looked up."""
_WORDS = 4
"""The most words of a set's bits; codes of larger columns share bits, which only misleads the search a little."""
_STEPS = 1 << 29
"""Positions on a line; what is missing is far beyond all of them."""
_NARROW = 1e-290
"""Narrower ranges are not told apart: steps of them would be more than numbers can say."""
_FAR = np.iinfo(np.int32).max
BEYOND = 1e3
"""Times the cost of showing nothing at all: what is added where a box is above a boundary."""


@dataclass(frozen=True)
class Slot:
    """A column, or its boundaries, as a box sees it."""

    place: int
    """The column's place."""
    form: int
    lows: Codes
    """The position of each code; two of them where it is everything between."""
    highs: Codes
    numbers: Floats
    layout: tuple[int, ...] = ()
    labels: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    """TREE: the numbers of the labels, ``[level, code]``."""
    bits: npt.NDArray[np.uint64] | None = None
    """SET: ``bits[code, word]``."""
    guards: bool = False
    """Whether it is the boundaries of the column."""


@dataclass(frozen=True)
class Slots:
    """What boxes cost, and how tuples become boxes."""

    costs: Costs
    slots: tuple[Slot, ...]

    @classmethod
    def of(cls, columns: Sequence[Column]) -> Slots:
        """Lay out the columns, weighted."""
        slots = [_slot(index, column) for index, column in enumerate(columns)]
        beyond = BEYOND * sum(column.weight for column in columns)
        slots += [_guard(index, column, beyond) for index, column in enumerate(columns) if column.limits is not None]
        slots.sort(key=lambda slot: slot.form)
        layout = np.zeros(STRIDE * len(slots), np.int64)
        start, words, labels = 0, 0, len(layout)
        for number, slot in enumerate(slots):
            own = layout[STRIDE * number : STRIDE * (number + 1)]
            own[: 1 + len(slot.layout)] = (start, *slot.layout)
            if slot.bits is not None:
                own[1:3] = words, words + slot.bits.shape[1]
                words += slot.bits.shape[1]
            if slot.form == TREE:
                own[3] = labels
            start, labels = start + len(slot.numbers), labels + len(slot.labels)
        forms = [slot.form for slot in slots]
        tables, lines, sets, all_of_them = (sum(form <= last for form in forms) for last in (TABLE, LINE, SET, TREE))
        labelled = np.concatenate([layout, *(slot.labels for slot in slots)])
        numbers = np.concatenate([slot.numbers for slot in slots])
        return cls(Costs(tables, lines, sets, all_of_them, labelled, numbers), tuple(slots))

    def codes(self, tuples: Codes) -> Codes:
        """``[slot, tuple]``: the codes of a column, or the numbers of its boundaries."""
        columns = [(tuples[:, slot.place], slot) for slot in self.slots]
        return np.stack([slot.lows[codes] if slot.guards else codes for codes, slot in columns]).astype(np.int32)

    def joins(self, columns: Sequence[Column]) -> tuple[Codes, Ints]:
        """Return the joins of slots that show labels, slot after slot, and where each slot starts; others have none."""
        chosen = [(slot.guards, columns[slot.place]) for slot in self.slots]
        found = [c.levels.joins[: 0 if guards or c.form != "labels" else None] for guards, c in chosen]
        return np.concatenate(found), np.cumsum([0, *map(len, found)]).astype(np.int64)

    def positions(self) -> tuple[Codes, Codes, Ints]:
        """Return the positions of all codes, slot after slot, and where each slot starts."""
        lows, highs = (np.concatenate(ends) for ends in zip(*((s.lows, s.highs) for s in self.slots), strict=True))
        return lows, highs, np.cumsum([0, *(len(slot.lows) for slot in self.slots)]).astype(np.int64)

    def boxes(self, tuples: Codes) -> Boxes:
        """Return a box around each tuple."""
        held = [slot.bits[tuples[:, slot.place]] for slot in self.slots if slot.bits is not None]
        return Boxes(
            np.stack([slot.lows[tuples[:, slot.place]] for slot in self.slots], axis=1),
            np.stack([slot.highs[tuples[:, slot.place]] for slot in self.slots], axis=1),
            np.concatenate([*held, np.zeros((len(tuples), 0 if held else 1), np.uint64)], axis=1),
        )


def _slot(index: int, column: Column) -> Slot:
    if column.form == "ranges":
        return _line(index, column)
    if column.form == "sets":
        return _set(index, column)
    codes = np.arange(column.levels.size, dtype=np.int32)
    costs = column.levels.penalties * column.weight
    if len(codes) <= _FEW:
        return Slot(index, TABLE, codes, codes, _table(column).ravel() * column.weight, (len(codes),))
    labels, height = column.levels.codes.astype(np.int64).ravel(), column.levels.height
    return Slot(index, TREE, codes, codes, costs.ravel(), (len(codes), height), labels)


def _table(column: Column) -> Floats:
    """``[least, greatest]``: the penalty of the lowest label of two codes."""
    levels = column.levels
    low, high = np.meshgrid(np.arange(levels.size), np.arange(levels.size), indexing="ij")
    level = np.full(low.shape, levels.height, np.int64)
    for candidate in range(levels.height - 1, -1, -1):
        level[levels.codes[candidate][low] == levels.codes[candidate][high]] = candidate
    return levels.penalties[level, low]


def _line(index: int, column: Column) -> Slot:
    """Values as whole steps, as many as there is room for: numbers without fractions stay exact."""
    domain, span = column.levels.domain, column.levels.domain.span or 1.0
    values = domain.values.astype(np.float64)
    extent = max(span, float(np.ptp(values)) if len(values) else 0.0, _NARROW)
    fine = float(np.floor(_STEPS / extent)) or _STEPS / extent
    steps = np.full(column.levels.size, _FAR, np.int32)
    steps[: len(values)] = np.rint((values - values.min(initial=np.inf)) * fine)
    lows = steps.copy()
    lows[(column.levels.penalties[0] > 0.0) & (steps == _FAR)] = -_STEPS  # matches anything, and so shows nothing
    return Slot(index, LINE, lows, steps, np.array([column.weight / (span * fine), column.weight]))


def _set(index: int, column: Column) -> Slot:
    size, levels = column.levels.size, column.levels
    words = min(-(-size // 64), _WORDS)
    room, codes = 64 * words, np.arange(size, dtype=np.int32)
    bits = np.zeros((size, words), np.uint64)
    bits[codes, codes % room // 64] = np.uint64(1) << (codes % 64).astype(np.uint64)
    costs = np.arange(room + 1, dtype=np.float64) * (column.weight / max(size, 1))
    costs[:2] = 0.0
    if size and levels.penalties[0, -1] > 0.0:  # matches anything, and so shows nothing
        bits[-1] = np.bitwise_or.reduce(bits, axis=0)
        costs[min(size, room)] = column.weight
    return Slot(index, SET, codes, codes, costs, bits=bits)


def _guard(index: int, column: Column, beyond: float) -> Slot:
    """A slot that costs much as soon as a box leaves a boundary: it must hold codes of one boundary, or of none."""
    numbers = column.bounded_by.astype(np.int32)
    return Slot(index, LINE, numbers, numbers, np.array([beyond, beyond]), guards=True)

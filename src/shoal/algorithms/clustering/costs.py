"""What boxes around records cost in each column, laid out for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from shoal.encoding.domains import STAR
from shoal.encoding.types import Codes, Floats, Ints
from shoal.kernels.boxes import Paid, enclose
from shoal.kernels.widths import LINE, SET, STRIDE, TABLE, TREE, Boxes, Costs
from shoal.recodings.base import Column, ColumnLabels
from shoal.utility.base import Metric, PricedCells
from shoal.utility.certainty_penalty import CertaintyPenalty

_FEW = 256
"""Codes of a column up to which the cost of every pair is looked up."""
_MANY = 2048
"""The same where nothing else tells the cost; codes of larger columns are looked up together, a little wrongly."""
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
    def of(cls, columns: Sequence[Column], loss: Metric | None = None) -> Slots:
        """Lay out the columns, weighted, priced by a loss that adds up over cells: without one, by their penalties."""
        prices = price_columns(columns, loss or CertaintyPenalty())
        slots = [_slot(index, own) for index, own in enumerate(prices)]
        beyond = BEYOND * sum(own.nothing for own in prices)
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


@dataclass(frozen=True)
class Prices:
    """What a record loses, weighted, by what one column shows of it."""

    column: Column
    loss: Metric

    @property
    def nothing(self) -> float:
        """What a record loses that shows nothing."""
        levels = self.column.levels
        return float(self._price(np.ones(1), np.array([levels.height]), np.array([int(levels.own.sum())]))[0])

    @cached_property
    def labels(self) -> Floats:
        """``[level, code]``: what a label costs."""
        levels = self.column.levels
        climbed = np.repeat(np.arange(levels.height + 1)[:, None], levels.size, axis=1)
        for level, names in enumerate(levels.labels):
            climbed[level, np.array([name == STAR for name in names], bool)[levels.codes[level]]] = levels.height
        return self._price(levels.penalties, climbed, levels.records)

    def of_shown(self, shown: ColumnLabels) -> Floats:
        """Return what a record loses in each class."""
        return self._price(shown.penalties, shown.levels, shown.stands_for)

    def of_penalties(self, penalties: Floats) -> Floats:
        """Return what penalties cost: the rest of a cell is not known, and counts as in proportion."""
        levels = self.column.levels
        return self._price(penalties, penalties * levels.height, penalties * float(levels.own.sum()))

    def of_pairs(self, first: Ints, last: Ints) -> Floats:
        """``[least, greatest]``: what everything from a first to a last code costs."""
        levels, lows, highs = self.column.levels, first[:, None], last[None, :]
        level = np.full((len(first), len(last)), levels.height, np.int64)
        for candidate in range(levels.height - 1, -1, -1):
            level[levels.codes[candidate][lows] == levels.codes[candidate][highs]] = candidate
        if self.column.form != "ranges" or self.loss.priced_by == "level":
            return self.labels[level, np.broadcast_to(lows, level.shape)]
        single, mixed = lows == highs, (highs >= len(levels.domain)) & (lows != highs)
        reached = np.append(0, np.cumsum(levels.own))
        cover = np.where(mixed, reached[-1], reached[highs + 1] - reached[lows])
        cover = np.where(single, levels.records[0][lows], cover)
        penalty = np.where(single, levels.penalties[0][lows], 1.0)  # who is priced by it asks no pairs of ranges
        return self._price(penalty, level, cover)

    def _price(self, penalty: Floats, level: Ints | Floats, cover: Ints | Floats) -> Floats:
        levels = self.column.levels
        cells = PricedCells(penalty=penalty, level=level, cover=cover, distinct=levels.size, height=levels.height)
        return self.loss.price(cells) * self.column.weight


def price_columns(columns: Sequence[Column], loss: Metric) -> list[Prices]:
    """Return the prices of each column, by the form of a loss that an audit of any recoding counts."""
    return [Prices(column, loss.auditable()) for column in columns]


def _slot(index: int, prices: Prices) -> Slot:
    form, by, levels = prices.column.form, prices.loss.priced_by, prices.column.levels
    if form == "ranges" and by == "penalty":
        return _line(index, prices)
    if form == "sets" and by != "level":
        return _set(index, prices)
    codes = np.arange(levels.size, dtype=np.int32)
    if len(codes) > _FEW and not (form == "ranges" and by == "cover"):
        labels, height = levels.codes.astype(np.int64).ravel(), levels.height
        return Slot(index, TREE, codes, codes, prices.labels.ravel(), (len(codes), height), labels)
    shared = codes // -(-len(codes) // _MANY)
    first, last = (np.searchsorted(shared, np.arange(shared[-1] + 1), side=side) for side in ("left", "right"))
    return Slot(index, TABLE, shared, shared, prices.of_pairs(first, last - 1).ravel(), (len(first),))


def _line(index: int, prices: Prices) -> Slot:
    """Values as whole steps, as many as there is room for: numbers without fractions stay exact."""
    levels = prices.column.levels
    domain, span = levels.domain, levels.domain.span or 1.0
    values = domain.offsets
    extent = max(span, float(values.max(initial=0.0)), _NARROW)
    fine = float(np.floor(_STEPS / extent)) or _STEPS / extent
    steps = np.full(levels.size, _FAR, np.int32)
    steps[: len(values)] = np.rint(values * fine)
    lows = steps.copy()
    lows[(levels.penalties[0] > 0.0) & (steps == _FAR)] = -_STEPS  # matches anything, and so shows nothing
    jump, whole = prices.of_penalties(np.array([np.finfo(np.float64).tiny, 1.0])).tolist()
    return Slot(index, LINE, lows, steps, np.array([(whole - jump) / (span * fine), whole, jump]))


def _set(index: int, prices: Prices) -> Slot:
    size, levels = prices.column.levels.size, prices.column.levels
    words = min(-(-size // 64), _WORDS)
    room, codes = 64 * words, np.arange(size, dtype=np.int32)
    bits = np.zeros((size, words), np.uint64)
    bits[codes, codes % room // 64] = np.uint64(1) << (codes % 64).astype(np.uint64)
    shares = np.arange(room + 1, dtype=np.float64) / max(size, 1)
    shares[:2] = 0.0
    costs = prices.of_penalties(np.minimum(shares, 1.0))
    if size and levels.penalties[0, -1] > 0.0:  # matches anything, and so shows nothing
        bits[-1] = np.bitwise_or.reduce(bits, axis=0)
        costs[min(size, room)] = prices.nothing
    return Slot(index, SET, codes, codes, costs, bits=bits)


def _guard(index: int, column: Column, beyond: float) -> Slot:
    """A slot that costs much as soon as a box leaves a boundary: it must hold codes of one boundary, or of none."""
    numbers = column.bounded_by.astype(np.int32)
    return Slot(index, LINE, numbers, numbers, np.array([beyond, beyond, 0.0]), guards=True)


@dataclass(frozen=True)
class Points:
    """Tuples, each a box of its own, and what boxes around them cost."""

    costs: Costs
    tuples: Boxes

    @classmethod
    def of(cls, columns: Sequence[Column], tuples: Codes, loss: Metric | None = None) -> Points:
        """Lay tuples out, priced by a loss that adds up over cells."""
        slots = Slots.of(columns, loss)
        return cls(slots.costs, slots.boxes(tuples))

    def __len__(self) -> int:
        return len(self.tuples.lows)

    def at(self, indices: Ints) -> Points:
        """Return some of the tuples."""
        return Points(self.costs, select_boxes(self.tuples, indices))

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


AnyBoxes = TypeVar("AnyBoxes", Boxes, Paid)


def select_boxes(boxes: AnyBoxes, rows: npt.NDArray[np.generic]) -> AnyBoxes:
    """Return some of the boxes, given by their numbers or by a mask."""
    return type(boxes)(*(array[rows] for array in boxes))

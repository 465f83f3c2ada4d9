"""How local recoding publishes a class: labels, ranges, or sets of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from shoal.encoding.domains import STAR
from shoal.encoding.labels import write_range, write_set
from shoal.encoding.types import Bools, Floats, Ints
from shoal.hierarchies.base import Levels
from shoal.recodings.base import Column, ColumnLabels, Form


@dataclass(frozen=True)
class Members:
    """The classes of a list of tuples; the list is sorted by class and every class occurs."""

    classes: Ints
    count: int

    @cached_property
    def starts(self) -> Ints:
        """Where each class starts."""
        return np.searchsorted(self.classes, np.arange(self.count)).astype(np.int64)

    def bounds(self, codes: Ints) -> tuple[Ints, Ints]:
        """Return the least and greatest code of each class."""
        if not self.count:
            return codes[:0], codes[:0]
        return np.minimum.reduceat(codes, self.starts), np.maximum.reduceat(codes, self.starts)


def show_labels(levels: Levels, members: Members, codes: Ints) -> ColumnLabels:
    """Show the lowest common ancestor of each class.

    Codes are in hierarchy order, so the ancestor of the least and the greatest is the ancestor of all.
    """
    low, high = members.bounds(codes)
    level = _common_level(levels, low, high)
    ids = levels.label_offsets[level] + levels.codes[level, low]
    texts = tuple(label for names in levels.labels for label in names)
    penalties, records = levels.penalties[level, low], levels.records[level, low]
    return ColumnLabels(texts, ids.astype(np.int64), penalties, level, records, lambda: levels.covers)


def _common_level(levels: Levels, low: Ints, high: Ints) -> Ints:
    """The lowest level at which the least and the greatest code share a label."""
    level = np.full(len(low), levels.height, np.int64)
    for candidate in range(levels.height - 1, -1, -1):
        level[levels.codes[candidate][low] == levels.codes[candidate][high]] = candidate
    return level


def show_ranges(levels: Levels, members: Members, codes: Ints) -> ColumnLabels:
    """Show the least and the greatest value of each class, ``*`` where a missing value is among others."""
    if not levels.natural:
        raise ValueError("ranges need values in their natural order")
    low, high = members.bounds(codes)
    pairs, ids = np.unique(low * levels.size + high, return_inverse=True)
    texts = tuple(_range_text(levels, *divmod(pair, levels.size)) for pair in pairs.tolist())
    penalties = _range_penalties(levels, low, high)
    reached = np.append(0, np.cumsum(levels.own))
    mixed = (high >= len(levels.domain)) & (low < high)
    stands_for = np.where(low == high, levels.records[0][low], reached[high + 1] - reached[low])
    stands_for = np.where(mixed, reached[-1], stands_for)
    common = _common_level(levels, low, high)
    return ColumnLabels(texts, ids.astype(np.int64), penalties, common, stands_for, partial(_in_ranges, levels, pairs))


def _in_ranges(levels: Levels, pairs: Ints) -> Bools:
    """Which values each range covers; a single value covers what its label does."""
    low, high = np.divmod(pairs, levels.size)
    codes = np.arange(levels.size)
    inside = (low[:, None] <= codes) & (codes <= high[:, None])
    inside[(high >= len(levels.domain)) & (low < high)] = True
    single = low == high
    inside[single] = levels.covers[low[single]]
    return inside


def _range_text(levels: Levels, low: int, high: int) -> str | None:
    first, last = levels.labels[0][low], levels.labels[0][high]
    if low == high:
        return first
    return STAR if high >= len(levels.domain) else write_range(str(first), str(last))


def _range_penalties(levels: Levels, low: Ints, high: Ints) -> Floats:
    count = len(levels.domain)
    values = np.append(levels.domain.values.astype(np.float64), np.nan)
    spread = values[np.minimum(high, count)] - values[np.minimum(low, count)]
    shares = spread / levels.domain.span if levels.domain.span > 0 else np.where(np.isnan(spread), 1.0, 0.0)
    mixed = (high >= count) & (low < high)
    return np.where(mixed, 1.0, np.where(low == high, levels.penalties[0][low], shares))


def show_sets(levels: Levels, members: Members, codes: Ints) -> ColumnLabels:
    """Show the set of values of each class; a missing value that matches anything makes it ``*``."""
    pairs = np.unique(members.classes * levels.size + codes)
    classes, values = np.divmod(pairs, levels.size)
    starts = np.searchsorted(classes, np.arange(members.count + 1))
    numbers: dict[bytes, int] = {}
    texts: list[str | None] = []
    ids = np.empty(members.count, np.int64)
    penalties = np.empty(members.count, np.float64)
    stands_for = np.empty(members.count, np.int64)
    for number in range(members.count):
        held = values[starts[number] : starts[number + 1]]
        key = held.tobytes()
        if key not in numbers:
            numbers[key] = len(texts)
            texts.append(_set_text(levels, held))
        ids[number] = numbers[key]
        single = levels.penalties[0, held[0]]
        penalties[number] = single if len(held) == 1 else len(held) / levels.size
        stands_for[number] = levels.records[0, held].sum()
        if texts[numbers[key]] == STAR:
            penalties[number], stands_for[number] = 1.0, levels.records[-1, 0]
    common = _common_level(levels, *members.bounds(codes))
    covers = partial(_in_sets, levels, tuple(texts), [np.frombuffer(key, values.dtype) for key in numbers])
    return ColumnLabels(tuple(texts), ids, penalties, common, stands_for, covers)


def _in_sets(levels: Levels, texts: Sequence[str | None], held: Sequence[Ints]) -> Bools:
    """Which values each set covers; a single value covers what its label does."""
    inside = np.zeros((len(held), levels.size), bool)
    for row, (text, codes) in enumerate(zip(texts, held, strict=True)):
        inside[row, codes] = True
        if len(codes) == 1:
            inside[row] = levels.covers[codes[0]]
        elif text == STAR:
            inside[row] = True
    return inside


def _set_text(levels: Levels, codes: Ints) -> str | None:
    texts: list[str | None] = [levels.labels[0][int(code)] for code in codes]
    if len(texts) == 1:
        return texts[0]
    if levels.has_missing and texts[-1] == STAR and codes[-1] == levels.size - 1:
        return STAR
    return write_set(texts)


FORMS: dict[Form, Callable[[Levels, Members, Ints], ColumnLabels]] = {
    "labels": show_labels,
    "ranges": show_ranges,
    "sets": show_sets,
}


def show_narrowest(column: Column, members: Members, codes: Ints) -> ColumnLabels:
    """Show the range of each class, or its set of values where they have no order or a missing one is among them."""
    levels = column.levels
    if not (levels.domain.ordered and levels.natural):
        return show_sets(levels, members, codes)
    shown = show_ranges(levels, members, codes)
    mixed = shown.stars
    if not mixed.any():
        return shown
    inside = mixed[members.classes]
    subset = Members((np.cumsum(mixed) - 1)[members.classes[inside]], int(mixed.sum()))
    return shown.replaced(mixed, show_sets(levels, subset, codes[inside]))

"""How local recoding publishes a class: labels, ranges, or sets of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.encoding.domains import STAR
from shoal.encoding.label_writing import join_items, write_item, write_range
from shoal.encoding.types import Bools, Floats, Ints
from shoal.hierarchies.base import Levels
from shoal.kernels.group import group, sort_distinct
from shoal.recodings.base import Column, ColumnLabels, Form


@dataclass(frozen=True)
class ClassMembers:
    """The classes of a list of tuples; the list is sorted by class and every class occurs."""

    classes: Ints
    count: int

    @cached_property
    def starts(self) -> Ints:
        """Where each class starts."""
        return np.searchsorted(self.classes, np.arange(self.count)).astype(np.int64)

    @classmethod
    def of(cls, classes: Ints, tuples: Ints, count: int) -> tuple[ClassMembers, Ints]:
        """Return classes with each of their distinct tuples once, and these tuples; classes are decided by them."""
        width = int(tuples.max(initial=0)) + 1
        classes, chosen = np.divmod(sort_distinct(classes * width + tuples, max(count, 1) * width), width)
        return cls(classes, count), chosen

    def where(self, kept: Bools) -> tuple[ClassMembers, Bools]:
        """Return some of the classes, renumbered, and which tuples are theirs."""
        inside = kept[self.classes]
        return ClassMembers((np.cumsum(kept) - 1)[self.classes[inside]], int(kept.sum())), inside

    def bounds(self, codes: Ints) -> tuple[Ints, Ints]:
        """Return the least and greatest code of each class."""
        if not self.count:
            return codes[:0], codes[:0]
        return np.minimum.reduceat(codes, self.starts), np.maximum.reduceat(codes, self.starts)


def show_labels(column: Column, members: ClassMembers, codes: Ints) -> ColumnLabels:
    """Show the lowest common ancestor of each class.

    Codes are in hierarchy order, so the ancestor of the least and the greatest is the ancestor of all.
    """
    levels = column.levels
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


def show_ranges(column: Column, members: ClassMembers, codes: Ints) -> ColumnLabels:
    """Show the least and the greatest value of each class, ``*`` where a missing value is among others."""
    levels, ends = column.levels, column.ends
    if not levels.natural:
        raise ValueError("ranges need values in their natural order")
    low, high = members.bounds(codes)
    single, mixed = low == high, (high >= len(levels.domain)) & (low < high)
    first, last = np.where(single, low, ends.first[low]), np.where(single, high, ends.last[high])
    ids, rows = group([low, high], [levels.size, levels.size])
    texts = tuple(write_ranges(column, low[rows], high[rows]))
    reached = np.append(0, np.cumsum(levels.own))
    stands_for = np.where(single, levels.records[0][low], reached[last + 1] - reached[first])
    stands_for = np.where(mixed, reached[-1], stands_for)
    penalties = np.where(single, levels.penalties[0][low], _range_penalties(column, low, high))
    covers = partial(_in_ranges, levels, first[rows], last[rows])
    return ColumnLabels(texts, ids, penalties, _common_level(levels, first, last), stands_for, covers)


def _in_ranges(levels: Levels, first: Ints, last: Ints) -> Bools:
    """Which values each range covers; a single value covers what its label does."""
    codes = np.arange(levels.size)
    inside = (first[:, None] <= codes) & (codes <= last[:, None])
    inside[(last >= len(levels.domain)) & (first < last)] = True
    single = first == last
    inside[single] = levels.covers[first[single]]
    return inside


def write_ranges(column: Column, low: Ints, high: Ints) -> list[str | None]:
    """Return what is shown of classes, given their least and greatest codes."""
    names, ends, missing = column.levels.labels[0], column.ends, len(column.levels.domain)
    return [
        names[first]
        if first == last
        else STAR
        if last >= missing
        else write_range(str(ends.below[first]), str(ends.above[last]))
        for first, last in zip(low.tolist(), high.tolist(), strict=True)
    ]


def _range_penalties(column: Column, low: Ints, high: Ints) -> Floats:
    """Return the share of the column's range that lies between the ends of each class; 1 with a missing value."""
    domain, ends = column.levels.domain, column.ends
    values = domain.values.astype(np.float64)
    least, greatest = min([domain.low, *values[:1]]), max([domain.high, *values[-1:]])
    spread = np.minimum(ends.greatest[high], greatest) - np.maximum(ends.least[low], least)
    if column.rounded_ends is None and domain.limits is None and len(domain):
        own = np.append(domain.offsets, np.nan)  # of a missing value
        spread = own[np.minimum(high, len(domain))] - own[np.minimum(low, len(domain))]
    shares = spread / domain.span if domain.span > 0 else np.where(np.isnan(spread), 1.0, 0.0)
    return np.where(high >= len(domain), 1.0, shares)


def show_sets(column: Column, members: ClassMembers, codes: Ints) -> ColumnLabels:
    """Show the set of values of each class; a missing value that matches anything makes it ``*``."""
    levels = column.levels
    pairs = sort_distinct(members.classes * levels.size + codes, members.count * levels.size)
    classes, values = np.divmod(pairs, levels.size)
    sizes = np.bincount(classes, minlength=members.count)
    starts = np.cumsum(sizes) - sizes
    ids, rows = _number_sets(values, starts, sizes)
    held = [
        values[start : start + size] for start, size in zip(starts[rows].tolist(), sizes[rows].tolist(), strict=True)
    ]
    texts = tuple(write_sets(levels, held))
    firsts = values[starts]
    penalties = np.where(sizes == 1, levels.penalties[0, firsts], sizes / levels.size)
    stands_for = np.add.reduceat(levels.records[0, values], starts) if members.count else sizes
    common = _common_level(levels, *members.bounds(codes))
    covers = partial(_in_sets, levels, texts, held)
    shown = ColumnLabels(texts, ids, penalties, common, stands_for, covers)
    stars = shown.stars
    penalties[stars], stands_for[stars] = 1.0, levels.records[-1, 0]
    return shown


def _number_sets(values: Ints, starts: Ints, sizes: Ints) -> tuple[Ints, Ints]:
    """Number equal sets, each a run of sorted values, in the order in which they occur; return also the first of each.

    Sets that begin alike are told apart by their next value, all of them at once: the work is that of the values.
    """
    numbers, count = np.zeros(len(sizes), np.int64), 1
    for position in range(int(sizes.max(initial=0))):
        longer = np.flatnonzero(sizes > position)
        following = values[starts[longer] + position]
        groups, rows = group([numbers[longer], following], [count, int(following.max()) + 1])
        numbers[longer], count = count + groups, count + len(rows)
    _, rows, ids = np.unique(numbers, return_index=True, return_inverse=True)
    order = np.argsort(rows)
    renumbered = np.empty(len(rows), np.int64)
    renumbered[order] = np.arange(len(rows))
    return renumbered[ids], rows[order].astype(np.int64)


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


def write_sets(levels: Levels, held: Sequence[Ints]) -> list[str | None]:
    """Return what is shown of sets of codes; a missing value that matches anything makes a set ``*``."""
    names = levels.labels[0]
    items = np.array([write_item(name) for name in names], object)
    wild = levels.size - 1 if levels.has_missing and names[levels.size - 1] == STAR else -1
    return [
        names[codes[0]] if len(codes) == 1 else STAR if codes[-1] == wild else join_items(items[codes])
        for codes in held
    ]


FORMS: dict[Form, Callable[[Column, ClassMembers, Ints], ColumnLabels]] = {
    "labels": show_labels,
    "ranges": show_ranges,
    "sets": show_sets,
}


def show_column(column: Column, members: ClassMembers, codes: npt.NDArray[np.integer[Any]]) -> ColumnLabels:
    """Show the classes of some codes in the form of their column."""
    return FORMS[column.form](column, members, codes.astype(np.int64))


def weigh_class(column: Column, codes: npt.NDArray[np.integer[Any]]) -> float:
    """Return the weighted certainty penalty of one class of distinct codes, in order."""
    one = ClassMembers(np.zeros(len(codes), np.int64), 1)
    return float(show_column(column, one, codes).penalties[0]) * column.weight


def show_narrowest(column: Column, members: ClassMembers, codes: Ints) -> ColumnLabels:
    """Show the range of each class, or its set of values where they have no order or a missing one is among them."""
    levels = column.levels
    if not (levels.domain.ordered and levels.natural):
        return show_sets(column, members, codes)
    shown = show_ranges(column, members, codes)
    mixed = shown.stars
    if not mixed.any():
        return shown
    subset, inside = members.where(mixed)
    return shown.replace_classes(mixed, show_sets(column, subset, codes[inside]))

"""Distances: how far the sensitive values of classes are from those of the whole table, for a search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np

from shoal.encoding.types import Codes, Floats, Ints
from shoal.errors import PolicyError
from shoal.frequencies.frequencies import Background, Classes, Histogram
from shoal.models._distance import measure_along_order, measure_between_labels
from shoal.models._exact import CLEAR, Numbers, compare_ratio, find_greatest_ratio, roomy
from shoal.models._unknown import bound_along_order, bound_anywhere, bound_between_labels
from shoal.models.base import Holds

Distance = Literal["equal", "ordered", "hierarchical"]
Worst = Callable[[Numbers, Numbers, Numbers], Numbers]
_CELLS = 1 << 20
"""Classes times values that are looked at together."""


@dataclass(frozen=True, kw_only=True)
class Distances:
    """The distances of all classes.

    Where every value is known, they are ``moved`` by the records of class and table and the ``steps`` that they are
    counted in. Elsewhere those are known within bounds, and only what the bounds leave open is looked at closer.

    With P and R the known values of a class and of the rest of the table, a and r the shares of unknown ones in both,
    and n of N records in the class, its distance from the table is (1 - n/N) times that from the rest. That is d(P, R)
    if the unknown are as the known, which the worst of them exceed, and never more than a + d(P, R) + r. And d(P, R) is
    d(P, Q) times N'/(N' - n'), Q being all known values and n', N' the known records.

    Where persons are counted, who has two unknown values may have one or two, and who has another may have none more.
    So only a bound is told: d(P, Q) and the most that unknown values may be of all, in the class and in the table.
    """

    moved: Numbers
    steps: int
    own: Histogram
    table: Histogram
    columns: Ints
    """The place of each entry's value among those of the table, in their order."""
    counts: Ints
    """How often each of these occurs in the table."""
    worst: Worst
    """Tells what must be moved at most."""
    by_person: bool = False
    """Whether persons are counted."""

    @classmethod
    def of(cls, names: tuple[str, ...], distance: Distance, classes: Classes, background: Background) -> Distances:
        """Compare the values of classes with those of the whole table."""
        known, table = background.known(names), background.table(names)
        own = classes.histogram(known)
        order, worst = np.arange(len(table.values)), bound_anywhere
        if distance == "ordered":
            if known[0].ranks is None:
                raise PolicyError("the ordered distance needs values with an order", where=names[0])
            moved, steps = measure_along_order(own, table, known[0].ranks)
            order, worst = np.argsort(known[0].ranks[table.values], kind="stable"), bound_along_order
        elif distance == "hierarchical":
            if known[0].levels is None:
                raise PolicyError("the hierarchical distance needs a hierarchy", where=names[0])
            moved, steps = measure_between_labels(own, table, known[0].levels)
            worst = partial(bound_between_labels, levels=_wide(known[0].levels[:, table.values]))
        else:
            moved, steps = measure_between_labels(*_numbered(own, table))
        index = np.argsort(order)[np.searchsorted(table.values, own.values)]
        by_person = background.whole.subjects is not None
        return cls(
            moved=moved,
            steps=steps,
            own=own,
            table=table,
            columns=index,
            counts=table.counts[order],
            worst=worst,
            by_person=by_person,
        )

    def at_most(self, limit: Fraction) -> Holds:
        """Return which distances are at most a limit."""
        if not self._blank:
            return compare_ratio(self.moved, self._known_pairs, limit) <= 0
        low, high = self._bounds
        result: Holds = high <= float(limit)
        if self.by_person:
            for index in np.flatnonzero(np.abs(high - float(limit)) <= CLEAR).tolist():
                result[index] = self._of_persons(index) <= limit
            return result
        undecided = np.flatnonzero((high >= float(limit) - CLEAR) & (low <= float(limit) + CLEAR))
        result[undecided] = compare_ratio(*self._at_worst(undecided), limit) <= 0
        return result

    def greatest(self) -> Fraction:
        """Return the greatest distance."""
        if not self._blank:
            return find_greatest_ratio(self.moved, self._known_pairs)
        low, high = self._bounds
        if self.by_person:
            return max(self._of_persons(index) for index in np.flatnonzero(high >= high.max() - CLEAR).tolist())
        return find_greatest_ratio(*self._at_worst(np.flatnonzero(high >= low.max() - CLEAR)))

    @property
    def _blank(self) -> int:
        """Unknown values of the whole table, of which those of a class are some."""
        return int(self.table.wild[0])

    @property
    def _everyone(self) -> int:
        return int(self.table.known[0]) + self._blank

    @property
    def _known_pairs(self) -> Numbers:
        """What ``moved`` is by; of a class without records nothing is moved."""
        whole = int(self.table.known[0])
        return np.maximum(self.own.known, 1).astype(roomy(whole, whole, self.steps)) * whole * self.steps

    @property
    def _bounds(self) -> tuple[Floats, Floats]:
        """The least and the most that each distance may be, nearly."""
        if self.by_person:
            return self._bounds_of_persons
        known, wild = self.own.known.astype(np.float64), self.own.wild.astype(np.float64)
        whole, everyone = float(self.table.known[0]), float(self._everyone)
        size = np.maximum(known + wild, 1.0)
        compares = (known > 0) & (known < whole)
        between = self.moved.astype(np.float64) / np.where(compares, known * (whole - known) * self.steps, 1.0)
        unknown = wild / size + (self._blank - wild) / np.maximum(everyone - size, 1.0)
        part = 1.0 - size / everyone
        least = part * np.where(compares, between, 0.0)
        return least, part * np.where(compares, np.minimum(1.0, between + unknown), 1.0)

    @property
    def _bounds_of_persons(self) -> tuple[Floats, Floats]:
        known, unknown = self.own.known.astype(np.float64), self.own.unknown.astype(np.float64)
        whole, missing = float(self.table.known[0]), float(self.table.unknown[0])
        apart = self.moved.astype(np.float64) / (np.maximum(known, 1.0) * max(whole, 1.0) * self.steps)
        most = apart + unknown / np.maximum(known + unknown, 1.0) + missing / (whole + missing)
        most = np.where(known > 0, np.minimum(most, 1.0), 1.0)
        all_of_it = (known == whole) & (unknown == missing)
        return np.zeros_like(most), np.where(all_of_it | (known + unknown == 0), 0.0, most)

    def _of_persons(self, index: int) -> Fraction:
        """Return what the distance of a class is at most."""
        known, unknown = int(self.own.known[index]), int(self.own.unknown[index])
        whole, missing = int(self.table.known[0]), int(self.table.unknown[0])
        if (known, unknown) == (whole, missing) or not known + unknown:
            return Fraction(0)
        if not known:
            return Fraction(1)
        apart = Fraction(int(self.moved[index]), known * whole * self.steps)
        return min(apart + Fraction(unknown, known + unknown) + Fraction(missing, whole + missing), Fraction(1))

    def _at_worst(self, indices: Ints) -> tuple[Numbers, Numbers]:
        """Return the distances of some classes exactly, as numerators and denominators."""
        width, everyone = max(len(self.counts), 2), self._everyone
        kind = roomy(everyone, everyone, width)
        size = (self.own.known + self.own.wild)[indices].astype(kind)
        wild = self.own.wild[indices].astype(kind)
        step = max(_CELLS // width, 1)
        parts = [
            self.worst(
                self._extra(indices[start : start + step], size[start : start + step], kind),
                (wild * (everyone - size))[start : start + step],
                ((self._blank - wild) * size)[start : start + step],
            )
            for start in range(0, len(indices), step)
        ]
        above = np.concatenate(parts) if parts else np.zeros(0, kind)
        return above, np.maximum(size, 1).astype(roomy(everyone, everyone, self.steps)) * everyone * self.steps

    def _extra(self, indices: Ints, size: Numbers, kind: Any) -> Numbers:
        """Return what each class has too much of each value that is known; of two values where there are fewer."""
        row = np.full(self.own.count, -1, np.int64)
        row[indices] = np.arange(len(indices))
        inside = row[self.own.classes] >= 0
        extra = np.zeros((len(indices), max(len(self.counts), 2)), kind)
        extra[row[self.own.classes[inside]], self.columns[inside]] = self.own.counts[inside]
        extra *= self._everyone
        extra[:, : len(self.counts)] -= size[:, None] * self.counts.astype(kind)
        return extra


def _wide(levels: Codes) -> Codes:
    """Return the labels of at least two values; one that does not occur shares no label."""
    more = max(2 - levels.shape[1], 0)
    strange = levels.max(axis=1, initial=-1)[:, None] + 1 + np.arange(more)
    return np.concatenate([levels, strange], axis=1).astype(np.int32)


def _numbered(own: Histogram, table: Histogram) -> tuple[Histogram, Histogram, Codes]:
    """Number the values that occur: combinations of columns can be many."""
    indices = np.searchsorted(table.values, own.values)
    numbers = np.arange(len(table.values), dtype=np.int32)
    return replace(own, values=indices), replace(table, values=numbers.astype(np.int64)), numbers[None]

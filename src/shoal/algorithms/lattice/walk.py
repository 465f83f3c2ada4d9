"""walk(): roll the frequencies up to many nodes of the lattice, and add up what becomes of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.algorithms.base import Problem
from shoal.algorithms.lattice.packing import MARK, Bits, Keys, Labels, Packing, unpack
from shoal.encoding.types import Bools, Codes, Floats, Ints
from shoal.frequencies.frequencies import Classes
from shoal.frequencies.populations import Population
from shoal.recodings.base import Column

Shorts = npt.NDArray[np.int16]
Test = Callable[[Classes], Bools]
"""Which classes are kept."""

ROWS = 1 << 16
"""Rows of the tables that are tested together: about what fits into a core's cache."""

_FAR = 5
"""Columns that a roll-up raises for a node, from which on its table is sooner made from the bottom."""


class Sums(NamedTuple):
    """What is added up for each node; the last axis of ``kept`` and ``suppressed_entropy`` are places."""

    smallest: Ints
    """Persons of the smallest class; 0 where there is no class."""
    suppressed: Ints
    classes: Ints
    squares: Ints
    all_classes: Ints
    all_squares: Ints
    kept: Floats
    """``kept[cost, node, place]``: what the kept records cost."""
    suppressed_entropy: Floats

    @classmethod
    def empty(cls, nodes: int, indices: int, costs: int) -> Sums:
        """Make room for some nodes."""
        kept, suppressed_entropy = np.zeros((costs, nodes, indices)), np.zeros((nodes, indices))
        return cls._make([*np.zeros((6, nodes), np.int64), kept, suppressed_entropy])

    def at(self, nodes: slice | npt.NDArray[np.intp]) -> Sums:
        """Return the sums of some nodes; a view of them for a slice."""
        return Sums._make(
            [*(counts[nodes] for counts in self[:6]), self.kept[:, nodes], self.suppressed_entropy[nodes]]
        )


@dataclass(frozen=True)
class Walk:
    """A problem made ready for the kernels."""

    packing: Packing
    labels: Labels
    order: Ints
    """The column of each place."""
    people: PopulationWalk | None = None
    """The population that the records were drawn from, where models ask who matches a class."""

    def reorder(self, order: Ints) -> Walk:
        """Return the same walk with the columns in the order in which they are to be raised."""
        people = None if self.people is None else self.people.reorder(order)
        return Walk(self.packing.reorder(order), self.labels.reorder(order), self.order[order], people)

    def without(self, indices: Sequence[int]) -> Walk:
        """Return the same walk from a table without some columns: they are free in all nodes that follow."""
        keys, counts = self.packing.keys, self.packing.counts
        people = None if self.people is None else self.people.without(indices)
        for index in indices:
            merged = Merged.room(keys, counts, members=0)
            merged.add(self.packing.bits(index), keys, counts, slice(0, len(counts)))
            keys, counts = merged.table()
        return replace(self, packing=replace(self.packing, keys=keys, counts=counts), people=people)

    def add_up(self, nodes: Shorts, test: Test, sums: Sums) -> None:
        """Fill the sums of some nodes, given by the levels of their places and sorted."""
        from shoal.kernels.roll import sum_up

        packing, labels = self.packing, self.labels
        for start, stop, keys, counts, cell_ends in self.tables(nodes):
            class_keys, records, members, ends = self._classes(keys, counts, cell_ends)
            frequencies = unpack(packing, keys, counts, members)
            labels_of = partial(self.shown, nodes[start:stop], class_keys, ends)
            shown = kept = (class_keys[0] & packing.mark) == 0
            if labels.wild or packing.mark:
                kept = shown & ~self._silent(nodes[start:stop], class_keys, ends)
            classes = Classes(
                len(records), members, None, counts, frequencies, records, ends, shown=labels_of, kept=kept
            )
            if self.people is not None:
                unmarked = np.vstack([class_keys[:1] & ~packing.mark, class_keys[1:]])
                classes = replace(classes, matches=partial(self.people.matching, nodes[start:stop], unmarked, ends))
            fits = test(classes) & kept
            part = sums.at(slice(start, stop))
            part.smallest[:] = _find_smallest(np.where(shown, classes.sizes, np.iinfo(np.int64).max), ends)
            costs = np.empty((len(labels.costs), stop - start, nodes.shape[1]))
            layout = *packing.layout, labels.offsets, labels.totals, labels.costs
            out = part.suppressed, part.classes, part.squares, part.all_squares, costs, part.suppressed_entropy
            sum_up(nodes[start:stop], ends, class_keys, records, fits, *layout, *out)
            part.kept[:] = costs
            all_ends = ends
            if packing.mark:  # with nobody suppressed, those above a boundary are in the class of those below it
                _, records, _, all_ends = self._joined(MARK, class_keys, records, ends)
                part.all_squares[:] = np.add.reduceat(records * records, np.append(0, all_ends[:-1]))
            part.all_classes[:] = np.diff(all_ends, prepend=0)

    def _silent(self, nodes: Shorts, keys: Keys, ends: Ints) -> Bools:
        """Return which classes show ``*`` in every column while others do not: their records look suppressed."""
        labels, sizes = self.labels, np.diff(ends, prepend=0)
        silent = np.repeat(sizes > 1, sizes)
        for shown in self.shown(nodes, keys, ends).T:
            silent &= labels.stars[shown]
        return silent

    def shown(self, nodes: Shorts, keys: Keys, ends: Ints) -> Ints:
        """Return ``[class, column]``: the label that each class shows."""
        packing, labels = self.packing, self.labels
        sizes = np.diff(ends, prepend=0)
        result = np.empty((int(sizes.sum()), nodes.shape[1]), np.int64)
        for index in range(nodes.shape[1]):
            numbers = (keys[packing.words[index]] >> packing.shifts[index]) & packing.masks[index]
            result[:, self.order[index]] = np.repeat(labels.offsets[index, nodes[:, index]], sizes) + numbers.astype(
                np.int64
            )
        return result

    def tables(self, nodes: Shorts) -> Iterator[tuple[int, int, Keys, Ints, Ints]]:
        """Yield the tables of some nodes after each other: first and last node, keys, counts, where each ends."""
        fill, room = self._regrouped() if _are_far_apart(nodes) else self._rolled_up(nodes.shape[1])
        keys, counts = np.empty((len(self.packing.keys), room), np.uint64), np.empty(room, np.int64)
        ends, at = np.zeros(len(nodes), np.int64), np.full(1, -1, np.int64)
        start = 0
        while start < len(nodes):
            stop = fill(nodes, start, keys, counts, ends, at)
            written = int(ends[stop - 1])
            yield start, stop, np.ascontiguousarray(keys[:, :written]), counts[:written], ends[start:stop]
            start = stop

    def _rolled_up(self, indices: int) -> tuple[Callable[..., int], int]:
        """Return how tables are made from those of the nodes before, and the room that takes."""
        from shoal.kernels.roll import roll_up

        packing, labels = self.packing, self.labels
        words, rows = packing.keys.shape
        scratch = (
            np.empty((indices, words, rows), np.uint64),
            np.empty((indices, rows), np.int64),
            np.full(indices + 1, rows, np.int64),
            np.full(indices + 1, -1, np.int64),
            np.empty(find_power_above(4 * rows), np.int32),
        )
        data = packing.keys, packing.counts, *packing.layout, *labels.layout, packing.mark
        return lambda nodes, start, *out: roll_up(nodes, start, *data, *scratch, *out), max(rows, ROWS)

    def _regrouped(self) -> tuple[Callable[..., int], int]:
        """Return how tables are made from the one at the bottom, and the room that takes."""
        from shoal.kernels.roll import regroup

        packing, labels = self.packing, self.labels
        rows = packing.keys.shape[1]
        scratch = packing.keys.copy(), np.zeros(rows, np.int64), np.empty(find_power_above(4 * rows), np.int32)
        numbers = labels.numbers, labels.number_offsets, labels.beyond
        data = packing.keys, packing.counts, *packing.layout, *numbers, packing.mark
        return lambda nodes, start, *out: regroup(nodes, start, *data, *scratch, *out), rows + max(rows, ROWS)

    def _classes(self, keys: Keys, counts: Ints, ends: Ints) -> tuple[Keys, Ints, Ints, Ints]:
        """Join the cells of each class: its key, its records, the class of each cell, and where each node ends."""
        if not self.packing.has_kinds:
            return keys, counts, np.arange(len(counts)), ends
        return self._joined(self.packing.bits(-1), keys, counts, ends)

    def _joined(self, bits: Bits, keys: Keys, counts: Ints, ends: Ints) -> tuple[Keys, Ints, Ints, Ints]:
        """Join the rows of each node that differ in nothing but some bits."""
        merged, joined_ends, begin = Merged.room(keys, counts, members=len(counts)), np.empty_like(ends), 0
        for node, end in enumerate(ends.tolist()):
            merged.add(bits, keys, counts, slice(begin, end))
            begin, joined_ends[node] = end, merged.rows
        return *merged.table(), merged.members.astype(np.int64), joined_ends


@dataclass(frozen=True)
class PopulationWalk:
    """A population, rolled up beside the table.

    Where a label's text stands for more than the values that have it (the same text on two levels, a missing value
    that may be any), labels are looked through one by one instead.
    """

    walk: Walk
    """The population packed as the table is."""
    population: Population
    columns: tuple[Column, ...]

    @classmethod
    def of(cls, packing: Packing, labels: Labels, problem: Problem) -> PopulationWalk | None:
        """Lay a problem's population out, where a model asks for it."""
        population = problem.background.population
        if population is None or not any("persons" in model.needs for model in problem.models):
            return None
        order = np.arange(len(problem.columns))
        return cls(Walk(packing.of_population(population), labels, order), population, problem.columns)

    def reorder(self, order: Ints) -> PopulationWalk:
        """Return the same with the columns in another order."""
        return replace(self, walk=self.walk.reorder(order))

    def without(self, indices: Sequence[int]) -> PopulationWalk:
        """Return the same without some columns, which are free."""
        return replace(self, walk=self.walk.without(indices))

    def matching(self, nodes: Shorts, keys: Keys, ends: Ints) -> Ints:
        """Return the persons who match each class of some nodes."""
        if not all(column.levels.told_apart for column in self.columns):
            return self._by_labels(nodes, keys, ends)
        found = np.zeros(keys.shape[1], np.int64)
        for start, stop, theirs, counts, their_ends in self.walk.tables(nodes):
            first = 0
            for node in range(start, stop):
                last = int(their_ends[node - start])
                begin, end = int(ends[node - 1]) if node else 0, int(ends[node])
                found[begin:end] = _look_up(keys[:, begin:end], theirs[:, first:last], counts[first:last])
                first = last
        return found

    def _by_labels(self, nodes: Shorts, keys: Keys, ends: Ints) -> Ints:
        shown, offsets = self.walk.shown(nodes, keys, ends), self.walk.labels.offsets
        covers = [np.vstack([c.levels.covers, np.ones((1, c.levels.size), bool)]) for c in self.columns]
        starts = offsets[np.argsort(self.walk.order), 0]
        return self.population.matching(list((shown - starts).T), covers)


def _look_up(keys: Keys, theirs: Keys, counts: Ints) -> Ints:
    """Return the count of each key among others, 0 where it is not there."""
    both = np.concatenate([theirs, keys], axis=1)
    order = np.lexsort(both)
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.append(0, np.cumsum((np.diff(both[:, order], axis=1) != 0).any(axis=0)))[: len(order)]
    known = np.zeros(len(order), np.int64)
    known[numbers[: len(counts)]] = counts
    return known[numbers[len(counts) :]]


@dataclass
class Merged:
    """Rows that were merged where they differ in nothing but some bits, and how many there are so far."""

    keys: Keys
    counts: Ints
    members: Codes
    """The row that each was merged into; empty where nobody asks."""
    rows: int = 0

    @classmethod
    def room(cls, keys: Keys, counts: Ints, *, members: int) -> Merged:
        """Make room for as many rows as there are."""
        return cls(np.empty_like(keys), np.empty_like(counts), np.empty(members, np.int32))

    def add(self, bits: Bits, keys: Keys, counts: Ints, rows: slice) -> None:
        """Leave some bits out of some rows, and add up those that became equal."""
        from shoal.kernels.roll import raise_wide

        begin, end = rows.start, rows.stop
        one = np.zeros(int(bits[2]) + 1, np.int32)
        slots = np.empty(find_power_above(4 * (end - begin)), np.int32)
        none = np.zeros(len(one), bool), np.uint64(0)
        merged = self.keys, self.counts, self.rows
        self.rows = int(raise_wide(keys, counts, begin, end, *merged, slots, *bits, one, *none, self.members))

    def table(self) -> tuple[Keys, Ints]:
        """Return the merged rows."""
        return np.ascontiguousarray(self.keys[:, : self.rows]), self.counts[: self.rows].copy()


def _are_far_apart(nodes: Shorts) -> bool:
    """Whether nodes that follow each other share so little that a roll-up would raise many columns for each."""
    if len(nodes) == 0:
        return False
    changed = np.vstack([nodes[:1] > 0, nodes[1:] != nodes[:-1]])
    after = np.logical_or.accumulate(changed, axis=1) & (nodes > 0)
    return int(after.sum()) > _FAR * len(nodes)


def _find_smallest(sizes: Ints, ends: Ints) -> Ints:
    if not len(sizes):
        return np.zeros(len(ends), np.int64)
    found = np.minimum.reduceat(sizes, np.append(0, ends[:-1]))
    return np.where(found == np.iinfo(np.int64).max, 0, found)


def find_power_above(number: int) -> int:
    """Return a power of two that so many slots of a hash table need."""
    return 1 << max(number, 16).bit_length()

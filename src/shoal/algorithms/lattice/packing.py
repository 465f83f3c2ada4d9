"""Packing: a problem's frequencies as packed keys, and its labels as flat arrays, for the kernels of the lattice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.algorithms.base import Problem
from shoal.encoding.domains import STAR
from shoal.encoding.types import Bools, Codes, Floats, Ints
from shoal.frequencies.frequencies import Frequencies
from shoal.frequencies.populations import Population
from shoal.kernels.group import group
from shoal.recodings.base import Column

Keys = npt.NDArray[np.uint64]

_WORD = 63
"""Bits of a word that keys use: a shift by a whole word means nothing."""

Bits = tuple[np.int64, np.uint64, np.uint64]
"""A place in the key: its word, its shift, and as many bits as it has."""
MARK: Bits = (np.int64(0), np.uint64(0), np.uint64(1))
"""The place of the mark of records that are shown above a boundary."""

COSTS = ("penalty", "exact", "generalization_height", "log_cover_size")
"""What a record with a label adds to an outcome: the rows of ``Labels.costs``."""


@dataclass(frozen=True)
class Labels:
    """The labels of all columns, one level after the other, one column (*place*) after the other.

    Above the top of each column is a level for columns that are *free*, not decided yet: all records have one label,
    it costs as little as any label of the column, and it is above no boundary.
    """

    nested: Bools
    """For each place: whether a level can be rolled up from the level below."""
    offsets: Ints
    """``offsets[place, level]``: where the labels of a level start."""
    firsts: Codes
    """For each label one value that has it, one that no boundary keeps lower if there is such a value."""
    numbers: Codes
    """All columns' ``[level, value]`` numbers of labels, flat."""
    number_offsets: Ints
    """``number_offsets[place, level]``: where a level starts in ``numbers``."""
    beyond: Bools
    """Like ``numbers``: whether the label is above the value's boundary."""
    costs: Floats
    """``costs[cost, label]``."""
    totals: Ints
    """For each label: the records that have it."""
    stars: Bools
    """For each label: whether it is ``*``."""
    wild: bool
    """Whether a column has a missing value that matches anything, so that a record may show ``*`` at any level."""

    @classmethod
    def of(cls, columns: Sequence[Column], tuples: Codes, counts: Ints) -> Labels:
        """Lay the labels of some columns out, and count the records that have them."""
        most = max(column.levels.height for column in columns) + 3
        offsets, number_offsets = np.zeros((2, len(columns), most), np.int64)
        firsts, costs = [], []
        label, number = 0, 0
        for index, column in enumerate(columns):
            for level in range(most):
                offsets[index, level], number_offsets[index, level] = label, number
                if level <= column.levels.height + 1:
                    first = _firsts(column, level)
                    firsts.append(first)
                    costs.append(_costs(column, level, first))
                    label += len(first)
                    number += column.levels.size
        totals = np.concatenate(
            [_totals(column, codes, counts) for column, codes in zip(columns, tuples.T, strict=True)]
        )
        return cls(
            np.array([column.levels.nested for column in columns], bool),
            offsets,
            np.concatenate(firsts),
            np.concatenate([_with_free(column.levels.codes).ravel() for column in columns]).astype(np.int32),
            number_offsets,
            np.concatenate([_with_free(_beyond(column)).ravel() for column in columns]),
            np.ascontiguousarray(np.concatenate(costs, axis=1)),
            totals,
            np.concatenate([_stars(column) for column in columns]),
            any(column.levels.has_missing and column.levels.labels[0][-1] == STAR for column in columns),
        )

    @property
    def layout(self) -> tuple[Bools, Ints, Codes, Codes, Ints, Bools]:
        """What the kernels need to raise a column."""
        return self.nested, self.offsets, self.firsts, self.numbers, self.number_offsets, self.beyond

    def reorder(self, order: Ints) -> Labels:
        """Return the same labels with their columns in another order."""
        own = {name: getattr(self, name)[order] for name in ("nested", "offsets", "number_offsets")}
        return replace(self, **own)


def _stars(column: Column) -> Bools:
    shown = [text == STAR for labels in column.levels.labels for text in labels]
    return np.array([*shown, False], bool)  # a free column may still show something


def _totals(column: Column, codes: Codes, counts: Ints) -> Ints:
    levels = column.levels
    found = [
        np.bincount(numbers[codes], counts, minlength=len(labels)).astype(np.int64)
        for numbers, labels in zip(levels.codes, levels.labels, strict=True)
    ]
    return np.concatenate([*found, [int(counts.sum())]])


def _with_free(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.vstack([array, np.zeros_like(array[:1])])


def _firsts(column: Column, level: int) -> Codes:
    levels = column.levels
    if level > levels.height:
        return np.zeros(1, np.int32)
    ranked = np.arange(levels.size) if column.limits is None else np.argsort(column.limits, kind="stable")
    first = np.zeros(len(levels.labels[level]), np.int32)
    first[levels.codes[level][ranked]] = ranked  # the last one written has the highest limit
    return first


def _costs(column: Column, level: int, first: Codes) -> Floats:
    levels = column.levels
    if level > levels.height:
        return np.array([[0.0], [_least_share(column) * levels.size], [0.0], [0.0]])
    penalties = levels.penalties[level, first]
    stars = np.array([text == STAR for text in levels.labels[level]], bool)
    heights = np.where(stars, 1.0, levels.lowest[level, first] / max(levels.height, 1))
    cover_sizes = np.log2(np.maximum(levels.records[level, first], 1))
    return np.stack([penalties, penalties == 0.0, heights, cover_sizes])


def _least_share(column: Column) -> float:
    """The least share of the domain that a label leaves open, where a single value leaves open one in so many values.

    A range may leave open less: of 0, 1 and 100, the range from 0 to 1 is a hundredth, one value of three a third.
    """
    penalties = column.levels.penalties
    return float(min(1.0 / max(column.levels.size, 1), penalties[penalties > 0.0].min(initial=1.0)))


def _beyond(column: Column) -> Bools:
    limits = np.full(column.levels.size, column.levels.height) if column.limits is None else column.limits
    return np.arange(column.levels.height + 1)[:, None] > limits


@dataclass(frozen=True)
class Packing:
    """The frequencies as rows: every column has its own bits in a key of one or more words.

    The last bits hold the *kind* of a cell: its sensitive values and its person. The first bit marks records that
    a column shows above their boundary.
    """

    keys: Keys
    """``keys[word, row]``."""
    counts: Ints
    words: Ints
    """The word that holds each place; the last entry is that of the kinds."""
    shifts: Keys
    masks: Keys
    mark: np.uint64
    sensitive: Codes
    """The sensitive codes of each kind; columns that no model looks at are 0."""
    subjects: Ints | None
    """The person of each kind."""

    @classmethod
    def of(cls, problem: Problem) -> Packing:
        """Pack the frequencies of a problem."""
        frequencies = problem.frequencies
        kind_of_cell, sensitive, subjects = _kinds(problem)
        kinds = len(sensitive)
        bounded = any(column.limits is not None for column in problem.columns)
        sizes = [*(column.levels.size for column in problem.columns), kinds]
        words, shifts, masks = lay_out_bits(sizes, used=int(bounded))
        rows, cells = group([frequencies.cell_tuples, kind_of_cell], [len(frequencies.tuples), kinds])
        keys = np.zeros((int(words.max()) + 1, len(cells)), np.uint64)
        coded = [*frequencies.tuples[frequencies.cell_tuples[cells]].T, kind_of_cell[cells]]
        for index, codes in enumerate(coded):
            keys[words[index]] |= codes.astype(np.uint64) << shifts[index]
        counts = np.bincount(rows, frequencies.cell_counts, minlength=len(cells)).astype(np.int64)
        return cls(keys, counts, words, shifts, masks, np.uint64(bounded), sensitive, subjects)

    def of_population(self, population: Population) -> Packing:
        """Pack a population the same way, so that a class has the key of the persons who match it."""
        keys = np.zeros((len(self.keys), len(population.counts)), np.uint64)
        for index, codes in enumerate(population.tuples.T):
            keys[self.words[index]] |= codes.astype(np.uint64) << self.shifts[index]
        return replace(
            self, keys=keys, counts=population.counts, mark=np.uint64(0), sensitive=self.sensitive[:1], subjects=None
        )

    def reorder(self, order: Ints) -> Packing:
        """Return the same packing with its columns in another order."""
        indices = np.append(order, len(order))
        return replace(self, words=self.words[indices], shifts=self.shifts[indices], masks=self.masks[indices])

    @property
    def layout(self) -> tuple[Ints, Keys, Keys]:
        """Where each column is in the key, for the kernels."""
        return self.words[:-1], self.shifts[:-1], self.masks[:-1]

    def bits(self, index: int) -> Bits:
        """Where a place is in the key; -1 is the kind of cells."""
        return self.words[index], self.shifts[index], self.masks[index]

    @property
    def has_kinds(self) -> bool:
        """Whether a class may have several cells."""
        return len(self.sensitive) > 1 or self.subjects is not None

    def kinds_of(self, keys: Keys) -> Ints:
        """Return the kind of each row."""
        kinds: Ints = ((keys[self.words[-1]] >> self.shifts[-1]) & self.masks[-1]).astype(np.int64)
        return kinds


def _kinds(problem: Problem) -> tuple[Ints, Codes, Ints | None]:
    """Return the kind of each cell, and what each kind is."""
    frequencies = problem.frequencies
    looked_at = {problem.background.columns[name].place for model in problem.models for name in model.sensitive_columns}
    survey = problem.background.survey
    if survey is not None and any("persons" in model.needs for model in problem.models):
        looked_at.add(survey.place)
    sensitive = np.where(
        [index in looked_at for index in range(frequencies.sensitive.shape[1])], frequencies.sensitive, 0
    )
    parts = [*(sensitive[:, index].astype(np.int64) + 1 for index in sorted(looked_at))]
    if frequencies.subjects is not None:
        parts.append(frequencies.subjects)
    if not parts:
        return np.zeros(len(frequencies.cell_counts), np.int64), sensitive[:1], None
    kinds, cells = group(parts, [int(part.max(initial=0)) + 1 for part in parts])
    subjects = None if frequencies.subjects is None else frequencies.subjects[cells]
    return kinds, sensitive[cells], subjects


def lay_out_bits(sizes: list[int], used: int) -> tuple[Ints, Keys, Keys]:
    """Give each place as many neighbouring bits of one word as its codes need; return words, shifts and masks."""
    words, shifts, masks = [], [], []
    word, shift = 0, used
    for size in sizes:
        width = max(int(size) - 1, 0).bit_length()
        if shift + width > _WORD:
            word, shift = word + 1, 0
        words.append(word)
        shifts.append(shift)
        masks.append((1 << width) - 1)
        shift += width
    return np.array(words, np.int64), np.array(shifts, np.uint64), np.array(masks, np.uint64)


def unpack(packing: Packing, keys: Keys, counts: Ints, members: Ints) -> Frequencies:
    """Return rows as frequencies of classes, for the models: classes have no tuples, only cells."""
    if not packing.has_kinds:
        sensitive = np.broadcast_to(packing.sensitive, (len(counts), packing.sensitive.shape[1]))
        return Frequencies(np.zeros((0, 0), np.int32), members, counts, sensitive)
    kinds = packing.kinds_of(keys)
    subjects = None if packing.subjects is None else packing.subjects[kinds]
    return Frequencies(np.zeros((0, 0), np.int32), members, counts, packing.sensitive[kinds], subjects)

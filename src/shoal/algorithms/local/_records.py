"""Records of tuples, dealt out to classes: the last step of searches that put records into classes one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.local._complete import join_until_compliant
from shoal.encoding.types import Ints
from shoal.frequencies.frequencies import Classes, Frequencies
from shoal.recodings.base import Column
from shoal.recodings.local import Local


@dataclass(frozen=True)
class Dealt:
    """The records of each tuple in a fixed order: one of each cell in turn, so that a few of them differ most.

    Examples
    --------
    >>> table = Frequencies(np.zeros((1, 1), np.int32), np.array([0, 0]), np.array([3, 1]),
    ...                     np.array([[0], [1]], np.int32))
    >>> Dealt.of(table).cells
    array([0, 1, 0, 0])
    """

    cells: Ints
    """The cell of each record, tuple after tuple."""
    first: Ints
    """Where the records of each tuple start."""

    @classmethod
    def of(cls, frequencies: Frequencies) -> Dealt:
        """Deal the records of each tuple."""
        counts = frequencies.cell_counts
        cells = np.repeat(np.arange(len(counts)), counts)
        turn = np.arange(len(cells)) - np.repeat(np.cumsum(counts) - counts, counts)
        order = np.lexsort([cells, turn, frequencies.cell_tuples[cells]])
        first = np.cumsum(frequencies.counts) - frequencies.counts
        return cls(cells[order].astype(np.int64), first.astype(np.int64))

    def holds(self, problem: Problem, shares: list[tuple[int, int, int]]) -> bool:
        """Return whether a class of some records complies: (tuple, how many before them, how many) of each share."""
        starts = [int(self.first[t]) + before for t, before, _ in shares]
        parts = [self.cells[start : start + records] for start, (_, _, records) in zip(starts, shares, strict=True)]
        cells = np.concatenate(parts)
        ones = np.ones(len(cells), np.int64)
        return bool(problem.holds(Classes(1, ones - 1, cells, ones, problem.frequencies))[0])


def make_recoding(problem: Problem, parts: Sequence[tuple[Ints, Ints, Ints, Ints]]) -> Local:
    """Return the recoding of blocks of tuples; classes that do not satisfy every model are joined until they do.

    A block is its tuples, and place in the block, records and class of each share of a tuple: which records of the
    tuple these are follows from the order of the shares.
    """
    tuples, records, classes, count = [], [], [], 0
    for block, indices, shared, numbers in parts:
        tuples.append(block[indices])
        records.append(shared)
        classes.append(numbers + count)
        count += int(numbers.max(initial=-1)) + 1
    order = np.argsort(np.concatenate(tuples), kind="stable")
    class_of = np.repeat(np.concatenate(classes)[order], np.concatenate(records)[order])
    cells = Dealt.of(problem.frequencies).cells
    ones = np.ones(len(cells), np.int64)
    return Local.of(join_until_compliant(problem, class_of, cells, ones), cells, ones)


def cut_into_blocks(columns: tuple[Column, ...], frequencies: Frequencies, most: int) -> list[Ints]:
    """Cut the tuples, in hierarchy order, into blocks of at most so many.

    The column with the fewest codes comes first: there a step to the next value tends to cost most.
    """
    count = len(frequencies.tuples)
    if count <= most:
        return [np.arange(count, dtype=np.int64)]
    widest = sorted(range(len(columns)), key=lambda index: -columns[index].levels.size)
    order = np.lexsort([frequencies.tuples[:, index] for index in widest])
    return [np.sort(block).astype(np.int64) for block in np.array_split(order, -(-count // most))]

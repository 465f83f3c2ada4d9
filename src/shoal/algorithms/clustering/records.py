"""Records of tuples, dealt out to classes that join until they comply: the last step of searches that make classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shoal.algorithms.base import Problem
from shoal.encoding.types import Ints
from shoal.frequencies.frequencies import Classes, Frequencies
from shoal.recodings.base import Column
from shoal.recodings.local import Local

WINDOW = 40_000
"""Where there are more classes, the cheapest is looked for among so many neighbours in hierarchy order."""


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


def join_until_compliant(
    problem: Problem, members: Ints, cells: Ints | None = None, weights: Ints | None = None
) -> Ints:
    """Join classes until every one satisfies every model.

    In each round every class that does not comply, the one with the fewest records first, joins the class with
    which the summed certainty penalty of all records rises least, unless another joined it in the same round.
    Where the models hold for all records together this ends with classes that comply, whatever the models are.

    A piece is a cell, or a part of one where ``cells`` and ``weights`` say so, as in
    :class:`~shoal.recodings.local.Local`; ``members`` is the class of each, any numbers; -1 is suppressed and stays so.
    Returns the class of each piece, numbered from 0 in the order of the first pieces.

    Cost: per round, the classes that do not comply times the classes (at most ``WINDOW``); the classes that
    do not comply are halved at least, unless a model is not monotone.
    """
    frequencies = problem.frequencies
    members, count = _number_classes(members)
    classes = Classes(count, members, cells, frequencies.cell_counts if weights is None else weights, frequencies)
    return members if problem.holds(classes).all() else _number_classes(_join(problem, classes))[0]


def _join(problem: Problem, classes: Classes) -> Ints:
    from shoal.algorithms.clustering.costs import Points, select_boxes
    from shoal.kernels.boxes import join_each

    count, inside = classes.count, classes.members >= 0
    points = Points.of(problem.columns, problem.frequencies.tuples, problem.loss)
    boxes = points.at(classes.tuples[inside]).boxes(classes.weights[inside], classes.members[inside], count)
    rank = np.lexsort([boxes.lows[:, column] for column in np.argsort(-np.ptp(boxes.lows, axis=0), kind="stable")])
    boxes, members = select_boxes(boxes, rank), np.where(inside, np.argsort(rank)[classes.members], -1)
    while True:
        holds = problem.holds(replace(classes, count=count, members=members))
        if holds.all():
            return members
        if count == 1:
            raise problem.infeasible()
        failing, into = np.flatnonzero(~holds), np.arange(count, dtype=np.int64)
        join_each(points.costs, boxes, failing[np.lexsort([failing, boxes.records[failing]])], WINDOW, into)
        while (into != into[into]).any():
            into = into[into]
        left = into == np.arange(count)
        members = np.where(inside, (np.cumsum(left) - 1)[into[members]], -1)
        boxes, count = select_boxes(boxes, left), int(left.sum())
        problem.progress("joining classes that do not comply", len(failing), 0)


def _number_classes(members: Ints) -> tuple[Ints, int]:
    """Number the classes from 0, in the order in which they occur first."""
    inside = members >= 0
    numbers, first, index = np.unique(members[inside], return_index=True, return_inverse=True)
    result = np.full(len(members), -1, np.int64)
    result[inside] = np.argsort(np.argsort(first, kind="stable"), kind="stable")[index]
    return result, len(numbers)

"""join_until_compliant(): join classes that do not satisfy the models with their cheapest neighbours until all do."""

from __future__ import annotations

import numpy as np

from shoal.algorithms.base import Problem
from shoal.encoding.types import Ints
from shoal.frequencies.frequencies import Classes

WINDOW = 40_000
"""Where there are more classes, the cheapest is looked for among so many neighbours in hierarchy order."""


def join_until_compliant(
    problem: Problem, members: Ints, cells: Ints | None = None, weights: Ints | None = None
) -> Ints:
    """Join classes until every one satisfies every model.

    In each round every class that does not comply, the one with the fewest records first, joins the class with
    which the summed certainty penalty of all records rises least, unless another joined it in the same round.
    Where the models hold for all records together this ends with classes that comply, whatever the models are.

    Parameters
    ----------
    members
        The class of each piece, any numbers; -1 is suppressed and stays so. Without ``cells`` a piece is a cell
        of the frequencies: for a class per tuple give ``members[frequencies.cell_tuples]``.
    cells, weights
        The cell and the records of each piece, where cells are split, as in :class:`~shoal.recodings.Local`.

    Returns
    -------
    The class of each piece, numbered from 0 in the order of the first pieces.

    Raises
    ------
    Infeasible
        Not even all records together satisfy the models.

    Cost: per round, the classes that do not comply times the classes (at most ``WINDOW``); the classes that
    do not comply are halved at least, unless a model is not monotone.
    """
    frequencies = problem.frequencies
    tuples = frequencies.cell_tuples if cells is None else frequencies.cell_tuples[cells]
    weights = frequencies.cell_counts if weights is None else weights
    members, count = _number_classes(members)
    if problem.holds(Classes(count, members, cells, weights, frequencies)).all():
        return members
    from shoal.algorithms.local._boxes import Points, select_boxes
    from shoal.kernels.boxes import join_each

    inside = members >= 0
    points = Points.of(problem.columns, frequencies.tuples)
    boxes = points.at(tuples[inside]).boxes(weights[inside], members[inside], count)
    rank = np.lexsort([boxes.lows[:, column] for column in np.argsort(-np.ptp(boxes.lows, axis=0), kind="stable")])
    boxes = select_boxes(boxes, rank)
    index = np.empty(count, np.int64)
    index[rank] = np.arange(count)
    members = np.where(inside, index[members], -1)
    while True:
        holds = problem.holds(Classes(count, members, cells, weights, frequencies))
        if holds.all():
            return _number_classes(members)[0]
        if count == 1:
            raise problem.infeasible()
        failing = np.flatnonzero(~holds)
        into = np.arange(count, dtype=np.int64)
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

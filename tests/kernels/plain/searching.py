"""Plain twins of :mod:`shoal.kernels.program` and :mod:`shoal.kernels.neighbourhood`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tests.kernels.plain.boxes import Box, box_cost


def total_cost(members: Sequence[int], tuples: Box, records: Sequence[int], columns: Sequence[dict[str, Any]]) -> float:
    """Return what classes cost that are given by the class of each unit: :func:`shoal.kernels.descent.descend`.

    Columns as for :func:`box_costs`; a unit of class -1 is suppressed and costs all weights.
    """
    total = 0.0
    for own in set(members):
        inside = [unit for unit, other in enumerate(members) if other == own]
        if own < 0:
            cost = sum(float(column["weight"]) for column in columns)
        else:
            cost = box_cost([tuples[unit] for unit in inside], columns)
        total += sum(records[unit] for unit in inside) * cost
    return total


def best_cut(
    tuples: Box,
    records: Sequence[int],
    kinds: Sequence[int],
    columns: Sequence[dict[str, Any]],
    least: int,
    spread: int,
) -> float:
    """Return the least cost of all ways to cut a sequence: :func:`shoal.kernels.program.cut_sequence`."""
    best = [0.0] + [np.inf] * len(tuples)
    for end in range(1, len(tuples) + 1):
        for begin in range(end):
            size = sum(records[begin:end])
            if size >= least and len({kind for kind in kinds[begin:end] if kind >= 0}) >= spread:
                best[end] = min(best[end], best[begin] + size * box_cost(tuples[begin:end], columns))
    return float(best[-1])


def snake(tuples: Box, keys: Sequence[tuple[int, Sequence[int]]]) -> list[int]:
    """Sort tuples by keys, every other group backwards: :func:`shoal.kernels.program.sort_as_snake`.

    A key is a column and the label of each of its codes.
    """
    groups = [list(range(len(tuples)))] if tuples else []
    for column, labels in keys:
        split = []
        for number, group in enumerate(groups):
            found: dict[int, list[int]] = {}
            for one in group:
                found.setdefault(labels[tuples[one][column]], []).append(one)
            split += [found[label] for label in sorted(found, reverse=number % 2 == 1)]
        groups = split
    return [one for group in groups for one in group]


def growth(
    one: Sequence[int], other: Sequence[int], tuples: Box, records: Sequence[int], columns: Sequence[dict[str, Any]]
) -> float:
    """Return what all cost more if one class of units joins another one: ``spare.choose_neighbours``."""
    costs = [
        sum(records[unit] for unit in units) * box_cost([tuples[unit] for unit in units], columns)
        for units in ([*one, *other], one, other)
    ]
    return costs[0] - costs[1] - costs[2]

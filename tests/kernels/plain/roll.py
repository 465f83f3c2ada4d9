"""Plain twins of :mod:`shoal.kernels.roll`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2
from typing import Any

Row = tuple[tuple[int, ...], bool, int]
"""A row of a rolled-up table: the number of the label of each column, whether it is above a boundary, its kind."""


def raised(
    table: Mapping[Row, int], index: int, labels: Sequence[int], beyond: Sequence[bool]
) -> tuple[dict[Row, int], dict[Row, Row]]:
    """Return the table that :func:`shoal.kernels.roll.raise_wide` makes of a table, and where each row went.

    Parameters
    ----------
    table
        Records of each row.
    place
        The column that gets new labels.
    labels, beyond
        The new number of each label, and whether it is above a boundary.
    """
    above: dict[Row, int] = {}
    members: dict[Row, Row] = {}
    for row, count in table.items():
        numbers, marked, kind = row
        number = numbers[index]
        new = (*numbers[:index], int(labels[number]), *numbers[index + 1 :])
        members[row] = (new, marked or bool(beyond[number]), kind)
        above[members[row]] = above.get(members[row], 0) + count
    return above, members


def table_at(
    values: Mapping[tuple[tuple[int, ...], int], int], node: Sequence[int], columns: Sequence[dict[str, Any]]
) -> dict[Row, int]:
    """Return the table that :func:`shoal.kernels.roll.roll_up` writes for a node, straight from the values.

    Parameters
    ----------
    values
        Records of each combination of values and kind.
    node
        The level of each column; one above its top is a column that is free.
    columns
        For each column ``codes`` (by level and value) and ``limits`` (by value, ``None`` where it has no boundaries).
    """
    table: dict[Row, int] = {}
    for (codes, kind), count in values.items():
        numbers, marked = [], False
        for code, level, column in zip(codes, node, columns, strict=True):
            free = level == len(column["codes"])
            numbers.append(0 if free else int(column["codes"][level][code]))
            marked |= not free and column["limits"] is not None and level > column["limits"][code]
        row = (tuple(numbers), marked, kind)
        table[row] = table.get(row, 0) + count
    return table


def sums_of(
    classes: Sequence[tuple[tuple[int, ...], int, bool]], costs: Sequence[Sequence[Mapping[int, float]]]
) -> dict[str, Any]:
    """Return what :func:`shoal.kernels.roll.sum_up` adds up for a node.

    Parameters
    ----------
    classes
        Labels, records, and whether it is kept, of each class.
    costs
        ``costs[cost][index][label]``: what a record with the label adds.
    """
    out = sum(size for _, size, kept in classes if not kept)
    hidden: list[dict[int, int]] = [{} for _ in costs[0]]
    for labels, size, kept in classes:
        for index, label in enumerate(labels if not kept else ()):
            hidden[index][label] = hidden[index].get(label, 0) + size
    return {
        "suppressed": out,
        "classes": sum(kept for _, _, kept in classes),
        "squares": sum(size**2 for _, size, kept in classes if kept),
        "all_squares": sum(size**2 for _, size, _ in classes),
        "kept": [
            [
                sum(size * indices[index][labels[index]] for labels, size, kept in classes if kept)
                for index in range(len(indices))
            ]
            for indices in costs
        ],
        "suppressed_entropy": [sum(size * log2(out / size) for size in counted.values()) for counted in hidden],
    }

"""What boxes around records cost in each column, laid out for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.frequencies import Codes
from shoal.kernels.widths import LABEL, RANGE, SET, TABLE, Costs
from shoal.recodings.base import Column, Floats

Words = npt.NDArray[np.uint64]

_FEW = 256
"""Codes of a column up to which the cost of every pair is looked up."""
_WORDS = 4
"""The most words of a set's bits; codes of larger columns share bits, which only misleads the search a little."""
BEYOND = 1e3
"""Times the cost of showing nothing at all: what is added where a box is above a boundary."""


def codes_of(columns: Sequence[Column], tuples: Codes) -> Codes:
    """Return the codes of tuples as boxes need them: after all columns come the boundaries of those that have some."""
    bounds = [column.bounded_by[tuples[:, place]] for place, column in enumerate(columns) if column.limits is not None]
    return np.ascontiguousarray(np.column_stack([tuples, *bounds]), np.int32)


def bits_of_codes(codes: Codes, costs: Costs) -> Words:
    """Return the bits of each tuple's codes, for columns that show sets."""
    result = np.zeros((len(codes), max(int(costs.words[-1]), 1)), np.uint64)
    for column in np.flatnonzero(costs.forms == SET).tolist():
        room = 64 * int(costs.words[column + 1] - costs.words[column])
        place = codes[:, column].astype(np.int64) % room
        bit = np.uint64(1) << (place % 64).astype(np.uint64)
        result[np.arange(len(codes)), costs.words[column] + place // 64] |= bit
    return result


class _Part(NamedTuple):
    """One column of the costs."""

    form: int
    size: int
    numbers: Floats
    labels: npt.NDArray[np.int32]
    height: int
    singles: Floats
    weight: float
    words: int
    wild: int


def costs_of(columns: Sequence[Column]) -> Costs:
    """Lay out what boxes cost in each column, weighted; boundaries are columns of their own, after all others."""
    beyond = BEYOND * sum(column.weight for column in columns)
    bounds = [_boundary(column, beyond) for column in columns if column.limits is not None]
    forms, sizes, numbers, labels, heights, singles, weights, words, wild = zip(
        *map(_part, columns), *bounds, strict=True
    )
    return Costs(
        np.array(forms, np.int64),
        np.array(sizes, np.int64),
        _starts(numbers),
        np.concatenate(numbers),
        _starts(labels),
        np.concatenate(labels).astype(np.int32),
        np.array(heights, np.int64),
        _starts(singles),
        np.concatenate(singles),
        np.array(weights, np.float64),
        np.cumsum([0, *words]).astype(np.int64),
        np.array(wild, np.int64),
    )


def _starts(arrays: Sequence[npt.NDArray[np.generic]]) -> npt.NDArray[np.int64]:
    return np.cumsum([0, *map(len, arrays)])[:-1].astype(np.int64)


def _part(column: Column) -> _Part:
    levels, weight = column.levels, column.weight
    form = _form(column)
    labels = levels.codes.ravel() if form == LABEL else np.zeros(0, np.int32)
    words = min(-(-levels.size // 64), _WORDS) if form == SET else 0
    starred = form == SET and levels.size > 0 and levels.penalties[0, -1] > 0.0
    wild = (levels.size - 1) % (64 * words) if starred else -1
    singles = levels.penalties[0] * weight
    return _Part(
        form, levels.size, _numbers(column, form) * weight, labels, levels.height, singles, weight, words, wild
    )


def _boundary(column: Column, beyond: float) -> _Part:
    """What it costs to go beyond a boundary: nothing, or more than anything else."""
    size = int(column.bounded_by.max(initial=0)) + 1
    numbers = np.full((size, size), beyond)
    np.fill_diagonal(numbers, 0.0)
    return _Part(TABLE, size, numbers.ravel(), np.zeros(0, np.int32), 1, np.zeros(size), 0.0, 0, -1)


def _form(column: Column) -> int:
    if column.form == "sets":
        return SET
    if column.levels.size <= _FEW:
        return TABLE
    return RANGE if column.form == "ranges" else LABEL


def _numbers(column: Column, form: int) -> Floats:
    if form == TABLE:
        return _table(column).ravel()
    if form == RANGE:
        return column.points
    return column.levels.penalties.ravel() if form == LABEL else np.zeros(0)


def _table(column: Column) -> Floats:
    """``[least, greatest]``: the penalty of all between two codes."""
    levels = column.levels
    low, high = np.meshgrid(np.arange(levels.size), np.arange(levels.size), indexing="ij")
    if column.form == "ranges":
        points = column.points
        spread = points[high] - points[low]
        result = np.where(np.isnan(spread), 1.0, spread)
        np.fill_diagonal(result, levels.penalties[0])
        return result
    level = np.full(low.shape, levels.height, np.int64)
    for candidate in range(levels.height - 1, -1, -1):
        level[levels.codes[candidate][low] == levels.codes[candidate][high]] = candidate
    return levels.penalties[level, low]

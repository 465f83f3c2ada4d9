"""What boxes around records cost in each column, laid out for the kernels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.algorithms.base import Ints
from shoal.kernels.widths import LABEL, RANGE, SET, TABLE, Costs
from shoal.recodings.base import Column

Codes = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]

_FEW = 256
"""Codes of a column up to which the cost of every pair is looked up."""
_WORDS = 4
"""The most words of a set's bits; codes of larger columns share bits, which only misleads the search a little."""
BEYOND = 1e3
"""Added to the cost of a box that is above a boundary."""
_GUARDED = 2048
"""Codes of a column up to which its boundaries are looked up for every pair."""


def bits_of_codes(codes: Codes, costs: Costs) -> Words:
    result = np.zeros((len(codes), max(int(costs.words[-1]), 1)), np.uint64)
    for column in np.flatnonzero(costs.forms == SET).tolist():
        room = 64 * int(costs.words[column + 1] - costs.words[column])
        place = codes[:, column].astype(np.int64) % room
        result[np.arange(len(codes)), costs.words[column] + place // 64] |= np.uint64(1) << (place % 64).astype(
            np.uint64
        )
    return result


def costs_of(columns: tuple[Column, ...]) -> Costs:
    """Lay out what boxes cost in each column, weighted."""
    forms, starts, label_starts, single_starts = [], [0], [0], [0]
    numbers, labels, singles, words, wild = [], [], [], [0], []
    for column in columns:
        levels, weight = column.levels, column.weight
        form = _form(column)
        forms.append(form)
        numbers.append(_numbers(column, form) * weight)
        labels.append(levels.codes.ravel() if form == LABEL else np.zeros(0, np.int32))
        singles.append(levels.penalties[0] * weight)
        starts.append(starts[-1] + len(numbers[-1]))
        label_starts.append(label_starts[-1] + len(labels[-1]))
        single_starts.append(single_starts[-1] + levels.size)
        words.append(words[-1] + (min(-(-levels.size // 64), _WORDS) if form == SET else 0))
        starred = form == SET and levels.size > 0 and levels.penalties[0, -1] > 0.0
        wild.append((levels.size - 1) % (64 * (words[-1] - words[-2])) if starred else -1)
    twice = tuple(columns[place] for place in guarded(columns))
    for column in twice:
        forms.append(TABLE)
        numbers.append(_beyond(column).ravel())
        singles.append(np.zeros(column.levels.size))
        starts.append(starts[-1] + len(numbers[-1]))
        label_starts.append(label_starts[-1])
        single_starts.append(single_starts[-1] + column.levels.size)
        words.append(words[-1])
        wild.append(-1)
    every = (*columns, *twice)
    return Costs(
        np.array(forms, np.int64),
        np.array([column.levels.size for column in every], np.int64),
        np.array(starts[:-1], np.int64),
        np.concatenate(numbers),
        np.array(label_starts[:-1], np.int64),
        np.concatenate(labels).astype(np.int32),
        np.array([column.levels.height for column in every], np.int64),
        np.array(single_starts[:-1], np.int64),
        np.concatenate(singles),
        np.array([column.weight for column in columns] + [0.0] * len(twice), np.float64),
        np.array(words, np.int64),
        np.array(wild, np.int64),
    )


def _form(column: Column) -> int:
    if column.form == "sets":
        return SET
    if column.levels.size <= _FEW:
        return TABLE
    return RANGE if column.form == "ranges" else LABEL


def guarded(columns: tuple[Column, ...]) -> list[int]:
    """Return the columns with boundaries that no table of their costs knows."""
    return [
        place
        for place, column in enumerate(columns)
        if column.limits is not None and _form(column) != TABLE and column.levels.size <= _GUARDED
    ]


def _numbers(column: Column, form: int) -> Floats:
    levels = column.levels
    if form == TABLE:
        return _table(column).ravel()
    if form == RANGE:
        return _points(column)
    return levels.penalties.ravel() if form == LABEL else np.zeros(0)


def _points(column: Column) -> Floats:
    """Each value as a share of the column's range; not a number for the missing one."""
    domain = column.levels.domain
    points = np.full(column.levels.size, np.nan)
    points[: len(domain)] = domain.values.astype(np.float64) / (domain.span or 1.0)
    return points


def _table(column: Column) -> Floats:
    """``[least, greatest]``: the penalty of all between two codes."""
    levels = column.levels
    low, high, level = _pairs(column)
    if column.form == "ranges":
        points = _points(column)
        spread = points[high] - points[low]
        result = np.where(np.isnan(spread), 1.0, spread)
        np.fill_diagonal(result, levels.penalties[0])
    else:
        result = levels.penalties[level, low]
    return result if column.limits is None else result + _beyond(column)


def _pairs(column: Column) -> tuple[Ints, Ints, Ints]:
    """Return all pairs of codes, and the lowest level at which they share a label."""
    levels = column.levels
    low, high = np.meshgrid(np.arange(levels.size), np.arange(levels.size), indexing="ij")
    level = np.full(low.shape, levels.height, np.int64)
    for candidate in range(levels.height - 1, -1, -1):
        level[levels.codes[candidate][low] == levels.codes[candidate][high]] = candidate
    return low, high, level


def _beyond(column: Column) -> Floats:
    """``[least, greatest]``: what is added where all between two codes are above a boundary."""
    if column.limits is None:
        raise ValueError("the column has no boundaries")
    low, high, level = _pairs(column)
    limits = np.minimum.accumulate(np.where(high >= low, column.limits[high], column.levels.height), axis=1)
    return np.where((level > limits) & (high >= low), BEYOND, 0.0)

"""What searches that put records into classes share: the columns and the classes as arrays for the kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.domains import STAR
from shoal.frequencies import Codes
from shoal.kernels.boxes import LABELS, RANGES, SETS, Boxes, Ints, Space, enclose
from shoal.recodings.base import Column

Floats = npt.NDArray[np.float64]

_FORMS = {"labels": LABELS, "ranges": RANGES, "sets": SETS}


def space_of(columns: Sequence[Column], penalties: Sequence[Floats] | None = None) -> Space:
    """Return the columns as flat arrays; ``penalties[column]``, by level and code, may be others than the column's.

    The certainty penalty of a box is that which :mod:`shoal.recodings.forms` finds for its class.
    """
    levels = [column.levels for column in columns]
    sizes = np.array([level.size for level in levels], np.int64)
    words = [-(-level.size // 64) * (column.form == "sets") for column, level in zip(columns, levels, strict=True)]
    chosen = [_penalties(column) for column in columns] if penalties is None else penalties
    return Space(
        np.array([_FORMS[column.form] for column in columns], np.int64),
        sizes,
        np.array([level.height for level in levels], np.int64),
        _places(sizes),
        _places([level.codes.size for level in levels]),
        np.cumsum([0, *words]).astype(np.int64),
        np.concatenate([level.codes.ravel() for level in levels]).astype(np.int32),
        np.concatenate([array.ravel() for array in chosen]).astype(np.float64),
        np.concatenate([_values(column) for column in columns]),
        np.array([level.domain.span if level.domain.ordered else 0.0 for level in levels], np.float64),
        np.concatenate([_limits(column) for column in columns]).astype(np.int32),
        np.array([column.weight for column in columns], np.float64),
        np.array([level.has_missing and level.labels[0][-1] == STAR for level in levels], bool),
    )


def _places(sizes: Sequence[int] | Ints) -> Ints:
    return np.cumsum([0, *sizes])[:-1].astype(np.int64)


def _penalties(column: Column) -> Floats:
    if column.form != "sets":
        return column.levels.penalties
    penalties = column.levels.penalties.copy()  # a set of one value that reads "*" shows nothing
    penalties[0, [text == STAR for text in column.levels.labels[0]]] = 1.0
    return penalties


def _values(column: Column) -> Floats:
    values = np.full(column.levels.size, np.nan)
    if column.levels.domain.ordered:
        values[: len(column.levels.domain)] = column.levels.domain.values.astype(np.float64)
    return values


def _limits(column: Column) -> Ints:
    return np.full(column.levels.size, 1 << 30, np.int64) if column.limits is None else column.limits


def empty_boxes(space: Space, count: int) -> Boxes:
    """Return room for so many boxes."""
    shape = (count, len(space.forms))
    low, high, distinct, limit = (np.zeros(shape, np.int32) for _ in range(4))
    bits = np.zeros((count, int(space.words[-1])), np.uint64)
    return Boxes(low, high, distinct, limit, bits, np.zeros(shape), np.zeros(count, np.int64))


def boxes_of(space: Space, tuples: Codes, records: Ints, classes: Ints, count: int) -> Boxes:
    """Return the box of each class of a list of tuples."""
    order = np.argsort(classes, kind="stable")
    starts = np.searchsorted(classes[order], np.arange(count + 1)).astype(np.int64)
    boxes = empty_boxes(space, count)
    enclose(space, np.ascontiguousarray(tuples, np.int32), records, order, starts, boxes)
    return boxes


def taken(boxes: Boxes, rows: npt.NDArray[np.generic]) -> Boxes:
    """Return some of the boxes, given by their numbers or by a mask."""
    return Boxes(*(array[rows] for array in boxes))

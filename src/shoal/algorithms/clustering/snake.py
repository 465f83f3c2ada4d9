"""The snake: all records in a sequence, so that neighbours share as much as possible of what is costly to lose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.encoding.types import Codes, Ints
from shoal.recodings.base import Column

_HALVES = 12
"""How often the values of a column without levels are halved to make some."""


@dataclass(frozen=True)
class Key:
    """A column at a level: what records are sorted by, one key after the other."""

    column: int
    labels: Ints
    """The number of each code's label; labels are in the order of their codes."""
    crossing: float
    """What a class loses, weighted, that crosses from one label to another; infinite where that is a boundary."""
    entropy: float
    """How much the key tells records apart (bits)."""
    depth: int
    """Its place among the keys of the column: coarse ones first."""


def make_keys(columns: tuple[Column, ...], codes: Codes, weights: Ints) -> list[Key]:
    """Return all keys of the columns, coarse ones first within each column."""
    found = []
    for index, column in enumerate(columns):
        held = np.bincount(codes[:, index], weights, minlength=column.levels.size)
        layers = [] if column.limits is None else [(column.bounded_by, np.inf)]
        layers += _key_by_levels(column, held) if column.form == "labels" else _key_by_halves(column, held)
        for depth, (labels, crossing) in enumerate(layers):
            shares = np.bincount(labels, held) / max(held.sum(), 1)
            shares = shares[shares > 0]
            entropy = float(-(shares * np.log2(shares)).sum())
            found.append(Key(index, labels, crossing * column.weight, entropy, depth))
    return found


def _key_by_levels(column: Column, held: np.ndarray) -> list[tuple[Ints, float]]:
    """One key per level: crossing it costs what the labels of the level above cost."""
    levels = column.levels
    layers = []
    for level in range(levels.height - 1, -1, -1):
        first = np.unique(levels.codes[level], return_index=True)[1]
        numbers = np.argsort(np.argsort(first))[levels.codes[level]]
        crossing = float(np.average(levels.penalties[level + 1], weights=held)) if held.sum() else 0.0
        layers.append((numbers.astype(np.int64), crossing))
    return layers


def _key_by_halves(column: Column, held: np.ndarray) -> list[tuple[Ints, float]]:
    """Keys that halve the records again and again; the last one is the value itself."""
    size = column.levels.size
    reached = (np.cumsum(held) - held / 2) / max(held.sum(), 1)
    layers = []
    for halves in range(1, _HALVES + 1):
        labels = np.floor(reached * 2**halves).astype(np.int64)
        labels = np.unique(labels, return_inverse=True)[1]
        if labels.max(initial=0) + 1 >= (held > 0).sum():
            break
        layers.append((labels.astype(np.int64), 0.5 ** (halves - 1)))
    last = 0.5 ** len(layers) if column.form == "ranges" else 2 / size
    return [*layers, (np.arange(size, dtype=np.int64), last)] if column.form == "ranges" else [(np.arange(size), last)]


def order_keys(keys: Sequence[Key], columns: tuple[Column, ...]) -> list[Key]:
    """Order the keys: what is costly to cross first, what tells few records apart first among equals.

    What boundaries keep apart so stands apart. Columns without levels come last: to their neighbours in the sequence
    values are near anyway. Where there are several, their halves take turns.
    """
    loose = [index for index, column in enumerate(columns) if column.form == "ranges"]
    ranked = []
    for number, key in enumerate(keys):
        last = key.column in loose and key.crossing < np.inf
        if last and len(loose) == 1 and len(key.labels) > key.labels.max(initial=0) + 1:
            continue  # one column alone is simply sorted
        ranked.append((last, -key.crossing, key.entropy, number, key))
    return [entry[-1] for entry in sorted(ranked, key=lambda entry: entry[:-1])]


def sort_records(keys: Sequence[Key], codes: Codes) -> Ints:
    """Sort records by the keys; every other group runs backwards, so that the ends of neighbours meet."""
    from shoal.kernels.program import sort_as_snake

    order = np.arange(len(codes))
    starts = np.cumsum([0, *(len(key.labels) for key in keys)])
    labels = np.concatenate([key.labels for key in keys])
    sort_as_snake(codes, np.array([key.column for key in keys]), labels, starts, order)
    return order

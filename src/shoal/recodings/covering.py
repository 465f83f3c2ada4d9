"""Covering: which values each class may stand for, and so which persons of a population match it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.encoding.types import Ints
from shoal.frequencies.frequencies import Classes
from shoal.frequencies.populations import Population
from shoal.recodings.base import Column, ColumnLabels
from shoal.recodings.forms import FORMS, Members, show_narrowest


def count_matches(population: Population, shown: Sequence[ColumnLabels]) -> Ints:
    """Return how many persons match what each class shows."""
    return population.matching([column.ids for column in shown], [column.covers() for column in shown])


def count_local_matches(population: Population, classes: Classes, columns: tuple[Column, ...]) -> Ints:
    """Return how many persons match what each class would show if it were published by local recoding.

    A class that would show ``*`` in every column shows something narrower instead, in a column that depends on all
    the others; it is counted as if it did in each column, which is never too many. All records in one class may show
    ``*``.
    """
    frequencies = classes.frequencies
    tuples = frequencies.cell_tuples if classes.cells is None else frequencies.cell_tuples[classes.cells]
    inside = classes.members >= 0
    width = max(len(frequencies.tuples), 1)
    pairs = np.unique(classes.members[inside] * width + tuples[inside])
    present, numbers = np.unique(pairs // width, return_inverse=True)
    members = Members(numbers.astype(np.int64), len(present))
    codes = frequencies.tuples[pairs % width].astype(np.int64)
    shown = [FORMS[c.form](c.levels, members, codes[:, index]) for index, c in enumerate(columns)]
    found = np.zeros(classes.count, np.int64)
    found[present] = count_matches(population, shown)
    silent = np.logical_and.reduce([column.stars for column in shown])
    silent &= classes.records[present] < frequencies.records
    if silent.any():
        narrow = [show_narrowest(c, members, codes[:, index]) for index, c in enumerate(columns)]
        found[present[silent]] = count_matches(population, [column.take(silent) for column in narrow])
    return found

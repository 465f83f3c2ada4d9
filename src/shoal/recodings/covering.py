"""Covering: which values each class may stand for, and so which persons of a population match it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.encoding.types import Ints
from shoal.frequencies.frequencies import Classes
from shoal.frequencies.populations import Population
from shoal.recodings.base import Column, ColumnLabels
from shoal.recodings.forms import ClassMembers, show_column, show_narrowest


def count_persons(population: Population, shown: Sequence[ColumnLabels]) -> Ints:
    """Return how many persons match what each class shows."""
    return population.matching([column.ids for column in shown], [column.covers() for column in shown])


def count_persons_locally(population: Population, classes: Classes, columns: tuple[Column, ...]) -> Ints:
    """Return how many persons match what each class would show if it were published by local recoding.

    A class that would show ``*`` in every column shows something narrower instead, in a column that depends on all
    the others; it is counted as if it did in each column, which is never too many. All records in one class may show
    ``*``.
    """
    frequencies = classes.frequencies
    inside = classes.members >= 0
    present, numbers = np.unique(classes.members[inside], return_inverse=True)
    members, chosen = ClassMembers.of(numbers.astype(np.int64), classes.tuples[inside], len(present))
    codes = frequencies.tuples[chosen].T.astype(np.int64)
    shown = [show_column(column, members, own) for column, own in zip(columns, codes, strict=True)]
    found = np.zeros(classes.count, np.int64)
    found[present] = count_persons(population, shown)
    silent = np.logical_and.reduce([column.stars for column in shown])
    silent &= classes.records[present] < frequencies.records
    if silent.any():
        narrow = [show_narrowest(column, members, own) for column, own in zip(columns, codes, strict=True)]
        found[present[silent]] = count_persons(population, [column.take(silent) for column in narrow])
    return found

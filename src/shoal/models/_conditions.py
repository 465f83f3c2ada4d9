"""Condition: what a model asks of the values of a class, as data that a search can follow move by move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from shoal.encoding.types import Floats, Ints
from shoal.frequencies.frequencies import Background

Form = Literal["caps", "floors", "surplus", "ordered", "evenness", "distinct", "tail", "requests"]
"""What is asked, see :mod:`shoal.kernels.composition`."""


@dataclass(frozen=True)
class Condition:
    """A condition on how often values occur in a class; it is a search's view, the model decides.

    Attributes
    ----------
    form
        What is asked.
    columns
        The columns whose values it looks at, several taken as one.
    numbers
        A number for each place, or for each count where the form says so.
    bound
        What a sum may be at most.
    places
        ``places[layer, value]``: the places of each value of the table, in the order of their codes; by default each
        value has its own.
    """

    form: Form
    columns: tuple[str, ...]
    numbers: Floats
    bound: float = 0.0
    places: Ints | None = None


def find_shares(names: tuple[str, ...], background: Background) -> Floats:
    """Return the share of each value of the table, in the order of their codes."""
    table = background.table(names)
    shares: Floats = table.counts / max(int(table.persons[0]), 1)
    return shares


def order_values(names: tuple[str, ...], background: Background) -> Ints | None:
    """Return the place of each value of the table in their order; ``None`` where they have none."""
    (column,), table = background.known(names), background.table(names)
    if column.ranks is None:
        return None
    return np.argsort(np.argsort(column.ranks[table.values], kind="stable")).astype(np.int64)


def label_values(names: tuple[str, ...], background: Background) -> Ints | None:
    """Return ``[level, value]``: a place for each label of the column's hierarchy; ``None`` where it has none."""
    (column,), table = background.known(names), background.table(names)
    if column.levels is None:
        return None
    layers, before = [], 0
    for labels in column.levels[:, table.values]:
        numbers = np.unique(labels, return_inverse=True)[1].ravel().astype(np.int64)
        layers.append(numbers + before)
        before += int(numbers.max(initial=-1)) + 1
    return np.stack(layers)


def tabulate_entropy(most: int) -> Floats:
    """Return c log c for every count c up to so many."""
    counts = np.arange(most + 2, dtype=np.float64)
    result: Floats = counts * np.log(np.maximum(counts, 1.0))
    return result

"""find_best_partition(): of all ways to put a few records into classes, and to suppress some, what loses least."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from shoal.algorithms.clustering.units import FEW, Units
from shoal.encoding.types import Bools, Floats, Ints

_TIE = 1e-9
"""What tells apart what loses the same."""


def find_best_partition(units: Units) -> Iterator[Ints]:
    """Yield the class of each unit, -1 for suppressed ones, where there are few enough to look at every partition.

    A program over subsets: the first record of a subset is in a class, whichever, and the others of the subset are
    parted as cheaply as they can be. What is left of all records is suppressed, as far as that is allowed.

    Cost: 3 ** n steps.
    """
    if len(units) > FEW or not all(model.classwise for model in units.problem.models):
        return
    holds, prices = _price_subsets(units)
    least, classes = _part_subsets(np.where(holds, prices, np.inf))
    out = units.records.sum() - _added(units.records)
    costs = np.where(out <= units.problem.most_suppressed, least + units.nothing * out, np.inf)
    best = int(np.argmin(costs))
    if np.isfinite(costs[best]):
        yield _number_parts(len(units), best, classes)


def _price_subsets(units: Units) -> tuple[Bools, Floats]:
    """Return for each subset, by its bits, whether it is a class that complies, and what that costs."""
    from shoal.kernels.spare import fill_class_costs

    count = (1 << len(units)) - 1
    subset, unit = np.nonzero(np.arange(1, count + 1)[:, None] >> np.arange(len(units)) & 1)
    inside = units.only(unit)
    sizes, costs, mute = inside.price(subset, count)
    labelled = np.empty(count)
    fill_class_costs(inside.costs, inside.boxes, inside.records, subset, sizes, labelled)
    costs += _TIE * labelled  # of equals what shows labels, not what must show values in their place
    holds = units.problem.holds(inside.classes(subset)) & ~mute  # who shows nothing is suppressed
    return np.append(False, holds), np.append(0.0, sizes * costs)


def _part_subsets(prices: Floats) -> tuple[Floats, Ints]:
    """Return what the cheapest partition of each subset costs, and the class of its first record there."""
    least, classes = np.zeros(len(prices)), np.zeros(len(prices), np.int64)
    below = _list_subsets(len(prices).bit_length() - 1)
    for whole in range(1, len(prices)):
        first = whole & -whole
        chosen = below[whole ^ first] | first
        costs = prices[chosen] + least[whole ^ chosen]
        best = int(np.argmin(costs))
        least[whole], classes[whole] = costs[best], chosen[best]
    return least, classes


@lru_cache(maxsize=FEW)
def _list_subsets(count: int) -> list[Ints]:
    """Return for each subset, by its bits, those that lie within it."""
    found = [np.zeros(1, np.int64)]
    for whole in range(1, 1 << count):
        first = whole & -whole
        rest = found[whole ^ first]
        found.append(np.append(rest, rest | first))
    return found


def _added(records: Ints) -> Ints:
    """Return the records of each subset of units."""
    return np.asarray((np.arange(1 << len(records))[:, None] >> np.arange(len(records)) & 1) @ records, np.int64)


def _number_parts(count: int, whole: int, classes: Ints) -> Ints:
    members, number = np.full(count, -1, np.int64), 0
    while whole:
        part = int(classes[whole])
        members[(part >> np.arange(count) & 1).astype(bool)] = number
        whole, number = whole ^ part, number + 1
    return members

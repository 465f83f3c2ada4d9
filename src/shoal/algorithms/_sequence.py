"""best_sequence(): the records in a good order, cut into classes by the program, and completed for every model."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.algorithms._snake import Key, keys_of, ruled, sequence
from shoal.algorithms._units import Units
from shoal.algorithms.base import Ints

_UNITS = 60_000
"""Units that are sorted and cut in about a tenth of a second: small tables can try more orders in the same time."""
_TRIES = 2
"""Orders that are tried besides for any effort: the same for all, so that more effort never ends with more loss."""


def best_sequence(units: Units, costs: Any, effort: float) -> tuple[Ints, float]:
    """Return the class of each unit, and what they cost: of the rule's order, and of others as effort allows it."""
    problem = units.problem
    keys = ruled(keys_of(problem.columns, units.codes, units.weights), problem.columns)
    total, members, order = _cut(units, costs, keys)
    tries = min(12, _UNITS // max(len(units), 1)) + round((effort > 0) * _TRIES * min(1.0, _UNITS / max(len(units), 1)))
    random = np.random.default_rng(problem.seed)
    for number in range(tries):
        problem.progress("looking for a good order", number, tries)
        other = _moved(keys, units, random)
        found = _cut(units, costs, other)
        if found[0] < total:
            keys, (total, members, order) = other, found
    return members if units.counts_only else _completed(units, costs, members, order), total


def _cut(units: Units, costs: Any, keys: list[Key]) -> tuple[float, Ints, Ints]:
    from shoal.kernels.program import cut_sequence

    order = sequence(keys, units.codes)
    members = np.zeros(len(units), np.int64)
    least = max(units.problem.least_records, 1)
    total = cut_sequence(costs, units.codes, units.bits, units.weights, order, least, members)
    return float(total), members, order


def _moved(keys: list[Key], units: Units, random: np.random.Generator) -> list[Key]:
    """Move one column's keys, or one key, to another place; within a column coarse keys stay before fine ones."""
    column = keys[int(random.integers(len(keys)))].column
    own = [key for key in keys if key.column == column]
    taken = own if random.random() < 0.5 else [own[int(random.integers(len(own)))]]
    rest = [key for key in keys if not any(key is one for one in taken)]
    place = int(random.integers(len(rest) + 1))
    moved = [*rest[:place], *taken, *rest[place:]]
    ranked = iter(sorted((key for key in moved if key.column == column), key=lambda key: key.depth))
    return [next(ranked) if key.column == column else key for key in moved]


def _completed(units: Units, costs: Any, members: Ints, order: Ints) -> Ints:
    """Join classes that break a model with a neighbour in the sequence, the cheaper one, until every model holds."""
    from shoal.kernels.neighbourhood import choose_neighbours

    problem = units.problem
    while True:
        # number the classes along the sequence
        first = np.full(int(members.max()) + 1, len(units), np.int64)
        place = np.empty(len(units), np.int64)
        place[order] = np.arange(len(units))
        np.minimum.at(first, members, place)
        members = np.argsort(np.argsort(first, kind="stable"), kind="stable")[members]
        holds = problem.holds(units.classes(members))
        if holds.all():
            return members.astype(np.int64)
        into = np.arange(len(holds))
        choose_neighbours(costs, units.codes, units.bits, units.weights, members, ~holds, into)
        members = into[members]
        members = np.unique(members, return_inverse=True)[1].astype(np.int64)

"""best_sequence(): the records in a good order, cut into classes by the program, and completed for every model."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shoal.algorithms._snake import Key, keys_of, ruled, sequence
from shoal.algorithms._units import Units
from shoal.algorithms.base import Ints

_STEPS = 6_000_000
"""Steps of sorting and cutting that take about a tenth of a second: small tables can try more orders in that time."""
_AT_ONCE = 12
"""The most orders that are tried without any effort."""
_TRIES = 100
"""Orders that are tried with any effort, within ten times as many steps: the same for all, so that more effort never
ends with more loss."""


def best_sequence(units: Units, effort: float) -> Iterator[Ints]:
    """Yield the class of each unit: by the rule's order, then by the best of others, as many as effort allows."""
    problem = units.problem
    keys = ruled(keys_of(problem.columns, units.codes, units.weights), problem.columns)
    total, members, order = _cut(units, keys)
    yield completed(units, members, order)
    room = _STEPS / (max(len(units), 1) * (16 + problem.least_records))
    tries = min(_AT_ONCE, int(room)) + (effort > 0) * min(_TRIES, int(10 * room))
    random, first = np.random.default_rng(problem.seed), total
    for number in range(tries):
        problem.progress("looking for a good order", number, tries)
        other = _moved(keys, random)
        found = _cut(units, other)
        if found[0] < total:
            keys, (total, members, order) = other, found
    if total < first:
        yield completed(units, members, order)


def _cut(units: Units, keys: list[Key]) -> tuple[float, Ints, Ints]:
    from shoal.kernels.program import cut_sequence

    order = sequence(keys, units.codes)
    members = np.zeros(len(units), np.int64)
    least = max(units.problem.least_records, 1)
    data = (units.costs, units.boxes, units.weights, units.kinds, order, least)
    total = cut_sequence(*data, units.spread, members)
    if not np.isfinite(total):  # a kind is too rare: classes are joined afterwards
        total = cut_sequence(*data, 0, members)
    return float(total), members, order


def _moved(keys: list[Key], random: np.random.Generator) -> list[Key]:
    """Move one column's keys, or one key, to another place; within a column coarse keys stay before fine ones."""
    column = keys[int(random.integers(len(keys)))].column
    own = [key for key in keys if key.column == column]
    taken = own if random.random() < 0.5 else [own[int(random.integers(len(own)))]]
    rest = [key for key in keys if not any(key is one for one in taken)]
    place = int(random.integers(len(rest) + 1))
    moved = [*rest[:place], *taken, *rest[place:]]
    ranked = iter(sorted((key for key in moved if key.column == column), key=lambda key: key.depth))
    return [next(ranked) if key.column == column else key for key in moved]


def completed(units: Units, members: Ints, order: Ints | None = None) -> Ints:
    """Join classes that break a model with a neighbour in a sequence, the cheaper one, until every model holds."""
    from shoal.kernels.spare import choose_neighbours

    problem = units.problem
    if order is None:
        order = sequence(ruled(keys_of(problem.columns, units.codes, units.weights), problem.columns), units.codes)
    place = np.empty(len(units), np.int64)
    place[order] = np.arange(len(units))
    while True:
        holds = problem.holds(units.classes(members))
        if holds.all():
            return members
        # number the classes along the sequence
        first = np.full(len(holds), len(units), np.int64)
        np.minimum.at(first, members, place)
        rank = np.argsort(first, kind="stable")
        number = np.empty(len(holds), np.int64)
        number[rank] = into = np.arange(len(holds))
        members = number[members]
        choose_neighbours(units.costs, units.boxes, units.weights, members, ~holds[rank], into)
        members = np.unique(into[members], return_inverse=True)[1].astype(np.int64)

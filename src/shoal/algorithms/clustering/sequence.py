"""search_sequences(): the records in a good order, cut into classes by the program, and completed for every model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shoal.algorithms.clustering.snake import Key, make_keys, order_keys, sort_records
from shoal.algorithms.clustering.units import Units
from shoal.encoding.types import Ints
from shoal.kernels.group import number_values

_STEPS = 6_000_000
"""Steps of sorting and cutting that take about a tenth of a second: small tables can try more orders in that time."""
_SORTING = 16
"""Steps for each unit that sorting takes."""
_AT_ONCE = (8, 2 * _STEPS // 3)
"""The most orders that are tried without any effort, and steps."""
_TRIES = (100, 10 * _STEPS)
"""Those that are tried besides with any effort: the same for all, so that more effort never ends with more loss."""


def search_sequences(units: Units) -> Iterator[Ints]:
    """Yield the class of each unit three times: by the rule's order, by the best of some others, then of many.

    How many are tried follows from counted steps, not from time, so that the same table always gets the same order.
    """
    problem, random = units.problem, np.random.default_rng(units.problem.seed)
    best = SequenceCut.of(units, order_by_rule(units))
    members, least = np.zeros(len(units), np.int64), np.inf
    for tries, allowed in ((0, 0), _AT_ONCE, _TRIES):
        before, number, steps = best, 0, best.steps
        while number < tries and steps <= allowed:
            problem.progress("looking for a good order", number, tries)
            other = SequenceCut.of(units, move_key(best.keys, random))
            number, steps = number + 1, steps + other.steps
            best = min(best, other, key=lambda cut: cut.rank)
        if best is not before or least == np.inf:
            found = complete_classes(units, best.members, best.order)
            if (cost := units.cost(found)) < least:
                members, least = found, cost
        yield members


def order_by_rule(units: Units) -> list[Key]:
    """Return the keys of the columns in the order of the rule."""
    return order_keys(make_keys(units.columns, units.codes, units.weights), units.columns)


@dataclass(frozen=True)
class SequenceCut:
    """A sequence that the program cut into classes."""

    keys: list[Key]
    order: Ints
    members: Ints
    rank: tuple[bool, float]
    """What ranks it among others: first whether classes lack kinds, then what they cost; less is better."""
    steps: int
    """What it took."""

    @classmethod
    def of(cls, units: Units, keys: list[Key]) -> SequenceCut:
        """Sort the units by the keys, and cut them."""
        from shoal.kernels.program import cut_sequence

        order, members = sort_records(keys, units.codes), np.zeros(len(units), np.int64)
        least = max(units.problem.least_records, 1)
        data = (units.costs, units.boxes, units.weights, units.kinds, order, least)
        total, steps = cut_sequence(*data, units.spread, members)
        lacking = not np.isfinite(total)
        if lacking:  # a kind is too rare: classes are joined afterwards
            total, more = cut_sequence(*data, 0, members)
            steps += more
        return cls(keys, order, members, (lacking, float(total)), steps // 2 + _SORTING * len(units))


def move_key(keys: list[Key], random: np.random.Generator) -> list[Key]:
    """Move one column's keys, or one key, to another place; within a column coarse keys stay before fine ones."""
    column = keys[int(random.integers(len(keys)))].column
    own = [key for key in keys if key.column == column]
    taken = own if random.random() < 0.5 else [own[int(random.integers(len(own)))]]
    rest = [key for key in keys if not any(key is one for one in taken)]
    index = int(random.integers(len(rest) + 1))
    moved = [*rest[:index], *taken, *rest[index:]]
    ranked = iter(sorted((key for key in moved if key.column == column), key=lambda key: key.depth))
    return [next(ranked) if key.column == column else key for key in moved]


def complete_classes(units: Units, members: Ints, order: Ints | None = None) -> Ints:
    """Join classes that break a model with a neighbour in a sequence, the cheaper one, until every model holds."""
    from shoal.kernels.spare import choose_neighbours

    problem = units.problem
    if order is None:
        order = sort_records(order_by_rule(units), units.codes)
    index = np.empty(len(units), np.int64)
    index[order] = np.arange(len(units))
    while True:
        holds = problem.holds(units.classes(members))
        if holds.all():
            return members
        # number the classes along the sequence
        first = np.full(len(holds), len(units), np.int64)
        np.minimum.at(first, members, index)
        rank = np.argsort(first, kind="stable")
        number = np.empty(len(holds), np.int64)
        number[rank] = into = np.arange(len(holds))
        members = number[members]
        choose_neighbours(units.costs, units.boxes, units.weights, members, ~holds[rank], into)
        members = number_values(into[members])

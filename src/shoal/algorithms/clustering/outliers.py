"""Outliers: records that cost the others of their class more than they would lose themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.algorithms.clustering.sequence import complete_classes
from shoal.algorithms.clustering.units import Units
from shoal.encoding.types import Bools, Floats, Ints
from shoal.kernels.group import number_values

_STEPS = 4
"""Different values at each end of a column that are left out together."""
_LOOKED_AT = 3000
"""Records of the costliest classes, in which outliers are looked for that hide each other."""


def drop_outliers(units: Units, members: Ints) -> Ints:
    """Suppress outliers among those who are not suppressed yet, the costliest first; others join to comply again.

    It may cost more than before: classes that lose a record may have to join others. The caller compares.
    """
    allowed = units.problem.max_suppressed - int(units.records[members < 0].sum())
    kept = np.flatnonzero(members >= 0)
    inside, own = units.only(kept), members[kept]
    taken = Outliers.of(inside, own).choose(allowed)
    left = np.flatnonzero(~taken)
    if not taken.any() or not len(left):
        return members
    rest = inside.only(left)
    if not rest.problem.holds(rest.classes(np.zeros(len(rest), np.int64))).all():
        return members  # all the others together are too few
    result = np.full(len(members), -1, np.int64)
    result[kept[left]] = complete_classes(rest, number_values(own[left]))
    return result


@dataclass(frozen=True)
class Outliers:
    """Units that would be suppressed alone, or several of a class together."""

    sets: Ints
    """The number of each unit's set; -1 is no outlier."""
    records: Ints
    """The records of each set."""
    gains: Floats
    """How much less is lost for each of them."""

    @classmethod
    def of(cls, units: Units, members: Ints) -> Outliers:
        """Take for each class its units one by one, or several at an end of a column where that gains more.

        Two records that are far from the others hide each other: without one of them a class costs as much as before.
        """
        alone = _gain_alone(units, members)
        together, gains = _find_ends(units, members)
        most = np.zeros(len(gains))
        np.maximum.at(most, members, alone)
        joint = (gains > most)[members]
        single = np.where(alone > 0.0, len(gains) + np.arange(len(units)), -1)
        sets = np.where(joint, np.where(together, members, -1), single)
        out = sets >= 0
        numbers = np.full(len(units), -1, np.int64)
        numbers[out] = number_values(sets[out])
        own = np.where(joint, gains[members], alone)
        count = int(numbers.max(initial=-1)) + 1
        each = np.zeros(count)
        each[numbers[out]] = own[out]
        return cls(numbers, np.bincount(numbers[out], units.records[out], count).astype(np.int64), each)

    def choose(self, allowed: int) -> Bools:
        """Return the units of the sets that gain most, as many records as are allowed."""
        ranked = np.argsort(-self.gains, kind="stable")
        fits = np.cumsum(self.records[ranked]) <= allowed
        return np.isin(self.sets, ranked[fits])


def _gain_alone(units: Units, members: Ints) -> Floats:
    """Return how much less each record of a unit loses if the unit is suppressed."""
    from shoal.kernels.spare import fill_marginal_costs

    gains, order = np.empty(len(units)), np.argsort(members, kind="stable")
    starts = np.searchsorted(members[order], np.arange(int(members.max()) + 2))
    fill_marginal_costs(units.costs, units.boxes, units.records, order, starts, gains)
    return np.asarray(gains / units.records - units.nothing)


def _find_ends(units: Units, members: Ints) -> tuple[Bools, Floats]:
    """Return which units stand at the end of a column where it gains their class most to be without them, and what
    that gains for each of their records; of the costliest classes only, so that it takes no longer in large tables."""
    count = int(members.max(initial=-1)) + 1
    best, chosen = np.zeros(count), np.zeros(len(units), bool)
    costly = _find_costliest(units, members)
    inside, classes = units.only(costly), np.unique(members[costly])
    own = np.searchsorted(classes, members[costly])
    sizes, costs, _ = inside.price(own, len(classes))
    paid, most = sizes * costs, np.zeros(len(classes))
    for ranks in (rank for positions in inside.boxes.lows.T for rank in _rank_within(own, positions)):
        for step in range(_STEPS):
            left = ranks > step
            fewer, less, _ = inside.price(np.where(left, own, -1), len(classes))
            out = np.maximum(sizes - fewer, 1)
            gains = np.where(fewer > 0, (paid - fewer * less) / out - units.nothing, 0.0)
            better = gains > most
            most = np.where(better, gains, most)
            chosen[costly] = np.where(better[own], ~left, chosen[costly])
    best[classes] = most
    return chosen, best


def _find_costliest(units: Units, members: Ints) -> Ints:
    """Return the units of the classes that cost most for each record, among those that may gain at all."""
    sizes, costs, _ = units.price(members, int(members.max(initial=-1)) + 1)
    ranked = np.argsort(-costs, kind="stable")
    first = max(int(np.searchsorted(np.cumsum(sizes[ranked]), _LOOKED_AT)), 1)
    hopeful = np.zeros(len(sizes), bool)
    hopeful[ranked[:first]] = True
    return np.flatnonzero((hopeful & (sizes * costs > units.nothing))[members])


def _rank_within(own: Ints, positions: Ints) -> tuple[Ints, Ints]:
    """Return the rank of each unit's value among the different ones of its class, from below and from above."""
    order = np.lexsort([positions, own])
    new = np.append(True, (np.diff(own[order]) != 0) | (np.diff(positions[order]) != 0)) if len(own) else own
    number = np.empty(len(own), np.int64)
    number[order] = np.cumsum(new)
    first, last = (np.full(int(own.max(initial=-1)) + 1, start) for start in (len(own) + 1, 0))
    np.minimum.at(first, own, number)
    np.maximum.at(last, own, number)
    return number - first[own], last[own] - number

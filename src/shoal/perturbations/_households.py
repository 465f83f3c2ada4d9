"""Households: records that live together, and which of them may exchange their regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.encoding.types import Ints
from shoal.perturbations.base import Microdata


@dataclass(frozen=True, kw_only=True, eq=False)
class Households:
    """The households of a table, by numbers."""

    of_record: Ints
    first_records: Ints
    """A record of each household."""
    regions: tuple[Ints, ...]
    """For each level, from the largest regions: the region of each record, told apart within the one above."""
    profiles: Ints
    """The make-up of each household: how many members, and what these hold."""
    risk_levels: Ints
    """The largest level of regions in which each household is at risk; the number of levels where it is in none."""

    @classmethod
    def of(
        cls,
        data: Microdata,
        household: str,
        columns: Sequence[str],
        *,
        similar: Sequence[str],
        risk: Sequence[str],
        k: int,
    ) -> Households:
        """Find the households of some records, what they are made up of, and where they are at risk."""
        members, count = data.group_by((household,))
        regions = tuple(data.group_by(tuple(columns[: level + 1]))[0] for level in range(len(columns)))
        levels = np.full(count, len(columns))
        found = data.group_by(tuple(risk))[0]
        for level in reversed(range(len(columns) if risk else 0)):
            together = np.unique(np.stack([regions[level], found]), axis=1, return_inverse=True)[1]
            alone = np.bincount(together)[together] < k
            levels[members[alone]] = level
        return cls(
            of_record=members,
            first_records=np.unique(members, return_index=True)[1],
            regions=regions,
            profiles=_number_profiles(members, count, data.group_by(tuple(similar))[0]),
            risk_levels=levels,
        )

    @property
    def count(self) -> int:
        """How many households there are."""
        return len(self.first_records)

    def count_torn(self) -> list[int]:
        """Return for each level how many households are in several regions."""
        torn = [region != region[self.first_records][self.of_record] for region in self.regions]
        return [len(np.unique(self.of_record[one])) for one in torn]

    def regions_of(self, level: int) -> Ints:
        """Return the region of each household."""
        return self.regions[level][self.first_records]


def _number_profiles(members: Ints, count: int, values: Ints) -> Ints:
    """Return the number of the make-up of each household: its members' values in order."""
    order = np.lexsort([values, members])
    sizes = np.bincount(members, minlength=count)
    starts = np.cumsum(sizes) - sizes
    profiles, known = np.zeros(count, np.int64), 0
    for size in np.unique(sizes):
        homes = np.flatnonzero(sizes == size)
        held = values[order][starts[homes][:, None] + np.arange(size)]
        found, numbers = np.unique(held, axis=0, return_inverse=True)
        profiles[homes] = known + numbers.ravel()
        known += len(found)
    return profiles


def count_household_pairs(homes: Households) -> int:
    """Return how many pairs of households of one make-up in different regions there can be at most.

    Of those of one make-up all find a partner, but one that is left over; unless more than half are in one region: then
    as many pairs as there are elsewhere.
    """
    finest = homes.regions_of(-1)
    inside = np.unique(np.stack([homes.profiles, finest]), axis=1, return_counts=True)
    largest = np.zeros(int(homes.profiles.max(initial=-1)) + 1, np.int64)
    np.maximum.at(largest, inside[0][0], inside[1])
    whole = np.bincount(homes.profiles)
    return int(np.minimum(whole // 2, whole - largest).sum())


def pair_households(homes: Households, pairs: int, rng: np.random.Generator) -> Ints:
    """Return the household that each exchanges with, itself for those that stay; there must be so many pairs.

    Those at risk in the largest regions come first, and of these in a random order.
    """
    chance = rng.random(homes.count)
    order = np.lexsort([chance, homes.risk_levels])
    pools = {int(profile): _Pool(homes, rows, chance) for profile, rows in _group(homes.profiles).items()}
    partners = np.arange(homes.count)
    left = pairs
    for home in order.tolist():
        if not left:
            break
        if partners[home] != home:
            continue
        other = pools[int(homes.profiles[home])].take_partner(home, float(rng.random()))
        if other >= 0:
            partners[home], partners[other] = other, home
            left -= 1
    return partners


def _group(numbers: Ints) -> dict[int, Ints]:
    order = np.argsort(numbers, kind="stable")
    found, starts = np.unique(numbers[order], return_index=True)
    return dict(zip(found.tolist(), np.split(order, starts[1:]), strict=True))


class _Pool:
    """Households of one make-up that have no partner yet, by their smallest region."""

    def __init__(self, homes: Households, rows: Ints, chance: np.ndarray) -> None:
        self._levels, self._risk = [homes.regions_of(level) for level in range(len(homes.regions))], homes.risk_levels
        drawn = rows[np.argsort(chance[rows], kind="stable")]
        self._waiting = [list(some) for some in _group(self._levels[-1][drawn]).values()]
        self._waiting = [drawn[some].tolist() for some in self._waiting]
        self._one_of = np.array([some[0] for some in self._waiting])
        self._free = np.array([len(some) for some in self._waiting])
        self._taken: set[int] = set()
        regions = self._levels[-1][self._one_of]
        self._index = {int(region): index for index, region in enumerate(regions)}

    def take_partner(self, home: int, number: float) -> int:
        """Take a household and one of another region, drawn by a number below one; -1 where there is none.

        Where a region has half of those who wait, its households are the partners: else some of them would find none.
        """
        own = self._index[int(self._levels[-1][home])]
        free = self._free.copy()
        free[own] = 0
        if not free.sum():
            return -1
        if 2 * int(self._free.max()) > int(self._free.sum()) - 2:
            chosen = int(np.argmax(free))
        else:
            chosen = self._draw(self._prefer(home, free), number)
        self._take(own, home)
        other = next(one for one in reversed(self._waiting[chosen]) if one not in self._taken)
        self._take(chosen, other)
        return int(other)

    def _prefer(self, home: int, free: Ints) -> Ints:
        """Return those outside the largest region in which a household is at risk; where there are none, outside a
        smaller one."""
        for level in range(int(self._risk[home]), len(self._levels)):
            outside = np.where(self._levels[level][self._one_of] != self._levels[level][home], free, 0)
            if outside.any():
                return outside
        return free

    def _draw(self, free: Ints, number: float) -> int:
        ends = np.cumsum(free)
        return int(np.searchsorted(ends, int(number * ends[-1]), side="right"))

    def _take(self, region: int, home: int) -> None:
        self._taken.add(home)
        self._free[region] -= 1
        waiting = self._waiting[region]
        while waiting and waiting[-1] in self._taken:
            waiting.pop()

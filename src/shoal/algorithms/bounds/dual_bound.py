"""DualBound: what each record pays at least, found and raised with a given amount of work.

The dual prices of records in a group of columns are *feasible* where in no box the k largest are more, on average, than
the box costs; :mod:`shoal.algorithms.bounds.lower_bound` says why their sum is then a bound. Prices of disjoint groups
add up, since a class pays in each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.bounds.domain_partition import find_ceiling, lay_out_boxes
from shoal.encoding.types import Codes, Floats

if TYPE_CHECKING:
    from shoal.kernels.spread import BoxSpace


_ROUND = 50_000
"""Work that a round counts for in addition: its own cost, however small the table."""
_FIRST_CAP = 1 / 64
"""What a record pays at most in the first walk, as a share of what it could pay."""
_TRIES = 2
"""How often a first walk is tried, with lower caps, before columns are divided into groups."""
_GROWTH = (1.3, 4.0)
"""A cap grows by no less and no more than this, as far as the work that is left may allow."""
_MARGIN = 1.5
"""How much more than in proportion to its cap a walk is expected to take."""
_FINE = 3
"""Columns that show ranges, beyond which their partitions are coarse: see
:mod:`shoal.algorithms.bounds.domain_partition`."""
_SETTLED = 0.9
"""The part of the records whose cheapest box is to be known before prices are raised."""
_RAISE = 8
"""From there on a cap is raised where that takes no more than this part of what is left."""
_MUCH = 1.25
"""Open columns tell much where they raise the basic bound by this factor."""
_SLOWER = 16
"""Rounds that count open columns are begun where there is work left for this many that do not."""
_REACH = 1.3
"""A price grows by no more than this factor in one round."""
_STEP = 0.2
"""How far prices move along the slope in the first round."""
_MOST_IDS = 64
"""Members of a class that are written down, to see who keeps whom low."""
_IDS = 30_000_000
"""Members that are written down in all."""


class DualBound:
    """The dual prices of a problem's records, group by group; ``best`` is proven at any time."""

    def __init__(self, problem: Problem, budget: int, *, raising: bool) -> None:
        self.problem, self.budget, self.raising = problem, budget, raising
        self.groups: list[ColumnGroup] = []

    @property
    def best(self) -> float:
        """What all records lose at least."""
        return sum(group.best for group in self.groups)

    @property
    def whole(self) -> bool:
        """Whether all boxes were looked at, of all columns together."""
        return len(self.groups) == 1 and self.groups[0].whole

    @property
    def how(self) -> str:
        """How that was found."""
        rounds, whole = max((group.rounds for group in self.groups), default=0), all(g.whole for g in self.groups)
        how = "each record pays at least its cheapest box that holds enough records"
        if rounds:
            how = f"costs of the boxes shared out among their records in {rounds} rounds, from cheapest boxes on"
        elif not whole:
            cap = min(group.cap for group in self.groups)
            how += f"; boxes that cost more than {cap:.2g} were not told apart"
        return how + (f"; columns in {len(self.groups)} groups, one by one" if len(self.groups) > 1 else "")

    def rounds(self) -> Iterator[int]:
        """Find what records pay at least, then raise it as long as there is work left; yield after each round."""
        columns = self.problem.columns
        order = sorted(range(len(columns)), key=lambda index: (columns[index].form, -columns[index].weight))
        self.groups = self._bound_columns(order, self.budget)
        for group in self.groups if self.raising else []:
            yield from group.raise_prices()

    def _bound_columns(self, chosen: Sequence[int], budget: int) -> list[ColumnGroup]:
        """Return the group of the chosen columns, or its halves where they tell more.

        They may where there are too many boxes, or where so many columns show ranges that few widths are told apart.
        """
        columns = [self.problem.columns[index] for index in chosen]
        coarse = sum(column.form == "ranges" for column in columns) > _FINE
        whole = ColumnGroup(self.problem, chosen, budget // 2 if coarse else budget)
        self.groups = self.groups or [whole]
        whole.find_cheapest_boxes(self.raising)
        if len(chosen) == 1 or (whole.cap > 0.0 and not coarse):
            return [whole]
        left = whole.left + (budget - budget // 2 if coarse else 0)
        parts = [part for half in (chosen[::2], chosen[1::2]) for part in self._bound_columns(half, left // 2)]
        if sum(part.best for part in parts) > whole.best:
            return parts
        whole.left = sum(part.left for part in parts)
        return [whole]


class ColumnGroup:
    """What records pay at least in some columns, and the work that is left to raise it."""

    def __init__(self, problem: Problem, chosen: Sequence[int], budget: int) -> None:
        self.boxes: BoxSpace = lay_out_boxes(problem.frequencies, problem.columns, chosen, problem.least_shown)
        self.ceiling, self.left = find_ceiling(problem.columns, chosen), budget
        self.prices = np.zeros(len(self.boxes.counts))
        self.best, self.cap, self.rounds, self.work = 0.0, 0.0, 0, 0
        self.has_open, self.tells_much = bool(self.boxes.shown.any()), False

    @property
    def whole(self) -> bool:
        """Whether the cheapest box of every record is known."""
        return self.cap >= self.ceiling

    def find_cheapest_boxes(self, raising: bool) -> None:
        """Find the cheapest boxes; then count also what records need in open columns, if there is work for it."""
        if self.ceiling <= 0.0:
            return
        self.raise_cap(False, raising)
        plain = self.best
        if self.whole and self.has_open:
            self.raise_cap(True, raising)
            self.tells_much = self.best > _MUCH * plain

    def raise_cap(self, counting: bool, raising: bool) -> None:
        """Find the cheapest boxes, up to higher and higher caps, until the next walk takes too much of what is left."""
        from shoal.kernels.bounding import make_walk_room, walk_boxes
        from shoal.kernels.windows import Ratios

        boxes, nobody = self.boxes, np.empty((0, 0), np.int32)
        room = make_walk_room(boxes, 0, counting)
        usable = self.left // 4 if counting and raising else self.left
        cap, reached, tries = self.ceiling * _FIRST_CAP, 0.0, _TRIES
        prices, resolved = np.zeros(len(self.prices)), np.zeros(len(self.prices), bool)
        while cap > reached and usable > 0:
            allowed = usable if reached else usable // 2
            lowest = np.where(resolved, prices, cap)
            left = walk_boxes(boxes, *room, False, allowed, lowest, Ratios(lowest, lowest, nobody, nobody))
            work = allowed - left
            self.left, usable = self.left - work, usable - work
            if left < 0:
                tries -= 1
                if reached or not tries:
                    return
                cap /= 8
                continue
            self.work, prices, resolved = work, lowest, lowest < cap
            reached = self.ceiling if resolved.all() else cap
            self.prices = np.maximum(self.prices, prices)
            self.best, self.cap = float(self.prices @ boxes.counts), max(reached, self.cap)
            settled = float(boxes.counts[resolved].sum()) >= _SETTLED * boxes.counts.sum()
            growth = usable / (_MARGIN * work * (_RAISE if raising and settled else 1))
            if growth < _GROWTH[0]:
                return
            cap = min(min(growth, _GROWTH[1]) * cap, self.ceiling)

    def raise_prices(self) -> Iterator[int]:
        """Raise the bound as long as there is work left; yield the number of rounds, after each.

        What records need in open columns takes long to count. Where it tells much, it is counted in every round, else
        only when half of the work is done, if the rest is enough: prices that are feasible without it are so with it.
        """
        half = self.left // 2
        while not self.tells_much and self.balance_prices(False):
            yield self.rounds
            if self.has_open and self.left < half and self.work * _SLOWER < self.left:
                break
        while self.has_open and self.balance_prices(True):
            yield self.rounds

    def balance_prices(self, counting: bool) -> bool:
        """Raise and lower prices until each is held by a box that is full; return whether there was enough work left.

        A class of k records in a box has the sum s of prices; for each of its records the ratio is at least
        s / (k × cost of the box), so the divided prices add up to no more than k × cost. Larger classes are means of
        those. Boxes that cost more than ``_REACH`` times their largest price have ratios below ``1 / _REACH``.
        """
        from shoal.kernels.bounding import make_walk_room, walk_boxes
        from shoal.kernels.windows import Ratios

        if self.best <= 0.0 or self.work > self.left:
            return False
        boxes, size = self.boxes, len(self.prices)
        width = max(min(boxes.least, _MOST_IDS, _IDS // size), 1)
        ids, counts = np.full((size, width), -1, np.int32), np.zeros((size, width), np.int32)
        ratios, room = np.full(size, 1.0 / _REACH), make_walk_room(boxes, width, counting)
        left = walk_boxes(boxes, *room, True, self.left, self.prices, Ratios(self.prices, ratios, ids, counts))
        self.work = self.left - left + size * (2 * width + 32) + _ROUND
        self.left -= self.work
        if left < 0:
            return False
        prices = np.minimum(np.where(self.prices > 0.0, self.prices / ratios, 0.0), self.ceiling)
        self.best, self.rounds = max(self.best, float(prices @ boxes.counts)), self.rounds + 1
        pressure = _pressure(ids, counts, prices * boxes.counts, prices)
        self.prices = prices * np.exp(_STEP / (1 + 0.1 * self.rounds) * np.clip(1.0 - pressure, -1.0, 1.0))
        return True


def _pressure(ids: Codes, counts: Codes, masses: Floats, prices: Floats) -> Floats:
    """Return how much of all prices each tuple keeps from growing, as a multiple of its own.

    ``ids[tuple, place]`` and ``counts``: the members of the class that keeps the tuple's price from growing; -1 ends
    the list. This is the slope of the sum of all prices: above 1 the sum grows when this price gets smaller.
    """
    listed = np.cumsum(ids < 0, axis=1) == 0
    members = np.where(listed, ids, 0)
    parts = np.where(listed, counts * prices[members], 0.0)
    totals = parts.sum(axis=1)
    parts *= np.divide(masses, totals, out=np.zeros_like(masses), where=totals > 0)[:, None]
    kept = np.bincount(members.ravel(), parts.ravel(), minlength=len(masses))
    return np.divide(kept, masses, out=np.ones_like(masses), where=masses > 0)

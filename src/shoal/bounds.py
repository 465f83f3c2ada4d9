"""LowerBound: what no local recoding of a table can go below.

Every class of a local recoding lies in a *box*: in each column one label, one range or one set of values. So a record
pays at least what the cheapest box costs that holds it and enough records for a class: that is the basic bound.

It is raised by sharing costs out. Give each record a *share* such that in no box the k largest shares are, on average,
more than the box costs. A class has at least k records, so the mean of its shares is no more than the mean of the k
largest in its box, and that is no more than what each of its records pays: the shares of a class add up to no more
than its cost, and the shares of all records to no more than the loss. (This is the dual of set partitioning.)

Boxes are many. Those that cost little are few, so records pay at least the cheapest box *up to a cap*, and the cap is
raised as long as there is work to spend: whatever the table, there is a bound in time; it is only weaker for some.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from pydantic import Field

from shoal.algorithms.base import Algorithm, Problem
from shoal.catalog import Frozen
from shoal.ladders import Step, ceiling_of, ladder, line_of, points_of

if TYPE_CHECKING:
    from shoal.kernels.spread import Boxes

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]

_SECOND = 100_000_000
"""Work of about a second, in tuples that are looked at."""
_CELL = 15
"""Work for each cell of the table that the basic bound may take: about a tenth of what reading and auditing it takes."""
_LEAST = 1_000_000
"""Work that any table may take: about a hundredth of a second."""
_ROUND = 50_000
"""Work that a round counts for in addition: its own cost, however small the table."""
_FIRST_CAP = 1 / 8
"""What a record pays at most in the first walk, as a share of what it could pay."""
_SETTLED = 0.9
"""The part of the records whose cheapest box is to be known before shares are raised."""
_RAISE = 8
"""From there on a cap is raised where that takes no more than this part of what is left."""
_MUCH = 1.25
"""Open columns tell much where they raise the basic bound by this factor."""
_BESIDE = 5e-7
"""Seconds of raising for a cell, beside a search of effort 1: about a tenth of what that takes."""
_SLOWER = 16
"""Rounds that count open columns are begun where there is work left for this many that do not."""
_REACH = 1.3
"""A share grows by no more than this factor in one round."""
_STEP = 0.2
"""How far shares move along the slope in the first round."""
_MOST_IDS = 64
"""Members of a class that are written down, to see who keeps whom low."""
_IDS = 30_000_000
"""Members that are written down in all."""
_SAFE = 1e-9
"""The part of the bound that is given away for what rounding may have added, and of what could be lost at all."""


@dataclass(frozen=True)
class Bound:
    """A certainty penalty that no local recoding goes below, and how it was found."""

    total: float
    how: str


class LowerBound(Frozen):
    """Find a certainty penalty that no local recoding of a problem goes below.

    It holds for every way to put records into classes of at least ``problem.least_records`` records, whatever else the
    models ask, with any number of suppressed records (each costs 1 per cell, and no share is more than that).

    The basic bound takes work in proportion to the cells of the table, at most. Ctrl-C keeps what is proven by then.

    Examples
    --------
    >>> import shoal
    >>> from shoal.tables.encode import encode
    >>> table, policy = shoal.datasets.load("patients")
    >>> bound = LowerBound().of(encode(table, policy).problem(policy))
    >>> bound.total <= shoal.anonymize(table, policy).loss
    True
    """

    effort: float = Field(default=0.25, ge=0, allow_inf_nan=False)
    """How much work to spend on raising the bound, in about seconds; it is counted, not timed, so that the same table
    always gets the same bound. 0 asks for the basic bound alone."""

    def of(self, problem: Problem) -> Bound:
        """Return the bound of a problem, on the same scale as the certainty penalty of its records."""
        problem.progress("bounding the loss (compiled once per machine)", 0, 0)
        weight, records = float(problem.weights.sum()), problem.frequencies.records
        if not records or weight <= 0:
            return Bound(0.0, "there is nothing to lose")
        budget = int(self.effort * _SECOND) + _LEAST + _CELL * records * len(problem.columns)
        boxes = boxes_of(problem)
        search = _Shares(len(boxes.counts), ceiling_of(problem.columns), budget)
        stopped = ""
        try:
            for rounds in search.stages(boxes, self.effort > 0):
                problem.progress("raising the bound", rounds, 0)
        except KeyboardInterrupt:
            stopped = "; stopped early"
        return Bound(max(search.best / (weight * records) * (1.0 - _SAFE) - _SAFE**2, 0.0), search.how + stopped)

    @classmethod
    def beside(cls, algorithm: Algorithm, problem: Problem) -> LowerBound:
        """Return the bound to seek unasked: it takes about a tenth of the time that a release takes anyhow.

        Beside a quick search that is the basic bound. A search that has an ``effort`` of its own takes time in
        proportion to it and to the cells of the table, and so does raising the bound.
        """
        cells = problem.frequencies.records * len(problem.columns)
        return cls(effort=getattr(algorithm, "effort", 0.0) * cells * _BESIDE)


class _Shares:
    """What records pay at least, and the work that is left to raise it; ``best`` is proven at any time."""

    def __init__(self, size: int, ceiling: float, budget: int) -> None:
        self.ceiling, self.left = ceiling, budget
        self.shares = np.zeros(size)
        self.best, self.cap, self.rounds, self.work = 0.0, 0.0, 0, 0

    @property
    def how(self) -> str:
        """How the best was found."""
        if self.rounds:
            return f"costs of the boxes shared out among their records in {self.rounds} rounds, from cheapest boxes on"
        how = "each record pays at least its cheapest box that holds enough records"
        return how if self.cap >= self.ceiling else f"{how}; boxes that cost more than {self.cap:.2g} were not told apart"

    def stages(self, boxes: Boxes, raising: bool) -> Iterator[int]:
        """Raise the bound as long as there is work left; yield the number of rounds, after each.

        What records need in open columns takes long to count. Where it tells much, it is counted in every round, else
        only when half of the work is done, if the rest is enough: shares that are feasible without it are so with it.
        """
        self.deepen(boxes, False, raising)
        plain, has_open = self.best, bool(boxes.shown.any())
        if self.cap >= self.ceiling and has_open and (not raising or _has_ranges(boxes)):
            self.deepen(boxes, True, raising)
        tells_much, half = self.best > _MUCH * plain, self.left // 2
        while raising and not tells_much and self.level(boxes, False):
            yield self.rounds
            if has_open and self.left < half and self.work * _SLOWER < self.left:
                break
        while raising and has_open and self.level(boxes, True):
            yield self.rounds

    def deepen(self, boxes: Boxes, counting: bool, raising: bool) -> None:
        """Find the cheapest boxes, up to higher and higher caps, until the next walk takes too much of what is left."""
        from shoal.kernels.bounding import room_for, walk_boxes
        from shoal.kernels.windows import Ratios

        room, nobody = room_for(boxes, 0, counting), np.empty((0, 0), np.int32)
        cap, reached = self.ceiling * _FIRST_CAP, 0.0
        shares, resolved = np.zeros(len(self.shares)), np.zeros(len(self.shares), bool)
        while cap > reached and self.left > 0:
            allowed = self.left if reached else self.left * 3 // 4
            lowest = np.where(resolved, shares, cap)
            left = walk_boxes(boxes, *room, False, allowed, lowest, Ratios(lowest, lowest, nobody, nobody))
            self.left -= allowed - left
            if left < 0 and reached:
                break
            if left < 0:
                cap /= 4
                continue
            self.work, shares, resolved = allowed - left, lowest, lowest < cap
            reached = self.ceiling if resolved.all() else cap
            self.shares = np.maximum(self.shares, shares)
            self.best, self.cap = float(self.shares @ boxes.counts), max(reached, self.cap)
            settled = float(boxes.counts @ resolved) >= _SETTLED * boxes.counts.sum()
            if 2 * self.work * (_RAISE if raising and settled else 1) > self.left:
                break
            cap = min(2 * cap, self.ceiling)

    def level(self, boxes: Boxes, counting: bool) -> bool:
        """Raise and lower shares until each is held by a box that is full; return whether there was enough work left.

        A class of k records in a box has the sum s of shares; for each of its records the ratio is at least
        s / (k × cost of the box), so the divided shares add up to no more than k × cost. Larger classes are means of
        those. Boxes that cost more than ``_REACH`` times their largest share have ratios below ``1 / _REACH``.
        """
        from shoal.kernels.bounding import room_for, walk_boxes
        from shoal.kernels.windows import Ratios

        if self.best <= 0.0 or self.work > self.left:
            return False
        size = len(self.shares)
        width = max(min(boxes.least, _MOST_IDS, _IDS // size), 1)
        ids, counts = np.full((size, width), -1, np.int32), np.zeros((size, width), np.int32)
        ratios = np.full(size, 1.0 / _REACH)
        room = room_for(boxes, width, counting)
        left = walk_boxes(boxes, *room, True, self.left, self.shares, Ratios(self.shares, ratios, ids, counts))
        self.work = self.left - left + size * (2 * width + 32) + _ROUND
        self.left -= self.work
        if left < 0:
            return False
        shares = np.minimum(np.where(self.shares > 0.0, self.shares / ratios, 0.0), self.ceiling)
        self.best, self.rounds = max(self.best, float(shares @ boxes.counts)), self.rounds + 1
        pressure = _pressure(ids, counts, shares * boxes.counts, shares)
        self.shares = shares * np.exp(_STEP / (1 + 0.1 * self.rounds) * np.clip(1.0 - pressure, -1.0, 1.0))
        return True


def _has_ranges(boxes: Boxes) -> bool:
    from shoal.kernels.spread import RANGES

    return bool((boxes.shown == RANGES).any())


def _pressure(ids: Codes, counts: Codes, masses: Floats, shares: Floats) -> Floats:
    """Return how much of all shares each tuple keeps from growing, as a multiple of its own.

    ``ids[tuple, place]`` and ``counts``: the members of the class that keeps the tuple's share from growing; -1 ends
    the list. This is the slope of the sum of all shares: above 1 the sum grows when this share gets smaller.
    """
    listed = np.cumsum(ids < 0, axis=1) == 0
    members = np.where(listed, ids, 0)
    parts = np.where(listed, counts * shares[members], 0.0)
    totals = parts.sum(axis=1)
    parts *= np.divide(masses, totals, out=np.zeros_like(masses), where=totals > 0)[:, None]
    kept = np.bincount(members.ravel(), parts.ravel(), minlength=len(masses))
    return np.divide(kept, masses, out=np.ones_like(masses), where=masses > 0)


def boxes_of(problem: Problem) -> Boxes:
    """Lay out the ladders of all columns and the line as arrays; tuples are in the order of the line."""
    from shoal.kernels.bounding import FLAT, OPEN
    from shoal.kernels.spread import RANGES, SETS, Boxes

    columns, frequencies = problem.columns, problem.frequencies
    tuples, line = frequencies.tuples, line_of(columns)
    points = np.zeros(len(tuples)) if line < 0 else points_of(columns[line])[tuples[:, line]]
    rank = np.argsort(points, kind="stable")
    found = [ladder(column, place == line) for place, column in enumerate(columns)]
    order = np.argsort([len(steps) for steps in found], kind="stable")  # few boxes at first
    most = max(len(steps) for steps in found) + 1
    every: list[Step] = [step for place in order for step in found[place]]
    ends = np.cumsum([0, *(len(step.labels) for step in every)])
    offsets, kinds = np.zeros((len(columns), most), np.int64), np.zeros((len(columns), most), np.int64)
    shown, places = np.zeros(len(columns), np.int64), np.zeros((len(columns), max(c.levels.size for c in columns)))
    at = 0
    for row, place in enumerate(order):
        column, steps = columns[place], found[place]
        offsets[row, : len(steps)] = ends[at : at + len(steps)]
        kinds[row, : len(steps)] = [FLAT if step.flat else OPEN if step.open else 0 for step in steps]
        at += len(steps)
        if any(step.open for step in steps):
            shown[row] = RANGES if column.form == "ranges" else SETS
            places[row, : column.levels.size] = points_of(column) if column.form == "ranges" else 0.0
    return Boxes(
        np.ascontiguousarray(tuples[rank][:, order].T, np.int32),
        frequencies.counts[rank],
        points[rank],
        problem.least_records,
        np.array([len(found[place]) for place in order], np.int64),
        offsets,
        np.concatenate([step.labels for step in every]).astype(np.int32),
        np.concatenate([step.costs for step in every]),
        kinds,
        shown,
        np.array([columns[place].weight / columns[place].levels.size for place in order]),
        places,
    )

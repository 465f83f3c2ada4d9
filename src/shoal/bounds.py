"""LowerBound: what no local recoding of a table can go below.

Every class of a local recoding lies in a *box*: in each column one label, one range or one set of values. So a record
pays at least what the cheapest box costs that holds it and enough records for a class: that is the basic bound.

It is raised by sharing costs out. Give each record a *share* such that in no box the k largest shares are, on average,
more than the box costs. A class has at least k records, so the mean of its shares is no more than the mean of the k
largest in its box, and that is no more than what each of its records pays: the shares of a class add up to no more
than its cost, and the shares of all records to no more than the loss. (This is the dual of set partitioning.)

Where boxes cannot all be looked at, they are joined into larger ones that cost no more, which is why the bound holds
for every table; it is only weaker for some.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pydantic import Field

from shoal.algorithms.base import Problem
from shoal.catalog import Frozen
from shoal.domains import STAR
from shoal.hierarchies.base import Levels
from shoal.recodings.base import Column

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int32]

_SECOND = 12_000_000
"""Tuples that are looked at for an effort of 1, over all boxes: about a second's work."""
_BASIC = 30_000_000
"""Tuples that are looked at for the basic bound."""
_ROUND = 50_000
"""Tuples that a round counts for in addition: its own cost, however small the table."""
_REACH = 1.3
"""A share grows by no more than this factor in one round."""
_STEP = 0.2
"""How far shares move along the slope in the first round."""
_MOST_IDS = 64
"""Members of a class that are written down, to see who keeps whom low."""
_BINS = (6, 2, 0)
"""Widths of ranges that are told apart, in columns that are not the line: fewer where there are too many boxes.
With 0 also labels are told apart only from single values."""
_SAFE = 1e-9
"""The part of the bound that is given away for what rounding may have added."""


@dataclass(frozen=True)
class Bound:
    """A certainty penalty that no local recoding goes below, and how it was found."""

    total: float
    how: str


class LowerBound(Frozen):
    """Find a certainty penalty that no local recoding of a problem goes below.

    It holds for every way to put records into classes of at least ``problem.least_shown`` records, whatever else the
    models ask, with any number of suppressed records (each costs 1 per cell, and no share is more than that).

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
        ceiling = _ceiling(problem.columns)
        shares = np.zeros(len(problem.frequencies.tuples))
        for bins in _BINS:
            boxes = Boxes.of(problem, bins)
            cheapest, unspent = boxes.cheapest(_BASIC)
            shares, is_whole = np.maximum(shares, np.minimum(cheapest, ceiling)), unspent >= 0
            if is_whole:
                break
        how = "each record pays at least its cheapest box that holds enough records"
        if bins != _BINS[0]:
            how += "; there are many boxes, so " + ("some were joined" if is_whole else "not all were looked into")
        best = basic = float(shares @ boxes.counts)
        rounds, left, needed = 0, int(self.effort * _SECOND), _BASIC - unspent + _ROUND
        while is_whole and best > 0.0 and needed <= left:
            ratios, binding, left_now = boxes.ratios(shares, left)
            if left_now < 0:
                break
            needed = left - left_now + _ROUND
            left -= needed
            shares = np.minimum(np.where(shares > 0.0, shares / ratios, 0.0), ceiling)
            found = float(shares @ boxes.counts)
            best, rounds = max(best, found), rounds + 1
            pressure = binding.pressure(shares * boxes.counts, shares)
            shares = shares * np.exp(_STEP / (1 + 0.1 * rounds) * np.clip(1.0 - pressure, -1.0, 1.0))
            problem.progress("raising the bound", rounds, 0)
        if best > basic:
            how = f"costs of the boxes shared out among their records in {rounds} rounds, from cheapest boxes on"
        return Bound(best * (1.0 - _SAFE) / (weight * records), how)


@dataclass(frozen=True)
class Step:
    """A partition of a column's values, and what a class that lies in one of its parts costs at least."""

    labels: Codes
    costs: Floats
    """The same for all values of a part."""
    flat: bool = False
    """Whether the line does not count: the class shows nothing there."""


@dataclass(frozen=True)
class Binding:
    """For each tuple, the class that keeps its share from growing."""

    ids: Codes
    """``ids[tuple, place]``: its members; -1 ends the list."""
    counts: Codes

    def pressure(self, masses: Floats, shares: Floats) -> Floats:
        """Return how much of all shares each tuple keeps from growing, as a multiple of its own.

        The slope of the sum of all shares: above 1 the sum grows when this share gets smaller.
        """
        listed = np.cumsum(self.ids < 0, axis=1) == 0
        ids = np.where(listed, self.ids, 0)
        parts = np.where(listed, self.counts * shares[ids], 0.0)
        totals = parts.sum(axis=1)
        parts *= np.divide(masses, totals, out=np.zeros_like(masses), where=totals > 0)[:, None]
        kept = np.bincount(ids.ravel(), parts.ravel(), minlength=len(masses))
        return np.divide(kept, masses, out=np.ones_like(masses), where=masses > 0)


@dataclass(frozen=True)
class Boxes:
    """The boxes of a problem, as arrays for the kernel; tuples are in the order of the line."""

    codes: Codes
    counts: Ints
    points: Floats
    least: int
    steps: Ints
    offsets: Ints
    labels: Codes
    costs: Floats
    flats: Bools

    @classmethod
    def of(cls, problem: Problem, bins: int = _BINS[0]) -> Boxes:
        """Lay out the ladders of all columns and the line."""
        columns, frequencies = problem.columns, problem.frequencies
        tuples = frequencies.tuples
        line = line_of(columns)
        points = np.zeros(len(tuples)) if line < 0 else _points(columns[line])[tuples[:, line]]
        rank = np.argsort(points, kind="stable")
        found = [ladder(column, place == line, bins) for place, column in enumerate(columns)]
        order = np.argsort([len(steps) for steps in found], kind="stable")  # few boxes at first
        ladders = [found[place] for place in order]
        most = max(len(steps) for steps in ladders) + 1
        offsets, flats = np.zeros((len(columns), most), np.int64), np.zeros((len(columns), most), bool)
        at = 0
        for place, steps in enumerate(ladders):
            for number in range(most):
                offsets[place, number] = at
                if number < len(steps):
                    at += len(steps[number].labels)
                    flats[place, number] = steps[number].flat
        every = [step for steps in ladders for step in steps]
        return cls(
            np.ascontiguousarray(tuples[rank][:, order].T, np.int32),
            frequencies.counts[rank],
            points[rank],
            problem.least_shown,
            np.array([len(steps) for steps in ladders], np.int64),
            offsets,
            np.concatenate([step.labels for step in every]).astype(np.int32),
            np.concatenate([step.costs for step in every]),
            flats,
        )

    def _arrays(self) -> tuple[object, ...]:
        return (
            self.codes,
            self.counts,
            self.points,
            self.least,
            self.steps,
            self.offsets,
            self.labels,
            self.costs,
            self.flats,
        )

    def cheapest(self, budget: int) -> tuple[Floats, int]:
        """Return what the cheapest box of each tuple costs, and what is left of the budget.

        Where it is negative, boxes that were not looked into count as if they held enough records.
        """
        from shoal.kernels.bounding import walk_boxes

        lowest, nobody = np.full(len(self.counts), np.inf), np.empty((0, 0), np.int32)
        left = walk_boxes(*self._arrays(), False, 1.0, budget, lowest, np.empty(0), nobody, nobody)
        return lowest, int(left)

    def ratios(self, shares: Floats, budget: int) -> tuple[Floats, Binding, int]:
        """Return what each share must be divided by so that all are feasible, why, and what is left of the budget.

        A class of k records in a box has the sum s of shares; for each of its records the ratio is at least
        s / (k × cost of the box), so the divided shares add up to no more than k × cost. Larger classes are means of
        those. Boxes that cost more than ``_REACH`` times their largest share have ratios below ``1 / _REACH``.
        """
        from shoal.kernels.bounding import walk_boxes

        size, width = len(self.counts), min(self.least, _MOST_IDS)
        ratios = np.full(size, 1.0 / _REACH)
        ids, counts = np.full((size, width), -1, np.int32), np.zeros((size, width), np.int32)
        left = walk_boxes(*self._arrays(), True, _REACH, budget, shares, ratios, ids, counts)
        return ratios, Binding(ids, counts), int(left)


def line_of(columns: tuple[Column, ...]) -> int:
    """Return the column whose ranges are looked at one by one: that with the most values; -1 where none has ranges."""
    ranged = [place for place, column in enumerate(columns) if column.form == "ranges"]
    return max(ranged, key=lambda place: columns[place].levels.size * columns[place].weight, default=-1)


def _points(column: Column) -> Floats:
    """The place of each code as a share of the column's range, times its weight; 0 for the missing value."""
    domain = column.levels.domain
    points = np.zeros(column.levels.size)
    if domain.span > 0:
        points[: len(domain)] = domain.values.astype(np.float64) * (column.weight / domain.span)
    return points


def ladder(column: Column, is_line: bool, bins: int) -> list[Step]:
    """Return steps such that whatever a class shows in a column, it lies in a part of a step that costs no more."""
    levels, weight = column.levels, column.weight
    own = Step(np.arange(levels.size, dtype=np.int32), levels.penalties[0] * weight)
    if column.form == "labels":
        labels = [(levels.codes[level], levels.penalties[level]) for level in range(levels.height + 1)]
        every = [*labels, *_homonyms(levels)]
        if not bins:
            return [own, _everything(levels, weight * min(_least_shared(*step) for step in every))]
        return [Step(codes.astype(np.int32), costs * weight) for codes, costs in every]
    if column.form == "sets":
        if any(text is not None and text.startswith("{") for text in levels.labels[0]):
            return [_everything(levels, 0.0)]  # a value that reads like a set of others
        return [own, _everything(levels, 2 * weight / levels.size)] if levels.size > 1 else [own]
    mixed = [_everything(levels, weight, flat=is_line)] if levels.has_missing else []
    if is_line:
        apart = (np.arange(levels.size) >= len(levels.domain)).astype(np.int32)
        return [Step(apart, np.where(apart > 0, levels.penalties[0] * weight, 0.0)), *mixed]
    return [own, *_grids(levels, weight, max(bins, 1)), *mixed]


def _least_shared(labels: Codes, costs: Floats) -> float:
    """The least cost of a label that several values have; 1 where there is none."""
    return float(costs[np.bincount(labels)[labels] > 1].min(initial=1.0))


def _everything(levels: Levels, cost: float, *, flat: bool = False) -> Step:
    return Step(np.zeros(levels.size, np.int32), np.full(levels.size, cost), flat)


def _homonyms(levels: Levels) -> list[tuple[Codes, Floats]]:
    """For each text that is the label of different values at different levels: all of them, at the least cost.

    Classes that show the same text are one class. (The missing value needs no step: where it shows ``*`` it costs as
    much as the top, which holds it.)
    """
    count = len(levels.domain)
    covered: dict[str | None, list[Bools]] = {}
    costs: dict[str | None, float] = {}
    for names, numbers, penalties in zip(levels.labels, levels.codes[:, :count], levels.penalties, strict=True):
        order = np.argsort(numbers, kind="stable")
        for under in np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1) if count else []:
            text = names[int(numbers[under[0]])]
            mask = np.zeros(levels.size, bool)
            mask[under] = True
            covered.setdefault(text, []).append(mask)
            costs[text] = min(costs.get(text, np.inf), float(penalties[under].min()))
    steps = []
    for text, sets in covered.items():
        if any((under != sets[0]).any() for under in sets):
            under = np.logical_or.reduce(sets)
            labels = np.where(under, 0, np.arange(1, levels.size + 1)).astype(np.int32)
            steps.append((labels, np.where(under, costs[text], levels.penalties[0])))
    return steps


def _grids(levels: Levels, weight: float, bins: int) -> list[Step]:
    """Steps for ranges by their width: a range no wider than r lies in a cell of one of two grids of cells of 2 r.

    The grids are shifted by r against each other. A range that is wider than the bin before costs at least that.
    """
    count, span = len(levels.domain), levels.domain.span
    values = levels.domain.values.astype(np.float64)
    extent = float(values[-1] - values[0]) if count else 0.0
    missing = levels.penalties[0, -1] * weight if levels.has_missing else 0.0
    if extent <= 0 or span <= 0:  # one value, or a domain without width: ranges cost nothing
        apart = (np.arange(levels.size) >= count).astype(np.int32)
        return [Step(apart, np.where(apart > 0, missing, 0.0))]
    steps = []
    narrowest = float(np.diff(values).min())
    for bin_ in range(bins):
        width = extent / 2 ** (bins - 1 - bin_)
        if width < narrowest:
            continue
        least = narrowest if bin_ == 0 else max(narrowest, extent / 2 ** (bins - bin_))
        costs = np.full(levels.size, least / span * weight * (1 - _SAFE))
        last = bin_ == bins - 1  # the whole domain is one cell
        for shift in (0.0,) if last else (0.0, 1.0):
            labels = np.zeros(levels.size, np.int32)
            if not last:
                labels[:count] = np.floor((values - values[0]) / (2 * width * (1 + _SAFE)) + shift / 2)
            if levels.has_missing:
                labels[-1], costs[-1] = labels.max() + 1, missing
            steps.append(Step(labels, costs))
    return steps


def _ceiling(columns: tuple[Column, ...]) -> float:
    """What a record that shows ``*`` everywhere costs at least.

    A suppressed record costs all weights. A class that would show ``*`` everywhere shows its range or its values in one
    column instead, which may be cheap.
    """
    weights = sum(column.weight for column in columns)
    if not all(_may_be_silent(column) for column in columns):
        return weights
    return weights - max(column.weight for column in columns)


def _may_be_silent(column: Column) -> bool:
    return column.form == "labels" or column.levels.has_missing or STAR in column.levels.labels[0]

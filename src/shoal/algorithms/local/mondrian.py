"""Mondrian: cut the space of quasi-identifiers again and again, as long as both parts comply."""

from __future__ import annotations

from typing import ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.algorithms.base import Problem
from shoal.algorithms.clustering.local_search import LocalSearch
from shoal.algorithms.clustering.units import order_by_name
from shoal.algorithms.feasibility import separate_by_boundaries
from shoal.encoding.types import Bools, Ints
from shoal.frequencies.frequencies import Classes
from shoal.recodings.forms import ClassMembers, show_column
from shoal.recodings.local import Local


class Mondrian(LocalSearch):
    """Cut the space of quasi-identifiers again and again, as long as both parts comply.

    All regions are cut at the same time, one cut per round: the widest column that has an allowable cut is cut
    at its most even place. Of columns that are equally wide it is the one whose values are most uneven in the region,
    by their entropy: what is rare there is cut off while regions are large (of relaxed cuts, and where the entropy is
    the same, the first by name). The order in which a policy names them does not count. Columns published as labels are
    cut between children of the region's lowest common ancestor, others between any two values.
    *Strict* cuts keep equal values on one side; *relaxed* cuts share the records at the median between both sides, so
    parts are always even. Records that boundaries keep apart are in different regions from the start.

    Why it is safe: a cut is made only if every model holds on both sides, so every model holds on every region;
    what a region shows covers all its records.

    Cost: a pass over the distinct tuples per round, about log2(n / k) rounds and some refused cuts.

    References
    ----------
    LeFevre, K., DeWitt, D. and Ramakrishnan, R. (2006). Mondrian multidimensional k-anonymity. ICDE.

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("patients")
    >>> shoal.anonymize(table, policy.replace(algorithm=Mondrian())).attained
    {'k-anonymity': 2}
    """

    footprint: ClassVar[int] = 500

    cuts: Literal["strict", "relaxed"] = "strict"
    """Whether equal values stay on one side of a cut."""

    @classmethod
    def list_forms(cls) -> tuple[Mondrian, ...]:
        """Return it with both kinds of cuts."""
        return cls(cuts="strict"), cls(cuts="relaxed")

    def form_classes(self, problem: Problem) -> Local:
        """Cut until no region has an allowable cut."""
        return _strict(problem) if self.cuts == "strict" else _relaxed(problem)


def _strict(problem: Problem) -> Local:
    from shoal.algorithms.clustering.costs import Slots
    from shoal.kernels.cut import propose_cuts

    frequencies, places = problem.frequencies, order_by_name(problem.columns)
    columns, tuples = [problem.columns[place] for place in places.tolist()], frequencies.tuples[:, places]
    slots = Slots.of(columns, problem.loss)
    codes, boxes = slots.codes(tuples), slots.boxes(tuples)
    joins = slots.joins(columns)
    region = separate_by_boundaries(problem)
    order = np.argsort(region, kind="stable")
    starts = np.searchsorted(region[order], np.arange(int(region.max(initial=-1)) + 2)).astype(np.int64)
    tried = np.zeros((len(starts) - 1, len(codes)), bool)
    final = 0
    while len(starts) > 1:
        count = len(starts) - 1
        chosen = np.empty(count, np.int32)
        indices = np.zeros(count, np.int32)
        least = problem.least_records
        propose_cuts(
            slots.costs, boxes, codes, frequencies.counts, order, starts, tried, *joins, least, chosen, indices
        )
        active = np.repeat(np.arange(count), np.diff(starts))
        right = codes[chosen[active], order] > indices[active]
        cut = _accept(problem, order, active, right, chosen >= 0)
        refused = (chosen >= 0) & ~cut
        tried[refused, chosen[refused]] = True
        done = chosen < 0
        region[order[done[active]]] = final + (np.cumsum(done) - 1)[active[done[active]]]
        final += int(done.sum())
        order, starts, tried = _next_round(order, active, right, cut, done, tried)
        problem.progress("cutting", final, 0)
    return Local(region[frequencies.cell_tuples])


def _accept(problem: Problem, order: Ints, active: Ints, right: Bools, proposed: Bools) -> Bools:
    """Return for each region whether every model holds on both sides of its proposed cut."""
    numbers = np.cumsum(proposed) - 1
    halves = np.full(len(problem.frequencies.tuples), -1, np.int64)
    inside = proposed[active]
    halves[order[inside]] = 2 * numbers[active[inside]] + right[inside]
    count = 2 * int(proposed.sum())
    classes = Classes.of(problem.frequencies, halves[problem.frequencies.cell_tuples], count)
    accepted = proposed.copy()
    accepted[proposed] = problem.holds(classes).reshape(-1, 2).all(axis=1)
    return accepted


def _next_round(
    order: Ints, active: Ints, right: Bools, cut: Bools, done: Bools, tried: Bools
) -> tuple[Ints, Ints, Bools]:
    """Split the regions that were cut, keep those that were refused, leave out those that are done."""
    stays = ~done[active]
    order, active, right = order[stays], active[stays], right[stays] & cut[active[stays]]
    key = 2 * active + right
    rank = np.argsort(key, kind="stable")
    order, key = order[rank], key[rank]
    starts = np.append(np.flatnonzero(np.append(True, key[1:] != key[:-1])), len(key)) if len(key) else np.zeros(1)
    heads = key[starts[:-1].astype(np.int64)] // 2
    return order, starts.astype(np.int64), tried[heads] & ~cut[heads, None]


class _Pieces(NamedTuple):
    """Parts of cells, sorted by the region that they are in."""

    cells: Ints
    weights: Ints
    region: Ints

    def take(self, chosen: Bools | npt.NDArray[np.intp]) -> _Pieces:
        return _Pieces(*(array[chosen] for array in self))

    def sort(self, *keys: Ints) -> _Pieces:
        return self.take(np.lexsort([*keys, self.region]))

    def join(self, other: _Pieces) -> _Pieces:
        return _Pieces(*map(np.append, self, other))


def _relaxed(problem: Problem) -> Local:
    """Halve every region at its median record, along its widest column; a cell may be split."""
    cells = np.arange(len(problem.frequencies.cell_counts), dtype=np.int64)
    region = separate_by_boundaries(problem)
    pieces = _Pieces(cells, problem.frequencies.cell_counts, region[problem.frequencies.cell_tuples]).sort(cells)
    finished = pieces.take(np.zeros(len(cells), bool))
    tried = np.zeros((int(region.max(initial=-1)) + 1, len(problem.columns)), bool)
    by_name = problem.frequencies.tuples[:, order_by_name(problem.columns)]
    rank = np.argsort(np.lexsort(by_name.T[::-1]))[problem.frequencies.cell_tuples]
    final = 0
    while len(tried):
        chosen, codes = _widest(problem, pieces, tried)
        halves = _halves(pieces.sort(pieces.cells, rank[pieces.cells], codes), len(tried))
        fits = problem.holds(Classes(2 * len(tried), halves.region, halves.cells, halves.weights, problem.frequencies))
        cut = (chosen >= 0) & fits.reshape(-1, 2).all(axis=1)
        done = chosen < 0
        ended = pieces.take(done[pieces.region])
        finished = finished.join(_Pieces(ended.cells, ended.weights, final + (np.cumsum(done) - 1)[ended.region]))
        final += int(done.sum())
        tried[np.arange(len(tried)), chosen] |= ~cut & ~done
        kept = pieces.take(~(cut | done)[pieces.region])
        parts = halves.take(cut[halves.region // 2]).join(_Pieces(kept.cells, kept.weights, 2 * kept.region))
        tried = np.where(cut[:, None], False, tried)
        heads, numbers = np.unique(parts.region, return_inverse=True)
        pieces = _Pieces(parts.cells, parts.weights, numbers.astype(np.int64)).sort(parts.cells)
        tried = tried[heads // 2]
        problem.progress("cutting", final, 0)
    return Local.of(finished.region, finished.cells, finished.weights)


def _widest(problem: Problem, pieces: _Pieces, tried: Bools) -> tuple[Ints, Ints]:
    """Return for each region the widest column to cut (-1 for none), and each piece's code in it."""
    members = ClassMembers(pieces.region, len(tried))
    tuples = problem.frequencies.tuples[problem.frequencies.cell_tuples[pieces.cells]].astype(np.int64)
    widths = np.full(tried.shape, -1.0)
    for index, column in enumerate(problem.columns):
        low, high = members.bounds(tuples[:, index])
        shown = show_column(column, members, tuples[:, index])
        open_ = (low < high) & ~tried[:, index]
        widths[open_, index] = shown.penalties[open_] * column.weight
        if column.limits is not None:  # above a boundary: cut here first
            lowest = np.minimum.reduceat(column.limits[tuples[:, index]], members.starts)
            widths[open_ & (shown.levels > lowest), index] += 1e9
    totals = np.add.reduceat(pieces.weights, members.starts)
    allowed = (widths.max(axis=1) >= 0) & (totals >= 2 * problem.least_records)
    places = order_by_name(problem.columns)
    chosen = np.where(allowed, places[widths[:, places].argmax(axis=1)], -1)
    return chosen, tuples[np.arange(len(tuples)), chosen[pieces.region]]


def _halves(pieces: _Pieces, count: int) -> _Pieces:
    """Share the records of each region, in order, between its two halves (2 r and 2 r + 1)."""
    ends = np.cumsum(pieces.weights)
    starts = np.searchsorted(pieces.region, np.arange(count))
    before = ends - pieces.weights
    totals = np.add.reduceat(pieces.weights, starts)
    middle = (before[starts] + totals // 2)[pieces.region]
    left = np.clip(middle - before, 0, pieces.weights)
    right = pieces.weights - left
    first = _Pieces(pieces.cells, left, 2 * pieces.region).take(left > 0)
    second = _Pieces(pieces.cells, right, 2 * pieces.region + 1).take(right > 0)
    return first.join(second)

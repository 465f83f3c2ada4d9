"""raise_dual_bound(): prices of records that no class can pay; their sum is a lower bound of the squared error."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from shoal.encoding.types import Floats, Ints

_BUDGET = 5_000
"""Distances that are measured for each record and round beyond those to all others."""
_MOST = 1_000
"""Others that are looked at for the class of a record, at most."""
_STEPS = 200
"""Subgradients of each round."""
_ROUNDS = 40
_WORK = 6e9
"""So many differences of features are looked at in all rounds, at most."""
_FEWEST = 4
"""With fewer rounds it is not worth beginning."""
_ENOUGH = 5e-4
"""Rounds end where what is still hoped for is a smaller share of the bound."""


def count_rounds(records: int, features: int) -> int:
    """Return how many rounds a table of some size is worth: none where it is too large.

    Examples
    --------
    >>> count_rounds(1_000, 10), count_rounds(5_000, 10), count_rounds(100_000, 10)
    (40, 12, 0)
    """
    rounds = min(_ROUNDS, int(_WORK / (float(records) * (records + _BUDGET) * features)))
    return rounds if rounds >= _FEWEST else 0


@dataclass
class _Constraints:
    """Classes that prices have to be paid by: their records, the first of each, and what they lose at least."""

    rank: Ints
    classes: list[Ints] = field(default_factory=list)
    losses: list[Floats] = field(default_factory=list)

    def add(self, classes: Ints, losses: Floats) -> None:
        """Add classes, filled up with -1."""
        self.classes.append(classes)
        self.losses.append(losses)

    def list_by_root(self) -> tuple[Ints, Floats, Ints]:
        """Return all of them in the order of their roots: records, losses, roots."""
        classes, losses = np.concatenate(self.classes), np.concatenate(self.losses)
        ranks = np.where(classes >= 0, self.rank[classes], len(self.rank))
        roots = ranks.min(axis=1)
        order = np.argsort(roots, kind="stable")
        return np.ascontiguousarray(classes[order]), losses[order], roots[order]


def raise_dual_bound(points: Floats, k: int, classes: Ints, near: Floats, rounds: int) -> float:
    """Return a lower bound of the squared error of all partitions into classes of at least k.

    Each record gets a price. A class of records *has left* its squared error less their prices; it belongs to that of
    its records that comes first in a fixed order. The bound is the sum of all prices, and for each record the least
    that a class of its own may have left, where that is less than nothing.

    Why it is a bound: some best partition has classes of k to 2k - 1 records alone, since two halves of a larger class
    lose no more than it does. The squared error of such a partition is the sum, over its classes, of the prices of
    their records and of what they have left. Each record is in one class, so the first is the sum of all prices; each
    record comes first in one class at most, so the second is no less than the sum of what classes may have left. This
    is true of any prices. What classes may have left is found by branch and bound, where that ends; where it does not,
    it is the least of what has not been looked at could have (``search_class``). So the bound is true however early
    the search stops, and better prices only make it larger.

    They are raised by subgradients against the classes that were found before, within some room about the best so
    far (a boxstep method); the classes that then have less than nothing left join these.

    Parameters
    ----------
    points
        The features of each record.
    k
        The least class.
    classes
        Those that were found: none of them is better than what prices may reach.
    near
        The squared distances of each record to its 2k - 2 nearest others, nearest first.
    rounds
        How often prices are raised.

    References
    ----------
    Aloise, D., Hansen, P., & Rocha, C. (2014). A column generation algorithm for microaggregation. Journal of Global
    Optimization. (Prices of records by column generation; not its algorithm.)
    Marsten, R. E., Hogan, W. W., & Blankenship, J. W. (1975). The boxstep method for large-scale optimization.
    Operations Research, 23(3), 389-405.
    """
    from shoal.kernels.class_prices import price_classes, raise_prices

    records = len(points)
    sums = np.concatenate([np.zeros((records, 1)), np.cumsum(near, axis=1)], axis=1)
    prices = sums[:, k - 1] / (2 * k)
    order = np.argsort(-prices, kind="stable")
    rank = np.empty(records, np.int64)
    rank[order] = np.arange(records)
    goal, constraints = _error(points, classes), _Constraints(rank)
    constraints.add(*_pad_classes(points, classes, k))
    worth, width = float(prices.sum()), 0.9 / k
    # of k equal records no price can rise: they are a class that loses nothing
    scale = np.where(prices > 0, np.maximum(prices, np.median(prices[prices > 0])), 0.0)
    left, found, losses = np.empty(records), np.empty((records, 2 * k - 1), np.int64), np.empty(records)
    for _ in range(rounds):
        room, tried, raised = width * scale, prices.copy(), np.empty(records)
        listed, paid, roots = constraints.list_by_root()
        hoped = raise_prices(
            listed, paid, roots, len(listed), goal, _STEPS, prices - room, prices + room, tried, raised
        )
        many = price_classes(points, raised, sums, order, k, _MOST, _BUDGET, left, found, losses)
        true = float(raised.sum() + left.sum())
        gain = (true - worth) / max(hoped - worth, 1e-300)
        if true > worth:
            worth, prices = true, raised
        width *= 1.5 if gain > 0.5 or not many else 0.6 if gain < 0.1 else 1.0
        constraints.add(found[:many].copy(), losses[:many].copy())
        if width > 1.0 and hoped - worth < _ENOUGH * worth:
            break
    return worth


def _error(points: Floats, classes: Ints) -> float:
    """Return the squared error of some classes."""
    sizes = np.bincount(classes)
    sums = np.stack([np.bincount(classes, column) for column in points.T], axis=1)
    return float(((points - (sums / sizes[:, None])[classes]) ** 2).sum())


def _pad_classes(points: Floats, classes: Ints, k: int) -> tuple[Ints, Floats]:
    """Return the classes of less than 2k records, filled up with -1, and what they lose."""
    order, sizes = np.argsort(classes, kind="stable"), np.bincount(classes)
    ends = np.cumsum(sizes)
    small = np.flatnonzero((sizes >= k) & (sizes < 2 * k))
    padded = np.full((len(small), 2 * k - 1), -1, np.int64)
    losses = np.empty(len(small))
    for at, number in enumerate(small):
        members = order[ends[number] - sizes[number] : ends[number]]
        padded[at, : len(members)] = members
        losses[at] = ((points[members] - points[members].mean(axis=0)) ** 2).sum()
    return padded, losses

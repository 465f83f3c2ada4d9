"""worst(): the classes of a tally that decide what a model attains, found in whole columns of numbers at once.

A model's own recount is exact, class by class. It is slow where there are many classes, and nearly all of them are far
from the worst. So each class gets a score here, in floating point; those that come near the greatest are told exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from shoal.encoding.types import Floats, Ints
from shoal.models.base import Census, Tally

Score = Callable[[Census, Tally], npt.NDArray[np.float64]]
"""How bad each class is, for tallies of records in which every value is known."""
_NEAR = 1e-9
_MANY = 200
"""Of more classes than that which score alike, one of each score is looked at."""


def worst(census: Census, column: str, score: Score) -> Census:
    """Return a census of the classes that score highest on one sensitive column.

    Only for tallies of records in which every value is known: there the sizes are the sums of the counts.
    """
    if not len(census.sizes):
        return census
    scores = score(census, census.tallies[column,])
    top = float(scores.max())
    near = np.flatnonzero(scores == top if np.isinf(top) else scores >= top - _NEAR * max(1.0, abs(top)))
    if len(near) > _MANY:
        near = near[np.unique(scores[near], return_index=True)[1]]
    return _only(census, column, near)


def _only(census: Census, column: str, indices: Ints) -> Census:
    tally = census.tallies[column,]
    number = np.full(len(census.sizes), -1, np.int64)
    number[indices] = np.arange(len(indices))
    kept = number[tally.classes]
    order = np.flatnonzero(kept >= 0)
    order = order[np.argsort(kept[order], kind="stable")]
    part = replace(
        tally,
        classes=kept[order],
        values=tally.values[order],
        counts=tally.counts[order],
        blank=tally.blank[indices],
    )
    return Census(census.sizes[indices], {column: census.values[column][indices]}, {(column,): part})


def _in_table(tally: Tally) -> Floats:
    """How many of the whole table have each entry's value."""
    whole = np.zeros(max(*tally.table, int(tally.values.max()), 0) + 1)
    whole[list(tally.table)] = list(tally.table.values())
    return np.asarray(whole[tally.values], np.float64)


def _per_class(tally: Tally, numbers: npt.ArrayLike) -> Floats:
    sums = np.bincount(tally.classes, np.asarray(numbers, np.float64), minlength=len(tally.blank))
    return sums.astype(np.float64)


def _most(tally: Tally, numbers: npt.ArrayLike) -> Floats:
    most = np.zeros(len(tally.blank))
    np.maximum.at(most, tally.classes, np.asarray(numbers, np.float64))
    return most


def _ratios(census: Census, tally: Tally) -> Floats:
    """The share of each entry's value in its class by its share in the table."""
    with np.errstate(divide="ignore"):
        own = tally.counts / census.sizes[tally.classes]
        return np.asarray(own / (_in_table(tally) / tally.table_persons), np.float64)


def by_share(census: Census, tally: Tally) -> Floats:
    """The share of the most frequent value."""
    return np.asarray(_most(tally, tally.counts) / census.sizes, np.float64)


def by_evenness(census: Census, tally: Tally) -> Floats:
    """Minus the entropy."""
    sizes = census.sizes.astype(np.float64)
    return np.asarray(_per_class(tally, tally.counts * np.log(tally.counts)) / sizes - np.log(sizes), np.float64)


def by_tail(c: float) -> Score:
    """Minus the greatest l for which the most frequent value is less than c times all from the l-th on."""

    def score(census: Census, tally: Tally) -> Floats:
        order = np.lexsort((tally.counts, tally.classes))
        classes, counts = tally.classes[order], tally.counts[order]
        held = np.bincount(classes, minlength=len(census.sizes))
        ends = np.cumsum(held)
        reached = np.cumsum(counts)
        before = np.append(0, reached)[(ends - held)[classes]]
        most = counts[np.maximum(ends - 1, 0)[classes]]
        enough = most < c * (reached - before)
        # tails only grow, so the l that hold are those of the last entries
        return -np.bincount(classes, enough, minlength=len(census.sizes)).astype(np.float64)

    return score


def by_distance(census: Census, tally: Tally) -> Floats:
    """Half the sum of the differences of all shares."""
    own = tally.counts / census.sizes[tally.classes]
    share = _in_table(tally) / sum(tally.table.values())
    return np.asarray((_per_class(tally, np.abs(own - share)) + 1.0 - _per_class(tally, share)) / 2, np.float64)


def by_ordered_distance(census: Census, tally: Tally) -> Floats:
    """The differences of the cumulated shares, in steps, from one value of a class to its next."""
    values = np.array(sorted(tally.table), np.int64)
    shares = np.array([tally.table[value] for value in values.tolist()], np.float64)
    reached = np.cumsum(shares) / shares.sum()
    summed = np.append(0.0, np.cumsum(reached))
    order = np.lexsort((tally.values, tally.classes))
    classes = tally.classes[order]
    starts = np.searchsorted(values, tally.values[order])
    held = np.bincount(classes, minlength=len(census.sizes))
    firsts = np.cumsum(held) - held
    own = np.cumsum(tally.counts[order] / census.sizes[classes])
    own -= np.append(0.0, own)[firsts][classes]
    stops = np.append(starts[1:], len(values))
    stops[firsts[1:] - 1] = len(values)
    middle = np.clip(np.searchsorted(reached, own), starts, stops)
    below = own * (middle - starts) - (summed[middle] - summed[starts])
    above = summed[stops] - summed[middle] - own * (stops - middle)
    return np.asarray(np.bincount(classes, below + above) + summed[starts[firsts]], np.float64)


def by_gain(census: Census, tally: Tally) -> Floats:
    """How much more likely a value is in the class than in the table, at most."""
    return _most(tally, _ratios(census, tally))


def by_change(census: Census, tally: Tally) -> Floats:
    """How much more or less likely a value is, as a logarithm; unlimited where a value does not occur."""
    most = _most(tally, np.abs(np.log(_ratios(census, tally))))
    most[np.bincount(tally.classes, minlength=len(most)) < len(tally.table)] = np.inf
    return most

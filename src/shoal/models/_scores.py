"""Scores: how bad each class is, found in whole columns of numbers at once and in floating point.

An audit of many classes recounts exactly only those that score worst. All are for counts of records in which every
value is known.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.encoding.types import Floats
from shoal.models.base import Census, ValueCounts


def _in_table(counted: ValueCounts) -> Floats:
    """How many of the whole table have each entry's value."""
    whole = np.zeros(max(*counted.table, int(counted.values.max()), 0) + 1)
    whole[list(counted.table)] = list(counted.table.values())
    return np.asarray(whole[counted.values], np.float64)


def _per_class(counted: ValueCounts, numbers: npt.ArrayLike) -> Floats:
    sums = np.bincount(counted.classes, np.asarray(numbers, np.float64), minlength=len(counted.blank))
    return sums.astype(np.float64)


def _most(counted: ValueCounts, numbers: npt.ArrayLike) -> Floats:
    most = np.zeros(len(counted.blank))
    np.maximum.at(most, counted.classes, np.asarray(numbers, np.float64))
    return most


def _ratios(census: Census, counted: ValueCounts) -> Floats:
    """The share of each entry's value in its class by its share in the table."""
    with np.errstate(divide="ignore"):
        own = counted.counts / census.sizes[counted.classes]
        return np.asarray(own / (_in_table(counted) / counted.table_persons), np.float64)


def score_by_share(census: Census, counted: ValueCounts) -> Floats:
    """The share of the most frequent value."""
    return np.asarray(_most(counted, counted.counts) / census.sizes, np.float64)


def score_by_evenness(census: Census, counted: ValueCounts) -> Floats:
    """Minus the entropy."""
    sizes = census.sizes.astype(np.float64)
    return np.asarray(_per_class(counted, counted.counts * np.log(counted.counts)) / sizes - np.log(sizes), np.float64)


def score_by_tail(census: Census, counted: ValueCounts, c: float) -> Floats:
    """Minus the greatest l for which the most frequent value is less than c times all from the l-th on."""
    order = np.lexsort((counted.counts, counted.classes))
    classes, counts = counted.classes[order], counted.counts[order]
    held = np.bincount(classes, minlength=len(census.sizes))
    ends = np.cumsum(held)
    reached = np.cumsum(counts)
    before = np.append(0, reached)[(ends - held)[classes]]
    most = counts[np.maximum(ends - 1, 0)[classes]]
    enough = most < c * (reached - before)
    # tails only grow, so the l that hold are those of the last entries
    return -np.bincount(classes, enough, minlength=len(census.sizes)).astype(np.float64)


def score_by_distance(census: Census, counted: ValueCounts) -> Floats:
    """Half the sum of the differences of all shares."""
    own = counted.counts / census.sizes[counted.classes]
    share = _in_table(counted) / sum(counted.table.values())
    return np.asarray((_per_class(counted, np.abs(own - share)) + 1.0 - _per_class(counted, share)) / 2, np.float64)


def score_by_ordered_distance(census: Census, counted: ValueCounts) -> Floats:
    """The differences of the cumulated shares, in steps, from one value of a class to its next."""
    values = np.array(sorted(counted.table), np.int64)
    shares = np.array([counted.table[value] for value in values.tolist()], np.float64)
    reached = np.cumsum(shares) / shares.sum()
    summed = np.append(0.0, np.cumsum(reached))
    order = np.lexsort((counted.values, counted.classes))
    classes = counted.classes[order]
    starts = np.searchsorted(values, counted.values[order])
    held = np.bincount(classes, minlength=len(census.sizes))
    firsts = np.cumsum(held) - held
    own = np.cumsum(counted.counts[order] / census.sizes[classes])
    own -= np.append(0.0, own)[firsts][classes]
    stops = np.append(starts[1:], len(values))
    stops[firsts[1:] - 1] = len(values)
    middle = np.clip(np.searchsorted(reached, own), starts, stops)
    below = own * (middle - starts) - (summed[middle] - summed[starts])
    above = summed[stops] - summed[middle] - own * (stops - middle)
    return np.asarray(np.bincount(classes, below + above) + summed[starts[firsts]], np.float64)


def score_by_gain(census: Census, counted: ValueCounts) -> Floats:
    """How much more likely a value is in the class than in the table, at most."""
    return _most(counted, _ratios(census, counted))


def score_by_change(census: Census, counted: ValueCounts) -> Floats:
    """How much more or less likely a value is, as a logarithm; unlimited where a value does not occur."""
    most = _most(counted, np.abs(np.log(_ratios(census, counted))))
    most[np.bincount(counted.classes, minlength=len(most)) < len(counted.table)] = np.inf
    return most

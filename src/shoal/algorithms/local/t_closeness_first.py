"""t-closeness-first microaggregation: classes that take one record out of each slice of the sensitive values."""

from __future__ import annotations

from math import ceil
from typing import ClassVar

import numpy as np

from shoal.algorithms.clustering.buckets import BucketedValues, BucketSearch
from shoal.encoding.types import Ints


class TClosenessFirst(BucketSearch):
    """Slice the records by their sensitive value, and let each class take one record out of each slice.

    The records, sorted by the sensitive value, are sliced into k' slices as large as each other, so that a class with a
    record of each is within t of the table whichever it takes. With n records of different values k' is
    max(k, ⌈n / (2 (n - 1) t + 1)⌉). What remains of n / k' is in the middle slices (one, or two where k' is even), of
    which so many classes take one record more; k' rises first, so that none takes two.

    Where the paper has or leaves something else: the record that a class begins with is the first left in our sequence
    of records, not the furthest from the mean, and nearest is among the next of each slice there. Where values repeat,
    have no order, or a hierarchy, k' rises from k until the slices cause no more than t at worst, which is the paper's
    number where values differ; records of one value are scattered over its slices, and without an order, values that
    share a label stand together. The first t-closeness of the policy is followed. Values that are not known come last,
    as one. Nothing is suppressed.

    Why it is safe: whatever was planned, the models judge the classes; those that break one join neighbours in the
    sequence until all comply; what a class shows covers all its records.

    Cost: a sort; for each class and slice a look at some dozens of records.

    References
    ----------
    Soria-Comas, J., Domingo-Ferrer, J., Sánchez, D. and Martínez, S. (2015). t-closeness through microaggregation:
    strict privacy with enhanced utility preservation. IEEE TKDE 27(11).

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("adult")
    >>> models = [{"name": "t-closeness", "on": "occupation", "t": 0.3}]
    >>> release = shoal.anonymize(table.head(500), policy.replace(models=models, algorithm=TClosenessFirst()))
    >>> release.attained["t-closeness"] <= 0.3
    True
    """

    needs_models: ClassVar[tuple[str, ...]] = ("t-closeness",)

    def plan(self, values: BucketedValues, least: int) -> tuple[Ints, Ints]:
        """Find k', slice, and take one of each slice."""
        records = len(values.codes)
        size = round_size(records, find_class_size(values, least))
        classes = records // size
        sizes = count_slices(records, size)
        slices = np.empty(records, np.int64)
        slices[_sort_by_value(values)] = np.repeat(np.arange(size), sizes)
        drawn = np.ones((classes, size), np.int64)
        begin = 0
        for middle in np.flatnonzero(sizes > classes).tolist():
            more = int(sizes[middle]) - classes
            drawn[begin : begin + more, middle] += 1
            begin += more
        return slices, drawn


def find_class_size(values: BucketedValues, least: int) -> int:
    """Return k': the least records of a class, from k on, whose slices cause no more than t at worst."""
    records = len(values.codes)
    ordered, most = values.codes[_sort_by_value(values)], min(least, records)
    while most < records and values.are_apart(_cause(values, ordered, most)):
        most += max(1, most // 64)
    return min(most, records)


def _cause(values: BucketedValues, ordered: Ints, size: int) -> float:
    """Return the distance that so many slices cause at worst, each drawn from alike."""
    ends = np.cumsum(np.full(size, len(ordered) // size) + (np.arange(size) < len(ordered) % size))
    caused = 0.0
    for part in np.split(ordered, ends[:-1]):
        if part[0] != part[-1]:
            held, counts = np.unique(part[part < values.count], return_counts=True)
            caused += values.find_worst(held, counts / len(part)) if len(held) else 0.0
    return caused / size


def _sort_by_value(values: BucketedValues) -> Ints:
    """Return the records by their value; those of one are scattered, so that its slices are alike."""
    from shoal.kernels.compose import GOLDEN

    rank = np.full(values.count + 1, values.count, np.int64)
    rank[values.order] = np.arange(values.count)
    scattered = np.arange(len(values.codes)) * GOLDEN % 1.0
    return np.lexsort([scattered, rank[values.codes]]).astype(np.int64)


def round_size(records: int, size: int) -> int:
    """Return k' raised so that fewer records remain than there are classes.

    Examples
    --------
    >>> round_size(103, 10), round_size(19, 10)
    (10, 19)
    """
    return size + (records % size) // (records // size)


def count_slices(records: int, size: int) -> Ints:
    """Return how many records each slice has: the middle ones take what remains.

    Examples
    --------
    >>> count_slices(17, 5), count_slices(15, 4)
    (array([3, 3, 5, 3, 3]), array([3, 5, 4, 3]))
    """
    result = np.full(size, records // size, np.int64)
    remain, middle = records % size, size // 2
    if size % 2:
        result[middle] += remain
    else:
        result[middle - 1] += ceil(remain / 2)
        result[middle] += remain // 2
    return result

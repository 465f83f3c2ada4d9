"""SABRE: buckets of sensitive values that are near enough, and classes that draw from each in proportion."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from shoal.algorithms.clustering.buckets import BucketedValues, BucketSearch, halve_counts
from shoal.encoding.types import Floats, Ints


class Sabre(BucketSearch):
    """Fill buckets with sensitive values that are near enough, and let classes draw from each in proportion.

    1. *Bucketization*: all values are in one bucket; the bucket which causes most of the distance is split, by the
    labels of the next level or at the best place of the order, until what all of them cause at worst is at most t.
    Where any two values are as far apart, the hierarchy has one level: each value gets a bucket of its own.
    2. *Redistribution*: the records of all buckets are halved again and again, all in proportion, as long as both
    halves are near enough whichever records of a bucket they draw, and have the records that the models ask for.
    3. Each class draws the nearest records from each bucket.

    Where the paper has or leaves something else: nearest is by our sequence of records, not by a Hilbert curve, and the
    first record left is the seed, not a random one. The distance between a class and the table is bounded by what
    buckets cause at worst and by the distance of a class that has each bucket's values in proportion. The first
    t-closeness of the policy is followed. Values that are not known have a bucket of their own. Nothing is suppressed.

    Why it is safe: whatever was planned, the models judge the classes; those that break one join neighbours in the
    sequence until all comply; what a class shows covers all its records.

    Cost: a sort; for each class and bucket a look at some dozens of records.

    References
    ----------
    Cao, J., Karras, P., Kalnis, P. and Tan, K.-L. (2011). SABRE: a sensitive attribute bucketization and
    redistribution framework for t-closeness. VLDB Journal 20(1).

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("adult")
    >>> models = [{"name": "t-closeness", "on": "occupation", "t": 0.3}]
    >>> release = shoal.anonymize(table.head(500), policy.replace(models=models, algorithm=Sabre()))
    >>> release.attained["t-closeness"] <= 0.3
    True
    """

    needs_models: ClassVar[tuple[str, ...]] = ("t-closeness",)

    def plan(self, values: BucketedValues, least: int) -> tuple[Ints, Ints]:
        """Bucketize, then redistribute."""
        of_value = values.number_buckets(fill_buckets(values))
        buckets = of_value[values.codes]
        counts = np.bincount(buckets, minlength=int(of_value[-1]) + 1).astype(np.int64)
        return buckets, halve_counts(counts, least, _Proportions(values, of_value, counts).keep)


def fill_buckets(values: BucketedValues) -> list[Ints]:
    """Return the values of each bucket."""
    buckets = [values.order]
    caused = [values.find_worst(values.order, values.shares[values.order])]
    while values.are_apart(sum(caused)) and max(caused) > 0.0:
        worst = int(np.argmax(caused))
        parts = _split(values, buckets[worst])
        buckets[worst : worst + 1] = parts
        caused[worst : worst + 1] = [values.find_worst(part, values.shares[part]) for part in parts]
    return buckets


def _split(values: BucketedValues, bucket: Ints) -> list[Ints]:
    """Split a bucket: by the labels of the highest level that tells its values apart, or in two along the order."""
    if values.condition.form == "ordered":
        return np.split(bucket, [_find_cut(values.layers[0][bucket], values.shares[bucket])])
    labels = next(layer for layer in values.layers[::-1, bucket] if (layer != layer[0]).any())
    return [bucket[labels == label] for label in dict.fromkeys(labels.tolist())]


def _find_cut(places: Ints, shares: Floats) -> int:
    """Return where a bucket is cut so that both parts cause least at worst: all of a part at either of its ends."""
    held, moments = np.cumsum(shares), np.cumsum(shares * places)
    left = np.maximum(moments - places[0] * held, places * held - moments)[:-1]
    above, beyond = held[-1] - held, moments[-1] - moments
    right = np.maximum(beyond[:-1] - places[1:] * above[:-1], places[-1] * above[:-1] - beyond[:-1])
    return int(np.argmin(left + right)) + 1


class _Proportions:
    """What classes are apart from the table at most, by how many records they draw from each bucket."""

    def __init__(self, values: BucketedValues, of_value: Ints, counts: Ints) -> None:
        self._values, self._of_value = values, of_value[:-1]
        self._due = np.maximum(counts, 1) / counts.sum()
        self._caused = np.zeros(len(counts))
        for bucket in range(len(counts) - 1):  # the last holds what is not known
            inside = np.flatnonzero(self._of_value == bucket)
            self._caused[bucket] = values.find_worst(inside, values.shares[inside])

    def keep(self, drawn: Ints) -> bool:
        """Return whether a class that draws so many is near enough, whichever it draws."""
        times = drawn / drawn.sum() / self._due
        surplus = self._values.shares * (times[self._of_value] - 1.0)
        return not self._values.are_apart(float(times @ self._caused) + self._values.measure(surplus))

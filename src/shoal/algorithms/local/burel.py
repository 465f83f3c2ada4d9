"""BUREL: buckets of values that are about as frequent, and classes in which no bucket is more than a value may be."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from shoal.algorithms.clustering.buckets import BucketedValues, BucketSearch, halve_counts
from shoal.encoding.types import Floats, Ints


class Burel(BucketSearch):
    """Fill buckets with values that are about as frequent, and let classes draw so that no bucket gains too much.

    1. *Bucketization*: a dynamic program puts the values, by rising frequency, into the fewest buckets that have
    together no greater share of the table than the rarest value of each may have of a class.
    2. *Reallocation*: the records of all buckets are halved again and again, all in proportion, as long as in both
    halves no bucket has more than that share, and both have the records that the models ask for.
    3. Each class draws the nearest records from each bucket.

    So no value is more frequent than it may be, even where all that a class draws from a bucket is the rarest.

    Where the paper has or leaves something else: nearest is by our sequence of records, not by a Hilbert curve, and the
    first record left is the seed, not a random one. The first beta-likeness of the policy is followed, enhanced or not.
    Values that are not known have a bucket of their own. Nothing is suppressed.

    Why it is safe: whatever was planned, the models judge the classes; those that break one join neighbours in the
    sequence until all comply; what a class shows covers all its records.

    Cost: a sort; for each class and bucket a look at some dozens of records; the program is quadratic in the values.

    References
    ----------
    Cao, J. and Karras, P. (2012). Publishing microdata with a robust privacy guarantee. PVLDB 5(11).

    Examples
    --------
    >>> import shoal
    >>> table, policy = shoal.datasets.load("adult")
    >>> models = [{"name": "beta-likeness", "on": "occupation", "beta": 2}]
    >>> release = shoal.anonymize(table.head(500), policy.replace(models=models, algorithm=Burel()))
    >>> release.attained["beta-likeness"] <= 2
    True
    """

    needs_models: ClassVar[tuple[str, ...]] = ("beta-likeness",)

    def plan(self, values: BucketedValues, least: int) -> tuple[Ints, Ints]:
        """Bucketize, then reallocate."""
        caps = values.condition.numbers[: values.count]
        rising = np.argsort(values.shares, kind="stable").astype(np.int64)
        cuts = cut_buckets(values.shares[rising], caps[rising])
        most = np.append(caps[rising[[0, *cuts]]], 1.0)  # what is not known may be anything
        of_value = values.number_buckets(np.split(rising, cuts))
        buckets = of_value[values.codes]
        counts = np.bincount(buckets, minlength=len(most)).astype(np.int64)
        return buckets, halve_counts(counts, least, lambda half: bool((half <= most * half.sum() + 1e-9).all()))


def cut_buckets(shares: Floats, caps: Floats) -> list[int]:
    """Return where the values, by rising frequency, are cut into the fewest buckets.

    The shares of a bucket add up to no more than the cap of its first, unless it has but one value.

    Examples
    --------
    >>> shares = np.array([0.1, 0.15, 0.2, 0.25, 0.3])
    >>> cut_buckets(shares, 2.5 * shares)
    [1, 3]
    """
    before = np.append(0.0, np.cumsum(shares))
    fewest, start = np.zeros(len(shares) + 1, np.int64), np.zeros(len(shares) + 1, np.int64)
    for end in range(1, len(shares) + 1):
        fits = before[end] - before[:end] <= caps[:end] + 1e-12
        fits[end - 1] = True
        tried = np.where(fits, fewest[:end], len(shares))
        start[end] = np.argmin(tried)
        fewest[end] = tried[start[end]] + 1
    cuts, end = [], int(start[-1])
    while end > 0:
        cuts.append(end)
        end = int(start[end])
    return cuts[::-1]

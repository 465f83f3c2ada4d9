"""Covers: which values of a column each published text could stand for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.encoding.types import Floats, Ints


@dataclass(frozen=True)
class Covers:
    """The values that each of some texts covers, by the values' places.

    Most texts cover neighbours, which are told by the first and the last of them: a range of a million values takes no
    more room than one value. Others are listed. A text that covers nothing is one that cannot be read.

    Examples
    --------
    Two values, the range of the first three, and a set with a gap:

    >>> covers = Covers.of([{1}, range(0, 3), {0, 3}], 4)
    >>> covers.sizes.tolist(), covers.sums(np.array([10.0, 20, 30, 40])).tolist()
    ([1, 3, 2], [20.0, 60.0, 50.0])
    >>> covers.spread(np.array([1.0, 3, 4])).tolist()  # each text's records evenly over what it covers
    [3.0, 2.0, 1.0, 2.0]
    """

    size: int
    """How many values there are."""
    first: Ints
    stop: Ints
    """The first place, and the one after the last; the same where the places are listed, or nothing is covered."""
    owners: Ints
    """The text of each listed place."""
    places: Ints
    """The listed places."""

    @classmethod
    def of(cls, texts: Sequence[Collection[int]], size: int) -> Covers:
        """Make it from the places that each text covers."""
        first, stop = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.int64)
        owners, indices = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for number, held in enumerate(texts):
            if not held:
                continue
            low, high = (held[0], held[-1]) if isinstance(held, range) else (min(held), max(held))
            if high - low + 1 == len(held):
                first[number], stop[number] = low, high + 1
            else:
                owners.append(np.full(len(held), number, np.int64))
                indices.append(np.array(sorted(held), np.int64))
        return cls(size, first, stop, np.concatenate(owners), np.concatenate(indices))

    def __len__(self) -> int:
        return len(self.first)

    @property
    def sizes(self) -> Ints:
        """How many values each text covers."""
        return self.stop - self.first + np.bincount(self.owners, minlength=len(self)).astype(np.int64)

    def sums(self, amounts: Floats) -> Floats:
        """Return for each text the sum of what the values that it covers have."""
        reached = np.concatenate([[0.0], np.cumsum(amounts, dtype=np.float64)])
        listed = np.bincount(self.owners, amounts[self.places], minlength=len(self))
        return np.asarray(reached[self.stop] - reached[self.first] + listed)

    def means(self, amounts: Floats) -> Floats:
        """Return for each text the mean of what the values that it covers have; 0 where it covers nothing."""
        return np.asarray(self.sums(amounts) / np.maximum(self.sizes, 1))

    def spread(self, records: Floats) -> Floats:
        """Return for each value its part of the records, those of a text evenly over the values that it covers."""
        each = records / np.maximum(self.sizes, 1)
        rises = np.bincount(self.first, each, minlength=self.size + 1)
        falls = np.bincount(self.stop, each, minlength=self.size + 1)
        listed = np.bincount(self.places, each[self.owners], minlength=self.size)
        spread = np.cumsum(rises - falls)[: self.size] + listed
        return np.where(np.abs(spread) > 1e-9, spread, 0.0)  # what sums of parts leave over where nothing covers

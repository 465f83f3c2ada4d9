"""CoveredValues: which values of a column each published text could stand for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.encoding.types import Bools, Floats, Ints


def _ranges(starts: Ints, stops: Ints) -> Ints:
    """Return the numbers of several ranges, one after the other."""
    lengths = stops - starts
    shifts = np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
    numbers: Ints = np.arange(int(lengths.sum())) + shifts
    return numbers


@dataclass(frozen=True)
class CoveredValues:
    """The values that each of some texts covers, by the values' places.

    Most texts cover neighbours, which are told by the first and the last of them: a range of a million values takes no
    more room than one value. Others are listed. A text that covers nothing is one that cannot be read.

    Examples
    --------
    Two values, the range of the first three, and a set with a gap:

    >>> covers = CoveredValues.of([{1}, range(0, 3), {0, 3}], 4)
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
    def of(cls, texts: Sequence[Collection[int]], size: int) -> CoveredValues:
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

    @classmethod
    def of_ranges(cls, first: Ints, last: Ints, size: int) -> CoveredValues:
        """Make it from the first and the last place that each text covers; nothing where the last comes before."""
        empty, nothing = last < first, np.zeros(0, np.int64)
        return cls(size, np.where(empty, 0, first), np.where(empty, 0, last + 1), nothing, nothing)

    def put(self, texts: Ints, covers: CoveredValues) -> CoveredValues:
        """Return the same with what some of the texts cover put in; those had nothing listed."""
        first, stop = self.first.copy(), self.stop.copy()
        first[texts], stop[texts] = covers.first, covers.stop
        owners, places = np.append(self.owners, texts[covers.owners]), np.append(self.places, covers.places)
        order = np.argsort(owners, kind="stable")
        return CoveredValues(self.size, first, stop, owners[order], places[order])

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, text: int) -> slice | Ints:
        """Return the places that one text covers."""
        low, high = np.searchsorted(self.owners, [text, text + 1])
        return self.places[low:high] if high > low else slice(int(self.first[text]), int(self.stop[text]))

    def take(self, texts: Ints) -> CoveredValues:
        """Return what some of the texts cover."""
        starts, ends = np.searchsorted(self.owners, texts), np.searchsorted(self.owners, texts, side="right")
        owners = np.repeat(np.arange(len(texts)), ends - starts)
        places = self.places[_ranges(starts, ends)]
        return CoveredValues(self.size, self.first[texts], self.stop[texts], owners, places)

    def append(self, more: CoveredValues) -> CoveredValues:
        """Return what these texts and others cover."""
        return CoveredValues(
            self.size,
            np.append(self.first, more.first),
            np.append(self.stop, more.stop),
            np.append(self.owners, more.owners + len(self)),
            np.append(self.places, more.places),
        )

    def widen(self, texts: Bools) -> CoveredValues:
        """Return the same, some of the texts covering everything."""
        listed = ~texts[self.owners]
        first, stop = np.where(texts, 0, self.first), np.where(texts, self.size, self.stop)
        return CoveredValues(self.size, first, stop, self.owners[listed], self.places[listed])

    def with_last(self, texts: Bools) -> CoveredValues:
        """Return the same over one value more, the last, which some of the texts cover too.

        Examples
        --------
        >>> CoveredValues.of([{1}, {0}, {}], 2).with_last(np.array([True, True, True])).sizes.tolist()
        [2, 2, 1]
        """
        empty = (self.first == self.stop) & (np.bincount(self.owners, minlength=len(self)) == 0)
        first = np.where(texts & empty, self.size, self.first)
        grows = texts & (empty | ((self.stop == self.size) & (self.stop > self.first)))
        stop = np.where(grows, self.size + 1, np.where(empty, first, self.stop))
        apart = np.flatnonzero(texts & ~grows)
        # what is no neighbour of the last is listed, with it
        ranges = apart[self.stop[apart] > self.first[apart]]
        owners = [self.owners, np.repeat(ranges, (self.stop - self.first)[ranges]), apart]
        places = [self.places, _ranges(self.first[ranges], self.stop[ranges]), np.full(len(apart), self.size)]
        first[ranges] = stop[ranges] = 0
        order = np.argsort(np.concatenate(owners), kind="stable")
        return CoveredValues(self.size + 1, first, stop, np.concatenate(owners)[order], np.concatenate(places)[order])

    def holds(self, texts: Ints, values: Ints) -> Bools:
        """Return whether each text of a list covers the value beside it.

        Examples
        --------
        >>> CoveredValues.of([range(0, 3), {0, 3}], 4).holds(np.array([0, 0, 1, 1]), np.array([2, 3, 2, 3])).tolist()
        [True, False, False, True]
        """
        inside: Bools = (self.first[texts] <= values) & (values < self.stop[texts])
        if len(self.places):
            keys = self.owners * self.size + self.places
            wanted = texts * self.size + values
            at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            inside |= keys[at] == wanted
        return inside

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

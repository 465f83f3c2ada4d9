"""Population: those whom the records were drawn from.  Survey: how many of them each record stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.encoding.types import Bools, Codes, Ints


@dataclass(frozen=True)
class Population:
    """The distinct quasi-identifier tuples of a population, in the codes of the table, and how often each occurs.

    Examples
    --------
    >>> people = Population(np.array([[0], [1], [2]], np.int32), np.array([5, 1, 2]))
    >>> labels = np.array([[True, True, False], [False, False, True]])  # the values that each label covers
    >>> people.matching([np.array([0, 1])], [labels])
    array([6, 2])
    """

    tuples: Codes
    counts: Ints

    @cached_property
    def size(self) -> int:
        """How many persons there are."""
        return int(self.counts.sum())

    def matching(self, shown: Sequence[Ints], covers: Sequence[Bools]) -> Ints:
        """Return for each class how many persons match what it shows.

        Parameters
        ----------
        shown
            For each column the number of what each class shows.
        covers
            For each column ``[number, code]``: whether what is shown covers a value.
        """
        from shoal.kernels.matching import count_matches

        shares = [float(cover.mean()) if cover.size else 1.0 for cover in covers]
        order = np.argsort(shares, kind="stable").tolist()  # who matches seldom is ruled out soonest
        sizes = [covers[index].size for index in order]
        found: Ints = count_matches(
            np.ascontiguousarray(np.stack([shown[index] for index in order], axis=1).astype(np.int64)),
            np.concatenate([covers[index].ravel() for index in order]).astype(np.uint8),
            np.append(0, np.cumsum(sizes)[:-1]).astype(np.int64),
            np.array([covers[index].shape[1] for index in order], np.int64),
            np.ascontiguousarray(self.tuples[:, order]),
            self.counts,
        )
        return found


@dataclass(frozen=True)
class Survey:
    """How many persons of the population each record stands for."""

    place: int
    """Where the codes of the weights are in ``Frequencies.sensitive``."""
    amounts: Ints
    """The weight of each code, as a whole number of a unit's parts: 2.5 persons are 25 where ``unit`` is 10."""
    unit: int

"""ColumnPair: one column of both tables, as numbers that statistics can be made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.encoding.types import Floats, Ints
from shoal.utility.statistics.covers import CoveredValues

Features = npt.NDArray[np.float32]

FREQUENT = 20
"""Categories that are told apart where columns are put together; all others are one."""


@dataclass(frozen=True)
class ColumnPair:
    """One column of the original and of the published table.

    A text that covers several values is taken for each of them in equal parts. Of a number it is also known what stands
    for it.
    """

    name: str
    values: Ints
    """The place of each original record's value; -1 where it is missing, and that is no value."""
    texts: Ints
    """The number of each published record's text."""
    covers: CoveredValues
    """The values that each text could stand for."""
    ordered: bool = False
    """Whether neighbours among the values are near each other."""
    numbers: tuple[Floats, Floats] | None = None
    """Each original number, and what stands for each published one; not a number where there is none."""

    @cached_property
    def counts(self) -> Floats:
        """Original records of each value."""
        return np.bincount(self.values[self.values >= 0], minlength=self.covers.size).astype(np.float64)

    @cached_property
    def implied(self) -> Floats:
        """Published records of each value, each text's in equal parts."""
        return self.covers.spread(np.bincount(self.texts, minlength=len(self.covers)).astype(np.float64))

    @cached_property
    def known(self) -> tuple[Floats, Floats]:
        """The numbers of both tables that there are."""
        assert self.numbers is not None, "of numbers only"
        one, other = (held[~np.isnan(held)] for held in self.numbers)
        return one, other

    @cached_property
    def gone(self) -> float:
        """The share of published records that show nothing of the column: what they show covers every value."""
        if self.covers.size < 2 or not len(self.texts):
            return 0.0
        return float((self.covers.sizes[self.texts] >= self.covers.size).mean())

    @cached_property
    def groups(self) -> npt.NDArray[np.intp]:
        """The group of each value: the frequent ones stand alone, the most frequent first; others share the last."""
        order = np.argsort(-self.counts, kind="stable")
        return np.minimum(np.argsort(order, kind="stable"), FREQUENT)

    @cached_property
    def shares(self) -> Floats:
        """``[text, group]``: the part of a text that falls to each group; nothing for one that cannot be read."""
        held = np.arange(int(self.groups.max(initial=-1)) + 1)
        if not len(held):
            return np.zeros((len(self.covers), 1))
        return np.stack([self.covers.means((self.groups == group).astype(np.float64)) for group in held], axis=1)

    @cached_property
    def _table(self) -> tuple[Features, Features]:
        """What each value and each text is in numbers; the row after the last value is the missing one."""
        unit = np.zeros((self.covers.size + 1, self.shares.shape[1]), np.float32)
        unit[np.arange(self.covers.size), self.groups] = 1.0
        return unit, self.shares.astype(np.float32)

    @cached_property
    def _scale(self) -> tuple[float, float]:
        """The mean and the deviation of the original numbers; 1 where they do not vary."""
        known = self.known[0]
        return (float(known.mean()), float(known.std()) or 1.0) if len(known) else (0.0, 1.0)

    def varies(self, *, published: bool) -> bool:
        """Whether a table has more than one value, or group of values, in this column."""
        if self.numbers is not None:
            known = self.known[published]
            return len(known) > 1 and bool(np.ptp(known) > 0)
        held = self.implied if published else self.counts
        return int((np.bincount(self.groups, held, minlength=1) > 0).sum()) > 1

    def features(self, rows: Ints, *, published: bool) -> Features:
        """Return some records as numbers: one column in units of its deviation, or a part of each group."""
        if self.numbers is None:
            table = self._table[published]
            return table[self.texts[rows] if published else self.values[rows]]
        mean, deviation = self._scale
        held = (self.numbers[published][rows] - mean) / deviation
        return np.where(np.isnan(held), 0.0, held).astype(np.float32)[:, None]


def features(columns: Sequence[ColumnPair], rows: Ints, *, published: bool) -> Features:
    """Return some records of one of the tables as numbers, column beside column."""
    return np.concatenate([column.features(rows, published=published) for column in columns], axis=1)

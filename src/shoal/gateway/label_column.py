"""LabelColumn: what the distinct labels of a column can stand for, compared with a value all at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.encoding.types import Bools, Ints
from shoal.gateway.labels import CONTRARY, SIGNS, PossibleValues
from shoal.gateway.request import Sign


@dataclass(frozen=True)
class LabelColumn:
    """The distinct labels of a column, and the ends of those that compare.

    A local recoding publishes hundreds of ranges, and a request has up to two hundred comparisons.

    Examples
    --------
    >>> labels = [PossibleValues(low=20, high=29), PossibleValues(frozenset({25, 31})), PossibleValues()]
    >>> column = LabelColumn.of(labels)
    >>> [part.tolist() for part in column.compare("<", 30)], [part.tolist() for part in column.compare(">=", 32)]
    ([[True, False, False], [False, False, False]], [[False, False, False], [True, True, False]])
    """

    labels: Sequence[PossibleValues]
    known: Ints
    """The labels that stand for values or a range: others compare with nothing."""
    low: npt.NDArray[np.object_]
    """The least value of each of these; any kind of value, and numbers beyond what a float holds."""
    high: npt.NDArray[np.object_]
    with_low: Bools
    """Whether the end is a value itself."""
    with_high: Bools

    @classmethod
    def of(cls, labels: Sequence[PossibleValues]) -> LabelColumn:
        """Return the labels with their ends."""
        known = [index for index, label in enumerate(labels) if _has_ends(label)]
        chosen = [labels[index] for index in known]
        return cls(
            labels,
            np.array(known, np.int64),
            _to_objects([label.low if label.values is None else min(label.values) for label in chosen]),
            _to_objects([label.high if label.values is None else max(label.values) for label in chosen]),
            np.array([label.values is not None or label.with_low for label in chosen], bool),
            np.array([label.values is not None or label.with_high for label in chosen], bool),
        )

    def compare(self, sign: Sign, value: Any) -> tuple[Bools, Bools]:
        """Return for which labels all values lie so (below, above …) that they can stand for, and for which none."""
        yes, no = np.zeros(len(self.labels), bool), np.zeros(len(self.labels), bool)
        yes[self.known], no[self.known] = self._are_sure(sign, value), self._are_sure(CONTRARY[sign], value)
        return yes, no

    def _are_sure(self, sign: Sign, value: Any) -> Bools:
        """Return which ranges lie so as a whole: their nearer end does."""
        above = sign in (">", ">=")
        ends, closed = (self.low, self.with_low) if above else (self.high, self.with_high)
        beyond: Bools = SIGNS[">" if above else "<"](ends, value).astype(bool)
        at_end: Bools = (ends == value).astype(bool)
        return beyond | (at_end if sign in (">=", "<=") else at_end & ~closed)


def _has_ends(label: PossibleValues) -> bool:
    """Whether a label can be compared: it stands for values of one kind, or for a range."""
    if label.missing or label.values is None:
        return not label.missing and label.is_bounded
    return len({isinstance(value, str) for value in label.values}) == 1


def _to_objects(values: Sequence[Any]) -> npt.NDArray[np.object_]:
    objects = np.empty(len(values), object)
    objects[:] = values
    return objects

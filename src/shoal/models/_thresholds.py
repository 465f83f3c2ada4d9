"""Thresholds: what a parameter of a model asks for, when that is met, and what may be asked for instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf
from typing import Any

from shoal.models._exact import decimal
from shoal.models._formatting import brief, list_thresholds


@dataclass(frozen=True)
class Threshold:
    """At least a number, of which 1 is nothing: persons of the population, for example."""

    parameter: str

    def is_met(self, asked: Any, attained: Any) -> bool:
        """Compare the numbers as they are written."""
        return bool(attained >= asked)

    def weaken(self, attained: Any) -> Any:
        """Return what can be asked for where just this is attained, ``None`` where that is nothing."""
        return attained if attained >= 2 else None

    def list_weaker(self, asked: Any) -> Sequence[Any]:
        """Return numbers that ask for less, the least first."""
        return range(1, asked)

    def least_values(self, asked: Any) -> int:
        """Return how many distinct sensitive values a class has at least that complies."""
        return 1

    def least_records(self, asked: Any) -> int:
        """Return how many records a class has at least that complies: each holds one value."""
        return self.least_values(asked)


class RecordCount(Threshold):
    """At least so many records."""

    def least_records(self, asked: int) -> int:
        return asked


class ValueCount(Threshold):
    """At least so many distinct sensitive values."""

    def least_values(self, asked: int) -> int:
        return asked


class EvenValueCount(Threshold):
    """Values as uncertain as so many even ones, which need not be a whole number."""

    def weaken(self, attained: float) -> float | None:
        lower = brief(attained, up=False)
        return lower if lower > 1.0 else None

    def list_weaker(self, asked: float) -> Sequence[float]:
        return [number for number in list_thresholds(asked, 1.0) if number > 1.0]

    def least_values(self, asked: float) -> int:
        return ceil(asked)


class Share(Threshold):
    """At most a share; all of it is nothing that could be asked for."""

    def is_met(self, asked: float, attained: float) -> bool:
        return attained <= asked

    def weaken(self, attained: float) -> float | None:
        higher = brief(attained, up=True)
        return higher if higher < 1.0 else None

    def list_weaker(self, asked: float) -> Sequence[float]:
        return list_thresholds(asked, 1.0)[1:]


class ValueShare(Share):
    """At most a share for any one value: fewer values than one by the share cannot all keep it."""

    def least_values(self, asked: float) -> int:
        return -(-1 // decimal(asked))


class Gain(Share):
    """At most a number that has no end."""

    def weaken(self, attained: float) -> float | None:
        return None if attained == inf else max(brief(attained, up=True), 0.001)

    def list_weaker(self, asked: float) -> Sequence[float]:
        return [brief(asked * 1.26**step, up=True) for step in range(20, 0, -1)]  # to about a hundred times as much

"""Readings: what all published texts of a column say, as arrays; each text is read once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.encoding.domains import Domain
from shoal.encoding.label_writing import OF_TEXTS
from shoal.encoding.types import Bools, Floats, Ints
from shoal.hierarchies._steps import Step
from shoal.utility.statistics.covers import CoveredValues


@dataclass(frozen=True)
class Readings:
    """What each of some texts says.

    Attributes
    ----------
    penalties
        The share of the domain that a text leaves open; NaN where nobody can read it.
    climbs
        The lowest level of the hierarchy that is as wide as it, as a share of the height.
    values
        The values that it may stand for.
    missing
        Whether the missing value is among them.
    """

    penalties: Floats
    climbs: Floats
    values: CoveredValues
    missing: Bools

    @classmethod
    def empty(cls, size: int) -> Readings:
        """Return what no texts say, of a column with so many values."""
        return cls(np.zeros(0), np.zeros(0), CoveredValues.of([], size), np.zeros(0, bool))

    @property
    def is_read(self) -> Bools:
        """Which texts somebody can read."""
        return ~np.isnan(self.penalties)

    def take(self, indices: Ints) -> Readings:
        """Return what some of the texts say."""
        return Readings(self.penalties[indices], self.climbs[indices], self.values.take(indices), self.missing[indices])

    def append(self, more: Readings) -> Readings:
        """Return what these texts and others say."""
        return Readings(
            np.append(self.penalties, more.penalties),
            np.append(self.climbs, more.climbs),
            self.values.append(more.values),
            np.append(self.missing, more.missing),
        )

    def covers(self, *, blank: bool = True, open_: Bools | None = None) -> CoveredValues:
        """Return the values of each text with the missing one, if it is one (``blank``), as the last of them.

        Texts that are ``open_`` may stand for any value.
        """
        covers = self.values.with_last(self.missing) if blank else self.values
        return covers if open_ is None else covers.widen(open_)


class LabelCodes(Mapping[str, set[int]]):
    """Label → the values under it, on whatever levels it stands; found when it is asked for.

    Examples
    --------
    >>> codes = LabelCodes([Step.of(["low", "high", "low"]), Step.of(["any", "any", "any"])])
    >>> codes["low"], "high" in codes, "none" in codes, len(codes)
    ({0, 2}, True, False, 3)
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self._orders = [np.argsort(step.numbers, kind="stable") for step in steps]
        self._ends = [np.cumsum(np.bincount(step.numbers, minlength=len(step.names))) for step in steps]
        self._places: dict[str, list[tuple[int, int]]] = {}
        self._found: dict[str, set[int]] = {}
        for level, step in enumerate(steps):
            used = np.diff(self._ends[level], prepend=0) > 0
            for number in np.flatnonzero(used).tolist():
                self._places.setdefault(step.names[number], []).append((level, number))

    def __getitem__(self, label: str) -> set[int]:
        if label not in self._found:
            self._found[label] = {code for place in self._places[label] for code in self._codes(*place)}
        return self._found[label]

    def _codes(self, level: int, number: int) -> list[int]:
        ends = self._ends[level]
        start, end = int(ends[number - 1]) if number else 0, int(ends[number])
        codes: list[int] = self._orders[level][start:end].tolist()
        return codes

    def __contains__(self, label: object) -> bool:
        return label in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def read_ranges(texts: Sequence[str], domain: Domain) -> tuple[Ints, Ints]:
    """Return the first and the last value of each text that is a range of two of the domain's values, -1 of any other.

    Examples
    --------
    >>> domain = Domain("integer", np.array([20, 24, 30]), ("20", "24", "30"))
    >>> [ends.tolist() for ends in read_ranges(["[20, 24]", "[24, 99]", "30"], domain)]
    [[0, -1, -1], [1, -1, -1]]
    """
    if not domain.ordered:
        return np.full(len(texts), -1, np.int64), np.full(len(texts), -1, np.int64)
    ends = pl.Series(texts, dtype=pl.String).str.extract_groups(f"(?s)^{OF_TEXTS.pattern}$").struct.unnest()
    low, high = (_find_codes(column, domain) for column in ends)
    is_range = (low >= 0) & (low < high)
    return np.where(is_range, low, -1), np.where(is_range, high, -1)


def _find_codes(texts: pl.Series, domain: Domain) -> Ints:
    places = texts.cast(pl.Enum(domain.texts), strict=False).to_physical()
    return places.cast(pl.Int64).fill_null(-1).to_numpy()

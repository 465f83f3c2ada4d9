"""Recoding: what does each tuple look like, and who shares a class?"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shoal.frequencies import Frequencies
from shoal.hierarchies.base import Levels

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Form = Literal["labels", "ranges", "sets"]


@dataclass(frozen=True)
class Column:
    """A quasi-identifier as a search sees it."""

    name: str
    levels: Levels
    form: Form
    """How local recoding publishes a class: its label, its range, or its set of values."""
    weight: float = 1.0
    max_level: int = 0
    """The highest level that full-domain recoding may use (0 without a hierarchy)."""
    limits: Ints | None = None
    """The highest level that each code may be shown at, where the policy sets boundaries."""

    @property
    def informed(self) -> float:
        """log2 of the records with the same value, summed over the records: what the raw column tells least."""
        own = self.levels.records[0].astype(np.float64)
        return float((own * np.log2(np.maximum(own, 1.0))).sum())


@dataclass(frozen=True)
class Shown:
    """What a column shows in each class: texts, and which of them each class has."""

    texts: tuple[str | None, ...]
    ids: Ints
    penalties: Floats
    """The certainty penalty of each class."""
    levels: Ints
    """The level whose labels are as wide as what each class shows (for boundaries)."""
    stands_for: Ints
    """Records of the original table whose value could be what each class shows."""

    def take(self, classes: npt.NDArray[np.generic]) -> Shown:
        """Return what some classes show, given by their numbers or by a mask."""
        return Shown(
            self.texts, self.ids[classes], self.penalties[classes], self.levels[classes], self.stands_for[classes]
        )


@dataclass(frozen=True)
class Draft:
    """A recoding worked out: the class of each piece, and what each class shows.

    A piece is a cell of the frequencies, or a part of one where a search split it; class -1 is suppressed.
    """

    members: Ints
    cells: Ints | None
    weights: Ints
    count: int
    columns: tuple[Shown, ...]


class Recoding(ABC):
    """What a search may answer: plain data that says what each tuple is published as."""

    @abstractmethod
    def draft(self, frequencies: Frequencies, columns: tuple[Column, ...]) -> Draft:
        """Work the recoding out."""

    @abstractmethod
    def extended(self, frequencies: Frequencies) -> Recoding:
        """Return the recoding for frequencies that have more tuples and cells at their end, all suppressed."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the recoding as plain data, for the manifest."""

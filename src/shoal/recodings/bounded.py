"""Bounded: one level per column, but no value above its boundary."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from shoal.encoding.domains import STAR
from shoal.encoding.types import Bools, Codes, Ints
from shoal.recodings.base import Column, ColumnLabels, GlobalRecoding, Round


@dataclass(frozen=True)
class Capped:
    """What each value of a column shows at one level of the column: its label there, or its boundary if that is lower.

    Boundaries may lie at different heights, so labels of several levels stand beside each other; equal texts are one.
    """

    texts: tuple[str | None, ...]
    ids: Ints
    """The text of each code."""
    levels: Ints
    """The level that each code is shown at."""

    @classmethod
    def of(cls, column: Column, level: int) -> Capped:
        """Raise a column to a level, each value only as far as it may."""
        levels = np.full(column.levels.size, level, np.int64)
        if column.limits is not None:
            levels = np.minimum(levels, column.limits)
        numbers: dict[str | None, int] = {}
        shown = [column.levels.text(int(at), code) for code, at in enumerate(levels)]
        ids = np.array([numbers.setdefault(text, len(numbers)) for text in shown], np.int64)
        return cls(tuple(numbers), ids, levels)

    @property
    def stars(self) -> Bools:
        """For each code whether it shows ``*``."""
        return np.array([text == STAR for text in self.texts], bool)[self.ids]


@dataclass(frozen=True)
class Bounded(GlobalRecoding):
    """Every value of a column is published at the column's level, or at its boundary where that is lower.

    Without boundaries it is a full-domain recoding. With them no value has to be suppressed for being above its
    boundary: it stops there.

    References
    ----------
    Miller, J., Campan, A. and Truta, T. M. (2008). Constrained k-anonymity: privacy with generalization boundaries.
    P3DM.
    """

    kind: ClassVar[str] = "bounded"

    levels: dict[str, int]
    rounds: tuple[Round, ...] = ()

    def number_codes(self, column: Column) -> Ints:
        """Number codes by what they show."""
        return Capped.of(column, self.levels[column.name]).ids

    def show(self, column: Column, codes: Codes, chosen: Ints) -> ColumnLabels:
        """Show the label at the column's level, or the boundary."""
        shows, levels, own = Capped.of(column, self.levels[column.name]), column.levels, codes[chosen]
        at = shows.levels[own]
        return ColumnLabels(
            shows.texts,
            shows.ids[own],
            levels.penalties[at, own],
            levels.lowest[at, own],
            levels.records[at, own],
            partial(_find_covered, column, shows),
        )

    def summarize(self) -> dict[str, Any]:
        """Return the levels."""
        return {"levels": dict(self.levels)}


def _find_covered(column: Column, shows: Capped) -> Bools:
    """Which values each text covers: those that its label covers, whoever shows it."""
    codes = np.unique(shows.ids, return_index=True)[1]
    at = shows.levels[codes]
    covers: Bools = column.levels.covers[column.levels.label_offsets[at] + column.levels.codes[at, codes]]
    return covers

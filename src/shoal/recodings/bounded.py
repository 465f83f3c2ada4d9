"""Bounded: one level per column, but no value above its boundary."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.encoding.domains import STAR
from shoal.encoding.types import Bools, Ints
from shoal.frequencies.frequencies import Frequencies
from shoal.kernels.group import group
from shoal.recodings.base import ClassAssignment, Column, ColumnLabels, Recoding, Round


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
class Bounded(Recoding):
    """Every value of a column is published at the column's level, or at its boundary where that is lower.

    Without boundaries it is a full-domain recoding. With them no value has to be suppressed for being above its
    boundary: it stops there.

    References
    ----------
    Miller, J., Campan, A. and Truta, T. M. (2008). Constrained k-anonymity: privacy with generalization boundaries.
    P3DM.
    """

    levels: dict[str, int]
    suppressed: Bools = field(repr=False)
    """For each tuple whether it is suppressed."""
    rounds: tuple[Round, ...] = ()

    def draft(self, frequencies: Frequencies, columns: tuple[Column, ...]) -> ClassAssignment:
        """Group the tuples by what they show."""
        capped = [Capped.of(column, self.levels[column.name]) for column in columns]
        kept = ~self.suppressed
        codes = frequencies.tuples[kept].T
        groups, rows = group(
            [shows.ids[held] for shows, held in zip(capped, codes, strict=True)],
            [len(shows.texts) for shows in capped],
        )
        members = np.full(len(frequencies.tuples), -1, np.int64)
        members[kept] = groups
        shown = tuple(
            _shown(column, shows, held[rows]) for column, shows, held in zip(columns, capped, codes, strict=True)
        )
        return ClassAssignment(members[frequencies.cell_tuples], None, frequencies.cell_counts, len(rows), shown)

    def extended(self, frequencies: Frequencies) -> Bounded:
        """Suppress the tuples that the search did not see."""
        more = np.ones(len(frequencies.tuples) - len(self.suppressed), bool)
        return replace(self, suppressed=np.append(self.suppressed, more))

    def to_dict(self) -> dict[str, Any]:
        """Return the levels, and how the search came to them."""
        rounds = {"rounds": [one.to_dict() for one in self.rounds]} if self.rounds else {}
        return {"recoding": "bounded", "levels": dict(self.levels), **rounds}


def _shown(column: Column, shows: Capped, codes: npt.NDArray[np.integer[Any]]) -> ColumnLabels:
    levels, at = column.levels, shows.levels[codes]
    return ColumnLabels(
        shows.texts,
        shows.ids[codes],
        levels.penalties[at, codes],
        levels.lowest[at, codes],
        levels.records[at, codes],
        partial(_covers, column, shows),
    )


def _covers(column: Column, shows: Capped) -> Bools:
    """Which values each text covers: those that its label covers, whoever shows it."""
    codes = np.unique(shows.ids, return_index=True)[1]
    at = shows.levels[codes]
    covers: Bools = column.levels.covers[column.levels.label_offsets[at] + column.levels.codes[at, codes]]
    return covers

"""CellSuppression: each record shows its values as they are, but for single cells that show ``*``."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from shoal.encoding.domains import STAR
from shoal.encoding.types import Bools, Ints
from shoal.frequencies.frequencies import Frequencies
from shoal.hierarchies.base import Levels
from shoal.kernels.group import group
from shoal.recodings.base import ClassAssignment, Column, ColumnLabels, Recoding


@dataclass(frozen=True)
class CellSuppression(Recoding):
    """Each piece of a cell shows its values, or ``*`` in some columns; hierarchies are not used.

    References
    ----------
    Meyerson, A. and Williams, R. (2004). On the complexity of optimal k-anonymity. PODS.
    """

    kind: ClassVar[str] = "cell-suppression"

    blank: Bools = field(repr=False)
    """``blank[piece, column]``: whether it shows ``*`` there; in every column it is suppressed."""
    cells: Ints = field(repr=False)
    """The cell of each piece, in order."""
    weights: Ints = field(repr=False)
    """The records of each piece."""
    names: tuple[str, ...] = ()
    reading: str = ""
    """How a ``*`` was read by the search."""
    bound: float | None = None
    """The weighted number of cells that the search could prove to be needed, where it proved some."""
    cost: float = 0.0
    """The weighted number of suppressed cells."""

    def draft(self, frequencies: Frequencies, columns: tuple[Column, ...]) -> ClassAssignment:
        """Group the pieces by what they show."""
        kept = ~np.logical_and.reduce(self.blank, axis=1)
        codes = frequencies.tuples[frequencies.cell_tuples[self.cells]].astype(np.int64)
        own = [
            np.where(self.blank[:, index], column.levels.size, codes[:, index])[kept]
            for index, column in enumerate(columns)
        ]
        groups, rows = group(own, [column.levels.size + 1 for column in columns])
        members = np.full(len(kept), -1, np.int64)
        members[kept] = groups
        shown = tuple(_show(column, held[rows]) for column, held in zip(columns, own, strict=True))
        return ClassAssignment(members, self.cells, self.weights, len(rows), shown)

    def extend(self, frequencies: Frequencies) -> CellSuppression:
        """Suppress the cells that the search did not see."""
        more = np.arange(int(self.cells.max(initial=-1)) + 1, len(frequencies.cell_counts))
        blank = np.ones((len(more), self.blank.shape[1]), bool)
        return replace(
            self,
            blank=np.concatenate([self.blank, blank]),
            cells=np.append(self.cells, more),
            weights=np.append(self.weights, frequencies.cell_counts[more]),
        )

    def summarize(self) -> dict[str, Any]:
        """Return how many cells are suppressed, and what the search could prove."""
        counts = self.weights @ self.blank
        told: dict[str, Any] = {
            "cells": int(counts.sum()),
            "columns": dict(zip(self.names, counts.tolist(), strict=True)),
            "reading": self.reading,
        }
        if self.bound is not None:
            told |= {"bound": self.bound, "proven": self.cost <= self.bound + 1e-6}
        return told


def _show(column: Column, shown: Ints) -> ColumnLabels:
    """Return what classes show in a column, given their codes; one more than the last is ``*``."""
    levels, stars = column.levels, shown == column.levels.size
    codes = np.where(stars, 0, shown)
    texts = (*levels.labels[0], STAR)
    ids = np.where(stars, len(levels.labels[0]), levels.codes[0, codes])
    return ColumnLabels(
        texts,
        ids.astype(np.int64),
        np.where(stars, 1.0, levels.penalties[0, codes]),
        np.where(stars, levels.height, 0).astype(np.int64),
        np.where(stars, int(levels.own.sum()), levels.records[0, codes]).astype(np.int64),
        partial(_covers, levels),
    )


def _covers(levels: Levels) -> Bools:
    """Return ``[text, code]``: whether a text may stand for a value."""
    single = levels.covers[: len(levels.labels[0])]
    return np.vstack([single, np.ones((1, single.shape[1]), bool)])

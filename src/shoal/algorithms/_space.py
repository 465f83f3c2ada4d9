"""Space: the columns as flat arrays, for kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.recodings.base import Column

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Space:
    """The columns one after another, as flat arrays for kernels."""

    forms: Ints
    offsets: Ints
    joins: npt.NDArray[np.int32]
    penalties: npt.NDArray[np.float64]
    penalty_offsets: Ints
    points: npt.NDArray[np.float64]
    weights: npt.NDArray[np.float64]
    limits: npt.NDArray[np.int32]
    heights: Ints
    """The lowest level at which all values of a column share a label: the height of the tree as it is used."""

    @classmethod
    def of(cls, columns: tuple[Column, ...]) -> Space:
        """Lay the columns out."""
        levels = [column.levels for column in columns]
        sizes = [level.size for level in levels]
        forms = [("labels", "ranges", "sets").index(column.form) for column in columns]
        return cls(
            np.array(forms, np.int64),
            np.cumsum([0, *sizes]).astype(np.int64),
            np.concatenate([np.append(level.joins, 0)[: level.size] for level in levels]).astype(np.int32),
            np.concatenate([level.penalties.ravel() for level in levels]),
            np.cumsum([0, *(level.penalties.size for level in levels)])[:-1].astype(np.int64),
            np.concatenate([_points(column) for column in columns]),
            np.array([column.weight for column in columns], np.float64),
            np.concatenate([_limits(column) for column in columns]).astype(np.int32),
            np.array([_height(column) for column in columns], np.int64),
        )

    def arrays(self) -> tuple[npt.NDArray[np.generic], ...]:
        """Return what decides on the loss and the boundaries of a class, in the order of the kernels."""
        return (
            self.forms,
            self.offsets,
            self.joins,
            self.penalties,
            self.penalty_offsets,
            self.points,
            self.weights,
            self.limits,
        )


def _limits(column: Column) -> Ints:
    unlimited = np.full(column.levels.size, 1 << 30, np.int64)
    return unlimited if column.limits is None else column.limits


def _height(column: Column) -> int:
    between = column.levels.joins[: max(len(column.levels.domain) - 1, 0)]
    return max(int(between.max(initial=0)), 1)


def _points(column: Column) -> npt.NDArray[np.float64]:
    """Each value as a share of the column's range; not a number for the missing one."""
    points = np.full(column.levels.size, np.nan)
    domain = column.levels.domain
    if domain.ordered:
        points[: len(domain)] = domain.values.astype(np.float64) / (domain.span or 1.0)
    return points

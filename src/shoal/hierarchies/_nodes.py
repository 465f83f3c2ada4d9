"""The labels of each level as plain data: what is printed, drawn and compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.encoding.types import Floats, Ints
from shoal.hierarchies.base import Levels

_CONTRACT = ("label", "records", "low", "high", "distortion", "values", "loss")


@dataclass(frozen=True)
class Node:
    """One label of one level."""

    label: str | None
    """What is published; ``None`` is the missing value."""
    records: int
    values: int
    """How many values it covers."""
    low: float | None
    high: float | None
    """What it covers, where it is a range."""
    distortion: float
    loss: float
    """Its certainty penalty, from 0 (one value) to 1 (everything)."""
    first: int
    last: int
    """Its first and its last value, in hierarchy order."""
    parents: tuple[int, ...] = ()
    """Its places in the level above: one, or several where levels do not nest, that with most of its values first."""

    def to_dict(self) -> dict[str, Any]:
        """Return what scripts rely on."""
        return {name: getattr(self, name) for name in _CONTRACT}


@dataclass(frozen=True)
class Row:
    """All labels of one level."""

    level: int
    nodes: tuple[Node, ...]

    @cached_property
    def records(self) -> tuple[int, float, int]:
        """Records per label: the least, the median, the most."""
        found = [node.records for node in self.nodes]
        return (min(found), median(found), max(found)) if found else (0, 0, 0)

    @cached_property
    def distortion(self) -> tuple[float, float]:
        """Distortion of a label: the least and the most."""
        found = [node.distortion for node in self.nodes]
        return (min(found), max(found)) if found else (0.0, 0.0)

    @cached_property
    def loss(self) -> float:
        """Certainty penalty of the column, if every record is shown at this level."""
        total = sum(node.records for node in self.nodes)
        return sum(node.loss * node.records for node in self.nodes) / total if total else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return what scripts rely on."""
        least, middle, most = self.records
        return {
            "level": self.level,
            "nodes": [node.to_dict() for node in self.nodes],
            "records": {"least": least, "median": middle, "most": most},
            "distortion": {"least": self.distortion[0], "most": self.distortion[1]},
            "loss": self.loss,
        }


def rows(levels: Levels, distortions: Floats, counts: npt.ArrayLike) -> list[Row]:
    """Return the nodes of each level, the values first.

    Parameters
    ----------
    levels
        The levels of a column.
    distortions
        ``distortions[level, code]``.
    counts
        The records of each code.

    Examples
    --------
    >>> from shoal.encoding.domains import Domain
    >>> from shoal.hierarchies.intervals import Intervals
    >>> levels = Intervals(widths=[5]).build(Domain.of("integer", [20, 24, 25]), missing=None)
    >>> [(node.label, node.records) for node in rows(levels, levels.penalties, [7, 1, 2])[1].nodes]
    [('[20, 24]', 8), ('[25, 29]', 2)]
    """
    if not levels.size:
        return [Row(level, ()) for level in range(levels.height + 1)]
    held = np.asarray(counts, np.int64)
    return [Row(level, _nodes(levels, level, distortions[level], held)) for level in range(levels.height + 1)]


def _nodes(levels: Levels, level: int, distortions: Floats, counts: Ints) -> tuple[Node, ...]:
    codes = levels.codes[level]
    used, first, values = np.unique(codes, return_index=True, return_counts=True)
    _, from_end = np.unique(codes[::-1], return_index=True)
    records = np.bincount(codes, weights=counts)[used].astype(np.int64)
    columns: Sequence[Sequence[Any]] = (
        [levels.labels[level][number] for number in used.tolist()],
        records.tolist(),
        values.tolist(),
        _ends(levels.lows[level, first]),
        _ends(levels.highs[level, first]),
        distortions[first].tolist(),
        levels.penalties[level, first].tolist(),
        first.tolist(),
        (len(codes) - 1 - from_end).tolist(),
        _parents(levels, level),
    )
    return tuple(Node(*cells) for cells in zip(*columns, strict=True))


def _ends(ends: Floats) -> list[float | None]:
    return [None if isnan(end) else end for end in ends.tolist()]


def _parents(levels: Levels, level: int) -> list[tuple[int, ...]]:
    below = levels.codes[level]
    if level == levels.height:
        return [()] * len(np.unique(below))
    _, above = np.unique(levels.codes[level + 1], return_inverse=True)  # places among the labels that are used
    width = int(above.max()) + 1
    pairs, shared = np.unique(below.astype(np.int64) * width + above, return_counts=True)
    groups: dict[int, list[int]] = {}
    for index in np.lexsort([-shared, pairs // width]).tolist():
        groups.setdefault(int(pairs[index]) // width, []).append(int(pairs[index]) % width)
    return [tuple(parents) for parents in groups.values()]

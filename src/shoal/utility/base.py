"""Metric: how much was lost, or kept?  Outcome: what a metric looks at."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from shoal.catalog import Entry

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Outcome:
    """What became of a table: the published classes, and how much each cell of a class lost.

    A search fills it from a recoding that it considers, an audit from the published table; the formulas are
    the same.

    Attributes
    ----------
    records
        Records of the original table.
    sizes
        Records of each published class, without the suppressed ones.
    penalties
        ``penalties[class, column]``: certainty penalty, from 0 (the value as it is) to 1 (nothing).
    suppressed
        Records that show nothing, starred or left out.
    starred
        Those of them that are published, as one class.
    k
        The asked k, for metrics that compare with it.
    """

    records: int
    sizes: Ints
    penalties: Floats
    columns: tuple[str, ...]
    weights: Floats
    suppressed: int = 0
    starred: int = 0
    k: int = 1


@dataclass(frozen=True)
class Measured:
    """The value of a metric, in total and, where it has one, for each column."""

    total: float
    columns: dict[str, float] = field(default_factory=dict)


class Metric(Entry):
    """Base of all losses and utilities."""

    family: ClassVar[str] = "utility"
    direction: ClassVar[Literal["lower is better", "higher is better"]] = "lower is better"
    range: ClassVar[tuple[float, float]] = (0.0, float("inf"))

    @abstractmethod
    def measure(self, outcome: Outcome) -> Measured:
        """Return the value of the metric."""

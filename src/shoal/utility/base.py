"""Metric: how much was lost, or kept?  Outcome: what a metric looks at."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.encoding.types import Floats
from shoal.registry import Entry


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a table, or of each of many candidate tables: totals over its published records.

    A search fills it from a recoding that it considers, an audit from the published table; the formulas are the
    same. Every field that is an array may have leading axes, one entry per candidate; fields *by column* have the
    columns as their last axis. *Kept* records are those that are published and not suppressed.

    Attributes
    ----------
    records
        Records of the original table.
    suppressed
        Records that show nothing, starred or left out.
    starred
        Those of them that are published, as one class.
    classes, squares
        Number of classes of kept records, and the sum of their squared sizes.
    penalty
        By column: the certainty penalties of the kept records, from 0 (the value as it is) to 1 (nothing) each.
    exact
        By column: kept records that show one single value.
    generalization_height
        By column: the levels of what the kept records show, each as a share of the hierarchy's height.
    log_cover_size
        By column: log2 of the original records that what is shown could stand for, summed over the kept records.
    suppressed_entropy
        By column: log2 of the suppressed records over those of them with the same label, summed over them; only
        known while a search looks at a full-domain recoding.
    log_value_counts
        By column: log2 of the original records with the same value, summed over all records.
    distinct
        By column: the number of values of the domain.
    heights
        By column: the number of the top level of the hierarchy.
    k
        The asked k, for metrics that compare with it.
    whole
        The same recoding with nobody suppressed; only known while a search looks at a full-domain recoding.
    values
        By column: the values of the domain that what is shown could stand for, summed over the kept records.
    divergence
        By column: the bits by which the published distribution differs from the original one.
    texts
        By column: the number of different texts that are published.
    minorities
        Sensitive column → kept records whose value is not the most frequent one of their class.

    The last four are counted in a published table; a search does not know them.
    """

    records: int
    columns: tuple[str, ...]
    weights: Floats
    suppressed: Any
    classes: Any
    squares: Any
    penalty: Floats
    exact: Floats
    generalization_height: Floats
    log_cover_size: Floats
    log_value_counts: Floats
    distinct: Floats
    heights: Floats
    starred: Any = 0
    k: int = 1
    suppressed_entropy: Floats | None = None
    whole: Outcome | None = None
    values: Floats | None = None
    divergence: Floats | None = None
    texts: Floats | None = None
    minorities: Mapping[str, int] = field(default_factory=dict)

    @property
    def kept(self) -> Any:
        """Records that are published and not suppressed."""
        return self.records - self.suppressed

    @property
    def generalized(self) -> Outcome | None:
        """The same recoding with nobody suppressed; ``None`` where that is not known."""
        if self.whole is not None:
            return self.whole
        return None if np.any(self.suppressed) else self

    @property
    def relative_weights(self) -> Floats:
        """The weight of each column over the largest one, so that equal weights change no sum."""
        largest = float(self.weights.max(initial=0.0))
        return self.weights / largest if largest > 0.0 else np.ones_like(self.weights)

    def optimistic(self, least: int) -> Outcome:
        """Return the same outcome with classes as small as ``least`` records allow."""
        whole = None if self.whole is None else self.whole.optimistic(1)
        small = max(least, 1)
        return replace(self, classes=np.maximum(self.kept // small, 1), squares=self.kept * small, whole=whole)


@dataclass(frozen=True, kw_only=True)
class PricedCells:
    """What one column shows, in each of many classes: what a cell loses follows from it, where losses add up.

    Attributes
    ----------
    penalty
        The certainty penalty, from 0 (the value as it is) to 1 (nothing).
    level
        The level of the hierarchy whose labels are as wide.
    cover
        The original records that it could stand for.
    distinct
        The number of values of the domain.
    height
        The number of the top level of the hierarchy.
    """

    penalty: Floats
    level: Any
    cover: Any
    distinct: int
    height: int


@dataclass(frozen=True)
class Measured:
    """The value of a metric, in total and, where it has one, for each column."""

    total: float
    columns: dict[str, float] = field(default_factory=dict)


class Metric(Entry):
    """Base of all losses and utilities.

    An entry answers :meth:`totals`, by a formula over an :class:`Outcome` that holds for one table and, by
    broadcasting, for thousands of candidates at once; :meth:`by_column` where there is a value per column.
    """

    family: ClassVar[str] = "utility"
    direction: ClassVar[Literal["lower is better", "higher is better"]] = "lower is better"
    range: ClassVar[tuple[float, float]] = (0.0, float("inf"))
    unsearchable: ClassVar[str] = ""
    """Why no search can minimize it, and what to take instead; empty where one can."""
    monotone: ClassVar[bool] = False
    """Whether it never falls when a kept record is suppressed, when a label gets wider, or when classes are joined."""

    @property
    def priced_by(self) -> Literal["penalty", "level", "cover"] | None:
        """Which of :class:`PricedCells` decides what a cell loses, where the loss is a sum over cells; else ``None``.

        A local search compares classes one by one: it can minimize such losses only. One that follows from the
        penalty is linear in it as soon as it is above 0.
        """
        return None

    def price(self, cells: PricedCells) -> Floats:
        """Return what each cell loses, up to a factor and a constant that are the same for all of a column."""
        raise NotImplementedError(f"{self.key()} is no sum over cells")

    @classmethod
    def notes(cls) -> dict[str, Any]:
        """Return its other names, which direction is better, and whether a search can go by it."""
        return {"aliases": list(cls.aliases), "direction": cls.direction, "searched": not cls.unsearchable}

    @abstractmethod
    def totals(self, outcome: Outcome) -> Any:
        """Return the value of the metric: a number, or one per candidate."""

    def by_column(self, outcome: Outcome) -> Floats | None:
        """Return the value of each column, on the last axis; ``None`` where the metric has none."""
        return None

    def known(self, outcome: Outcome) -> bool:
        """Return whether the outcome holds what the metric needs."""
        return True

    def auditable(self) -> Metric:
        """Return the form of this metric that can be counted in every published table: itself, mostly."""
        return self

    def ranks(self, outcome: Outcome) -> Floats:
        """Return what candidates are ordered by, compared from the first entry of the last axis to the last."""
        values = np.asarray(self.totals(outcome), np.float64)[..., None]
        return -values if self.direction == "higher is better" else values

    def bounds(self, outcome: Outcome) -> Floats | None:
        """Return ranks that no recoding goes below which shows the same in some columns and anything in the others.

        ``None`` where nothing is known. The outcome counts the other columns as if they lost nothing; who is
        suppressed in it is suppressed whatever they show, and its classes are as small as the models allow. So
        :meth:`ranks` itself is a bound for metrics that are :attr:`monotone`.
        """
        return self.ranks(outcome) if self.monotone else None

    def measure(self, outcome: Outcome) -> Measured:
        """Return the value of the metric for one table."""
        columns = self.by_column(outcome)
        named = {} if columns is None else dict(zip(outcome.columns, np.asarray(columns).tolist(), strict=True))
        return Measured(float(self.totals(outcome)), named)


class ColumnMetric(Metric):
    """Base of those that have a value for each column, from which the total follows."""

    @abstractmethod
    def by_column(self, outcome: Outcome) -> Floats:
        """Return the value of each column, on the last axis."""


class SumMetric(ColumnMetric):
    """Base of those whose total is the sum of the columns, each by its weight over the largest one."""

    def totals(self, outcome: Outcome) -> Any:
        """Return the weighted sum."""
        return self.by_column(outcome) @ outcome.relative_weights


class MeanMetric(ColumnMetric):
    """Base of those whose total is the mean of the columns, each by its weight: the mean of all cells."""

    def totals(self, outcome: Outcome) -> Any:
        """Return the weighted mean."""
        return self.by_column(outcome) @ outcome.weights / outcome.weights.sum()

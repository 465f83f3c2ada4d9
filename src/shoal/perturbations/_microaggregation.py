"""Microaggregation: what all its methods share; each of them only says which records are a class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from shoal.encoding.types import Floats, Ints
from shoal.errors import Fault
from shoal.models.base import PrivacyModel
from shoal.perturbations._class_models import ClassModels, class_model_faults, model_contradictions
from shoal.perturbations._sse_bound import bound_sse
from shoal.perturbations.base import (
    ColumnNames,
    ColumnValues,
    Microdata,
    Perturbation,
    Perturbed,
    missing_faults,
    spread_faults,
)
from shoal.registry import OneOf

Center = Literal["mean", "median", "mode"]
_MOST_CATEGORIES = 100
"""So many categories of a column make features of their own, at most."""


class Microaggregation(Perturbation):
    """Base of all microaggregations: classes of at least k records, each of which shows what its class gives.

    Every record shows the mean (of numbers and dates), the lower median or the mode of its class, in all columns
    together: so at least k records show the same, whatever else is known of them.

    Distances are Euclidean, between features: a number by its standard deviation, or by a given scale; a column of
    which the median is shown by its ranks; a category by whether a record has it.
    """

    guarantee: ClassVar[str] = "aggregates"
    counts_records: ClassVar[bool] = True

    k: Annotated[int, Field(ge=2, strict=True)]
    """How many records at least show the same."""
    by: Mapping[str, Center] = {}
    """What a class shows of a column: by default the mean of numbers and dates, the mode of texts."""
    scales: Mapping[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = {}
    """What is one unit of distance in a column of numbers or dates (days, microseconds); by default its standard
    deviation."""
    within: ColumnNames = ()
    """Classes are made within each combination of values of these columns."""
    missing: Literal["refuse", "own"] = "refuse"
    """Records without some values: an error, or classes of their own for each pattern of what is missing, which is
    published as missing."""
    weighted: bool = False
    """Whether means, medians and modes count each record by its ``survey_weight``."""
    models: tuple[Annotated[PrivacyModel, OneOf("models")], ...] = ()
    """What is promised of the sensitive values of each class beside k: l-diversity, t-closeness and their like. A class
    that does not comply is merged with one that is near."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The strata, and the columns that models look at."""
        looked_at = (name for model in self.models for name in model.sensitive_columns)
        return tuple(dict.fromkeys((*self.within, *looked_at)))

    @property
    def class_models(self) -> tuple[PrivacyModel, ...]:
        """Those of the entry."""
        return self.models

    @property
    def least_records(self) -> int:
        """A class."""
        return self.k

    def promise(self) -> dict[str, Any]:
        """Return k and what classes show."""
        return {"k": self.k, "by": dict(self.by), "weighted": self.weighted, "models": self.models}

    def contradictions(self) -> Iterator[Fault]:
        """Yield parameters that are about other columns."""
        for field in ("by", "scales"):
            for name in getattr(self, field):
                if name not in self.columns:
                    yield Fault("is about a column that is not perturbed here", f"{field}.{name}")
        for name in self.within:
            if name in self.columns:
                yield Fault("a column cannot be perturbed within its own values", f"within.{name}")
        if len(set(self.columns)) < len(self.columns):
            yield Fault("names a column twice", "columns")
        yield from model_contradictions(self.models, self.columns)

    def faults(self, data: Microdata) -> Iterator[Fault]:
        """Yield missing values, columns that have no distance, and strata that are smaller than k."""
        if self.weighted and (data.weights is None or not (data.weights > 0).all()):
            yield Fault(
                "needs a survey weight above 0 for each record", "weighted", hint="say survey_weight: (a column)"
            )
        if self.missing == "refuse":
            yield from missing_faults(data, self.columns, "say missing: own, or fill them in first")
        for name in self.columns:
            yield from self._column_faults(name, data.columns[name])
        yield from spread_faults(data, self.columns, self.scales)
        strata, patterns, count = self._strata(data)
        small = np.bincount(strata, minlength=count)
        if count > 1 and small.min() < self.k:
            kinds = "patterns of missing values" if patterns else "strata"
            got = f"one of {int(small.min())} records, for k = {self.k}"
            yield Fault(f"{kinds} with too few records for a class", "missing" if patterns else "within", got)
        elif self.models:
            yield from class_model_faults(self.models, data, strata)

    def _column_faults(self, name: str, column: ColumnValues) -> Iterator[Fault]:
        center = self.by.get(name)
        if not column.is_ordered and (center in ("mean", "median") or name in self.scales):
            yield Fault(f"a {center or 'scale'} needs a column of numbers or dates", name, f"{column.kind} values")
        elif not column.is_ordered or center == "mode":
            if len(column.distinct) > _MOST_CATEGORIES:
                got = f"{len(column.distinct)} categories, at most {_MOST_CATEGORIES}"
                yield Fault("has too many categories to be near each other", name, got, "group them first")
        elif len(column.distinct) < 2 and name not in self.scales:
            yield Fault("all values are the same: there is no variance to standardize by", name, hint="leave it out")

    def _strata(self, data: Microdata) -> tuple[Ints, bool, int]:
        """Return the stratum of each record, whether values are missing, and how many strata there are."""
        strata, count = data.group_by(self.within)
        missing = np.zeros(data.records, np.int64)
        for name in self.columns:
            missing = np.unique(missing * 2 + data.columns[name].missing, return_inverse=True)[1].astype(np.int64)
        joined = strata * (int(missing.max(initial=0)) + 1) + missing
        found, strata = np.unique(joined, return_inverse=True)
        return strata.astype(np.int64), bool(missing.any()), max(len(found), count)

    @abstractmethod
    def partition(self, points: Floats, weights: Floats, rng: np.random.Generator) -> Ints:
        """Return the class of each record, each of at least k.

        Parameters
        ----------
        points
            The features of each record; none is missing.
        weights
            How much each record counts in a mean.
        rng
            Random numbers, for methods that need some.
        """

    def classify(self, data: Microdata, rows: Ints, points: Floats, weights: Floats) -> Ints:
        """Return the class of each of some records: one where there is no distance, or no room for two."""
        if not points.shape[1] or len(rows) < 2 * self.k:
            return np.zeros(len(rows), np.int64)
        return self.partition(points, weights, data.rng)

    def perturb(self, data: Microdata) -> Perturbed:
        """Return what each class shows, and a proven bound of the squared error."""
        strata, _, count = self._strata(data)
        weights = data.weights if self.weighted and data.weights is not None else np.ones(data.records)
        classes, made, bound = np.zeros(data.records, np.int64), 0, 0.0
        proven, models = True, ClassModels.of(self.models, data) if self.models else None
        for stratum in range(count):
            rows = np.flatnonzero(strata == stratum)
            points = self._features(data, rows)
            part = self.classify(data, rows, points, weights[rows])
            part = part if models is None else models.merge(points, rows, part)
            classes[rows] = part + made
            made += int(part.max(initial=-1)) + 1
            least = self.bound(self._standardized(data, rows), part)
            proven, bound = proven and least is not None, bound + (least or 0.0)
        columns = {name: self._show(name, data.columns[name], classes, weights) for name in self.columns}
        return Perturbed(columns=columns, bound=bound if proven and bound > 0 else None)

    def bound(self, points: Floats, classes: Ints) -> float | None:
        """Return what no classes of k have less squared error than, in standardized numbers; ``None`` where it would
        take too long."""
        return bound_sse(points, self.k, classes)

    def _features(self, data: Microdata, rows: Ints) -> Floats:
        """Return the features of some records; columns that are missing there have none."""
        made = [self._features_of(name, data.columns[name], rows) for name in self.columns]
        return np.ascontiguousarray(np.concatenate(made, axis=1))

    def _features_of(self, name: str, column: ColumnValues, rows: Ints) -> Floats:
        if column.missing[rows].any():
            return np.zeros((len(rows), 0))
        center = self.by.get(name, "mean" if column.is_ordered else "mode")
        if center == "mode":
            return _indicate(column, rows)
        whole = column.numbers[~column.missing] if center == "mean" else _ranks(column)[~column.missing]
        numbers = column.numbers[rows] if center == "mean" else _ranks(column)[rows]
        scale = self.scales.get(name) or float(whole.std(ddof=1))
        feature: Floats = ((numbers - whole.mean()) / scale)[:, None]
        return feature

    def _standardized(self, data: Microdata, rows: Ints) -> Floats:
        """Return the numbers of some records, each column by its standard deviation: what an audit measures.

        They are counted from the least one: far from zero, digits would be lost that tell numbers apart.
        """
        columns = [data.columns[name] for name in self.columns if data.columns[name].is_ordered]
        present = [column for column in columns if not column.missing[rows].any() and len(column.distinct) > 1]
        known = [column.numbers[~column.missing] for column in present]
        scaled = [
            (column.numbers[rows] - all_of.min()) / all_of.std(ddof=1)
            for column, all_of in zip(present, known, strict=True)
        ]
        return np.ascontiguousarray(np.stack(scaled, axis=1)) if scaled else np.zeros((len(rows), 0))

    def _show(self, name: str, column: ColumnValues, classes: Ints, weights: Floats) -> ColumnValues:
        center = self.by.get(name, "mean" if column.is_ordered else "mode")
        here, known = partial(_CENTERS[center], count=int(classes.max(initial=-1)) + 1), ~column.missing
        shown = here(column.values[known], classes[known], weights[known])
        return column.with_values(shown[classes], column.missing)


def _indicate(column: ColumnValues, rows: Ints) -> Floats:
    """Return a feature for each category, scaled so that all of them together have a variance of one."""
    codes, size = column.codes, len(column.distinct)
    shares = np.bincount(codes[codes >= 0], minlength=size) / max(int((codes >= 0).sum()), 1)
    spread = float(np.sqrt(max(1.0 - (shares**2).sum(), 1e-12)))
    features: Floats = (codes[rows][:, None] == np.arange(size)) / spread
    return features


def _ranks(column: ColumnValues) -> Floats:
    """Return the middle rank of each value among those that are there."""
    codes, known = column.codes, ~column.missing
    counts = np.bincount(codes[known], minlength=len(column.distinct))
    middle = np.cumsum(counts) - counts / 2
    ranks: Floats = middle[np.maximum(codes, 0)]
    return ranks


def class_means(values: npt.NDArray[Any], classes: Ints, weights: Floats, count: int) -> npt.NDArray[Any]:
    """Return the mean of each class: exact in its last digits, for each is taken from the class's first value."""
    numbers = values.astype(np.float64)
    first = np.zeros(count)
    first[classes[::-1]] = numbers[::-1]
    total = np.bincount(classes, weights, count)
    moved = np.bincount(classes, weights * (numbers - first[classes]), count)
    return first + moved / np.where(total > 0, total, 1.0)


def _medians(values: npt.NDArray[Any], classes: Ints, weights: Floats, count: int) -> npt.NDArray[Any]:
    """Return the lower median of each class: the first value by which half of it is reached."""
    order = np.lexsort((values, classes))
    ends = np.cumsum(weights[order])
    last = np.searchsorted(classes[order], np.arange(count), side="right")
    before = np.where(last > 0, np.append(0.0, ends)[np.searchsorted(classes[order], np.arange(count))], 0.0)
    half = before + (np.append(0.0, ends)[last] - before) / 2
    at = np.searchsorted(ends, half * (1 - 1e-12))
    return values[order][np.minimum(at, np.maximum(last - 1, 0))] if len(values) else np.zeros(count, values.dtype)


def _modes(values: npt.NDArray[Any], classes: Ints, weights: Floats, count: int) -> npt.NDArray[Any]:
    """Return the most frequent value of each class, of equals the least."""
    found, codes = np.unique(values, return_inverse=True)
    pairs, of_record = np.unique(classes * max(len(found), 1) + codes, return_inverse=True)
    amounts = np.bincount(of_record, weights)
    members, kinds = np.divmod(pairs, max(len(found), 1))
    best = np.lexsort((kinds, -amounts, members))
    first = best[np.unique(members[best], return_index=True)[1]]
    shown = np.zeros(count, values.dtype)
    shown[members[first]] = found[kinds[first]]
    return shown


_CENTERS = {"mean": class_means, "median": _medians, "mode": _modes}

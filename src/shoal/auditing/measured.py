"""measure_classes(): what a table attains whatever was promised: k in three ways; l, t, α, β, δ of columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from math import inf
from typing import Any, cast

import numpy as np

from shoal.auditing.census import CountedClasses
from shoal.auditing.wildcards import count_matching_anything
from shoal.encoding.types import Floats, Ints
from shoal.models.base import Census, PrivacyModel, ValueCounts
from shoal.policy import Policy
from shoal.registry import find, names


@dataclass(frozen=True)
class ModelMeasure:
    """What a table attains of one model on one sensitive column."""

    model: PrivacyModel
    attained: Any

    def to_dict(self) -> dict[str, Any]:
        """Return the value as plain data, with the parameters that it was measured for."""
        named = {name: getattr(self.model, name) for name in ("c", "distance") if hasattr(self.model, name)}
        told = {"name": self.model.key(), **named, "attained": None if self.attained == inf else self.attained}
        return told | ({"unlimited": True} if self.attained == inf else {})


@dataclass(frozen=True)
class Measures:
    """What a table attains, as a count finds it; nothing of it was asked for.

    Attributes
    ----------
    k
        The size of the smallest class where a missing or suppressed cell is a value of its own.
    k_matching_anything
        The same where such a cell matches anything: how many records the loneliest one could be. ``None`` where there
        are too many patterns of such cells to compare, and where persons are counted.
    k_without_suppressed
        The smallest class of those that show something.
    sensitive
        Sensitive column → what is attained on it.
    not_measured
        Sensitive column → why nothing is told of it.
    """

    k: int | None = None
    k_matching_anything: int | None = None
    k_without_suppressed: int | None = None
    sensitive: dict[str, tuple[ModelMeasure, ...]] = field(default_factory=dict)
    not_measured: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the values as plain data."""
        return {
            "k": {
                "own_value": self.k,
                "matches_anything": self.k_matching_anything,
                "without_suppressed": self.k_without_suppressed,
            },
            "sensitive": {name: [one.to_dict() for one in told] for name, told in self.sensitive.items()},
            "not_measured": self.not_measured,
        }


def measure_classes(counted: CountedClasses, policy: Policy) -> Measures:
    """Measure a table that was counted.

    Cost: a few passes over the counts of each class and value. Only the worst classes are told exactly, by the
    recount of each model.
    """
    census, sensitive = counted.census, tuple(policy.sensitive)
    told = {name: tuple(_readings(census, name)) for name in sensitive if (name,) in census.value_counts}
    absent = {name: "the column is not in the published table" for name in sensitive if name not in told}
    if counted.persons != "exact":
        told, absent = {}, dict.fromkeys(sensitive, "which records are about one person is not known")
    shown = census.sizes[~counted.is_starred.to_numpy()]
    wild = (
        None if policy.subject else count_matching_anything(counted.classes)
    )  # persons of two classes may be the same
    return Measures(_least(census.sizes), wild, _least(shown), told, absent)


def _least(sizes: Ints) -> int | None:
    return min(sizes.tolist(), default=None)


def _readings(census: Census, name: str) -> Iterator[ModelMeasure]:
    counted = census.value_counts[name,]
    is_plain = _is_plain(census, counted)
    for model in _models_on(name, ordered=counted.ranked):
        scores = model.score_classes(census) if is_plain and len(census.sizes) else None
        attained = model.recount(census if scores is None else select_worst(census, name, scores))
        yield ModelMeasure(model, model.of_values(attained))


def _is_plain(census: Census, counted: ValueCounts) -> bool:
    """Whether every value is known and every record is a person."""
    known = np.bincount(counted.classes, counted.counts, minlength=len(census.sizes))
    return not counted.table_blank and not counted.blank.any() and bool((known == census.sizes).all())


def _models_on(name: str, *, ordered: bool) -> Iterator[PrivacyModel]:
    for kind in sorted(_models(), key=lambda kind: kind.measured_as):
        for parameters in kind.measured_with:
            model = kind(**{"on": name, **parameters})
            if ordered or "order" not in model.needs:
                yield model


@cache
def _models() -> tuple[type[PrivacyModel], ...]:
    return tuple(cast("type[PrivacyModel]", find("models", name)) for name in names("models"))


_NEAR = 1e-9
_MANY = 200
"""Of more classes than that which score alike, one of each score is looked at."""


def select_worst(census: Census, column: str, scores: Floats) -> Census:
    """Return a census of the classes that score highest by one sensitive column.

    Only for counts of records in which every value is known: there the sizes are the sums of the counts.
    """
    if not len(census.sizes):
        return census
    top = float(scores.max())
    near = np.flatnonzero(scores == top if np.isinf(top) else scores >= top - _NEAR * max(1.0, abs(top)))
    if len(near) > _MANY:
        near = near[np.unique(scores[near], return_index=True)[1]]
    return _only(census, column, near)


def _only(census: Census, column: str, indices: Ints) -> Census:
    counted = census.value_counts[column,]
    number = np.full(len(census.sizes), -1, np.int64)
    number[indices] = np.arange(len(indices))
    kept = number[counted.classes]
    order = np.flatnonzero(kept >= 0)
    order = order[np.argsort(kept[order], kind="stable")]
    part = replace(
        counted,
        classes=kept[order],
        values=counted.values[order],
        counts=counted.counts[order],
        blank=counted.blank[indices],
    )
    values = {column: census.values[column][indices]}
    return Census(sizes=census.sizes[indices], values=values, value_counts={(column,): part})

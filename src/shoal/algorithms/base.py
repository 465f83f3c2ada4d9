"""Problem: the question.  Algorithm: who answers it, with a recoding."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from shoal.catalog import Entry
from shoal.errors import Infeasible
from shoal.frequencies import Background, Classes, Frequencies
from shoal.models.base import PrivacyModel
from shoal.recodings.base import Column, Recoding
from shoal.utility.base import Metric

Ints = npt.NDArray[np.int64]
Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much is done, and how much there is (0: not known)."""


def silent(what: str, done: int, total: int) -> None:
    """Show nothing."""


@dataclass(frozen=True)
class Problem:
    """What a search is asked: arrays and promises, no tables."""

    frequencies: Frequencies
    columns: tuple[Column, ...]
    models: tuple[PrivacyModel, ...]
    background: Background
    """What the models know of the table as a whole."""
    loss: Metric
    max_suppressed: int = 0
    """How many of these records may be suppressed."""
    seed: int = 0
    progress: Progress = field(default=silent, repr=False)
    barred: int = 0
    """Records that are suppressed whatever a search does; they are not among the frequencies, losses count them."""

    @property
    def least_records(self) -> int:
        """A number of records below which no class satisfies every model by itself."""
        return max((model.least_of(self.background) for model in self.models), default=1)

    @property
    def least_shown(self) -> int:
        """The same for a search that knows what classes show: whatever the others show, no smaller one complies."""
        return max((model.least_of(self.background) for model in self.models if model.classwise), default=1)

    @property
    def k(self) -> int:
        """The k that is asked of every class, 1 where none is asked."""
        return max((getattr(model, "k", 1) for model in self.models if model.classwise), default=1)

    @property
    def weights(self) -> npt.NDArray[np.float64]:
        """The weight of each column."""
        return np.array([column.weight for column in self.columns], np.float64)

    def holds(self, classes: Classes) -> npt.NDArray[np.bool_]:
        """Return for each class whether it satisfies every model.

        Models that look across classes are asked last, and again until none of them takes another class away: each
        must hold on the classes that are left. Classes that are not ``kept`` from the start satisfy nothing.
        """
        kept = np.ones(classes.count, bool) if classes.kept is None else classes.kept.copy()
        for model in self.models:
            if model.classwise:
                kept &= model.holds(classes, self.background)
        across = [model for model in self.models if not model.classwise]
        left = -1
        while across and left != (left := int(kept.sum())):
            for model in across:
                kept &= model.holds(replace(classes, kept=kept), self.background)
        return kept

    @property
    def absorbing(self) -> bool:
        """Whether a class that complies still does whatever joins it."""
        return all(model.absorbing for model in self.models)

    @property
    def monotone(self) -> bool:
        """Whether a union of classes that comply complies too.

        Where persons are counted, shares can rise in a union: a person who is in both classes counts once, and a
        value that two others have then weighs more.
        """
        one_each = self.frequencies.subjects is None
        return all(model.absorbing or (model.monotone and one_each) for model in self.models)

    def attained(self, classes: Classes) -> dict[str, Any]:
        """Return what a table of these classes attains of each model."""
        measured = (model.measure(classes, self.background) for model in self.models)
        return dict(zip(titles(self.models), measured, strict=True))

    def together(self) -> Classes:
        """All records in one class: whatever a search does, no class can be larger."""
        return Classes.of(self.frequencies, np.zeros(len(self.frequencies.cell_counts), np.int64), 1)

    def begin(self) -> None:
        """Say that a search begins, whose kernels may need compiling.

        Raises
        ------
        Infeasible
            Not even all records together satisfy the models.
        """
        if not self.holds(self.together()).all():
            raise self.infeasible()
        self.progress("preparing the search (compiled once per machine)", 0, 0)

    @property
    def attainable(self) -> bool:
        """Whether some recoding may keep the models: a quick necessary test on all records together."""
        if self.absorbing:
            return bool(self.holds(self.together()).all())  # where all together fail, every class fails
        if self.monotone and not self.max_suppressed:
            return bool(self.holds(self.together()).all())  # a union of classes that comply would comply
        return True

    def infeasible(self) -> Infeasible:
        """Say that not even all records together satisfy the models."""
        everything = self.together()
        failing = [
            f"{model.key()} asks for {model.asked}, the whole table attains {attained}"
            for model in self.models
            if not model.meets(attained := model.measure(everything, self.background))
        ]
        reason = "; ".join(failing) or "no allowed recoding satisfies the models"
        return Infeasible(f"the models cannot hold: {reason}")


def titles(models: Sequence[PrivacyModel]) -> list[str]:
    """Return the name of each model, with its column where two models have the same name."""
    keys = [model.key() for model in models]
    return [
        key if keys.count(key) == 1 else f"{key} on {', '.join(model.sensitive_columns) or number}"
        for number, (key, model) in enumerate(zip(keys, models, strict=True))
    ]


class Algorithm(Entry):
    """Base of all searches: a problem in, a recoding out, always the same one for the same problem."""

    family: ClassVar[str] = "algorithms"
    needs_hierarchies: ClassVar[bool] = False
    """Whether columns without a hierarchy can only be published as they are."""
    data_independent: ClassVar[bool] = False
    """Whether what a value is published as does not depend on the data."""

    def trial(self) -> Algorithm:
        """Return the algorithm that soonest tells what this one attains: used to try out other policies."""
        return self

    @abstractmethod
    def search(self, problem: Problem) -> Recoding:
        """Return a recoding under which every model holds, or raise :class:`~shoal.errors.Infeasible`."""

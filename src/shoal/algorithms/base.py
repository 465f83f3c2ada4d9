"""Problem: the question.  Algorithm: who answers it, with a recoding."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np

from shoal.encoding.types import Bools, Floats, Ints, Progress, silent
from shoal.errors import Fault, Infeasible, NotFound, PolicyError
from shoal.frequencies.frequencies import Background, Classes, Frequencies
from shoal.models.base import PrivacyModel, name_models
from shoal.recodings.base import Column, Recoding
from shoal.recodings.covering import count_persons_locally
from shoal.registry import Entry, find, names
from shoal.utility.base import Metric


@dataclass(frozen=True, kw_only=True)
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
    forced_suppression: int = 0
    """Records that are suppressed whatever a search does; they are not among the frequencies, losses count them."""

    @property
    def most_suppressed(self) -> int:
        """How many records may be suppressed so that some are left."""
        return min(self.max_suppressed, self.frequencies.records - 1)

    @property
    def least_records(self) -> int:
        """A number of records below which no class satisfies every model by itself."""
        return max((model.least_of(self.background) for model in self.models), default=1)

    @property
    def least_shown(self) -> int:
        """The same for a search that knows what classes show: whatever the others show, no smaller one complies."""
        return max((model.least_of(self.background) for model in self.models if model.classwise), default=1)

    def least_with(self) -> Ints:
        """Return for each cell a number of records below which no class that holds one of its records complies."""
        least = np.ones(len(self.frequencies.cell_counts), np.int64)
        for model in self.models:
            if model.classwise:
                least = np.maximum(least, model.least_with(self.background, self.frequencies))
        return least

    @property
    def k(self) -> int:
        """The k that is asked of every class, 1 where none is asked."""
        return max((model.class_size for model in self.models), default=1)

    @property
    def weights(self) -> Floats:
        """The weight of each column."""
        return np.array([column.weight for column in self.columns], np.float64)

    def holds(self, classes: Classes) -> Bools:
        """Return for each class whether it satisfies every model.

        Models that look across classes are asked last, and again until none of them takes another class away: each
        must hold on the classes that are left. Classes that are not ``kept`` from the start satisfy nothing.
        """
        kept = np.ones(classes.count, bool) if classes.kept is None else classes.kept.copy()
        classes = self._with_matches(classes)
        for model in self.models:
            if model.classwise:
                kept &= model.holds(classes, self.background)
        across = [model for model in self.models if not model.classwise]
        left = -1
        while across and left != (left := int(kept.sum())):
            for model in across:
                kept &= model.holds(replace(classes, kept=kept), self.background)
        return kept

    def _with_matches(self, classes: Classes) -> Classes:
        """Let models know whom of the population each class matches; where nobody says what it shows, locally."""
        people = self.background.population
        if people is None or classes.matches is not None:
            return classes
        return replace(classes, matches=partial(count_persons_locally, people, classes, self.columns))

    @property
    def absorbing(self) -> bool:
        """Whether a class that complies still does whatever joins it."""
        return all(model.absorbing for model in self.models) and self._widening

    @property
    def _widening(self) -> bool:
        """Whether a class that others join matches no fewer persons: so it is where labels nest."""
        looked_at = self.background.population is not None and any("persons" in model.needs for model in self.models)
        return not looked_at or all(column.levels.nested for column in self.columns)

    @property
    def monotone(self) -> bool:
        """Whether a union of classes that comply complies too.

        Where persons are counted, shares can rise in a union: a person who is in both classes counts once, and a
        value that two others have then weighs more.
        """
        one_each = self.frequencies.subjects is None
        return all(model.absorbing or (model.monotone and one_each) for model in self.models) and self._widening

    def attained(self, classes: Classes) -> dict[str, Any]:
        """Return what a table of these classes attains of each model."""
        classes = self._with_matches(classes)
        measured = (model.measure(classes, self.background) for model in self.models)
        return dict(zip(name_models(self.models), measured, strict=True))

    def together(self) -> Classes:
        """All records in one class: whatever a search does, no class can be larger."""
        return Classes.whole(self.frequencies)

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
        proves = self.absorbing or (self.monotone and not self.max_suppressed and not self.forced_suppression)
        if not proves:
            return True
        # where all together fail, every class fails; those who are suppressed anyway may be starred beside the others
        return self._holds_as_stars(self.frequencies) or (
            bool(self.forced_suppression) and self._holds_as_stars(self.background.whole)
        )

    def _holds_as_stars(self, frequencies: Frequencies) -> bool:
        """Whether the models hold on these records in one class that shows ``*``."""
        return bool(self.holds(replace(Classes.whole(frequencies), matches=self.background.matches_of_stars)).all())

    def infeasible(self) -> Infeasible:
        """Say that nothing complies where that is certain, else that a search found nothing; and why."""
        everything = self._with_matches(self.together())
        failing, told = [], []
        for title, model in zip(name_models(self.models), self.models, strict=True):
            attained = model.measure(everything, self.background)
            if not model.meets(attained):
                failing.append(model)
                told.append(f"{title} asks for {model.asked}, the whole table attains {attained}")
        hint = "; ".join(dict.fromkeys(filter(None, map(self._unknown, failing))))
        if not self.attainable:
            reason = "; ".join(told) or "no allowed recoding satisfies the models"
            return Infeasible(Fault(f"the models cannot hold: {reason}", hint=hint))
        what = f"not found: a recoding that keeps the models with at most {self.max_suppressed:,} records suppressed"
        return NotFound(Fault("; ".join([what, *told]), hint=hint))

    def _unknown(self, model: PrivacyModel) -> str:
        """Say how many missing values a model must think the worst of, where it compares with the whole table."""
        names = model.sensitive_columns
        unknown = int(self.background.table(names).wild[0]) if "table" in model.needs else 0
        return f"missing values of {', '.join(names)} may be any, the worst counts: {unknown}" if unknown else ""


class Algorithm(Entry):
    """Base of all searches: a problem in, a recoding out, always the same one for the same problem."""

    family: ClassVar[str] = "algorithms"
    needs_hierarchies: ClassVar[bool] = False
    """Whether columns without a hierarchy can only be published as they are."""
    looks_across: ClassVar[bool] = False
    """Whether models are shown all classes of a table at once, so that those which look across classes work."""
    sums_cells: ClassVar[bool] = False
    """Whether it compares classes by what their cells lose, so that only losses can be asked of it that add up."""
    data_independent: ClassVar[bool] = False
    """Whether what a value is published as does not depend on the data."""
    starts_search: ClassVar[bool] = False
    """Whether a search that improves classes starts from its classes too, where a table is small."""
    suppresses: ClassVar[bool] = False
    """Whether it makes use of the records that may be suppressed."""
    falls_back: ClassVar[bool] = True
    """Whether the coarsest classes that comply are an answer where the search finds none."""
    needs_models: ClassVar[tuple[str, ...]] = ()
    """The models of which the policy must name one, for the search is led by what it asks; empty: any will do."""
    footprint: ClassVar[int] = 3_000
    """Bytes of memory that the search takes for each distinct record, at most: where memory is bounded."""

    @property
    def fixed_levels(self) -> Mapping[str, int] | None:
        """The level that each column is published at, where the policy itself says it; others are at level 0."""
        return None

    def goes_by(self, loss: Metric) -> bool:
        """Return whether the search can be asked for a loss."""
        return not self.sums_cells or loss.auditable().priced_by is not None

    def is_led_by(self, models: Iterable[PrivacyModel]) -> bool:
        """Return whether the models tell the search what it needs to know."""
        return not self.needs_models or any(model.key() in self.needs_models for model in models)

    @classmethod
    def list_forms(cls) -> tuple[Algorithm, ...]:
        """Return the algorithm in each of its forms: one, but where a parameter chooses a way of its own."""
        return (cls(),)

    def trial(self) -> Algorithm:
        """Return the algorithm that soonest tells what this one attains: used to try out other policies."""
        return self

    def keeps(self, model: PrivacyModel) -> bool:
        """Return whether the search keeps a model as it is, and not a condition on single classes that implies it."""
        return self.looks_across or model.by_class is model

    def to_classwise(self, problem: Problem) -> Problem:
        """Return a problem as this search can solve it: of single classes, where it sees but some of them at a time."""
        single = [model if self.keeps(model) else model.by_class for model in problem.models]
        if missing := [model.key() for model, one in zip(problem.models, single, strict=True) if one is None]:
            raise PolicyError(
                f"{missing[0]} needs a search that looks at whole tables",
                where="algorithm",
                hint=suggest_whole_table_searches(),
            )
        return replace(problem, models=tuple(model for model in single if model is not None))

    @abstractmethod
    def search(self, problem: Problem) -> Recoding:
        """Return a recoding under which every model holds, or raise :class:`~shoal.errors.Infeasible`."""


def suggest_whole_table_searches() -> str:
    """Return a hint that names every search which looks at whole tables.

    Examples
    --------
    >>> suggest_whole_table_searches()
    'use datafly, exhaustive, fixed-levels, heuristic, incognito, optimal or samarati'
    """
    *others, last = (
        name for name in names("algorithms") if cast("type[Algorithm]", find("algorithms", name)).looks_across
    )
    return f"use {', '.join(others)} or {last}"

"""ClassComposition: what the models ask of the sensitive values of a class, laid out for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shoal.algorithms.base import Problem
from shoal.encoding.types import Ints
from shoal.frequencies.frequencies import Classes
from shoal.models._conditions import Condition

_FORMS = ("caps", "floors", "surplus", "ordered", "evenness", "distinct", "tail", "requests")
"""The forms of conditions, as kernels number them."""
_WIDE = 4096
"""Places of a histogram above which models are only asked about finished classes."""
_ROOM = 1 << 27
"""Numbers of all histograms together above which they are, too."""


_MANY = 2000
"""Kinds above which it is not asked how large a class each of them needs."""


@dataclass(frozen=True)
class ClassComposition:
    """What is asked of classes, and what each unit brings."""

    conditions: Any
    """For the kernels: :class:`~shoal.kernels.composition.Conditions`."""
    places: Ints
    """``places[unit, layer]``: where the unit counts in a histogram."""
    kinds: Ints
    """A number for the places of each unit."""

    @classmethod
    def of(cls, problem: Problem, cells: Ints | None) -> ClassComposition | None:
        """Lay out what the models ask of units that are records of some cells.

        ``None`` where they only count records, where whatever joins a class that complies does no harm, and where a
        model tells no conditions: it looks at more than values, a value may be any, or persons are counted.
        """
        if cells is None or problem.frequencies.subjects is not None or problem.absorbing:
            return None
        if any(problem.background.table(m.sensitive_columns).wild[0] for m in problem.models if m.sensitive_columns):
            return None
        asked = [model.conditions(problem.background) for model in problem.models]
        every = [condition for conditions in asked for condition in conditions or ()]
        if not every or any(conditions is None for conditions in asked):
            return None
        layers = [_find_layers(condition, problem) for condition in every]
        widths = [int(own.max(initial=0)) + 1 for own, _ in layers]
        room = sum(widths) * (len(cells) // max(problem.least_records, 1) + 1)
        if sum(widths) > _WIDE or room > _ROOM:
            return None
        starts = np.cumsum([0, *widths])[:-1]
        places = [own[:, codes[cells]] + start for (own, codes), start in zip(layers, starts, strict=True)]
        every_place = np.ascontiguousarray(np.concatenate(places).T.astype(np.int64))
        kinds = np.unique(every_place, axis=0, return_inverse=True)[1].ravel().astype(np.int64)
        return cls(_lay_out(every, starts, widths, problem.least_records), every_place, kinds)

    @cached_property
    def needed(self) -> Ints:
        """For each kind the size from which on a class may hold it; the least size where there are very many kinds."""
        from shoal.kernels.compose import find_size

        conditions, some = self.conditions, np.unique(self.kinds, return_index=True)[1]
        if len(some) > _MANY:
            return np.full(len(some), conditions.least, np.int64)
        least, most = conditions.least, len(self.kinds)
        return np.array([find_size(conditions, self.places, unit, least, most) for unit in some.tolist()], np.int64)

    def only(self, chosen: Ints) -> ClassComposition:
        """Return that of some of the units."""
        return ClassComposition(self.conditions, self.places[chosen], self.kinds[chosen])


def _find_layers(condition: Condition, problem: Problem) -> tuple[Ints, Ints]:
    """Return ``[layer, value]``, the places of each value of a condition's columns, and the value of each cell."""
    names, frequencies = condition.columns, problem.frequencies
    table = problem.background.table(names).values
    each = np.arange(len(frequencies.cell_counts), dtype=np.int64)
    own = Classes(len(each), each, None, frequencies.cell_counts, frequencies)
    codes = np.searchsorted(table, own.histogram(problem.background.known(names)).values).astype(np.int64)
    places = np.arange(len(table), dtype=np.int64) if condition.places is None else condition.places
    return np.atleast_2d(places), codes


def _lay_out(every: Sequence[Condition], begins: Ints, widths: Sequence[int], least: int) -> Any:
    from shoal.kernels.composition import Conditions

    numbers = [np.append(condition.numbers, 0.0) for condition in every]
    return Conditions(
        max(least, 1),
        int(sum(widths)),
        np.array([_FORMS.index(condition.form) for condition in every], np.int64),
        begins.astype(np.int64),
        (begins + widths).astype(np.int64),
        np.cumsum([0, *map(len, numbers)])[:-1].astype(np.int64),
        np.array([condition.bound for condition in every], np.float64),
        np.concatenate(numbers).astype(np.float64),
    )

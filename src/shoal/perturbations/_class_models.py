"""ClassModels: what models ask of the sensitive values of classes, and classes merged until they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.encoding.types import Bools, Floats, Ints
from shoal.errors import Fault
from shoal.frequencies.frequencies import Background, Classes, Frequencies, SensitiveColumn
from shoal.models.base import Need, PrivacyModel
from shoal.perturbations.base import Microdata, missing_faults

_COUNTED: frozenset[Need] = frozenset({"counts", "distinct", "values", "table", "order"})
"""What is known of classes that are no generalized ones."""
_TRIED = 8
"""Near classes with which it is tried whether a class complies, before it joins the nearest."""


def model_contradictions(models: Sequence[PrivacyModel], columns: Sequence[str]) -> Iterator[Fault]:
    """Yield models that are not about the sensitive values of single classes, or about columns that are perturbed."""
    for number, model in enumerate(models):
        where = f"models[{number}]"
        counts = model.classwise and model.monotone and {*model.needs} <= _COUNTED and not model.hidden_columns
        if not counts or not model.sensitive_columns:
            what = f"{model.key()} is no condition on the sensitive values of each class"
            yield Fault(what, where, hint="k is promised already; take l-diversity, t-closeness or their like")
        for name in {*model.sensitive_columns} & {*columns}:
            yield Fault("of perturbed values it promises nothing", where, repr(name))


def class_model_faults(models: Sequence[PrivacyModel], data: Microdata, strata: Ints) -> Iterator[Fault]:
    """Yield what keeps models from being counted, and those that a whole stratum does not keep."""
    names = tuple(dict.fromkeys(name for model in models for name in model.sensitive_columns))
    faults = list(missing_faults(data, names, "fill them in first, or leave out the model"))
    for number, model in enumerate(models):
        if "order" in model.needs and not all(data.columns[name].is_ordered for name in model.sensitive_columns):
            faults.append(Fault("needs a column of numbers or dates: texts have no order here", f"models[{number}]"))
    yield from faults
    if faults or not models:
        return
    held = ClassModels.of(models, data)
    for number, model in enumerate(models):
        whole = held.group(np.arange(len(strata)), strata)
        if not model.holds(whole, held.background).all():
            got = f"{model.measure(whole, held.background)} of all records together, asked {model.asked}"
            yield Fault("does not even hold of the largest classes that there may be", f"models[{number}]", got)


@dataclass(frozen=True)
class ClassModels:
    """Models, and the sensitive values of the records that classes are made of.

    Distances from the whole table are those from the records that are published.
    """

    models: Sequence[PrivacyModel]
    frequencies: Frequencies
    background: Background

    @classmethod
    def of(cls, models: Sequence[PrivacyModel], data: Microdata) -> ClassModels:
        """Number the values of the columns that models look at."""
        known, codes = number_sensitive_values(models, data)
        frequencies = Frequencies(
            tuples=np.zeros((1, 0), np.int32),
            cell_tuples=np.zeros(data.records, np.int64),
            cell_counts=np.ones(data.records, np.int64),
            sensitive=codes.astype(np.int32),
        )
        return cls(models, frequencies, Background(frequencies, known))

    def group(self, rows: Ints, members: Ints) -> Classes:
        """Return classes of some records; one may be in several."""
        count = int(members.max(initial=-1)) + 1
        return Classes(count, members, rows, np.ones(len(rows), np.int64), self.frequencies)

    def hold(self, rows: Ints, members: Ints) -> Bools:
        """Return for each class whether it complies with all models."""
        classes = self.group(rows, members)
        held = np.ones(classes.count, bool)
        for model in self.models:
            held &= model.holds(classes, self.background)
        return held

    def merge(self, points: Floats, rows: Ints, members: Ints) -> Ints:
        """Return classes merged until each complies: one that does not joins a near one with which it does, or else
        the nearest.

        Parameters
        ----------
        points
            The features of some records.
        rows
            Their numbers in the table.
        members
            The class of each. All of them together must comply.
        """
        members = members.copy()
        while True:
            held = self.hold(rows, members)
            if held.all() or len(held) < 2:
                return members
            into = self._choose_partners(points, rows, members, np.flatnonzero(~held))
            members = np.unique(into[members], return_inverse=True)[1].astype(np.int64)

    def _choose_partners(self, points: Floats, rows: Ints, members: Ints, failing: Ints) -> Ints:
        """Return the class that each one joins, itself mostly; each is in one merger at most."""
        sizes = np.bincount(members)
        centers = np.stack([np.bincount(members, feature) for feature in points.T], axis=1) / sizes[:, None]
        order = np.argsort(members, kind="stable")
        ends = np.cumsum(sizes)
        into = np.arange(len(sizes))
        taken = np.zeros(len(sizes), bool)
        for one in failing:
            if taken[one]:
                continue
            # what the two lose more together than apart
            cost = sizes[one] * sizes / (sizes[one] + sizes) * ((centers - centers[one]) ** 2).sum(axis=1)
            cost[taken] = np.inf
            cost[one] = np.inf
            near = np.argsort(cost, kind="stable")[:_TRIED]
            near = near[np.isfinite(cost[near])]
            if not len(near):
                continue
            pairs = [order[ends[c] - sizes[c] : ends[c]] for other in near for c in (one, other)]
            lengths = [sizes[one] + sizes[other] for other in near]
            complies = self.hold(rows[np.concatenate(pairs)], np.repeat(np.arange(len(near)), lengths))
            partner = near[int(np.argmax(complies))]  # the nearest where none complies
            into[one] = partner
            taken[[one, partner]] = True
        return into


def number_sensitive_values(models: Sequence[PrivacyModel], data: Microdata) -> tuple[dict[str, SensitiveColumn], Ints]:
    """Return what is known of the columns that models look at, and the code of each record in each of them."""
    names = tuple(dict.fromkeys(name for model in models for name in model.sensitive_columns))
    codes = np.zeros((data.records, len(names)), np.int64)
    known = {}
    for place, name in enumerate(names):
        column = data.columns[name]
        codes[:, place], size = column.codes, len(column.distinct)
        known[name] = SensitiveColumn(place, size, ranks=np.arange(size) if column.is_ordered else None)
    return known, codes

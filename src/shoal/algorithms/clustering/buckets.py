"""Buckets of sensitive values: classes that draw so many of the nearest records from each, as the methods below do."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.clustering.local_search import LocalSearch
from shoal.algorithms.clustering.sequence import complete_classes, order_by_rule
from shoal.algorithms.clustering.snake import sort_records
from shoal.algorithms.clustering.units import Units
from shoal.algorithms.feasibility import separate_by_boundaries
from shoal.encoding.types import Floats, Ints
from shoal.frequencies.frequencies import Classes
from shoal.models._conditions import Condition
from shoal.recodings.local import Local

_WINDOW = 128
"""Records of a bucket, next in the sequence, among which the nearest are looked for; twice as many as are drawn where
that is more."""


@dataclass(frozen=True)
class BucketedValues:
    """The values that a model looks at, what it asks of them, and the value of each record.

    Distances are counted as the model's condition counts them: in steps along the order, or in levels.
    """

    condition: Condition
    codes: Ints
    """The value of each unit; one more than the last of them where it is not known."""

    @classmethod
    def of(cls, units: Units, models: Iterable[str]) -> BucketedValues:
        """Read what the first of some models asks; where none of them does, there is one value and no bound.

        Why the first: the papers know one sensitive attribute. The other models are kept as any model is.
        """
        problem = units.problem
        leading = [model.conditions(problem.background) for model in problem.models if model.key() in models]
        asked = [condition for conditions in leading for condition in conditions or ()]
        if not asked or units.cells is None:
            return cls(Condition("surplus", (), np.ones(1), np.inf), np.zeros(len(units), np.int64))
        table = problem.background.table(asked[0].columns).values
        frequencies = problem.frequencies
        each = np.arange(len(frequencies.cell_counts), dtype=np.int64)
        own = Classes(len(each), each, None, frequencies.cell_counts, frequencies)
        held = own.histogram(problem.background.known(asked[0].columns))
        codes = np.full(len(each), len(table), np.int64)
        codes[held.classes] = np.searchsorted(table, held.values)
        return cls(asked[0], codes[units.cells])

    @property
    def count(self) -> int:
        """The number of values that may be known."""
        return len(self.layers[0])

    @cached_property
    def layers(self) -> Ints:
        """``[level, value]``: the place of each value, or of its label."""
        places = self.condition.places
        return np.arange(len(self.condition.numbers), dtype=np.int64)[None] if places is None else np.atleast_2d(places)

    @cached_property
    def shares(self) -> Floats:
        """The share of each value among the records."""
        counts = np.bincount(self.codes, minlength=self.count + 1)
        return np.asarray(counts[: self.count] / max(len(self.codes), 1), np.float64)

    @cached_property
    def order(self) -> Ints:
        """The values along their order; without one, those that share a label stand together."""
        return np.lexsort(self.layers).astype(np.int64)

    def measure(self, surplus: Floats) -> float:
        """Return the earth mover's distance that a surplus of each value over its due makes up."""
        if self.condition.form == "ordered":
            return float(np.abs(np.cumsum(surplus[self.order])).sum())
        return float(sum(np.maximum(np.bincount(layer, surplus), 0.0).sum() for layer in self.layers))

    def are_apart(self, distance: float) -> bool:
        """Return whether a distance is more than the model allows; what rounding adds does not count."""
        return distance > self.condition.bound + 1e-9

    def find_worst(self, values: Ints, shares: Floats) -> float:
        """Return the most that some values are apart from one of them, weighted by their shares.

        So much of the distance of a class a bucket of these values causes at worst: where all that is drawn from it
        has one value.
        """
        if self.condition.form == "ordered":
            places = self.layers[0][values]
            return float(max(shares @ (places - places.min()), shares @ (places.max() - places)))
        beside = np.zeros(len(values))
        for layer in self.layers[:, values]:
            labels = np.unique(layer, return_inverse=True)[1].ravel()
            beside += shares.sum() - np.bincount(labels, shares)[labels]
        return float(beside.max(initial=0.0))

    def number_buckets(self, buckets: Iterable[Ints]) -> Ints:
        """Return the bucket of each value; what is not known is in one of its own, the last."""
        result = np.zeros(self.count + 1, np.int64)
        number = -1
        for number, values in enumerate(buckets):
            result[values] = number
        result[self.count] = number + 1
        return result


class BucketSearch(LocalSearch):
    """Base of the methods that deal each class its records out of buckets of sensitive values.

    How many each class draws from each bucket is what they differ in. The records that it draws are the nearest to
    the first one left in our sequence of the records: of the next ones of each bucket there, those whose box with it
    costs least.
    """

    def form_classes(self, problem: Problem) -> Local:
        """Fill buckets, plan classes, draw their records; classes that break a model at the end join neighbours."""
        units = Units.of(problem)
        apart = separate_by_boundaries(problem)[units.tuples]
        members, count = np.full(len(units), -1, np.int64), 0
        for part in np.unique(apart):
            chosen = np.flatnonzero(apart == part)
            inside = units.only(chosen)
            buckets, drawn = self.plan(BucketedValues.of(inside, self.needs_models), max(problem.least_records, 1))
            members[chosen] = count + draw_classes(inside, buckets, drawn)
            count += len(drawn)
        return units.recoding(complete_classes(units, members))

    @abstractmethod
    def plan(self, values: BucketedValues, least: int) -> tuple[Ints, Ints]:
        """Return the bucket of each record, and ``[class, bucket]``: how many records a class draws from a bucket."""


def halve_counts(counts: Ints, least: int, is_eligible: Callable[[Ints], bool]) -> Ints:
    """Halve the counts of all buckets again and again, as long as both halves are eligible (the papers' ECTree).

    Counts are halved as evenly as can be; where they are odd, one half and the other get one more in turn.

    Examples
    --------
    >>> halve_counts(np.array([5, 3, 2]), 2, lambda half: bool(half.all()))
    array([[3, 1, 1],
           [2, 2, 1]])
    """
    leaves, waiting = [], [counts]
    while waiting:
        whole = waiting.pop()
        odd = whole % 2
        left = whole // 2 + odd * (np.cumsum(odd) % 2)
        halves = (left, whole - left)
        if all(half.sum() >= least and is_eligible(half) for half in halves):
            waiting += halves[::-1]
        else:
            leaves.append(whole)
    return np.array(leaves, np.int64)


def draw_classes(units: Units, buckets: Ints, drawn: Ints) -> Ints:
    """Return the class of each unit, where each class draws so many of the nearest units from each bucket."""
    from shoal.kernels.widths import join_costs

    order = sort_records(order_by_rule(units), units.codes)
    index = np.empty(len(units), np.int64)
    index[order] = np.arange(len(units))
    queues = [order[buckets[order] == bucket] for bucket in range(drawn.shape[1])]
    first = np.zeros(len(queues), np.int64)
    members = np.full(len(units), -1, np.int64)
    for own, wanted in enumerate(drawn):
        asked = np.flatnonzero(wanted).tolist()
        seed = min((queues[bucket][first[bucket]] for bucket in asked), key=lambda unit: int(index[unit]))
        for bucket in asked:
            start, taken = int(first[bucket]), int(wanted[bucket])
            near = queues[bucket][start : start + max(_WINDOW, 2 * taken)].copy()
            found = np.empty(len(near))
            join_costs(units.costs, units.boxes, int(seed), units.boxes, near, found)
            rank = np.argsort(found, kind="stable")
            members[near[rank[:taken]]] = own
            queues[bucket][start + taken : start + len(near)] = near[np.sort(rank[taken:])]
            first[bucket] += taken
        if own % 100 == 0:
            units.problem.progress("drawing classes", own, len(drawn))
    return members

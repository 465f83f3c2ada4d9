"""Recursive (c, l)-diversity: the most frequent value is not too frequent, the rare ones not too rare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from shoal.encoding.types import Floats, Ints
from shoal.frequencies.frequencies import Background, Classes
from shoal.models._conditions import Condition
from shoal.models._exact import compare_ratio, decimal
from shoal.models._scores import score_by_tail
from shoal.models._sensitive import SensitiveModel
from shoal.models._thresholds import ValueCount
from shoal.models.base import Census, Holds

_C = 3.0
"""The c that a table is measured for unasked: the most frequent value is less than c times the tail."""


class RecursiveLDiversity(SensitiveModel):
    """In every class the most frequent value occurs less than c times as often as the l-th and rarer ones together.

    With the values of a class from the most to the least frequent, r1 < c (rl + … + rm).

    Why it is safe: someone who rules out l - 2 values by what they know still finds none of the others too likely. A
    missing value that may be any (``wildcard``) counts as the most frequent one, which is the worst it can be. Where
    persons are counted, a class must also have l of them. Attained is told as the greatest l that holds with this c.

    Cost: a sort of the cells. A union of classes that comply complies (the paper's section 4).

    References
    ----------
    Machanavajjhala, A., Kifer, D., Gehrke, J. and Venkitasubramaniam, M. (2007). l-diversity: privacy beyond
    k-anonymity. ACM Transactions on Knowledge Discovery from Data 1(1).

    Examples
    --------
    >>> RecursiveLDiversity(on="illness", c=2, l=3).meets(3)
    True
    """

    thresholds = (ValueCount("l"),)
    protects_from: ClassVar[str] = "Naming a person's value after ruling out some: none that is left is too likely."
    leaves_open: ClassVar[str] = "That the values of a class mean much the same, or are unlike those of the table."
    measured_with: ClassVar[tuple[Mapping[str, Any], ...]] = ({"c": _C, "l": 2},)
    measured_as: ClassVar[int] = 3

    c: Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
    """How many times as often the most frequent value may occur as the l-th and rarer ones: always less."""
    l: Annotated[int, Field(ge=2, strict=True)]  # noqa: E741 - the field's own letter
    """From which value on, by frequency, the rarer ones are counted."""

    def holds(self, classes: Classes, background: Background) -> Holds:
        """Return for each class whether the l-th and rarer values weigh enough."""
        return self._depths(classes, background) >= self.l

    def conditions(self, background: Background) -> Sequence[Condition]:
        """Ask for enough records of the l-th value and rarer ones."""
        return (Condition("tail", self.sensitive_columns, np.array([float(self.l)]), self.c),)

    def measure(self, classes: Classes, background: Background) -> int | None:
        """Return the greatest l that every class has."""
        return int(self._depths(classes, background).min()) if classes.count else None

    def _depths(self, classes: Classes, background: Background) -> Ints:
        """The greatest l of each class: how many of its values, each with all rarer ones, weigh enough."""
        histogram = self.histogram(classes, background)
        order = np.lexsort([-histogram.counts, histogram.classes])
        counts, starts = histogram.counts[order], histogram.starts
        ends = np.cumsum(counts)
        rarer = ends[starts[1:] - 1][histogram.classes] - ends + counts if len(counts) else counts
        most = (histogram.most(histogram.counts) + histogram.wild)[histogram.classes]
        enough = compare_ratio(most, rarer, decimal(self.c)) < 0
        depths: Ints = histogram.total(enough.astype(np.int64))
        return np.minimum(depths, classes.sizes)

    def recount(self, census: Census) -> int | None:
        """Try one l after the other on each class."""
        c = Fraction(repr(self.c))
        depths = []
        for values, blank, size in self.rows(census):
            counts = sorted(values.values())
            most, rarer, depth = (counts[-1] if counts else 0) + blank, 0, len(counts)
            for index, count in enumerate(counts):  # from the rarest on
                rarer += count
                if most * c.denominator < c.numerator * rarer:
                    depth = len(counts) - index
                    break
            else:
                depth = 0
            depths.append(min(depth, size))
        return min(depths, default=None)

    def score_classes(self, census: Census) -> Floats:
        """By the greatest l."""
        return score_by_tail(census, self.read_counts(census), self.c)

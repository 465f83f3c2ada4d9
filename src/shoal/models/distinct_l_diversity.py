"""Distinct l-diversity: every class holds at least l distinct sensitive values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from shoal.encoding.types import Ints
from shoal.frequencies.frequencies import Background, Classes
from shoal.models._conditions import Condition
from shoal.models._sensitive import SensitiveModel
from shoal.models._thresholds import ValueCount
from shoal.models.base import Census, Holds, Need


class DistinctLDiversity(SensitiveModel):
    """Every class holds at least l distinct values of a sensitive column.

    Why it is safe: someone who finds a person's class still faces l possible values, so no value is certain
    (the homogeneity attack). It does not bound how *likely* one of them is: that is what entropy l-diversity
    and t-closeness are for. A missing value counts as a value of its own, unless the policy says that it
    matches anything (``wildcard``): then it adds nothing. Where persons are counted, a class
    must also have at least l of them.

    References
    ----------
    Machanavajjhala, A., Kifer, D., Gehrke, J. and Venkitasubramaniam, M. (2007). l-diversity: privacy beyond
    k-anonymity. ACM Transactions on Knowledge Discovery from Data 1(1).

    Examples
    --------
    >>> DistinctLDiversity(on="illness", l=2).meets(2)
    True
    """

    absorbing: ClassVar[bool] = True
    only_asks = "values"
    thresholds = (ValueCount("l"),)
    protects_from: ClassVar[str] = "Reading a sensitive value off a class: at least l values are possible."
    leaves_open: ClassVar[str] = (
        "That one of the values is much more likely than the others, or that all mean the same."
    )
    measured_with: ClassVar[tuple[Mapping[str, Any], ...]] = ({"l": 2},)
    measured_as: ClassVar[int] = 1

    l: Annotated[int, Field(ge=2, strict=True)]  # noqa: E741 - the field's own letter
    """The least number of distinct values in a class."""

    @property
    def needs(self) -> tuple[Need, ...]:
        """Sizes, and how many values there are; of several columns together, how often each combination occurs."""
        return ("counts", "distinct") if len(self.sensitive_columns) == 1 else ("counts", "values")

    def holds(self, classes: Classes, background: Background) -> Holds:
        """Return for each class whether it has l distinct values, and l persons."""
        return self.count_values(classes, background) >= self.l

    def conditions(self, background: Background) -> Sequence[Condition]:
        """Ask for l values."""
        return (Condition("distinct", self.sensitive_columns, np.zeros(0), self.l),)

    def measure(self, classes: Classes, background: Background) -> int | None:
        """Return the least number of distinct values of a class."""
        return int(self.count_values(classes, background).min()) if classes.count else None

    def count_values(self, classes: Classes, background: Background) -> Ints:
        """Return how many values each class has; those of one column need no histogram."""
        known = background.known(self.sensitive_columns)
        if len(known) > 1:
            return super().count_values(classes, background)
        return np.minimum(classes.distinct(known[0]), classes.sizes)

    def recount(self, census: Census) -> int | None:
        """Return the least number of distinct values in the census."""
        if len(self.sensitive_columns) == 1:
            pairs = zip(census.values[self.sensitive_columns[0]].tolist(), census.sizes.tolist(), strict=True)
            return min((min(values, size) for values, size in pairs), default=None)
        return min((min(max(len(values), blank > 0), size) for values, blank, size in self.rows(census)), default=None)

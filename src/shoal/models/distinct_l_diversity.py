"""Distinct l-diversity: every class holds at least l distinct sensitive values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from shoal.encoding.types import Ints
from shoal.frequencies.frequencies import Background, Classes
from shoal.models._sensitive import SensitiveModel
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

    @property
    def least_records(self) -> int:
        """A class of fewer than l records cannot hold l values."""
        return self.l

    @property
    def least_values(self) -> int:
        """Every class holds l values."""
        return self.l

    @property
    def asked(self) -> int:
        """The l that is asked for."""
        return self.l

    def holds(self, classes: Classes, background: Background) -> Holds:
        """Return for each class whether it has l distinct values, and l persons."""
        return self._values(classes, background) >= self.l

    def measure(self, classes: Classes, background: Background) -> int | None:
        """Return the least number of distinct values of a class."""
        return int(self._values(classes, background).min()) if classes.count else None

    def _values(self, classes: Classes, background: Background) -> Ints:
        known = background.known(self.sensitive_columns)
        if len(known) == 1:
            values = classes.distinct(known[0])
        else:
            histogram = classes.histogram(known)
            values = np.maximum(np.diff(histogram.starts), histogram.wild > 0)
        # one person with two records may hold two values, but hides behind nobody
        return np.minimum(values, classes.sizes)

    def recount(self, census: Census) -> int | None:
        """Return the least number of distinct values in the census."""
        if len(self.sensitive_columns) == 1:
            distinct = census.values[self.sensitive_columns[0]].tolist()
        else:
            distinct = [max(len(values), blank > 0) for values, blank in self.tally(census).rows]
        pairs = zip(distinct, census.sizes.tolist(), strict=True)
        return min((min(values, persons) for values, persons in pairs), default=None)

    def meets(self, attained: int | None) -> bool:
        """Compare as integers."""
        return attained is None or attained >= self.l

    def relaxed(self, attained: int | None) -> DistinctLDiversity | None:
        """Return the same model with the attainable l."""
        if attained is None or attained < 2:
            return None
        return DistinctLDiversity(on=self.on, l=attained)

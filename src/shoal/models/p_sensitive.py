"""p-sensitive k-anonymity: k records look alike, and they hold p distinct sensitive values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, model_validator

from shoal.frequencies.frequencies import Background, Classes
from shoal.models._conditions import Condition
from shoal.models._sensitive import SensitiveModel
from shoal.models._thresholds import RecordCount, ValueCount
from shoal.models.base import Census, Holds

Attained = tuple[int, int]
"""p and k."""


class PSensitive(SensitiveModel):
    """Every class has at least k records, and p distinct values of a sensitive column.

    Why it is safe: as k-anonymity, a person is one of k; and someone who finds the class still faces p values. A
    missing value that may be any (``wildcard``) adds none. Where persons are counted, a class has k persons, and p
    of them at least. Attained is told as p and k.

    Cost: one pass over the cells.

    References
    ----------
    Truta, T. M. and Vinay, B. (2006). Privacy protection: p-sensitive k-anonymity property. ICDE Workshops.

    Examples
    --------
    >>> PSensitive(on="illness", p=2, k=3).meets((2, 3)), PSensitive(on="illness", p=2, k=3).meets((1, 5))
    (True, False)
    """

    absorbing: ClassVar[bool] = True
    thresholds = (ValueCount("p"), RecordCount("k"))
    protects_from: ClassVar[str] = "Finding a person's record among fewer than k, or one value among fewer than p."
    leaves_open: ClassVar[str] = (
        "That one of the values is much more likely than the others, or that all mean the same."
    )

    p: Annotated[int, Field(ge=2, strict=True)]
    """The least number of distinct values in a class."""
    k: Annotated[int, Field(ge=2, strict=True)]
    """The least number of records (or persons) that look alike; p records at least hold p values."""

    @model_validator(mode="after")
    def _p_of_k(self) -> PSensitive:
        if self.p > self.k:
            raise ValueError("p values need p records: p must be at most k")
        return self

    def holds(self, classes: Classes, background: Background) -> Holds:
        """Return for each class whether it has p values and k persons."""
        return (self.count_values(classes, background) >= self.p) & (classes.sizes >= self.k)

    def conditions(self, background: Background) -> Sequence[Condition]:
        """Ask for p values."""
        return (Condition("distinct", self.sensitive_columns, np.zeros(0), self.p),)

    def measure(self, classes: Classes, background: Background) -> Attained | None:
        """Return the least number of values of a class, and the least number of persons."""
        if not classes.count:
            return None
        return int(self.count_values(classes, background).min()), int(classes.sizes.min())

    def recount(self, census: Census) -> Attained | None:
        """Count values and persons again."""
        sizes = census.sizes.tolist()
        distinct = [min(max(len(values), blank > 0), size) for values, blank, size in self.rows(census)]
        return (min(distinct), min(sizes)) if sizes else None

    @property
    def weaker_thresholds(self) -> Sequence[Attained]:
        """Fewer values first, then fewer records too."""
        fewer = [(p, k) for k in range(1, self.k) for p in [min(self.p, k)]]
        return [*fewer, *((p, self.k) for p in range(2, self.p))]

"""SensitiveModel: base of the conditions on what a class says of a sensitive column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np
from pydantic import Field

from shoal.encoding.types import Floats, Ints
from shoal.frequencies.frequencies import Background, Classes, Frequencies, Histogram
from shoal.models.base import Census, Need, PrivacyModel, ValueCounts

Columns = Annotated[tuple[str, ...], Field(min_length=1)]


class SensitiveModel(PrivacyModel):
    """Base of the conditions on a sensitive column.

    Several columns in one model are taken as one: its values are the combinations. Several models, one for each
    column, look at them separately; neither follows from the other.
    """

    on: str | Columns
    """The sensitive column; a list of several is taken as one, whose values are the combinations."""

    @property
    def needs(self) -> tuple[Need, ...]:
        """Sizes, and how often each value occurs."""
        return ("counts", "values")

    @property
    def sensitive_columns(self) -> tuple[str, ...]:
        """The columns that it looks at."""
        return (self.on,) if isinstance(self.on, str) else self.on

    def histogram(self, classes: Classes, background: Background) -> Histogram:
        """Return how often each value occurs in each class."""
        return classes.histogram(background.known(self.sensitive_columns))

    def count_values(self, classes: Classes, background: Background) -> Ints:
        """Return how many values each class is known to have, and persons for each of them.

        One person with two records may hold two values, but hides behind nobody.
        """
        histogram = self.histogram(classes, background)
        return np.minimum(np.maximum(np.diff(histogram.starts), histogram.wild > 0), classes.sizes)

    def likely_values(self, background: Background, frequencies: Frequencies) -> Floats:
        """Return for each cell how large a share of the table its value has, at most; 1 where that is not known.

        Missing values that may be any count as the value.
        """
        names = self.sensitive_columns
        (column, *others), table = background.known(names), background.table(names)
        codes = frequencies.sensitive[:, column.place].astype(np.int64)
        held = background.counts(names, codes) + int(max(table.wild[0], table.unknown[0]))
        shares = np.minimum(held / max(int(table.persons[0]), 1), 1.0)
        known = (codes >= 0) & (codes < column.size) & (held > 0)
        return np.where(known, shares, 1.0) if not others else np.ones(len(codes))

    def read_counts(self, census: Census) -> ValueCounts:
        """Return what an audit counted of the values."""
        return census.value_counts[self.sensitive_columns]

    def rows(self, census: Census) -> Iterator[tuple[dict[int, int], int, int]]:
        """Yield for each class how many an audit counted of each value, how many that may be any, and its size."""
        for (values, blank), size in zip(self.read_counts(census).rows, census.sizes.tolist(), strict=True):
            yield values, blank, size

"""SensitiveModel: base of the conditions on what a class says of a sensitive column."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from shoal.frequencies.frequencies import Background, Classes, Histogram
from shoal.models.base import Census, Need, PrivacyModel, Tally

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

    def tally(self, census: Census) -> Tally:
        """Return what an audit counted of the values."""
        return census.tallies[self.sensitive_columns]

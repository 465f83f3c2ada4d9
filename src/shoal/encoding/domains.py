"""Domain: the distinct values of a column, in their natural order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shoal.encoding.types import Floats, Ints

Kind = Literal["integer", "float", "date", "datetime", "boolean", "text"]

STAR = "*"
"""What a suppressed value is published as, and the label at the top of every hierarchy."""

Profiles = Callable[[], Floats]
"""Makes ``profiles[value, feature]``: how often each value occurs together with values of other columns."""


@dataclass(frozen=True)
class Domain:
    """The distinct values of a column, in their natural order, without the missing one.

    Examples
    --------
    >>> ages = Domain.of("integer", [21, 24, 36])
    >>> ages.texts, ages.ordered, ages.span
    (('21', '24', '36'), True, 15.0)
    """

    kind: Kind
    values: npt.NDArray[Any]
    """Numbers for ordered kinds (days or microseconds since 1970 for dates), texts otherwise."""
    texts: tuple[str, ...]
    """How each value is published as it is."""
    limits: tuple[float, float] | None = field(default=None, compare=False)
    """The least and greatest value that the column could hold, where the policy declares them."""
    counts: Ints | None = field(default=None, compare=False)
    """Records of each value, for hierarchies that are built from data; 1 each where they are not known."""
    missing: int = field(default=0, compare=False)
    """Records without a value."""
    k: int = field(default=2, compare=False)
    """The k that the policy asks for."""
    profiles: Profiles | None = field(default=None, compare=False)

    @classmethod
    def of(cls, kind: Kind, values: list[Any]) -> Domain:
        """Make a domain of Python values that are already distinct and in order."""
        array = np.array(values, dtype=object) if kind == "text" else np.asarray(values)
        return cls(kind, array, tuple(str(value) for value in values))

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def ordered(self) -> bool:
        """Whether values have an order and a distance, so that ranges make sense."""
        return self.kind in ("integer", "float", "date", "datetime")

    @cached_property
    def low(self) -> float:
        """The least value, as a number."""
        return self.limits[0] if self.limits else float(self.values[0]) if len(self) else 0.0

    @cached_property
    def high(self) -> float:
        """The greatest value, as a number."""
        return self.limits[1] if self.limits else float(self.values[-1]) if len(self) else 0.0

    @cached_property
    def span(self) -> float:
        """The greatest minus the least value."""
        declared = self.limits or not len(self) or not self.ordered
        return self.high - self.low if declared else float(self.offsets[-1] - self.offsets[0])

    @cached_property
    def offsets(self) -> Floats:
        """By how much each value exceeds the least: whole numbers near 2**62 are told apart only before they round."""
        values = self.values
        if not len(values) or values.dtype.kind not in "iu" or float(values.max()) - float(values.min()) >= 2.0**62:
            values = values.astype(np.float64)
        return np.asarray(values - values.min(initial=values[0]) if len(values) else values, np.float64)

    def take(self, order: npt.NDArray[np.intp]) -> Domain:
        """Return the same domain in another order."""
        counts = None if self.counts is None else self.counts[order]
        texts = tuple(self.texts[i] for i in order)
        return replace(self, values=self.values[order], texts=texts, counts=counts)

    @cached_property
    def records(self) -> Ints:
        """Records of each value."""
        return np.ones(len(self), np.int64) if self.counts is None else self.counts

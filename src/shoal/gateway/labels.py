"""What a published text can stand for, and whether that certainly matches a condition."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from shoal.encoding.domains import Domain, Kind
from shoal.encoding.labels import PublishedValue, read_label
from shoal.errors import Refused
from shoal.gateway.request import Sign, Value
from shoal.hierarchies.base import Hierarchy

_AS_THEY_ARE = ("mask", "suppress", "intervals")
"""Hierarchies whose labels are ranges, masks and stars: any other text is a value."""
CONTRARY: dict[Sign, Sign] = {"<": ">=", ">=": "<", ">": "<=", "<=": ">"}
SIGNS: dict[Sign, Callable[[Any, Any], Any]] = {"<": lt, "<=": le, ">": gt, ">=": ge, "=": eq, "<>": ne}

Truth = bool | None
"""Certainly, certainly not, or it cannot be known."""


@dataclass(frozen=True)
class PossibleValues:
    """What one text can stand for: some values, a range, or (neither) anything; and whether it may be missing."""

    values: frozenset[Any] | None = None
    low: float = -math.inf
    high: float = math.inf
    with_low: bool = True
    with_high: bool = True
    missing: bool = False
    text: str | None = None
    """A label that may be named in a condition."""
    mask: PublishedValue | None = None
    """A mask that hides its values."""

    @property
    def is_bounded(self) -> bool:
        """Whether it is a range."""
        return self.values is None and (math.isfinite(self.low) or math.isfinite(self.high))

    def among(self, wanted: frozenset[Any], texts: frozenset[str]) -> Truth:
        """Return whether it is certainly one of some values, or is called by one of some texts."""
        if self.missing:
            return None
        if self.text is not None and self.text in texts:
            return True
        if self.values is not None:
            return True if self.values <= wanted else None if self.values & wanted else False
        if self.mask is not None:
            return None if any(self.mask.covers(str(one)) for one in wanted) else False
        if not self.is_bounded:
            return None
        if any(False not in (self._compare_range(">=", one), self._compare_range("<=", one)) for one in wanted):
            return self.low == self.high or None
        return False

    def _compare_range(self, sign: Sign, value: float) -> Truth:
        return True if self._is_sure(sign, value) else False if self._is_sure(CONTRARY[sign], value) else None

    def _is_sure(self, sign: Sign, value: float) -> bool:
        """Whether the whole range lies so: its nearer end does."""
        above = sign in (">", ">=")
        end, closed = (self.low, self.with_low) if above else (self.high, self.with_high)
        if end == value:
            return sign in (">=", "<=") or not closed
        return end > value if above else end < value

    def is_null(self) -> Truth:
        """Return whether it is certainly the missing value."""
        if self == MISSING:
            return True
        return None if self.missing else False

    @property
    def middle(self) -> float | None:
        """The middle of a range, the number itself, or nothing where there is no number."""
        if self.missing or (self.values is None and not (math.isfinite(self.low) and math.isfinite(self.high))):
            return None
        low, high = (self.low, self.high) if self.values is None else (min(self.values), max(self.values))
        return float(low + high) / 2 if isinstance(low, (int, float)) else None


MISSING = PossibleValues(frozenset(), missing=True)
ANYTHING = PossibleValues(missing=True)


@dataclass(frozen=True)
class LabelReader:
    """Reads the texts of one column, from the policy and the text alone.

    It never looks at the table: "[20, 29]" stands for all ages from 20 to 29, whichever of them occur, and a label of a
    hierarchy for all values that are declared under it. So whether a record matches a condition tells nothing beyond
    what is published of it.

    Examples
    --------
    >>> ages = LabelReader("integer")
    >>> ages.of("[20, 29]").low, ages.of("[20, 29]").high, ages.of("*").is_bounded
    (20, 29, False)
    """

    kind: Kind
    """What the column holds."""
    exact: bool = False
    """Whether every cell stands for itself: the column is shown as it is."""
    hierarchy: Hierarchy | None = None
    labels: Mapping[str, frozenset[Any]] = field(default_factory=dict)
    """Label → the values that the hierarchy declares under it."""

    @property
    def is_number(self) -> bool:
        """Whether the column holds numbers."""
        return self.kind in ("integer", "float")

    @classmethod
    def published(cls, kind: Kind, hierarchy: Hierarchy | None) -> LabelReader:
        """Return a reader of a generalized column."""
        leaves = hierarchy.leaves() if hierarchy is not None else ()
        labels: dict[str, set[Any]] = {leaf: {_read_leaf(leaf, kind)} for leaf in leaves}
        domain = Domain.of("text", list(leaves))
        for step in hierarchy.steps(domain) if hierarchy is not None and leaves else ():
            for leaf, label in zip(domain.texts, step.labels, strict=True):
                labels.setdefault(label, set()).add(_read_leaf(leaf, kind))
        return cls(kind, False, hierarchy, {label: frozenset(values) for label, values in labels.items()})

    def of(self, text: Any) -> PossibleValues:
        """Return what a cell can stand for."""
        if text is None:
            return MISSING
        if self.exact or not isinstance(text, str):
            return PossibleValues(frozenset((to_comparable(text),)))
        label = read_label(text, self.kind)
        if label.form == "star":
            return ANYTHING
        if text in self.labels:
            return PossibleValues(self.labels[text], text=text)
        if self._is_range(label):
            ends = (label.least, label.greatest, label.with_least, label.with_greatest)
            return PossibleValues(None, *ends, text=text)
        if label.form == "set":
            values = frozenset(_read_leaf(item, self.kind) for item in label.items if item is not None)
            return PossibleValues(values, missing=None in label.items, text=text)
        if label.form == "mask" and self.hierarchy is not None and self.hierarchy.key() == "mask":
            return PossibleValues(text=text, mask=label)
        return self._read_value(text)

    def _is_range(self, label: PublishedValue) -> bool:
        return label.form == "range" and self.is_number

    def _read_value(self, text: str) -> PossibleValues:
        if self.hierarchy is None or self.hierarchy.key() in _AS_THEY_ARE:
            return PossibleValues(frozenset((_read_leaf(text, self.kind),)), text=text)
        return PossibleValues(text=text)  # a label that was made from the data: nobody can read it

    def literal(self, value: Value, column: str) -> Any:
        """Return a literal as a value of this column's kind."""
        fitting = _fit_literal(value, self.kind)
        if fitting is None:
            what = "a literal of another kind than the column"
            raise Refused(what, where=column, hint=f"the column holds: {self.kind}")
        return fitting

    def literals(self, values: tuple[Value, ...], column: str) -> tuple[frozenset[Any], frozenset[str]]:
        """Return the values that some literals stand for, and their texts; a label stands for all values under it."""
        wanted: set[Any] = set()
        texts = frozenset(value for value in values if isinstance(value, str) and not self.exact)
        for value in values:
            if value in texts and value in self.labels:
                wanted |= self.labels[str(value)]
            elif value not in texts or not self._is_range(read_label(str(value), self.kind)):
                wanted.add(self.literal(value, column))
        return frozenset(wanted), texts


def _read_leaf(text: str, kind: Kind) -> Any:
    fitting = _fit_literal(text, kind)
    return text if fitting is None else fitting


def _fit_literal(value: Value, kind: Kind) -> Any:
    """Return a value as one of a kind; nothing where it is none."""
    try:
        if kind in ("integer", "float"):
            return None if isinstance(value, bool) else value if isinstance(value, (int, float)) else float(value)
        if kind == "date" and isinstance(value, str):
            return to_comparable(date.fromisoformat(value))
        if kind == "datetime" and isinstance(value, str):
            said = datetime.fromisoformat(value)  # tables hold moments in UTC
            return to_comparable(said if said.tzinfo is None else said.astimezone(UTC).replace(tzinfo=None))
    except ValueError:
        return None
    if kind == "boolean":
        return value if isinstance(value, bool) else {"true": True, "false": False}.get(str(value).lower())
    return value if kind == "text" and isinstance(value, str) else None


def to_comparable(value: Any) -> Any:
    """Return a value of a table as one that compares: moments as their text in ISO form, which sorts as they do."""
    return value.isoformat(sep=" ") if isinstance(value, datetime) else str(value) if isinstance(value, date) else value

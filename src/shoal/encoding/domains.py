"""Domain: the distinct values of a column, in their natural order."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Kind = Literal["integer", "float", "date", "datetime", "boolean", "text"]

STAR = "*"
"""What a suppressed value is published as, and the label at the top of every hierarchy."""


MISSING = "(missing)"
"""How a missing value is written inside a set of values."""
ELLIPSIS = "…"
"""How the name of a group writes that some of its values are left out."""


def write_set(texts: Iterable[str | None]) -> str:
    """Return how a set of values is published: those that could be read as something else are quoted.

    Examples
    --------
    >>> print(write_set(["a", "b, c", "(missing)", None]))
    {a, "b, c", "(missing)", (missing)}
    """
    return "{" + ", ".join(map(write_item, texts)) + "}"


def write_item(text: str | None) -> str:
    """Return how a value is written inside a set.

    Examples
    --------
    >>> print(write_item("a"), write_item("{a}"))
    a "{a}"
    """
    if text is None:
        return MISSING
    is_plain = text.strip() == text != MISSING and not any(mark in text for mark in (*',{}"', ELLIPSIS))
    return text if is_plain else json.dumps(text, ensure_ascii=False)


def read_set(text: str) -> list[str | None] | None:
    """Return what a set lists, ``None`` being the missing value; nothing where a text is no set, or leaves some out.

    Examples
    --------
    >>> read_set('{a, "(missing)", (missing)}'), read_set("{a, … 5 …, g}"), read_set("a")
    (['a', '(missing)', None], None, None)
    """
    if not (text.startswith("{") and text.endswith("}")) or any(item.startswith(ELLIPSIS) for item in _items(text)):
        return None
    return read_items(text)


def read_items(text: str) -> list[str | None]:
    """Return what a text in braces lists; values that it leaves out are not among them.

    Examples
    --------
    >>> read_items("{a, … 5 …, g}")
    ['a', 'g']
    """
    return [_read_item(item) for item in _items(text) if not item.startswith(ELLIPSIS)]


_ITEM = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[^,"{}]+)\s*(?:,|$)', re.S)


def _items(text: str) -> list[str]:
    """Return the items of a text in braces as they are written; none where it is not well written."""
    inner, items, at = text[1:-1], [], 0
    while at < len(inner):
        found = _ITEM.match(inner, at)
        if found is None:
            return []
        items.append(found[1].strip())
        at = found.end()
    return items


def _read_item(text: str) -> str | None:
    try:
        quoted: str = json.loads(text) if text.startswith('"') else text
    except ValueError:  # somebody else's quotes
        return text
    return None if text == MISSING else quoted


Profiles = Callable[[], npt.NDArray[np.float64]]
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
    counts: npt.NDArray[np.int64] | None = field(default=None, compare=False)
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

    @property
    def span(self) -> float:
        """The greatest minus the least value."""
        return self.high - self.low

    def take(self, order: npt.NDArray[np.intp]) -> Domain:
        """Return the same domain in another order."""
        counts = None if self.counts is None else self.counts[order]
        texts = tuple(self.texts[i] for i in order)
        return replace(self, values=self.values[order], texts=texts, counts=counts)

    @cached_property
    def records(self) -> npt.NDArray[np.int64]:
        """Records of each value."""
        return np.ones(len(self), np.int64) if self.counts is None else self.counts

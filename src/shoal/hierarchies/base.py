"""Hierarchy: what is this value called at that level?  Levels: the answer for a whole column, as arrays."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from shoal.catalog import Entry
from shoal.domains import STAR, Domain
from shoal.errors import Fault, HierarchyError, examples

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Step:
    """One level above the values: the label of each value and, for ordered labels, what it covers."""

    labels: Sequence[str]
    lows: Floats | None = None
    highs: Floats | None = None


class Hierarchy(Entry):
    """Base of all ways to build levels.

    An entry answers one question, :meth:`steps`: the labels of each value at level 1, 2, and so on. Level 0 is
    the value as it is; the base puts ``*`` on top, checks that each level coarsens the one below, and orders
    the values so that every label covers neighbours.
    """

    family: ClassVar[str] = "hierarchies"

    @abstractmethod
    def steps(self, domain: Domain) -> Iterator[Step]:
        """Yield the levels above the values, finest first; ``*`` need not be among them."""

    def leaves(self) -> tuple[str, ...]:
        """Return the declared values, where the hierarchy declares them (``domain: hierarchy``)."""
        return ()

    def knows(self, label: str, domain: Domain) -> bool:
        """Return whether a label belongs to this hierarchy."""
        return any(label in step.labels for step in self.steps(domain)) or label in domain.texts

    def faults(self, domain: Domain) -> Iterator[Fault]:
        """Yield what is wrong with this hierarchy for these values: values without a label, with examples."""
        yield from ()

    def build(self, domain: Domain, *, missing: str | None = "own-value") -> Levels:
        """Return the levels of a column, checked and in hierarchy order."""
        if not len(domain):  # a column of missing values only has no type that could be wrong
            return Levels.of(domain, [], missing=missing)
        problems = list(self.faults(domain))
        if problems:
            raise HierarchyError(problems)
        return Levels.of(domain, list(self.steps(domain)), missing=missing)


@dataclass(frozen=True)
class Levels:
    """The levels of one column, as arrays over its values in hierarchy order.

    A value's *code* is its place in that order, so the values under any label are neighbours and the lowest
    common ancestor of many values is that of the least and the greatest code. The code after the last value
    stands for the missing value.

    Attributes
    ----------
    domain
        The values, in hierarchy order.
    position
        The code of each value of the natural order.
    codes
        ``codes[level, code]``: the number of the label at that level.
    labels
        ``labels[level][number]``: the label; ``None`` is published as missing.
    penalties
        ``penalties[level, code]``: the certainty penalty of the label, from 0 (one value) to 1 (``*``).
    lows, highs
        ``lows[level, code]``: what the label covers, for ordered columns; not a number where it is no range.
    """

    domain: Domain
    position: Ints
    codes: Ints
    labels: tuple[tuple[str | None, ...], ...]
    penalties: Floats
    lows: Floats
    highs: Floats

    @property
    def height(self) -> int:
        """The number of the top level."""
        return len(self.labels) - 1

    @property
    def size(self) -> int:
        """How many codes there are, the missing value included."""
        return int(self.codes.shape[1])

    @property
    def has_missing(self) -> bool:
        """Whether the last code stands for the missing value."""
        return self.size > len(self.domain)

    @property
    def natural(self) -> bool:
        """Whether the hierarchy order of the values is their natural order, so that codes can be read as a range."""
        return bool((np.diff(self.position) > 0).all())

    @cached_property
    def joins(self) -> Ints:
        """``joins[code]``: the lowest level at which this code and the next share a label."""
        same = self.codes[:, :-1] == self.codes[:, 1:]
        return np.argmax(same, axis=0).astype(np.int32) if self.size > 1 else np.zeros(0, np.int32)

    def limits(self, boundaries: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the highest level that each code may be shown at: that of the lowest boundary above it."""
        result = np.full(self.size, self.height, np.int64)
        for code in range(self.size):
            path = [self.text(level, code) for level in range(self.height + 1)]
            places = [level for level, label in enumerate(path) if label in boundaries]
            if places:  # a label may stay the same for some levels: all of them show the boundary itself
                result[code] = max(level for level, label in enumerate(path) if label == path[places[0]])
        return result

    def text(self, level: int, code: int) -> str | None:
        """Return the label of a code at a level."""
        return self.labels[level][int(self.codes[level, code])]

    @classmethod
    def of(cls, domain: Domain, steps: list[Step], *, missing: str | None) -> Levels:
        """Check the steps, put ``*`` on top, order the values, and measure each label."""
        if not steps or set(steps[-1].labels) != {STAR}:
            steps = [*steps, Step([STAR] * len(domain))]
        _check_coarsening(domain, steps)
        order = _hierarchy_order(steps)
        position = np.empty(len(domain), np.int32)
        position[order] = np.arange(len(domain), dtype=np.int32)
        with_missing = missing in ("own-value", "wildcard")
        blank = STAR if missing == "wildcard" else None
        return cls._assemble(domain.take(order), _reorder(steps, order), position, with_missing, blank)

    @classmethod
    def _assemble(
        cls, domain: Domain, steps: list[Step], position: Ints, with_missing: bool, blank: str | None
    ) -> Levels:
        size = len(domain) + with_missing
        height = len(steps)
        codes = np.zeros((height + 1, size), np.int32)
        lows, highs = np.full((2, height + 1, size), np.nan)
        codes[0] = np.arange(size, dtype=np.int32)
        labels: list[tuple[str | None, ...]] = [(*domain.texts, *([blank] if with_missing else ()))]
        if domain.ordered:
            lows[0, : len(domain)] = highs[0, : len(domain)] = domain.values
        for level, step in enumerate(steps, start=1):
            numbers = {label: number for number, label in enumerate(dict.fromkeys(step.labels))}
            codes[level, : len(domain)] = [numbers[label] for label in step.labels]
            texts: list[str | None] = list(numbers)
            if with_missing and level < height:
                codes[level, -1] = len(texts)
                texts.append(blank)
            labels.append(tuple(texts) or (STAR,))
            if step.lows is not None and step.highs is not None:
                lows[level, : len(domain)], highs[level, : len(domain)] = step.lows, step.highs
        penalties = _penalties(domain, codes, lows, highs, blank if with_missing else None)
        return cls(domain, position, codes, tuple(labels), penalties, lows, highs)


def _check_coarsening(domain: Domain, steps: list[Step]) -> None:
    below: Sequence[str] = domain.texts
    for level, step in enumerate(steps, start=1):
        parents: dict[str, set[str]] = {}
        for child, parent in zip(below, step.labels, strict=True):
            parents.setdefault(child, set()).add(parent)
        split = [child for child, above in parents.items() if len(above) > 1]
        if split and level > 1:
            raise HierarchyError(
                f"{split[0]!r} has {len(parents[split[0]])} parents",
                where=f"level {level}",
                got=examples(sorted(parents[split[0]])),
                hint="a label belongs to one label of the level above",
            )
        below = step.labels


def _hierarchy_order(steps: list[Step]) -> npt.NDArray[np.intp]:
    """Order values by their labels from the top down; labels in order of their first value."""
    keys = []
    for step in steps:
        first = {label: number for number, label in enumerate(dict.fromkeys(step.labels))}
        keys.append(np.array([first[label] for label in step.labels], dtype=np.int64))
    count = len(steps[0].labels)
    return np.lexsort([np.arange(count), *keys])


def _reorder(steps: list[Step], order: npt.NDArray[np.intp]) -> list[Step]:
    def moved(array: Floats | None) -> Floats | None:
        return None if array is None else array[order]

    return [Step([step.labels[i] for i in order], moved(step.lows), moved(step.highs)) for step in steps]


def _penalties(domain: Domain, codes: Ints, lows: Floats, highs: Floats, blank: str | None) -> Floats:
    """Certainty penalty of each label: its share of the range, or of the values; 0 for a single value."""
    height, size = codes.shape[0] - 1, codes.shape[1]
    result = np.zeros(codes.shape, np.float64)
    for level in range(1, height):
        counts = np.bincount(codes[level])[codes[level]] if size else np.zeros(0)
        result[level] = np.where(counts > 1, counts / max(size, 1), 0.0)
        measured = ~np.isnan(lows[level])
        if measured.any():
            low = np.maximum(lows[level][measured], domain.low)
            high = np.minimum(highs[level][measured], domain.high)
            width = np.maximum(high - low, 0.0)
            result[level][measured] = width / domain.span if domain.span > 0 else 0.0
    result[height] = 1.0
    if blank == STAR:
        result[:, -1] = 1.0
    return result


def as_rows(levels: Levels) -> list[dict[str, Any]]:
    """Return the nodes of each level as plain data: label, number of values, what it covers, its penalty."""
    rows = []
    for level in range(levels.height + 1):
        nodes = []
        for number, label in enumerate(levels.labels[level]):
            under = np.flatnonzero(levels.codes[level] == number)
            if not len(under):
                continue
            low, high = levels.lows[level, under[0]], levels.highs[level, under[0]]
            nodes.append(
                {
                    "label": label,
                    "values": len(under),
                    "low": None if np.isnan(low) else float(low),
                    "high": None if np.isnan(high) else float(high),
                    "distortion": float(levels.penalties[level, under[0]]),
                    "codes": (int(under[0]), int(under[-1])),
                }
            )
        rows.append({"level": level, "nodes": nodes})
    return rows

"""Hierarchy: what is this value called at that level?  Levels: the answer for a whole column, as arrays."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from shoal.encoding.domains import STAR, Domain
from shoal.encoding.fragments import write_heading, write_table, write_text
from shoal.encoding.types import Bools, Codes, Floats, Ints
from shoal.errors import Fault, HierarchyError
from shoal.hierarchies._steps import Step, check_coarsening, find_unreadable
from shoal.registry import Entry


class Hierarchy(Entry):
    """Base of all ways to build levels.

    An entry answers one question, :meth:`steps`: the labels of each value at level 1, 2, and so on. Level 0 is
    the value as it is; the base puts ``*`` on top, checks that each level coarsens the one below, and orders
    the values so that every label covers neighbours.
    """

    family: ClassVar[str] = "hierarchies"
    nested: ClassVar[bool] = True
    """Whether each label lies in one label of the level above."""
    reads_records: ClassVar[bool] = False
    """Whether it is built from whole records, not from the values of its column."""
    data_independent: ClassVar[bool] = False
    """Whether the labels of a value are the same whatever other values and records there are."""

    @property
    def root(self) -> str:
        """The label that stands for every value: ``*``, unless the hierarchy has a name for it."""
        return STAR

    @property
    def declared_order(self) -> tuple[str, ...]:
        """The values in the order that the hierarchy declares; none where it declares no order."""
        return ()

    @abstractmethod
    def steps(self, domain: Domain) -> Iterator[Step]:
        """Yield the levels above the values, finest first; ``*`` need not be among them."""

    def _repr_html_(self) -> str:
        said = ", ".join(f"{name}: {value}" for name, value in self.parameters().items())
        return write_heading(f"Hierarchy {self.key()}: {self.summary()}") + (write_text(said) if said else "")

    def leaves(self) -> tuple[str, ...]:
        """Return the declared values, where the hierarchy declares them (``domain: hierarchy``)."""
        return ()

    def knows(self, label: str, domain: Domain) -> bool:
        """Return whether a label belongs to this hierarchy."""
        return any(label in step.names for step in self.steps(domain)) or label in domain.texts

    def faults(self, domain: Domain) -> Iterator[Fault]:
        """Yield what is wrong with this hierarchy for these values: values without a label, with examples."""
        yield from ()

    def gaps(self, domain: Domain) -> Iterator[Fault]:
        """Yield the parts of the domain that no label covers though no value lies there yet."""
        yield from ()

    def build(
        self,
        domain: Domain,
        *,
        missing: str | None = "own-value",
        read_steps: Callable[[], Sequence[Step]] | None = None,
    ) -> Levels:
        """Return the levels of a column, checked and in hierarchy order.

        ``read_steps`` gives the steps where they are made elsewhere too; it is called if the values fit.
        """
        if not len(domain):  # a column of missing values only has no type that could be wrong
            return Levels.of(domain, [], missing=missing)
        problems = list(self.faults(domain))
        if problems:
            raise HierarchyError(problems)
        steps = self.steps(domain) if read_steps is None else read_steps()
        return Levels.of(domain, list(steps), missing=missing, nested=self.nested)

    def distortions(self, levels: Levels) -> Floats:
        """Return ``distortions[level, code]``: the height at the top, below in proportion to what a label covers.

        Yaseen et al. (2018), III.B: the proportion is that of the interval, or of the number of values where a
        label is no interval; a single value has none.
        """
        return levels.penalties * levels.height


@dataclass(frozen=True, kw_only=True)
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
    position: Codes
    codes: Codes
    labels: tuple[tuple[str | None, ...], ...]
    penalties: Floats
    lows: Floats
    highs: Floats
    nested: bool = True
    """Whether each label lies in one label of the level above, so that classes can be rolled up level by level."""

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
    def joins(self) -> Codes:
        """``joins[code]``: the lowest level at which this code and the next share a label."""
        same = self.codes[:, :-1] == self.codes[:, 1:]
        return np.argmax(same, axis=0).astype(np.int32) if self.size > 1 else np.zeros(0, np.int32)

    @property
    def own(self) -> Ints:
        """``own[code]``: records of the table with that value, or with the missing one."""
        return np.append(self.domain.records, self.domain.missing if self.has_missing else 0)[: self.size]

    @cached_property
    def records(self) -> Ints:
        """``records[level, code]``: records of the table whose value the label could stand for."""
        own = self.own
        result = np.empty(self.codes.shape, np.int64)
        for level, numbers in enumerate(self.codes):
            result[level] = np.bincount(numbers, own, minlength=self.size).astype(np.int64)[numbers]
        if self.has_missing and self.labels[0][-1] == STAR:  # a missing value that could be any value
            result[:, -1] = own.sum()
        return result

    @cached_property
    def covers(self) -> Bools:
        """``covers[label, code]``: whether a label may stand for a value; labels of all levels, the lowest first.

        Labels with the same text are one to a reader, and ``*`` stands for any value.
        """
        numbers: dict[str | None, int] = {}
        texts = [text for names in self.labels for text in names]
        rows = np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.int64)
        joined = np.zeros((len(numbers), self.size), bool)
        for offset, codes in zip(self.label_offsets.tolist(), self.codes, strict=True):
            joined[rows[offset + codes], np.arange(self.size)] = True
        if STAR in numbers:
            joined[numbers[STAR]] = True
        return joined[rows]

    @cached_property
    def label_offsets(self) -> Ints:
        """``label_offsets[level]``: where the labels of a level start when all are put after each other."""
        return np.cumsum([0, *(len(names) for names in self.labels[:-1])])

    @cached_property
    def told_apart(self) -> bool:
        """Whether every label covers just the values that have it at its level, so that counting labels is enough."""
        return all(
            bool(
                (
                    self.covers[offset + np.arange(len(names))].sum(axis=1) == np.bincount(codes, minlength=len(names))
                ).all()
            )
            for offset, names, codes in zip(self.label_offsets.tolist(), self.labels, self.codes, strict=True)
        )

    @cached_property
    def lowest(self) -> Ints:
        """``lowest[level, code]``: the lowest level at which the code has the label that it has at this level."""
        result = np.zeros(self.codes.shape, np.int64)
        texts = [np.array(names, object)[numbers] for names, numbers in zip(self.labels, self.codes, strict=True)]
        for level in range(1, self.height + 1):
            lower = np.where(texts[level] == texts[level - 1], result[level - 1], level)
            least = np.full(self.size, level, np.int64)
            np.minimum.at(least, self.codes[level], lower)
            result[level] = least[self.codes[level]]
        return result

    def limits(self, boundaries: Sequence[str]) -> Ints:
        """Return the highest level that each code may be shown at: that of the lowest boundary above it."""
        result = np.full(self.size, self.height, np.int64)
        for code in range(self.size):
            path = [self.text(level, code) for level in range(self.height + 1)]
            indices = [level for level, label in enumerate(path) if label in boundaries]
            if indices:  # a label may stay the same for some levels: all of them show the boundary itself
                result[code] = max(level for level, label in enumerate(path) if label == path[indices[0]])
        return result

    def text(self, level: int, code: int) -> str | None:
        """Return the label of a code at a level."""
        return self.labels[level][int(self.codes[level, code])]

    def _repr_html_(self) -> str:
        rows = [
            (level, len(names), ", ".join(map(str, names[:8])) + (", …" if len(names) > 8 else ""))
            for level, names in enumerate(self.labels)
        ]
        return write_table(["level", "labels", "first labels"], rows)

    @classmethod
    def of(cls, domain: Domain, steps: list[Step], *, missing: str | None, nested: bool = True) -> Levels:
        """Check the steps, put ``*`` on top, order the values, and measure each label."""
        if not steps or steps[-1].names != (STAR,):
            steps = [*steps, Step(np.zeros(len(domain), np.int32), (STAR,))]
        faults = [*find_unreadable(domain, steps), *(check_coarsening(steps) if nested else ())]
        if faults:
            raise HierarchyError(faults)
        order = _hierarchy_order(steps)
        position = np.empty(len(domain), np.int32)
        position[order] = np.arange(len(domain), dtype=np.int32)
        with_missing = missing in ("own-value", "wildcard")
        blank = STAR if missing == "wildcard" else None
        lasting = replace(domain.take(order), profiles=None)  # built already: let go of the records behind them
        built = cls._assemble(lasting, _reorder(steps, order), position, with_missing, blank)
        return replace(built, nested=nested)

    @classmethod
    def _assemble(
        cls, domain: Domain, steps: list[Step], position: Codes, with_missing: bool, blank: str | None
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
            codes[level, : len(domain)] = step.numbers
            texts: list[str | None] = [*step.names] if len(domain) else [STAR]
            if with_missing and level < height:
                codes[level, -1] = len(texts)
                texts.append(blank)
            labels.append(tuple(texts))
            if step.lows is not None and step.highs is not None:
                lows[level, : len(domain)] = step.lows[step.numbers]
                highs[level, : len(domain)] = step.highs[step.numbers]
        if domain.ordered and len(domain):
            lows[height, : len(domain)], highs[height, : len(domain)] = domain.low, domain.high
        penalties = _penalties(domain, codes, lows, highs, blank if with_missing else None)
        return cls(
            domain=domain,
            position=position,
            codes=codes,
            labels=tuple(labels),
            penalties=penalties,
            lows=lows,
            highs=highs,
        )


def _hierarchy_order(steps: list[Step]) -> npt.NDArray[np.intp]:
    """Order values by their labels from the top down; labels in order of their first value."""
    keys = []
    for step in steps:
        _, first, index = np.unique(step.numbers, return_index=True, return_inverse=True)
        keys.append(np.argsort(np.argsort(first))[index])
    return np.lexsort([np.arange(len(steps[0].numbers)), *keys])


def _reorder(steps: list[Step], order: npt.NDArray[np.intp]) -> list[Step]:
    """Put the values of each level in another order, and number its labels in the order of their values."""
    moved = []
    for step in steps:
        used, first, numbers = np.unique(step.numbers[order], return_index=True, return_inverse=True)
        turn = np.argsort(first)
        index = np.argsort(turn)
        chosen = used[turn]
        names = tuple(step.names[number] for number in chosen.tolist())
        ends = [None if array is None else array[chosen] for array in (step.lows, step.highs)]
        moved.append(Step(index[numbers].astype(np.int32), names, *ends))
    return moved


def _penalties(domain: Domain, codes: Codes, lows: Floats, highs: Floats, blank: str | None) -> Floats:
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

"""assign(): whether the published records can be those of different original ones, where nobody tells which."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.auditing.hygiene import write_comparable
from shoal.auditing.original import OriginalTable
from shoal.auditing.reading import Reader
from shoal.auditing.suppression import stars_everywhere
from shoal.auditing.texts import number_texts, read_texts
from shoal.encoding.types import Bools, Ints
from shoal.engines.counted import CountedTable
from shoal.guarantees import declare_guarantees
from shoal.utility.statistics.covers import CoveredValues

_LOOKS = 2_000_000_000
"""So many cells of original records are looked at, at most: some seconds."""
_FITTING = 8_000_000
"""So many pairs that fit each other are given to the flow, at most."""
_RECORDS = 2**31 - 1
"""The largest flow that scipy counts."""


@dataclass(frozen=True)
class Assignment:
    """How many published records no original record is left for, at best."""

    unexplained: int = 0
    too_large: str = ""
    """Why that was not found out; empty where it was."""


def assign(published: CountedTable, original: OriginalTable, classes: Ints) -> Assignment:
    """Give as many published records as possible an original record of their own that fits.

    An original record fits if every generalized column covers its value, within its boundary unless the published one
    is suppressed, and every other column shows it as it is. If
    one record is left without, then no assignment explains the table: values were moved, exchanged or made up. What an
    assignment explains may still be a lie, but one that nobody can tell from the truth by the two tables alone.

    The assignment is a flow from (class, values) to distinct original records, which share values that are published
    as they are; its edges are found class by class.

    Parameters
    ----------
    published, original
        The published table and the original.
    classes
        The class of each published record.

    References
    ----------
    Hall, P. (1935). On representatives of subsets. Dinic, E. A. (1970). Algorithm for solution of a problem of maximum
    flow in networks with power estimation.
    """
    if not len(classes):
        return Assignment()
    frame, readers = published.frame, original.readers
    values, values_before = _number_values(frame, original)
    held = _Cells.of(original, values_before)
    members, wanted_values, wanted = _count_pairs(classes, values, published)
    count = int(classes.max(initial=-1)) + 1
    if max(int(wanted.sum()), int(held.counts.sum())) > _RECORDS:
        return Assignment(too_large=f"{int(held.counts.sum()):,} records")
    texts = [_texts_by_class(frame[name], classes, count) for name in readers]
    suppressed = stars_everywhere(texts).to_numpy()
    covers = [
        _Cover(column, suppressed, reader, codes)
        for column, reader, codes in zip(texts, readers.values(), held.codes.T, strict=True)
    ]
    pairs = _Pairs(covers, members, wanted_values, held.values, count)
    if pairs.looks > _LOOKS:
        return Assignment(too_large=f"{count:,} classes and {len(held.counts):,} distinct original records")
    edges = pairs.fitting()
    if edges is None:
        return Assignment(too_large=f"more than {_FITTING:,} pairs of a class and an original record that fit")
    return Assignment(count_unmet(*edges, wanted, held.counts))


@dataclass(frozen=True)
class _Cells:
    codes: Ints
    """The code of each quasi-identifier."""
    values: Ints
    """The number of what is published as it is."""
    counts: Ints

    @classmethod
    def of(cls, original: OriginalTable, values: Ints) -> _Cells:
        codes = [original.words.codes(name) for name in original.readers]
        of_record = values
        for column in codes:
            joined = of_record * (int(column.max(initial=0)) + 1) + column
            of_record = np.unique(joined, return_inverse=True)[1].astype(np.int64)
        _, first = np.unique(of_record, return_index=True)
        counts = original.table.count_codes(of_record, len(first))
        return cls(np.stack([column[first] for column in codes], axis=1), values[first], counts)


def _number_values(frame: pl.DataFrame, original: OriginalTable) -> tuple[Ints, Ints]:
    """Return the number of what each record of both tables shows as it is."""
    raw, guarantees = original.frame, declare_guarantees(frame.columns, original.policy)
    numbers = np.zeros(frame.height + raw.height, np.int64)
    for name in frame.columns:
        if name in raw.columns and guarantees[name].keeps_values:
            texts, indices = number_texts(pl.concat([write_comparable(frame[name]), write_comparable(raw[name])]))
            numbers = np.unique(numbers * len(texts) + indices, return_inverse=True)[1].astype(np.int64)
    return numbers[: frame.height], numbers[frame.height :]


def _count_pairs(classes: Ints, values: Ints, published: CountedTable) -> tuple[Ints, Ints, Ints]:
    size = int(values.max(initial=0)) + 1
    pairs, of_record = np.unique(classes * size + values, return_inverse=True)
    return *np.divmod(pairs, size), published.count_codes(of_record, len(pairs))


def _texts_by_class(column: pl.Series, classes: Ints, count: int) -> pl.Series:
    first = np.zeros(count, np.int64)
    first[classes[::-1]] = np.arange(len(classes))[::-1]
    return read_texts(column).gather(first)


class _Cover:
    """Which distinct original records may show the texts of one column."""

    def __init__(self, texts: pl.Series, suppressed: Bools, reader: Reader, codes: Ints) -> None:
        distinct, of_class = number_texts(texts)
        size = len(reader.domain) + 1
        everything = CoveredValues.of([range(size)], size)
        self.allowed = reader.allowed_codes(distinct).append(everything)
        """The codes that may show each text; the last is that of suppressed records, which any may show."""
        self.of_class = np.where(suppressed, len(distinct), of_class)
        self.codes = codes
        self.by_code = np.argsort(codes, kind="stable")
        self.starts = np.searchsorted(codes[self.by_code], np.arange(size + 1))
        self.records = self.allowed.sums(np.diff(self.starts).astype(np.float64)).astype(np.int64)
        """How many records may show each text."""
        self.marks = np.zeros(size, bool)

    def rows(self, number: int, among: Ints | None) -> Ints | None:
        """Return which of some distinct original records may show the text of a class; ``None`` is all of them."""
        text = int(self.of_class[number])
        if self.records[text] == len(self.codes):
            return among
        allowed = self.allowed[text]
        if among is None:
            return self._all_rows(allowed)
        self.marks[allowed] = True
        fits: Bools = self.marks[self.codes[among]]
        self.marks[allowed] = False
        return among[fits]

    def _all_rows(self, allowed: Ints | slice) -> Ints:
        """Return the records that have some codes; records are sorted by code once, so that only these are touched."""
        if isinstance(allowed, slice):
            return self.by_code[self.starts[allowed.start] : self.starts[allowed.stop]]
        ends = zip(self.starts[allowed].tolist(), self.starts[allowed + 1].tolist(), strict=True)
        return np.concatenate([self.by_code[:0], *(self.by_code[first:last] for first, last in ends)])


class _Pairs:
    """Finds which classes with which values fit which distinct original records, class by class.

    A class begins with the fewest: the records that have its values, or those that its narrowest text covers.
    """

    def __init__(self, covers: list[_Cover], members: Ints, wanted: Ints, held: Ints, count: int) -> None:
        self.covers, self.wanted, self.held, self.count = covers, wanted, held, count
        self.starts = np.searchsorted(members, np.arange(count + 1))
        covered = np.stack([cover.records[cover.of_class] for cover in covers])
        self.narrowest = np.argsort(covered, axis=0, kind="stable")
        self.by_value = np.argsort(held, kind="stable")
        self.value_starts = np.searchsorted(held[self.by_value], np.arange(int(wanted.max(initial=0)) + 2))
        valued = np.bincount(members, np.diff(self.value_starts)[wanted], minlength=count)
        self.begins_with_values = valued < covered.min(axis=0)
        self.looks = float((np.minimum(valued, covered.min(axis=0)) * (1 + (covered < len(held)).sum(axis=0))).sum())
        """How many cells are looked at, at most."""

    def fitting(self) -> tuple[Ints, Ints] | None:
        """Return the places of both that fit each other; ``None`` where there are too many."""
        slots = np.full(max(int(self.held.max(initial=0)), int(self.wanted.max(initial=0))) + 1, -1, np.int64)
        found, total = [], 0
        for number in range(self.count):
            mine = np.arange(self.starts[number], self.starts[number + 1])
            rows = self._rows(number, self.wanted[mine])
            slots[self.wanted[mine]] = mine
            chosen = slots[self.held[rows]]
            slots[self.wanted[mine]] = -1
            found.append((chosen[chosen >= 0], rows[chosen >= 0]))
            total += len(found[-1][0])
            if total > _FITTING:
                return None
        return np.concatenate([one for one, _ in found]), np.concatenate([other for _, other in found])

    def _rows(self, number: int, values: Ints) -> Ints:
        """Return the distinct original records that may show what a class shows."""
        rows: Ints | None = None
        if self.begins_with_values[number]:
            ends = zip(self.value_starts[values].tolist(), self.value_starts[values + 1].tolist(), strict=True)
            rows = np.concatenate([self.by_value[first:last] for first, last in ends])
        for index in self.narrowest[:, number]:
            rows = self.covers[index].rows(number, rows)
        return np.arange(len(self.held)) if rows is None else rows


def count_unmet(takers: Ints, givers: Ints, wanted: Ints, held: Ints) -> int:
    """Return how much of what is wanted cannot be given, at best.

    Parameters
    ----------
    takers, givers
        Who may take from whom.
    wanted, held
        How much each taker wants, and each giver has.

    Examples
    --------
    >>> count_unmet(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([1, 1]), np.array([1, 1]))
    0
    >>> count_unmet(np.array([0, 1]), np.array([1, 1]), np.array([1, 1]), np.array([5, 1]))
    1
    """
    # who has but one taker gives all to it: that never stands in another's way
    alone = np.bincount(givers, minlength=len(held))[givers] == 1
    left = np.maximum(wanted - np.bincount(takers[alone], held[givers[alone]], len(wanted)).astype(np.int64), 0)
    open_ = ~alone & (left[takers] > 0)
    return int(left.sum()) - _largest_flow(takers[open_], givers[open_], left, held)


def _largest_flow(takers: Ints, givers: Ints, wanted: Ints, held: Ints) -> int:
    if not len(takers):
        return 0
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    first, mine = np.unique(takers, return_inverse=True)
    second, theirs = np.unique(givers, return_inverse=True)
    source, sink = len(first) + len(second), len(first) + len(second) + 1
    tails = np.concatenate([np.full(len(first), source), mine, len(first) + np.arange(len(second))])
    heads = np.concatenate([np.arange(len(first)), len(first) + theirs, np.full(len(second), sink)])
    most = np.minimum(wanted[takers], held[givers])
    room = np.concatenate([wanted[first], most, held[second]]).astype(np.int32)
    graph = csr_array((room, (tails, heads)), shape=(sink + 1, sink + 1))
    return int(maximum_flow(graph, source, sink).flow_value)

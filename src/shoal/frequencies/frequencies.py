"""Frequencies: the table as a search sees it.  Classes: the records that would look alike.

Models, searches, risks and losses need no rows, only the distinct combinations and how often each occurs. What
a model must know besides, of the table as a whole, is its Background.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.encoding.types import Bools, Codes, Ints
from shoal.frequencies.populations import Population, Survey
from shoal.kernels.group import group


@dataclass(frozen=True)
class Frequencies:
    """Distinct quasi-identifier *tuples*, and the distinct *cells* (tuple, sensitive values, subject) in them.

    Cells are sorted by tuple, then by sensitive values, then by subject, so that equal tables have equal
    frequencies whatever the order of their records.
    """

    tuples: Codes
    """``tuples[t, column]``: codes of the quasi-identifiers, in lexicographic order."""
    cell_tuples: Ints
    """The tuple of each cell."""
    cell_counts: Ints
    """Its number of records."""
    sensitive: Codes
    """``sensitive[cell, column]``: codes of the sensitive columns; -1 is a missing value that matches anything."""
    subjects: Ints | None = None
    """The person of each cell, where the policy names a ``subject`` column; else every record is one."""

    @cached_property
    def counts(self) -> Ints:
        """The number of records of each tuple."""
        counted = np.bincount(self.cell_tuples, weights=self.cell_counts, minlength=len(self.tuples))
        return counted.astype(np.int64)

    @cached_property
    def cell_starts(self) -> Ints:
        """Where the cells of each tuple start; one more for the end of the last."""
        return np.searchsorted(self.cell_tuples, np.arange(len(self.tuples) + 1)).astype(np.int64)

    def cells_of(self, tuples: Ints) -> tuple[Ints, Ints]:
        """Return the cells of some tuples, one tuple after the other, and which of these tuples each is of."""
        starts, lengths = self.cell_starts[tuples], np.diff(self.cell_starts)[tuples]
        owner = np.repeat(np.arange(len(tuples)), lengths)
        return np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(len(owner)), owner

    @cached_property
    def records(self) -> int:
        """The number of records."""
        return int(self.cell_counts.sum())

    @cached_property
    def persons(self) -> int:
        """The number of persons: distinct subjects, or records where there are no subjects."""
        return self.records if self.subjects is None else len(np.unique(self.subjects))


@dataclass(frozen=True)
class SensitiveColumn:
    """A column that models look at, as it is in the table as a whole."""

    place: int
    """Its place in ``Frequencies.sensitive``."""
    size: int
    """How many values it has. A code from here on is no value: its records are suppressed whatever a search does."""
    ranks: Ints | None = None
    """The rank of each value, where the values have an order."""
    levels: Codes | None = None
    """``levels[level, value]``: the number of each value's label, from the values themselves (level 0) up to below the
    top, where the column has a hierarchy."""
    requested_k: Ints | None = None
    """The number that each value is, where the column holds how many persons each person wants to be among."""


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """How often each value occurs in each class, sorted by class, then by value; what does not occur is not there.

    Counts are records or, where there are subjects, persons: a person with two different values in a class counts
    once for each of them.
    """

    count: int
    """The number of classes."""
    classes: Ints
    values: Ints
    counts: Ints
    """One entry for each class and value."""
    wild: Ints
    """For each class, its missing values that may be any value; they are in no entry."""
    persons: Ints
    """For each class, its persons (or records)."""
    unknown: Ints
    """For each class, its records with such a missing value: a person may have several."""

    @cached_property
    def starts(self) -> Ints:
        """Where the entries of each class start; one more for the end of the last."""
        return np.searchsorted(self.classes, np.arange(self.count + 1)).astype(np.int64)

    def most(self, values: npt.NDArray[Any], empty: Any = 0) -> npt.NDArray[Any]:
        """Return the greatest of some numbers, one for each entry, in each class; ``empty`` where it has no entry."""
        return self._reduced(np.maximum, values, empty)

    def total(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the sum of some numbers, one for each entry, in each class."""
        return self._reduced(np.add, values, 0)

    @cached_property
    def known(self) -> Ints:
        """The entries of each class, counted: records or persons whose value is known."""
        return self.total(self.counts)

    def _reduced(self, how: np.ufunc, values: npt.NDArray[Any], empty: Any) -> npt.NDArray[Any]:
        result = np.full(self.count, empty, values.dtype)
        filled = np.flatnonzero(np.diff(self.starts))
        if len(filled):
            result[filled] = how.reduceat(values, self.starts[filled])
        return result


@dataclass(frozen=True)
class Background:
    """What is known of the table as a whole: a model cannot see it in the classes that it is shown.

    A search shows a model some classes of one table, or the classes of many tables that it might publish.

    Examples
    --------
    >>> whole = Frequencies(np.zeros((1, 1), np.int32), np.array([0, 0]), np.array([3, 1]),
    ...                     np.array([[0], [1]], np.int32))
    >>> Background(whole, {"illness": SensitiveColumn(place=0, size=2)}).table(("illness",)).counts
    array([3, 1])
    """

    whole: Frequencies
    """All records of the table, those too that are suppressed whatever a search does."""
    columns: Mapping[str, SensitiveColumn]
    """The columns that models look at, by name."""
    _: KW_ONLY
    quasi_identifiers: tuple[str, ...] = ()
    """The names of what classes show, in order."""
    starred: bool = False
    """Whether suppressed records are a class that shows ``*``, which no condition on single classes can bar."""
    population: Population | None = None
    """Those whom the records were drawn from, where the policy names their table."""
    everyone: int | None = None
    """How many persons the population has, where its table or a survey's weights tell it."""
    survey: Survey | None = None
    """How many persons each record stands for, where the policy names the column that tells it."""
    _tables: dict[tuple[str, ...], Histogram] = field(init=False, default_factory=dict, compare=False, repr=False)

    @property
    def matches_of_stars(self) -> Callable[[], Ints] | None:
        """The ``matches`` of one class that shows ``*``: everyone in the population, where there is one."""
        people = self.population
        return None if people is None else lambda: np.array([people.size], np.int64)

    def known(self, names: Sequence[str]) -> tuple[SensitiveColumn, ...]:
        """Return what is known of some columns."""
        return tuple(self.columns[name] for name in names)

    def table(self, names: tuple[str, ...]) -> Histogram:
        """Return how often each value occurs in the whole table, as one class; several columns are taken as one."""
        if names not in self._tables:
            self._tables[names] = Classes.whole(self.whole).histogram(self.known(names))
        return self._tables[names]

    def counts(self, names: tuple[str, ...], values: Ints) -> Ints:
        """Return how often each of some values occurs in the whole table."""
        table = self.table(names)
        if not len(table.values):
            return np.zeros(len(values), np.int64)
        indices = np.minimum(np.searchsorted(table.values, values), len(table.values) - 1)
        return np.where(table.values[indices] == values, table.counts[indices], 0)


@dataclass(frozen=True)
class Classes:
    """Equivalence classes: the records that would look alike in the published table.

    A record counts once, or, where there are subjects, a person counts once per class however many of the
    records are theirs.

    Examples
    --------
    >>> table = Frequencies(np.zeros((2, 1), np.int32), np.array([0, 1]), np.array([3, 1]),
    ...                     np.array([[0], [1]], np.int32))
    >>> classes = Classes.of(table, np.array([0, 0]))
    >>> classes.sizes, classes.distinct(SensitiveColumn(place=0, size=2))
    (array([4]), array([2]))
    """

    count: int
    members: Ints
    """The class of each piece (a cell, or a part of one); -1 is in no class."""
    cells: Ints | None
    """The cell of each piece; ``None`` when the pieces are the cells."""
    weights: Ints
    """The records of each piece."""
    frequencies: Frequencies
    counted: Ints | None = None
    """The records of each class, where they are known already."""
    ends: Ints | None = None
    """Where the classes of each table end, when the classes of several tables are tested together."""
    _: KW_ONLY
    shown: Callable[[], Ints] | None = field(default=None, repr=False)
    """Gives ``[class, column]``: a number for what each class shows in each quasi-identifier, where that is known.
    Within a table equal numbers are equal labels."""
    blank: Callable[[], Bools] | None = field(default=None, repr=False)
    """Gives ``[class, column]``: whether the class shows ``*`` there, where that is known."""
    kept: Bools | None = None
    """The classes that other models leave, for a model that looks across classes; ``None``: all."""
    matches: Callable[[], Ints] | None = field(default=None, repr=False)
    """Gives the persons of the population that match what each class shows, where there is a population."""
    _histograms: dict[tuple[int, ...], Histogram] = field(init=False, default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, frequencies: Frequencies, members: Ints, count: int | None = None) -> Classes:
        """Group whole cells."""
        number = int(members.max(initial=-1)) + 1 if count is None else count
        return cls(number, members, None, frequencies.cell_counts, frequencies)

    @classmethod
    def whole(cls, frequencies: Frequencies) -> Classes:
        """Put all records into one class."""
        return cls.of(frequencies, np.zeros(len(frequencies.cell_counts), np.int64), 1)

    @property
    def tuples(self) -> Ints:
        """The tuple of each piece."""
        return self._per_piece(self.frequencies.cell_tuples).astype(np.int64, copy=False)

    def _per_piece(self, values: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        return values if self.cells is None else values[self.cells]

    @cached_property
    def records(self) -> Ints:
        """The number of records of each class."""
        if self.counted is not None:
            return self.counted
        inside = self.members >= 0
        counted = np.bincount(self.members[inside], self.weights[inside], minlength=self.count)
        return counted.astype(np.int64)

    @cached_property
    def sizes(self) -> Ints:
        """The number of persons of each class."""
        if self.frequencies.subjects is None:
            return self.records
        subjects = self._per_piece(self.frequencies.subjects).astype(np.int64)
        return self._distinct_pairs(subjects)[0]

    def persons(self, background: Background) -> Ints:
        """Return how many persons of the population each class stands for: those who match it, or whom it weighs.

        A survey's weights are added up and rounded down to whole persons.
        """
        if self.matches is not None:
            return self.matches()
        survey = background.survey
        if survey is None:
            raise ValueError("neither a population nor a survey's weights are known")
        codes = self._per_piece(self.frequencies.sensitive[:, survey.place]).astype(np.int64)
        inside = self.members >= 0
        total = np.zeros(self.count, np.int64)
        np.add.at(total, self.members[inside], survey.amounts[codes[inside]] * self.weights[inside])
        return total // survey.unit

    def distinct(self, column: SensitiveColumn) -> Ints:
        """Return how many distinct values of a sensitive column each class holds.

        A missing value that matches anything, or whose record is suppressed for it, could be any of the others, so it
        adds none (and a class of only such values counts one).
        """
        codes = self.frequencies.sensitive[:, column.place].astype(np.int64)
        values = self._per_piece(np.where(codes < column.size, codes, -1)).astype(np.int64)
        counted, wild = self._distinct_pairs(values)
        return np.maximum(counted, wild) if wild.any() else counted

    def histogram(self, columns: Sequence[SensitiveColumn]) -> Histogram:
        """Return how often each value of a column occurs in each class; several columns are taken as one value.

        A combination is wild where one of its parts is. So are the records without a value, which are suppressed: they
        may have had any, and among starred ones they may be in a class. Counted once for several models of one column.
        """
        indices = tuple(column.place for column in columns)
        if indices not in self._histograms:
            self._histograms[indices] = self._counted_values(columns)
        return self._histograms[indices]

    def _counted_values(self, columns: Sequence[SensitiveColumn]) -> Histogram:
        values, width = self._combined(columns)
        keep = self.members >= 0
        members, values = self.members[keep], values[keep] + 1
        weights = self.weights[keep]
        unknown = np.bincount(members[values == 0], weights[values == 0], minlength=self.count).astype(np.int64)
        if self.frequencies.subjects is not None:
            people = self._per_piece(self.frequencies.subjects).astype(np.int64)[keep]
            sizes = [self.count, width + 1, int(people.max(initial=0)) + 1]
            _, rows = group([members, values, people], sizes)
            members, values, weights = members[rows], values[rows], np.ones(len(rows), np.int64)
        numbers, rows = group([members, values], [self.count, width + 1])
        counts = np.bincount(numbers, weights, minlength=len(rows)).astype(np.int64)
        members, values = members[rows], values[rows] - 1
        wild = np.zeros(self.count, np.int64)
        wild[members[values < 0]] = counts[values < 0]
        known = values >= 0
        return Histogram(
            count=self.count,
            classes=members[known],
            values=values[known],
            counts=counts[known],
            wild=wild,
            persons=self.sizes,
            unknown=unknown,
        )

    def _combined(self, columns: Sequence[SensitiveColumn]) -> tuple[Ints, int]:
        """The value of each piece, and how many there are; -1 is wild."""
        codes = self.frequencies.sensitive
        result, width = np.zeros(len(codes), np.int64), 1
        wild = np.zeros(len(codes), bool)
        for column in columns:
            own = codes[:, column.place]
            wild |= (own < 0) | (own >= column.size)
            result = result * column.size + own
            width *= max(column.size, 1)
        return self._per_piece(np.where(wild, -1, result)).astype(np.int64), width

    def _distinct_pairs(self, values: Ints) -> tuple[Ints, Ints]:
        """Distinct non-negative values per class, and whether the class holds a negative one."""
        keep = self.members >= 0
        classes, kept = self.members[keep], values[keep]
        wild = np.zeros(self.count, np.int64)
        wild[classes[kept < 0]] = 1
        classes, kept = classes[kept >= 0], kept[kept >= 0]
        width = int(kept.max(initial=0)) + 1
        if self.count * width <= max(4 * len(kept), 1 << 22):
            present = np.zeros(self.count * width, bool)
            present[classes * width + kept] = True
            return present.reshape(self.count, width).sum(axis=1, dtype=np.int64), wild
        pairs = np.sort(classes * width + kept)  # np.unique hashes first, which takes ten times as long
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]
        return np.bincount(pairs // width, minlength=self.count).astype(np.int64), wild

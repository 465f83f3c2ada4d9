"""Perturbation: columns of numbers in, other numbers out; with a guarantee that an audit can test.

The road knows no perturbation by its name. This is all that it asks of one, and all that it gives:

1. A policy lists perturbations (``perturb:``). Each names its ``columns``; a column is perturbed at most once, and is
   no quasi-identifier. The order of the stages is fixed: *treat* (top codes, rounding, shifted dates) → *generalize*
   the quasi-identifiers, which decides what records are published → *perturb*: each entry gets the treated values of
   the records that are published, whatever the others did to theirs → *sort* by what is published.
2. The records come as :class:`Microdata`: arrays in an order that follows from the values alone, so that the order of
   the original table changes nothing; ``rng`` follows from the policy's seed, from the entry and from the values. Two
   tables that differ are perturbed by other random numbers, so that who guesses a seed still needs the whole table.
3. ``faults`` says what of a table stands in the way; nothing is perturbed where it says something.
4. ``perturb`` answers with the columns that changed (:class:`Perturbed`), and with what it can prove: ``bound``, which
   no release under the same promise stays below, in the measure of the guarantee.
5. ``guarantee`` names a guarantee (:mod:`shoal.guarantees`), ``promise()`` gives its parameters. The audit reads these
   two alone, and tests them with code of its own: it never asks for a method's name. What must stay secret (a seed, a
   window that helps to undo a swap) is a field of the guarantee that is not told.

So a new perturbation is one file here, and, where it promises something new, one file in ``guarantees/`` (or, for a
random mechanism, in ``guarantees/mechanisms/``).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import BeforeValidator, Field

from shoal.encoding.domains import Kind
from shoal.encoding.types import Bools, Floats, Ints
from shoal.errors import Fault
from shoal.models.base import PrivacyModel
from shoal.registry import Entry


def _as_list(value: object) -> object:
    return (value,) if isinstance(value, str) else value


ColumnNames = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], BeforeValidator(_as_list)]
"""Names of columns; one may be given as itself."""


@dataclass(frozen=True, eq=False)
class ColumnValues:
    """A column as arrays.

    Examples
    --------
    >>> ages = ColumnValues("integer", np.array([21, 0, 36]), np.array([False, True, False]))
    >>> ages.numbers
    array([21., nan, 36.])
    >>> ColumnValues.of_texts(["b", None, "a"]).codes
    array([ 1, -1,  0])
    """

    kind: Kind
    values: npt.NDArray[Any]
    """Numbers; days or microseconds since 1970 for dates and moments; for texts and truth values the place of each in
    ``categories``. What stands where a value is missing means nothing."""
    missing: Bools
    categories: tuple[str, ...] = ()
    """The texts that a column of texts holds, in order; of truth values ``false`` and ``true``."""

    @classmethod
    def of_numbers(cls, numbers: npt.ArrayLike) -> ColumnValues:
        """Return a column of numbers, missing where they are none."""
        values = np.asarray(numbers, np.float64)
        return cls("float", values, np.isnan(values))

    @classmethod
    def of_texts(cls, texts: list[str | None]) -> ColumnValues:
        """Return a column of texts."""
        categories = tuple(sorted({text for text in texts if text is not None}))
        place = {text: index for index, text in enumerate(categories)}
        codes = np.array([0 if text is None else place[text] for text in texts], np.int64)
        return cls("text", codes, np.array([text is None for text in texts], bool), categories)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_ordered(self) -> bool:
        """Whether values have an order and a distance."""
        return self.kind in ("integer", "float", "date", "datetime")

    @cached_property
    def numbers(self) -> Floats:
        """The values as numbers, ``nan`` where they are missing; of texts their places."""
        numbers = self.values.astype(np.float64)
        numbers[self.missing] = np.nan
        return numbers

    @cached_property
    def distinct(self) -> npt.NDArray[Any]:
        """The distinct values, in order; of texts and truth values all places."""
        if not self.is_ordered:
            return np.arange(len(self.categories))
        return np.unique(self.values[~self.missing])

    @cached_property
    def codes(self) -> Ints:
        """The place of each value among the distinct ones, -1 where it is missing."""
        codes = self.values if not self.is_ordered else np.searchsorted(self.distinct, self.values)
        return np.where(self.missing, -1, codes).astype(np.int64)

    def with_values(self, values: npt.NDArray[Any], missing: Bools | None = None) -> ColumnValues:
        """Return other values of the same kind; numbers that are not whole make a column of them one of numbers, dates
        are rounded to whole days or microseconds."""
        missing = self.missing if missing is None else missing
        if self.kind == "float" or not np.issubdtype(values.dtype, np.floating):
            return replace(self, values=values, missing=missing)
        if self.kind == "integer":
            return ColumnValues("float", values, missing)
        whole = np.rint(np.where(missing, 0.0, values)).astype(np.int64)
        return replace(self, values=whole, missing=missing)

    def take(self, rows: npt.NDArray[Any]) -> ColumnValues:
        """Return the values of some records."""
        return replace(self, values=self.values[rows], missing=self.missing[rows])


@dataclass(frozen=True, eq=False, kw_only=True)
class Microdata:
    """What a perturbation is given of the records that are published, in an order that tells nothing."""

    columns: Mapping[str, ColumnValues]
    """Those that it changes and those that it reads, as their treatments left them."""
    weights: Floats | None = None
    """How many persons each record stands for, where the policy names a ``survey_weight``."""
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    """All that is random comes from here."""

    @property
    def records(self) -> int:
        """How many records there are."""
        return len(next(iter(self.columns.values())))

    def group_by(self, names: tuple[str, ...]) -> tuple[Ints, int]:
        """Return the number of each record's combination of values of some columns, and how many there are; a missing
        value is one of its own.

        Examples
        --------
        >>> regions = ColumnValues.of_texts(["n", "s", "n"])
        >>> Microdata(columns={"region": regions}).group_by(("region",))
        (array([0, 1, 0]), 2)
        """
        groups = np.zeros(self.records, np.int64)
        count = min(self.records, 1)
        for name in names:
            codes = self.columns[name].codes + 1
            joined = groups * (int(codes.max(initial=0)) + 1) + codes
            found, groups = np.unique(joined, return_inverse=True)
            groups, count = groups.astype(np.int64), len(found)
        return groups, count


@dataclass(frozen=True, eq=False, kw_only=True)
class Perturbed:
    """What a perturbation publishes of its columns, and what it can prove of that."""

    columns: Mapping[str, ColumnValues]
    bound: float | None = None
    """What no release under the same promise stays below, in the measure of the guarantee, where it is proven."""


class Perturbation(Entry):
    """Base of all perturbations: the values of some columns are published as others, under a declared guarantee."""

    family: ClassVar[str] = "perturbations"
    guarantee: ClassVar[str]
    """The name of what is promised of its columns, in :mod:`shoal.guarantees`."""
    is_random: ClassVar[bool] = False
    """Whether what it does follows from random numbers; then the seed is secret."""
    counts_records: ClassVar[bool] = False
    """Whether its promise counts records: it is none for persons with several."""

    columns: Annotated[ColumnNames, Field(min_length=1)]
    """The columns that are perturbed."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The further columns that it looks at: strata, households. They may be columns that are not published."""
        return ()

    @property
    def least_records(self) -> int:
        """How many records there must be."""
        return 1

    @property
    def class_models(self) -> tuple[PrivacyModel, ...]:
        """What it promises of the sensitive values of the records that show the same in its columns."""
        return ()

    def promise(self) -> dict[str, Any]:
        """Return the parameters of its guarantee, but for the columns."""
        return {}

    def contradictions(self) -> Iterator[Fault]:
        """Yield what contradicts itself in its parameters, whatever the table; beyond what the fields say."""
        yield from ()

    def faults(self, data: Microdata) -> Iterator[Fault]:
        """Yield what of a table stands in the way; ``where`` is a column, or a parameter."""
        yield from ()

    @abstractmethod
    def perturb(self, data: Microdata) -> Perturbed:
        """Return what is published of its columns."""


def missing_faults(data: Microdata, names: tuple[str, ...], hint: str) -> Iterator[Fault]:
    """Yield the columns in which values are missing, where a method cannot do with that."""
    for name in names:
        missing = int(data.columns[name].missing.sum())
        if missing:
            yield Fault("missing values, of which nothing is said", name, f"{missing:,} records", hint)


def number_faults(data: Microdata, names: tuple[str, ...], hint: str) -> Iterator[Fault]:
    """Yield the columns that are none of numbers or dates."""
    for name in names:
        if not data.columns[name].is_ordered:
            yield Fault("needs a column of numbers or dates", name, f"{data.columns[name].kind} values", hint)


_MOST, _LEAST = 1e150, 1e-150
"""How far apart numbers may be whose squares are added up; and how far at least."""


def spread_faults(
    data: Microdata, names: tuple[str, ...], scales: Mapping[str, float] = MappingProxyType({})
) -> Iterator[Fault]:
    """Yield the columns of several numbers whose squared distances cannot be worked out, as they are or by a scale."""
    for name in names:
        column = data.columns[name]
        if not column.is_ordered or len(column.distinct) < 2:
            continue
        with np.errstate(over="ignore"):
            largest = float(np.abs(column.distinct.astype(np.float64)).max())
            width = float(column.numbers[~column.missing].std())
        scale = scales.get(name, 1.0)
        if largest > _MOST or largest / scale > _MOST:
            yield Fault("numbers too large to be squared", name, f"{largest:g}", "measure them in a larger unit")
        elif width < _LEAST:
            yield Fault("numbers too near each other to be squared", name, f"{width:g}", "measure in a smaller unit")

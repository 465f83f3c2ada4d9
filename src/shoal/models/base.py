"""PrivacyModel: which classes comply, and which value is attained?"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np

from shoal.encoding.types import Bools, Floats, Ints
from shoal.frequencies.frequencies import Background, Classes, Frequencies
from shoal.models._conditions import Condition
from shoal.models._thresholds import Threshold
from shoal.registry import Entry

Holds = Bools
Need = Literal[
    "counts", "distinct", "values", "table", "order", "hierarchy", "asks", "persons", "everyone", "population"
]
"""What a model looks at: the sizes of classes; how many sensitive values each has; how often each value occurs in
each; how often it does in the whole table; the order of the values; a hierarchy over them; what each person asks
for; how many persons of the population each class stands for; who they all are, so that weights of a survey are not
enough; how many they are."""


@dataclass(frozen=True, kw_only=True)
class ValueCounts:
    """What an audit counted of a sensitive column, or of several taken as one.

    Attributes
    ----------
    classes, values, counts
        How many persons (or records) of each class have each value, in order of the classes.
    blank
        For each class, its missing values that may be any value.
    table, table_blank, table_persons
        How many have each value in the whole table, how many a missing one that may be any, and how many there are.
    unknown
        Where persons are counted: the records of each class with such a missing value, and last those of the table.
    ranked
        Whether values are numbered in their order, where they have one.
    paths
        ``paths[value]``: its labels from the value itself up to below the top, where there is a hierarchy.
    """

    classes: Ints
    values: Ints
    counts: Ints
    blank: Ints
    table: Mapping[int, int]
    table_blank: int
    table_persons: int
    unknown: Ints | None = None
    ranked: bool = False
    paths: tuple[tuple[str, ...], ...] | None = None

    @cached_property
    def rows(self) -> list[tuple[dict[int, int], int]]:
        """For each class how many have each value, and how many a missing one that may be any."""
        ends = np.cumsum(np.bincount(self.classes, minlength=len(self.blank))).tolist()
        pairs = list(zip(self.values.tolist(), self.counts.tolist(), strict=True))
        starts = [0, *ends][:-1]
        held = [dict(pairs[begin:end]) for begin, end in zip(starts, ends, strict=True)]
        return list(zip(held, self.blank.tolist(), strict=True))


@dataclass(frozen=True, kw_only=True)
class Census:
    """What an audit counted in a published table: one entry per combination that occurs in it.

    It is filled by another engine than the search uses, from the published table alone; what is said of the whole
    table is counted in the original where that is given.

    Attributes
    ----------
    sizes
        Persons (or records) of each class.
    values
        Sensitive column → distinct values of each class.
    value_counts
        The columns that a model looks at together → how often their values occur.
    requested_k
        Column of what each person asks for → the most that is asked in each class, where the owner tells it.
    persons
        How many persons of the population could be in each class, as far as what it shows tells.
    population
        How many persons the population has, where its table or a survey's weights tell it.
    records
        How many persons (or records) the original has, the published table where that is not given.
    uncovered
        How many of the population match no published class.
    agreeing
        The least number of records that agree wherever both show something, where a model asks and it was counted.
    columns, known
        The quasi-identifiers, and some of them → the table counted as if only these were in it.
    """

    sizes: Ints
    values: Mapping[str, Ints]
    value_counts: Mapping[tuple[str, ...], ValueCounts] = field(default_factory=dict)
    requested_k: Mapping[str, Ints] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    known: Mapping[tuple[str, ...], Census] = field(default_factory=dict)
    persons: Ints | None = None
    population: int | None = None
    records: int = 0
    uncovered: int = 0
    agreeing: int | None = None


@dataclass(frozen=True)
class RequestedK:
    """Where to read how many persons each person wants to be among.

    Attributes
    ----------
    column
        The column that says it, never published.
    default
        The k of those who gave none; without it a missing k is an error.
    most
        What is promised to whoever asks for more; without it there is no limit.
    """

    column: str
    default: int | None = None
    most: int | None = None


class PrivacyModel(Entry):
    """Base of all conditions on equivalence classes.

    A model is written twice, on purpose: :meth:`holds` and :meth:`measure` for the search, over arrays of
    frequencies; :meth:`recount` for the audit, over what was counted in the published table. Tests compare
    them; the audit trusts only the second.

    A model that looks *across* classes (``classwise`` is false) is shown whole tables: all classes of one, or of
    several with :attr:`~shoal.frequencies.frequencies.Classes.ends`. It answers which of the classes that are ``kept``
    so far may stay, so that those which stay comply together; it may take away, never bring back.
    """

    family: ClassVar[str] = "models"
    classwise: ClassVar[bool] = True
    """Whether a class complies or not whatever the other classes are."""
    absorbing: ClassVar[bool] = False
    """Whether a class that complies still does whatever joins it, so that generalizing never suppresses more."""
    only_asks: ClassVar[Literal["records", "values"] | None] = None
    """All that the model asks of each class, where it is a number: of its records (:attr:`class_size`), or of its
    distinct sensitive values (:attr:`least_values`)."""
    thresholds: ClassVar[tuple[Threshold, ...]] = ()
    """What the parameters ask for, in the order in which the attained value is told: all else about asked values, such
    as whether they are met, follows from it."""
    protects_from: ClassVar[str] = ""
    """What nobody can do where the model holds, as a sentence for readers of a report."""
    leaves_open: ClassVar[str] = ""
    """What somebody still can, as a sentence."""

    measured_with: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    """The parameters with which an audit measures a sensitive column of which nothing was promised; what they ask for
    does not matter."""
    measured_as: ClassVar[int] = 100
    """Where it stands among the models that are measured so; those of one number by their names."""

    @classmethod
    def notes(cls) -> dict[str, Any]:
        """Return what the model protects from, and what not."""
        return {"protects_from": cls.protects_from, "leaves_open": cls.leaves_open}

    @property
    def needs(self) -> tuple[Need, ...]:
        """What the model looks at."""
        return ("counts",)

    @property
    def sample_share(self) -> Fraction | None:
        """The chance of each record to be in the sample that is published, ``None`` where all records are.

        The sample follows from the policy's secret seed.
        """
        return None

    @property
    def draws(self) -> bool:
        """Whether only a random sample of the records is published."""
        return self.sample_share is not None

    @property
    def requested_k(self) -> RequestedK | None:
        """The column in which persons say how many they want to be among, ``None`` where the model reads none."""
        return None

    @property
    def monotone(self) -> bool:
        """Whether a union of classes that comply complies too, where every record is a person: a search may prune."""
        return True

    @property
    def least_records(self) -> int:
        """A number of records below which no class complies (a quick necessary test)."""
        return max((threshold.least_records(asked) for threshold, asked in self._asked()), default=1)

    def least_of(self, background: Background) -> int:
        """Return the same for a table that is known: it may be more."""
        return self.least_records

    def least_with(self, background: Background, frequencies: Frequencies) -> Ints:
        """Return for each cell the same for classes that hold one of its records: rare values may ask for more."""
        return np.full(len(frequencies.cell_counts), self.least_of(background), np.int64)

    @property
    def class_size(self) -> int:
        """The number of records of each class that is asked for outright, 1 where none is: the k of the table."""
        return int(getattr(self, "k", 1)) if self.classwise else 1

    @property
    def wildcard_k(self) -> int | None:
        """The number of records that have to agree wherever both show something, for models that take ``*`` for any
        value; ``None`` for all others."""
        return None

    @property
    def scenario_k(self) -> int | None:
        """The number of records that have to look alike in each of :meth:`scenarios`, where nothing else is asked."""
        return None

    @property
    def mean_risk(self) -> float | None:
        """The chance to find a person that is asked for outright on the average; ``None`` where none is."""
        return None

    @property
    def by_class(self) -> PrivacyModel | None:
        """A condition on single classes from which this one follows, ``None`` where there is none.

        Searches that see some classes of a table at a time keep that one instead.
        """
        return self if self.classwise else None

    @property
    def least_values(self) -> int:
        """A number of distinct sensitive values below which no class complies."""
        return max((threshold.least_values(asked) for threshold, asked in self._asked()), default=1)

    @property
    def sensitive_columns(self) -> tuple[str, ...]:
        """The columns besides quasi-identifiers that the model looks at; several are taken as one value."""
        return ()

    @property
    def hidden_columns(self) -> tuple[str, ...]:
        """Those of them that are never published."""
        return ()

    def conditions(self, background: Background) -> Sequence[Condition] | None:
        """Return what the model asks of the values of each class, for a search that composes classes of them.

        :attr:`least_records` is asked besides. ``None``: the search has to ask the model itself about finished classes.
        It is asked where every record is a person and no value is unknown.
        """
        return None if self.sensitive_columns or not self.classwise or {*self.needs} - {"counts"} else ()

    def scenarios(self, columns: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """Return the sets of quasi-identifiers that the model looks at one by one; none where it looks at all."""
        return ()

    def _asked(self) -> list[tuple[Threshold, Any]]:
        """What is asked for; a parameter that is not given asks nothing."""
        asked = ((threshold, getattr(self, threshold.parameter)) for threshold in self.thresholds)
        return [(threshold, value) for threshold, value in asked if value is not None]

    @property
    def asked(self) -> Any:
        """The value that is asked for; several are a tuple, in the order of the thresholds."""
        return _pack([value for _, value in self._asked()])

    @abstractmethod
    def holds(self, classes: Classes, background: Background) -> Holds:
        """Return for each class whether it complies; a class without records does not."""

    @abstractmethod
    def measure(self, classes: Classes, background: Background) -> Any:
        """Return the value that a table of these classes attains; ``None`` without records."""

    @abstractmethod
    def recount(self, census: Census) -> Any:
        """Return the attained value again, from what an audit counted."""

    def score_classes(self, census: Census) -> Floats | None:
        """Return how bad each class is, about: the audit recounts the worst ones only; ``None``: all of them.

        It is asked of records in which every value is known.
        """
        return None

    def of_values(self, attained: Any) -> Any:
        """Return what an attained value says of the sensitive values alone."""
        return attained

    def meets(self, attained: Any) -> bool:
        """Return whether an attained value is as good as the asked one; a table without records meets all."""
        return attained is None or all(
            threshold.is_met(asked, value) for (threshold, asked), value in self._compare(attained)
        )

    def relaxed(self, attained: Any) -> Self | None:
        """Return the model that asks for just what is attainable, or ``None`` where that is nothing."""
        if attained is None:
            return None
        changes = {threshold.parameter: threshold.weaken(value) for (threshold, _), value in self._compare(attained)}
        return None if None in changes.values() else self.replace(**changes)

    def _compare(self, attained: Any) -> Iterator[tuple[tuple[Threshold, Any], Any]]:
        asked = self._asked()
        return zip(asked, attained if len(asked) > 1 else (attained,), strict=True)

    @property
    def weaker_thresholds(self) -> Sequence[Any]:
        """Values that ask for less, the least first: what may be offered where the asked one cannot be had.

        Of several thresholds the last is lowered first.
        """
        every = self._asked()
        if len(every) == 1:
            ((threshold, asked),) = every
            return threshold.list_weaker(asked)
        values, weaker = [asked for _, asked in every], []
        for index in reversed(range(len(every))):
            threshold, asked = every[index]
            less = (value for value in threshold.list_weaker(asked) if threshold.weaken(value) is not None)
            weaker += [(*values[:index], value, *values[index + 1 :]) for value in less]
        return weaker


def _pack(values: Sequence[Any]) -> Any:
    return values[0] if len(values) == 1 else tuple(values)


def name_models(models: Sequence[PrivacyModel]) -> list[str]:
    """Return a name for each model that no other has: with its column, its parameters, its number where it takes them.

    Examples
    --------
    >>> from shoal.models import KAnonymity, TCloseness
    >>> near, nearer = TCloseness(on="pay", t=0.5), TCloseness(on="pay", t=0.5, distance="ordered")
    >>> name_models([KAnonymity(k=2), near, nearer])
    ['k-anonymity', 't-closeness on pay (t = 0.5)', 't-closeness on pay (t = 0.5, distance = ordered)']
    >>> name_models([near, near])
    ['t-closeness on pay (t = 0.5) 1', 't-closeness on pay (t = 0.5) 2']
    """
    columns = [f" on {', '.join(model.sensitive_columns)}" if model.sensitive_columns else "" for model in models]
    told = _add_details(
        _add_details([model.key() for model in models], columns), [_parameters(model) for model in models]
    )
    while len({*told}) < len(told):
        told = _add_details(told, [f" {number}" for number in range(1, len(told) + 1)])
    return told


def _add_details(names: Sequence[str], details: Sequence[str]) -> list[str]:
    """Add a detail to each name that occurs twice."""
    return [name + detail if names.count(name) > 1 else name for name, detail in zip(names, details, strict=True)]


def _parameters(model: PrivacyModel) -> str:
    said = [f"{name} = {value}" for name, value in model.parameters().items() if name != "on"]
    return f" ({', '.join(said)})" if said else ""

"""PrivacyModel: which classes comply, and which value is attained?"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from shoal.encoding.types import Floats, Ints
from shoal.frequencies.frequencies import Background, Classes
from shoal.registry import Entry

Holds = npt.NDArray[np.bool_]
Need = Literal[
    "counts", "distinct", "values", "table", "order", "hierarchy", "asks", "persons", "everyone", "population"
]
"""What a model looks at: the sizes of classes; how many sensitive values each has; how often each value occurs in
each; how often it does in the whole table; the order of the values; a hierarchy over them; what each person asks
for; how many persons of the population each class stands for; who they all are, so that weights of a survey are not
enough; how many they are."""


@dataclass(frozen=True, kw_only=True)
class Tally:
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
    tallies
        The columns that a model looks at together → how often their values occur.
    asks
        Column of what each person asks for → the most that is asked in each class, where the owner tells it.
    persons
        How many persons of the population could be in each class, as far as what it shows tells.
    population
        How many persons the population has, where its table or a survey's weights tell it.
    records
        How many persons (or records) the original has, the published table where that is not given.
    uncovered
        How many of the population match no published class.
    columns, known
        The quasi-identifiers, and some of them → the table counted as if only these were in it.
    """

    sizes: Ints
    values: Mapping[str, Ints]
    tallies: Mapping[tuple[str, ...], Tally] = field(default_factory=dict)
    requested_k: Mapping[str, Ints] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    known: Mapping[tuple[str, ...], Census] = field(default_factory=dict)
    persons: Ints | None = None
    population: int | None = None
    records: int = 0
    uncovered: int = 0


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
        return 1

    def least_of(self, background: Background) -> int:
        """Return the same for a table that is known: it may be more."""
        return self.least_records

    @property
    def class_size(self) -> int:
        """The number of records of each class that is asked for outright, 1 where none is: the k of the table."""
        return int(getattr(self, "k", 1)) if self.classwise else 1

    @property
    def by_class(self) -> PrivacyModel | None:
        """A condition on single classes from which this one follows, ``None`` where there is none.

        Searches that see some classes of a table at a time keep that one instead.
        """
        return self if self.classwise else None

    @property
    def least_values(self) -> int:
        """A number of distinct sensitive values below which no class complies."""
        return 1

    @property
    def sensitive_columns(self) -> tuple[str, ...]:
        """The columns besides quasi-identifiers that the model looks at; several are taken as one value."""
        return ()

    @property
    def hidden_columns(self) -> tuple[str, ...]:
        """Those of them that are never published."""
        return ()

    def scenarios(self, columns: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """Return the sets of quasi-identifiers that the model looks at one by one; none where it looks at all."""
        return ()

    @property
    @abstractmethod
    def asked(self) -> Any:
        """The value that is asked for."""

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

    @abstractmethod
    def meets(self, attained: Any) -> bool:
        """Return whether an attained value is as good as the asked one; a table without records meets all."""

    @abstractmethod
    def relaxed(self, attained: Any) -> PrivacyModel | None:
        """Return the model that asks for just what is attainable, or ``None`` where that is nothing."""

    @property
    def weaker_thresholds(self) -> Sequence[Any]:
        """Values that ask for less, the least first: what may be offered where the asked one cannot be had."""
        return range(1, self.asked)


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

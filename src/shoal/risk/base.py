"""Risk: an attacker's question.  Evidence: all that attackers look at, as numbers, which answers it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from shoal.encoding.types import Bools, Floats, Ints, Progress, silent
from shoal.registry import Entry

WANTED = {
    "distinct": "a sensitive column that is published",
    "release": "the records of the release",
    "sensitive": "a sensitive column that is published",
    "meaning": "the original or an external table, to read what published texts stand for",
    "external": "an external table",
    "original": "the original",
    "earlier": "an earlier release",
    "people": "the original or an external table, to know whom to look for",
    "population": "a population: in the policy, or as an external table",
    "asked": "a policy",
    "weights": "the weights of a survey: survey_weight in the policy, of each published record",
    "held": "records one by one",
    "pairs": "the original, and which of its records became which",
}
"""Field of the evidence → what somebody must give for it."""

_EXAMPLES = 5


@dataclass(frozen=True)
class PublishedClasses:
    """A release as an attacker sees it.

    Attributes
    ----------
    classes
        The class of each record.
    shown
        ``shown[class, column]``: the number of the text that the class shows in a quasi-identifier.
    sizes
        Persons (or records) of each class.
    """

    classes: Ints
    shown: Ints
    sizes: Ints


@dataclass(frozen=True)
class Attribute:
    """A sensitive column.

    Attributes
    ----------
    codes
        The value of each published record; -1 may be any.
    table
        How often each value occurs in the whole table: the original where it is given, else the release.
    levels
        ``levels[level, value]``: its label in the column's hierarchy, from the value itself up to below the top.
    numbers
        The values as numbers, where they are some.
    """

    codes: Ints
    table: Ints
    levels: Ints | None = None
    numbers: Floats | None = None


@dataclass(frozen=True)
class TextMeaning:
    """What the published texts of a quasi-identifier may stand for.

    Attributes
    ----------
    covers
        ``covers[text, value]``: whether the text may stand for the value. The last but one value is the missing one,
        the last any that nobody has described: only ``*`` covers that.
    parts
        ``parts[text, value]``: if the text is as narrow as its class allows, somebody of the class holds a value of
        each part; -1 where nothing follows. Both ends of a range are parts, each value of a set, and each of the
        two labels that a label is made of.
    """

    covers: Bools
    parts: Ints


@dataclass(frozen=True)
class KnownPersons:
    """Persons whose quasi-identifiers somebody knows, as distinct tuples of values; -1 is not known."""

    tuples: Ints
    counts: Ints


@dataclass(frozen=True)
class OtherTable:
    """Another table beside the release: its records, and what it shows that the release shows as well.

    Attributes
    ----------
    kept
        For each record of the release and of the other table, the number of what it shows in all columns that both
        publish as they are; ``None`` where there is no such column.
    sensitive
        The same for each sensitive column alone.
    release
        The other table, where it is an earlier release.
    values
        ``values[record, column]`` of the other table, where it is the original.
    """

    kept: tuple[Ints, Ints] | None
    sensitive: Mapping[str, tuple[Ints, Ints]] = field(default_factory=dict)
    release: PublishedClasses | None = None
    values: Ints | None = None


@dataclass(frozen=True)
class RecordPairs:
    """Each published record beside the original record that it was made of, in columns that are not as they were.

    Attributes
    ----------
    numbers
        Column → its numbers in the original and in the release.
    categories
        Column → its values in both, numbered alike.
    """

    numbers: Mapping[str, tuple[Floats, Floats]] = field(default_factory=dict)
    categories: Mapping[str, tuple[Ints, Ints]] = field(default_factory=dict)


@dataclass(frozen=True)
class Diversity:
    """What a policy asks of the values of a class: no value above a share, and so many different ones."""

    share: float = 1.0
    distinct: int = 1


@dataclass(frozen=True)
class Evidence:
    """All that attackers look at; what is not known is ``None``.

    Attributes
    ----------
    sizes
        Persons (or records) of each class, in order of what the classes show.
    least
        The smallest class that nobody need worry about: the k of the policy, 2 where it asks for none.
    distinct
        Sensitive column → distinct values of each class.
    columns, release, meaning
        The quasi-identifiers, the release, and what its texts may stand for.
    persons
        The person of each published record, where several may be one person's.
    sensitive
        The sensitive columns that are published.
    external
        Persons of a table that the attacker holds.
    population
        How many persons of a population may be in each class, by what it shows.
    original, earlier
        The original table, and earlier releases.
    people
        Whom attackers may look for: those of the original where it is given, else the external persons.
    asked
        What the policy asks of the values of a class; the search looked at these columns.
    weights
        The weights of a survey, added up for each class.
    held
        Column → the number of what each published record holds in it, in the release or, where it is known which record
        became which, in the original; -1 for nothing. ``None`` for a column that nobody has.
    pairs
        The published records beside their originals, where it is known which became which.
    """

    sizes: Ints
    least: int = 2
    distinct: Mapping[str, Ints] | None = None
    columns: tuple[str, ...] = ()
    release: PublishedClasses | None = None
    persons: Ints | None = None
    sensitive: Mapping[str, Attribute] | None = None
    meaning: tuple[TextMeaning, ...] | None = None
    external: KnownPersons | None = None
    population: Ints | None = None
    original: OtherTable | None = None
    earlier: tuple[OtherTable, ...] | None = None
    people: KnownPersons | None = None
    asked: Mapping[str, Diversity] | None = None
    weights: Floats | None = None
    held: Callable[[str], Ints | None] | None = field(default=None, repr=False)
    pairs: RecordPairs | None = None
    seed: int = 0
    progress: Progress = field(default=silent, repr=False)

    @cached_property
    def records(self) -> int:
        """Persons (or records) of all classes."""
        return int(self.sizes.sum())


@dataclass(frozen=True)
class Finding:
    """What one attack found, about one sensitive column or one other table where it looks at such.

    Examples
    --------
    >>> Finding(found=True, measured={"max": 1.0}, worst=(0,)).to_dict()
    {'found': True, 'measured': {'max': 1.0}, 'worst': [0]}
    """

    found: bool
    """Whether there is a leak, by the threshold of the attack."""
    measured: Mapping[str, Any]
    """What was measured, by name: numbers, or lists of them."""
    worst: tuple[int, ...] = ()
    """A few classes where it is worst, by number in the order of what they show; never what they show."""
    on: str = ""
    """The sensitive column, or the other table, that this is about."""
    left_out: str = ""
    """What was not looked at, and why."""

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain data, without what is empty."""
        about = {"on": self.on} if self.on else {}
        rest = {"left_out": self.left_out} if self.left_out else {}
        return {**about, "found": self.found, "measured": dict(self.measured), "worst": list(self.worst), **rest}


class Risk(Entry):
    """Base of all attackers' questions.

    An attack looks at the :class:`Evidence` and nothing else; it is run where all that it ``needs`` is there.
    """

    family: ClassVar[str] = "risk"
    needs: ClassVar[tuple[str, ...]] = ("sizes",)
    """The fields of the evidence without which there is nothing to look at."""
    means: ClassVar[str] = ""
    """What a leak means for a person, as a sentence."""

    @classmethod
    def notes(cls) -> dict[str, Any]:
        """Return what the attack needs, and what a leak means."""
        return {"needs": [WANTED[name] for name in cls.needs if name in WANTED], "means": cls.means}

    @classmethod
    def lacks(cls, evidence: Evidence) -> str:
        """Return what is not there and needed, in words; nothing where all is there."""
        missing = [name for name in cls.needs if getattr(evidence, name) is None]
        return "" if not missing else "needs " + " and ".join(dict.fromkeys(WANTED[name] for name in missing))

    @abstractmethod
    def run(self, evidence: Evidence) -> list[Finding]:
        """Return what the attack finds; more than one finding where it looks at several columns or tables."""


class SmallGroupRisk(Risk):
    """Base of attacks that find a person among few."""

    least: Annotated[int, Field(ge=2, strict=True)] | None = None
    """The least number of records, or of persons, that is enough; the k of the policy where nothing is said."""

    def enough(self, evidence: Evidence) -> int:
        """Return the least number that is enough."""
        return self.least or evidence.least


class AttributeRisk(Risk):
    """Base of attacks on sensitive columns: each column is looked at alone."""

    needs: ClassVar[tuple[str, ...]] = ("release", "sensitive")

    def run(self, evidence: Evidence) -> list[Finding]:
        """Look at each column."""
        assert evidence.sensitive is not None
        found = [(name, self.about(evidence, attribute)) for name, attribute in evidence.sensitive.items()]
        return [replace(finding, on=name) for name, finding in found if finding is not None]

    @abstractmethod
    def about(self, evidence: Evidence, attribute: Attribute) -> Finding | None:
        """Return what the attack finds in one column; ``None`` where the column is none that it can look at."""


def worst_of(badness: Floats | Ints, among: Bools | None = None) -> tuple[int, ...]:
    """Return the few classes with the most of something, among those that count.

    Examples
    --------
    >>> worst_of(np.array([1, 5, 3, 3]), np.array([True, False, True, True]))
    (2, 3, 0)
    """
    indices = np.arange(len(badness)) if among is None else np.flatnonzero(among)
    order = indices[np.argsort(-badness[indices], kind="stable")]
    return tuple(order[:_EXAMPLES].tolist())


def share(part: float, whole: float) -> float:
    """Return a part as a share of a whole; 0 of nothing.

    Examples
    --------
    >>> share(1, 4), share(0, 0)
    (0.25, 0.0)
    """
    return float(part) / float(whole) if whole else 0.0

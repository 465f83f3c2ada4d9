"""Evidence: all that attackers look at, as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from shoal.encoding.types import Bools, Floats, Ints, Progress, silent


@dataclass(frozen=True)
class Published:
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
class Meaning:
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
class People:
    """Persons whose quasi-identifiers somebody knows, as distinct tuples of values; -1 is not known."""

    tuples: Ints
    counts: Ints


@dataclass(frozen=True)
class Beside:
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
    release: Published | None = None
    values: Ints | None = None


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
    """

    sizes: Ints
    least: int = 2
    distinct: Mapping[str, Ints] | None = None
    columns: tuple[str, ...] = ()
    release: Published | None = None
    persons: Ints | None = None
    sensitive: Mapping[str, Attribute] | None = None
    meaning: tuple[Meaning, ...] | None = None
    external: People | None = None
    population: Ints | None = None
    original: Beside | None = None
    earlier: tuple[Beside, ...] | None = None
    people: People | None = None
    asked: Mapping[str, Diversity] | None = None
    seed: int = 0
    progress: Progress = field(default=silent, repr=False)

    @cached_property
    def records(self) -> int:
        """Persons (or records) of all classes."""
        return int(self.sizes.sum())

"""KnownSources: what the ledger knows of tables, so that nothing is forgotten because a configuration changed.

What clients have is kept by *source*: the name that a table had when it was asked first. A table is known again by
where its data lie, whatever it and its owner are called now; or by what it is called, where its data moved. Which
sources are about the same persons is kept as well: a join that is no longer declared has been answered all the same.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import count

JOINED = " ⋈ "
"""Between the sources of a join, in the name of its own."""


@dataclass(frozen=True, kw_only=True)
class SourceOrigin:
    """What is entered of a table with its answers, when it is new or has changed."""

    places: Mapping[str, str]
    """Source → where its data lie; both parts of a join."""
    called: Mapping[str, str]
    """Source → what it is called now, with its owner; both parts of a join."""
    subject: str | None = None
    """The column that names the persons."""
    related: tuple[str, ...] = ()
    """The sources that are about the same persons."""
    formerly: tuple[str, ...] = ()
    """The sources whose data these were."""

    def to_text(self) -> str:
        """Return the origin as the ledger keeps it."""
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> SourceOrigin:
        """Return an origin that the ledger kept."""
        said = json.loads(text)
        return cls(**said | {name: tuple(said[name]) for name in ("related", "formerly")})


@dataclass
class KnownSources:
    """The sources of which clients have answers.

    Examples
    --------
    >>> known = KnownSources()
    >>> known.note("north/a", SourceOrigin(places={"north/a": "a.csv"}, called={"north/a": "nord/b"}))
    >>> known.find_at("a.csv"), known.find_called("nord/b"), known.name_source("north/a")
    ('north/a', 'north/a', 'north/a (2)')
    """

    places: dict[str, str] = field(default_factory=dict)
    """Source → where its data lay last."""
    earlier: dict[str, str] = field(default_factory=dict)
    """Every place → the source that lay there last."""
    called: dict[str, str] = field(default_factory=dict)
    """Source → what it was called last."""
    related: dict[str, set[str]] = field(default_factory=dict)
    """Source → others that were about the same persons, at any time."""
    moved: set[str] = field(default_factory=set)
    """The sources whose data are another source by now, by an owner's word."""
    _taken: set[str] = field(default_factory=set)
    """Names of new sources."""

    def note(self, source: str, origin: SourceOrigin) -> None:
        """Note what was entered of a source; what is noted later counts."""
        self.places |= origin.places
        self.called |= origin.called
        self.earlier |= {place: name for name, place in origin.places.items()}
        self.moved = (self.moved - origin.places.keys()) | set(origin.formerly)
        self.relate({source, *origin.related, *origin.formerly})

    def relate(self, sources: Collection[str]) -> None:
        """Note that some sources are about the same persons."""
        for name in sources:
            self.related.setdefault(name, set()).update(sources)

    def find_related(self, sources: Iterable[str]) -> frozenset[str]:
        """Return the sources that are about the same persons as some, through others too."""
        found, new = set(sources), list(sources)
        while new:
            near = self.related.get(new.pop(), set()) - found
            found |= near
            new += near
        return frozenset(found)

    def find_at(self, place: str) -> str | None:
        """Return the source whose data lay at a place when it was asked last."""
        return next((source for source, lay in self.places.items() if lay == place), None)

    def find_called(self, called: str) -> str | None:
        """Return the source that was called so last."""
        return next((source for source, name in self.called.items() if name == called), None)

    def name_source(self, called: str) -> str:
        """Return the name of a new source: what it is called first, unless that is another one."""
        names = (called if number == 1 else f"{called} ({number})" for number in count(1))
        name = next(name for name in names if name not in self.places and name not in self._taken)
        self._taken.add(name)
        return name

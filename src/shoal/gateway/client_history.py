"""ClientHistory: what a client already has, by the sources of the data."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

HISTORY_COLUMNS = ("source", "version", "said")
"""What a history is made of, as the ledger has it of each entry."""


@dataclass(frozen=True, kw_only=True)
class SourceHistory:
    """What a client already has of the data of one source."""

    newest: int = 0
    """The number of the newest entry about it."""
    raw: dict[str, float] = field(default_factory=dict)
    """``source.column`` → its weight, for each column that was answered with the data as they are."""
    raw_recodings: frozenset[str] = frozenset()
    """The versions of which there was an answer as it is, up to two: nothing is asked but whether they differ."""
    recodings: frozenset[str] = frozenset()
    """The same for anonymized answers."""
    published: frozenset[str] = frozenset()
    """``source.column`` of each column that an anonymized answer touched."""
    first: frozenset[str] = frozenset()
    """Those of the first of these answers."""

    @property
    def records(self) -> frozenset[str]:
        """What the records are called that these answers are cut from."""
        return frozenset(version.partition(".")[0] for version in self.raw_recodings | self.recodings)

    def add(self, number: int, version: str, said: dict[str, Any]) -> SourceHistory:
        """Return what there is after one more entry."""
        known, columns, edition = replace(self, newest=number), frozenset(said["weights"]), version.partition("-")[0]
        if said["action"] == "release":
            raw = self.raw | said["weights"]
            return replace(known, raw=raw, raw_recodings=_add_version(self.raw_recodings, edition))
        if said["action"] != "anonymize":
            return known
        return replace(
            known,
            recodings=_add_version(self.recodings, edition),
            published=self.published | columns,
            first=self.first or columns,
        )


@dataclass(frozen=True, kw_only=True)
class ClientHistory:
    """What a client already has."""

    newest: int = 0
    """The number of the newest entry about it."""
    sources: dict[str, SourceHistory] = field(default_factory=dict)
    """Source → what there is of it."""

    @cached_property
    def raw(self) -> dict[str, float]:
        """``source.column`` → its weight, for each column that was answered with the data as they are."""
        return {name: weight for known in self.sources.values() for name, weight in known.raw.items()}

    @cached_property
    def published(self) -> frozenset[str]:
        """``source.column`` of each column that an anonymized answer touched."""
        return frozenset[str]().union(*(known.published for known in self.sources.values()))

    def within(self, sources: Collection[str]) -> ClientHistory:
        """Return what there is of some sources; the newest entry is theirs."""
        chosen = {name: known for name, known in self.sources.items() if name in sources}
        return ClientHistory(newest=max((known.newest for known in chosen.values()), default=0), sources=chosen)

    def extend(self, rows: Sequence[tuple[Any, ...]]) -> ClientHistory:
        """Return what there is after some more entries: the number of each, and its ``HISTORY_COLUMNS``."""
        sources = dict(self.sources)
        for number, source, version, said in rows:
            sources[source] = sources.get(source, SourceHistory()).add(number, version, json.loads(said))
        return ClientHistory(newest=rows[-1][0], sources=sources) if rows else self


def _add_version(known: frozenset[str], version: str) -> frozenset[str]:
    return known if len(known) > 1 else known | {version}

"""open_owned_tables(): the tables of all owners, as the ledger knows them; which are about the same persons."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from shoal.errors import LedgerError, PolicyError, nearest
from shoal.gateway.config import GatewayConfig, JoinConfig, OwnerConfig, TableConfig
from shoal.gateway.known_records import KnownRecords
from shoal.gateway.known_sources import JOINED, KnownSources, SourceOrigin
from shoal.gateway.ledger import Ledger
from shoal.gateway.owned_tables import OwnedTable
from shoal.gateway.sources import DataSource, DuckDBSource, FileSource, Location, PostgresSource
from shoal.gateway.standing import StandingRecords


def open_owned_tables(config: GatewayConfig, ledger: Ledger, sources: Mapping[str, DataSource]) -> list[OwnedTable]:
    """Return the tables and joins of all owners, each as the source that the ledger knows it by.

    Raises
    ------
    PolicyError
        Two of them are the same data.
    LedgerError
        The ledger knows tables that nobody holds any more, and there are some that it does not know: clients would have
        anew what they have already, if these are the same.
    """
    tables = [
        table
        for name, owner in config.owners.items()
        for table in _open_owner(name, owner, sources.get(name) or _open_source(owner))
    ]
    known = KnownSources()
    for source, _, text in ledger.list_origins():
        known.note(source, SourceOrigin.from_text(text))
    named = _SourceNaming(known, ledger.path.resolve().parent).name_all([one for one in tables if not one.is_join])
    for table in tables:
        table.ledger = ledger
        table.part_sources = {part: named[table.owner, part] for part, _ in table.parts}
        table.identity = _identify(table)
    _check_different(tables)
    _relate(tables, known)
    records = KnownRecords([(table.owner, table.name) for table in tables if not table.is_join])
    for number, table in enumerate(tables):
        table.known_records = records
        table.earlier_tables = tuple(other for other in tables[:number] if not other.is_join and not table.is_join)
        table.standing = _open_standing(table, config)
    return tables


def _open_owner(name: str, owner: OwnerConfig, source: DataSource) -> list[OwnedTable]:
    stored = {table: config.source or table for table, config in owner.tables.items()}
    parts: list[tuple[str, TableConfig, tuple[str, ...]]] = [
        *((table, config, (table,)) for table, config in owner.tables.items()),
        *((join, config, (config.left[0], config.right[0])) for join, config in owner.joins.items()),
    ]
    return [
        OwnedTable(name, table, config, source, tuple((side, stored[side]) for side in sides))
        for table, config, sides in parts
    ]


def _identify(table: OwnedTable) -> str:
    """Return what a table is to the ledger: its source; of a join the sources of both sides, with their keys."""
    if not isinstance(table.config, JoinConfig):
        return table.part_sources[table.name]
    sides = (table.config.left, table.config.right)
    return JOINED.join(f"{table.part_sources[part]}.{key}" for part, key in sides)


class _SourceNaming:
    """Finds out which of the ledger's sources the tables of a configuration are."""

    def __init__(self, known: KnownSources, folder: Path) -> None:
        self._known, self._folder = known, folder
        self._named: dict[tuple[str, str], str] = {}

    def name_all(self, tables: list[OwnedTable]) -> dict[tuple[str, str], str]:
        """Return the source of each table; first those that lie where they lay, so that no other takes their name."""
        for find in (self._find_at_place, self._find_by_word, self._find_moved):
            for table in tables:
                if (table.owner, table.name) not in self._named:
                    source = find(table)
                    if source is not None:
                        self._name(table, source)
        new = [table for table in tables if (table.owner, table.name) not in self._named]
        self._check_new(new)
        for table in new:
            place = self._place(table)
            source = self._known.find_at(place) or self._known.name_source(f"{table.owner}/{table.name}")
            self._known.places[source] = place
            self._name(table, source)
        return self._named

    def _name(self, table: OwnedTable, source: str) -> None:
        self._named[table.owner, table.name] = source
        formerly = _list_former(table)
        unknown = [name for name in formerly if name not in self._known.places and name not in self._known.moved]
        if unknown:
            hint = nearest(unknown[0], self._known.places)
            raise LedgerError("the ledger knows no such table", where=_where(table), got=unknown[0], hint=hint)
        self._known.moved |= set(formerly) - {source}
        self._known.relate({source, *formerly})

    def _find_at_place(self, table: OwnedTable) -> str | None:
        """Return the source that lies here; two tables may, and are one to the ledger."""
        return self._known.find_at(self._place(table))

    def _find_by_word(self, table: OwnedTable) -> str | None:
        """Return the source whose data these were, by the owner's word."""
        return next((name for name in _list_former(table) if self._is_free(name)), None)

    def _find_moved(self, table: OwnedTable) -> str | None:
        """Return the source that is called so, or lay here before; it may have been moved, or reached by a link."""
        if table.config.formerly is not None:
            return None
        location = table.source.locate(table.parts[0][1])
        linked = (name for name, place in self._known.places.items() if _is_same(location, place, self._folder))
        called = self._known.find_called(f"{table.owner}/{table.name}")
        candidates = (called, self._known.earlier.get(self._place(table)), *linked)
        return next((name for name in candidates if name is not None and self._is_free(name)), None)

    def _place(self, table: OwnedTable) -> str:
        return place_of(table, table.parts[0][1], self._folder)

    def _is_free(self, source: str) -> bool:
        return source in self._known.places and source not in self._named.values()

    def _check_new(self, new: list[OwnedTable]) -> None:
        """Raise if data moved without a word: what clients have of them would be forgotten."""
        known = self._known
        gone = known.places.keys() - set(self._named.values()) - known.moved
        unknown = [table for table in new if table.config.formerly is None]
        if gone and unknown:
            raise LedgerError(
                "the ledger knows tables that are not there any more, and not this one",
                where=_where(unknown[0]),
                got="gone: " + ", ".join(f"{name} ({known.places[name]})" for name in sorted(gone)),
                hint="say formerly: [the name of the one that it was], or formerly: [] if these are other data",
            )


def place_of(table: OwnedTable, stored: str, folder: Path) -> str:
    """Return where a table's data lie, seen from the folder of the ledger: both may be moved together."""
    location = table.source.locate(stored)
    return f"{table.owner}/{stored}" if location is None else location.to_text(folder)


def _relate(tables: list[OwnedTable], known: KnownSources) -> None:
    """Tell each table which sources are about the same persons: by joins, by the subject, now or at any time."""
    for table in tables:
        near = [other for other in tables if _are_near(table, other)]
        known.relate({*table.part_sources.values(), *(other.identity for other in near)})
    for table in tables:
        table.related_sources = known.find_related([table.identity, *table.part_sources.values()])
        table.related_tables = tuple(other for other in tables if other.identity in table.related_sources)
        table.origin = _tell_origin(table).to_text()


def _are_near(table: OwnedTable, other: OwnedTable) -> bool:
    """Whether two tables are about the same persons: they have a part in common, or columns of an owner that name them.

    Those are the subject and the identifiers: who has a name in both tables is weighed once too much, not forgotten.
    """
    if set(table.part_sources.values()) & set(other.part_sources.values()):
        return True
    return table.owner == other.owner and bool(set(table.policy.hidden) & set(other.policy.hidden))


def _check_different(tables: list[OwnedTable]) -> None:
    """Raise if two tables are the same data: recoded apart, they could be laid over each other."""
    seen: dict[str, OwnedTable] = {}
    for table in (one for one in tables if not one.is_join):
        location = table.source.locate(table.parts[0][1])
        place = f"{table.owner}/{table.parts[0][1]}" if location is None else location.resolve().to_text(Path("/"))
        first = seen.setdefault(place, table)
        if first is not table:
            what = "two tables of the same data: they are recoded apart, and could be laid over each other"
            raise PolicyError(what, where=_where(table), got=f"the same as {first.name}")


def _open_standing(table: OwnedTable, config: GatewayConfig) -> StandingRecords:
    """Return where the records that a table is answered from are kept: by what the ledger knows it as."""
    said = f"{table.identity}\n{table.config.edition}"
    name = hashlib.sha256(said.encode()).hexdigest()[:32]
    return StandingRecords(config.releases.find_folder(table.ledger.path) / "standing" / name, table.ledger.digest)


def _tell_origin(table: OwnedTable) -> SourceOrigin:
    folder = table.ledger.path.resolve().parent
    return SourceOrigin(
        places={table.part_sources[part]: place_of(table, stored, folder) for part, stored in table.parts},
        called={source: f"{table.owner}/{part}" for part, source in table.part_sources.items()},
        subject=table.policy.subject,
        related=tuple(sorted(table.related_sources - {table.identity})),
        formerly=tuple(name for name in _list_former(table) if name != table.identity),
    )


def _is_same(location: Location | None, place: str, folder: Path) -> bool:
    return location is not None and location.is_same(place, folder)


def _list_former(table: OwnedTable) -> tuple[str, ...]:
    return table.config.formerly or ()


def _where(table: OwnedTable) -> str:
    return f"owners.{table.owner}.tables.{table.name}"


def _open_source(owner: OwnerConfig) -> DataSource:
    database = owner.database
    if database.files is not None:
        return FileSource({table: Path(file) for table, file in database.files.items()})
    return DuckDBSource(Path(database.duckdb)) if database.duckdb is not None else PostgresSource(database.url())

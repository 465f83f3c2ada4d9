"""OwnedTable: one owner's table; read once per version, anonymized once per version and recoding."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import Any

import polars as pl

from shoal.engines.columns import kind_of, plain
from shoal.engines.counted import CountedTable
from shoal.engines.treatments import faults, treat
from shoal.errors import AuditFailed, HierarchyError, Infeasible, Misfit, PolicyError, Refused, TableError, Unavailable
from shoal.gateway.answer_source import AnswerSource
from shoal.gateway.config import JoinConfig, OwnerConfig, TableConfig
from shoal.gateway.evaluation import QueryableTable
from shoal.gateway.labels import Meanings
from shoal.gateway.queryable_release import (
    MAX_RELEASES,
    RECORD,
    QueryableRelease,
    models_hold_beside,
    release_columns,
    release_table,
)
from shoal.gateway.sources import DataSource, DuckDBSource, FileSource, PostgresSource
from shoal.gateway.verification import AnswerVerifier
from shoal.policy import Policy, QuasiIdentifier, Sensitive
from shoal.policy.disclosure_weights import Weighed
from shoal.policy.published_columns import published_columns

_NO_FIT, _LOOK = "the policy does not fit the table", "the owner has to look at it: shoal check"
_TRIES = 5
"""How often a table is read again that changed meanwhile."""


@dataclass
class TableVersion:
    """A table as it is now, and what was made of it."""

    name: str
    frame: pl.DataFrame
    policy: Policy
    releases: dict[frozenset[str] | None, QueryableRelease | Refused] = field(default_factory=dict)
    """Columns (``None``: all) → their release, or why there is none."""
    weighings: dict[tuple[Any, ...], tuple[Weighed, dict[str, float]]] = field(default_factory=dict)
    """Columns of a request and what the client has as it is → what they weigh together."""
    holds_beside: dict[frozenset[str], bool] = field(default_factory=dict)
    """Columns as they are → whether the one release keeps its models beside them."""

    @cached_property
    def raw(self) -> AnswerSource:
        """The table as it is, to be asked; of a column with a treatment nobody sees more than that leaves."""
        for name, column in self.policy.quasi_identifiers.items():
            if column.treatment and (name not in self.frame.columns or faults(self.frame[name], column.treatment, "")):
                raise Refused(_NO_FIT, where=name, hint=_LOOK)
        frame = _sort_records(treat(CountedTable(self.frame), self.policy).frame)
        readers = {name: Meanings(kind_of(frame[name]), exact=True) for name in frame.columns}
        return AnswerSource(QueryableTable(frame, readers), AnswerVerifier(frame, readers))


class OwnedTable:
    """One owner's table, or a join of two."""

    def __init__(
        self, owner: str, name: str, config: TableConfig, source: DataSource, parts: tuple[tuple[str, str], ...]
    ) -> None:
        self.owner, self.name, self.config, self.source = owner, name, config, source
        self.parts = parts
        """The logical tables that it is made of, each with what the database calls it."""
        self.family = f"{owner}/{name}"
        self.siblings = frozenset(table for table, _ in parts)
        """The owner's tables that are no join."""
        self.related_tables: tuple[OwnedTable, ...] = (self,)
        """The owner's tables and joins about the same persons, this one among them."""
        self.qualified_names: dict[str, str] = {}
        """Column → ``table.column`` of the table that it comes from."""
        self.seal: Callable[[str], str] = str
        """Makes a version's name of a source's: clients see it, and must not test guesses about the data with it."""
        self._lock = RLock()
        self._current: TableVersion | None = None

    @property
    def policy(self) -> Policy:
        """What is promised of the table."""
        return self.config.policy

    @property
    def is_join(self) -> bool:
        """Whether it joins two tables."""
        return isinstance(self.config, JoinConfig)

    def read_current(self) -> TableVersion:
        """Return the table as it is now; it is read again only if it changed."""
        version = self._read_version()
        with self._lock:
            for _ in range(_TRIES):
                if self._current is not None and self._current.name == version:
                    return self._current
                try:
                    frame = _sort_records(_select_offered(self._read(), self.policy))
                except TableError:  # lists, infinite numbers and the like; its text is for the owner
                    raise Unavailable("the table holds values that cannot be published", where=self.name) from None
                before, version = version, self._read_version()
                if before == version:  # else it changed while it was read
                    self._current = TableVersion(version, frame, self.policy)
        raise Unavailable("the table changes faster than it can be read", where=self.name)

    def is_reachable(self) -> bool:
        """Return whether the owner's database answers, without reading a record."""
        return all(self.source.is_reachable(stored) for _, stored in self.parts)

    def _read_version(self) -> str:
        return self.seal(" ".join(self.source.version(stored) for _, stored in self.parts))

    def _read(self) -> pl.DataFrame:
        frames = {table: self.source.read(stored) for table, stored in self.parts}
        for table, frame in frames.items():
            new = {name: f"{table}.{name}" for name in frame.columns if name not in self.qualified_names}
            self.qualified_names |= new
        if not isinstance(self.config, JoinConfig):
            return frames[self.name]
        (left, key), (right, other) = self.config.left, self.config.right
        twice = (set(frames[left].columns) & set(frames[right].columns)) - ({key} if key == other else set())
        if twice or key not in frames[left].columns or other not in frames[right].columns:
            raise Unavailable("the tables of the join have other columns than it needs", where=self.name)
        return _join(frames[left], key, frames[right], other)

    def qualify(self, name: str) -> str:
        """Return the name by which all tables of the family know a column."""
        return self.qualified_names.get(name, f"{self.name}.{name}")

    def qualify_weights(self, columns: Iterable[str], weights: dict[str, float]) -> dict[str, float]:
        """Return the weights of columns under the names that all tables of the family know."""
        return {self.qualify(name): weights[name] for name in columns}

    def list_declared_weights(self) -> dict[str, float]:
        """Return the weights that the policy gives, under the names that all tables of the family know."""
        roles: dict[str, QuasiIdentifier | Sensitive] = {**self.policy.quasi_identifiers, **self.policy.sensitive}
        return self.qualify_weights(roles, {name: role.weight for name, role in roles.items()})

    def release_table(self, version: TableVersion) -> QueryableRelease:
        """Return the one release of the whole table."""
        return self._release(version, None)

    def release_columns(self, version: TableVersion, columns: Iterable[str]) -> QueryableRelease:
        """Return a release of some columns only, as the paper does it."""
        return self._release(version, frozenset(columns))

    def find_linking_columns(
        self, raw: Iterable[str], published: Iterable[str], *, joined: bool = False
    ) -> frozenset[str]:
        """Return the columns that answers as they are would add to anonymized ones of this table, record by record.

        Both kinds of answers are given as ``table.column``. A column that both show as it is (a sensitive one) tells
        which record is which. Without one, quasi-identifiers as they are tell what any attacker of k-anonymity is
        thought to know anyway. Columns of other tables come in only with a join that was answered as it is
        (``joined``), or if this is one.
        """
        known = set(raw)
        columns = () if self._current is None else tuple(self._current.frame.columns)
        own = {self.qualify(name): name for name in (*self.qualified_names, *columns)}
        changed = {*self.policy.quasi_identifiers, *self.policy.hidden}
        exact = {base for base, name in own.items() if name not in changed}
        if not known & exact & set(published):
            return frozenset()
        parts = tuple(f"{table}." for table, _ in self.parts)
        elsewhere = {base for base in known - own.keys() if joined or base.startswith(parts)}
        return frozenset({own[base] for base in (known & own.keys()) - exact} | elsewhere)

    def models_hold_beside(self, version: TableVersion, columns: frozenset[str]) -> bool:
        """Return whether the one release keeps every model for a reader who knows some columns as they are.

        Such a reader splits each class by them: what must hold is counted again on the parts. Where that cannot be
        counted (columns that the table lacks or never publishes, models that ask the population), it does not.
        """
        if not columns <= self.policy.quasi_identifiers.keys():
            return False
        release = self.release_table(version)
        with self._lock:
            if columns not in version.holds_beside:
                try:
                    version.holds_beside[columns] = models_hold_beside(release, version.frame, self.policy, columns)
                except PolicyError:
                    version.holds_beside[columns] = False
            return version.holds_beside[columns]

    def _release(self, version: TableVersion, columns: frozenset[str] | None) -> QueryableRelease:
        with self._lock:
            if columns not in version.releases:
                if len(version.releases) >= MAX_RELEASES:
                    version.releases.pop(next(iter(version.releases)))
                version.releases[columns] = self._anonymize(version.frame.clone(), columns)  # it is shared
            release = version.releases[columns]
        if isinstance(release, Refused):
            raise Refused(release.faults)
        return release

    def _anonymize(self, frame: pl.DataFrame, columns: frozenset[str] | None) -> QueryableRelease | Refused:
        """Return a release; or why there is none, without what the error tells the owner about the data."""
        try:
            if columns is None:
                return release_table(frame, self.policy)
            return release_columns(frame, self.policy, columns)
        except Infeasible:
            return Refused("the promises of the policy cannot be kept within its boundaries", where=self.name)
        except (Misfit, HierarchyError, PolicyError, TableError, AuditFailed):
            return Refused(_NO_FIT, where=self.name, hint=_LOOK)


def _select_offered(frame: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return the columns that may be asked for: not the row index that pandas wrote into a file."""
    if policy.others != "keep":
        return frame
    offered = {*published_columns(frame.columns, policy), *policy.hidden}
    return pl.DataFrame([frame[name] for name in frame.columns if name in offered])


def _sort_records(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the records in an order that follows from what they hold, not from where they lay."""
    columns = [plain(frame[name]).alias(f"c{index}") for index, name in enumerate(frame.columns)]
    ordered = pl.DataFrame(columns).sort([column.name for column in columns], nulls_last=False)
    ordered.columns = frame.columns
    return ordered


def _join(left: pl.DataFrame, key: str, right: pl.DataFrame, other: str) -> pl.DataFrame:
    """Return the inner join; records without a key join nothing."""
    sides = [frame.clone() for frame in (left, right)]
    sides[0].columns = [f"l{index}" for index in range(left.width)]
    sides[1].columns = [f"r{index}" for index in range(right.width)]
    keys = f"l{left.columns.index(key)}", f"r{right.columns.index(other)}"
    both = sides[0].join(sides[1], left_on=keys[0], right_on=keys[1], how="inner", coalesce=False)
    both.columns = [*left.columns, *(name if name != key else RECORD for name in right.columns)]
    return both.drop(RECORD) if RECORD in both.columns else both


def open_owned_tables(name: str, owner: OwnerConfig, source: DataSource | None = None) -> list[OwnedTable]:
    """Return the tables and joins of an owner."""
    source = source or _open_source(owner)
    stored = {table: config.source or table for table, config in owner.tables.items()}
    tables = [
        OwnedTable(name, table, config, source, ((table, stored[table]),)) for table, config in owner.tables.items()
    ]
    families = {table: f"{name}/{table}" for table in owner.tables}
    for join, config in owner.joins.items():
        sides = config.left[0], config.right[0]
        tables.append(OwnedTable(name, join, config, source, tuple((table, stored[table]) for table in sides)))
        old, new = families[sides[1]], families[sides[0]]
        families = {table: new if family == old else family for table, family in families.items()}
    for table in tables:
        table.family = families[table.parts[0][0]]
        table.siblings = frozenset(owner.tables)
    for table in tables:
        table.related_tables = tuple(other for other in tables if other.family == table.family)
    return tables


def _open_source(owner: OwnerConfig) -> DataSource:
    database = owner.database
    if database.files is not None:
        return FileSource({table: Path(file) for table, file in database.files.items()})
    return DuckDBSource(Path(database.duckdb)) if database.duckdb is not None else PostgresSource(database.url())

"""Sources: owners' tables, in DuckDB, in PostgreSQL, or in files.

Nothing that a client writes reaches a database: a source reads declared columns of a declared table, and the only
texts that it sends are built here from those names.
"""

from __future__ import annotations

import hashlib
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import polars as pl

from shoal.engines.memory.databases import to_plain_value
from shoal.engines.memory.source import open_in_memory, read
from shoal.errors import ShoalError, Unavailable, import_extra
from shoal.gateway.postgres import connect


def quote(name: str) -> str:
    """Return a name as SQL quotes it.

    Examples
    --------
    >>> print(quote('a "b"; --'))
    "a ""b""; --"
    """
    if "\0" in name:
        raise ValueError("a name with a NUL")
    return '"' + name.replace('"', '""') + '"'


def select(table: str, columns: Sequence[str]) -> str:
    """Return the one statement that reads a table.

    Examples
    --------
    >>> select("people", ["age", "sex"])
    'SELECT "age", "sex" FROM "people"'
    """
    return f"SELECT {', '.join(map(quote, columns))} FROM {quote(table)}"


@dataclass(frozen=True)
class Location:
    """Where a table lies: in a file, or on a server."""

    path: Path | None
    """The file, by the name that it was given: what a link leads to may change."""
    name: str = ""
    """What else tells it from others: the server, the name in the database."""

    def to_text(self, folder: Path) -> str:
        """Return it as a text, seen from a folder.

        Examples
        --------
        >>> Location(Path("/data/people.csv")).to_text(Path("/data/ledger"))
        '../people.csv'
        """
        if self.path is None:
            return self.name
        seen = Path(os.path.relpath(self.path.absolute(), folder)).as_posix()
        return f"{seen}/{self.name}" if self.name else seen

    def resolve(self) -> Location:
        """Return where it lies in truth, whatever links lead there."""
        return Location(None if self.path is None else self.path.resolve(), self.name)

    def is_same(self, text: str, folder: Path) -> bool:
        """Whether a text stands for the same file, though by another name: one is a link to the other."""
        ending = f"/{self.name}" if self.name else ""
        if self.path is None or not text.endswith(ending):
            return False
        try:
            return self.path.samefile(folder / text.removesuffix(ending))
        except OSError:
            return False


class DataSource(ABC):
    """Where an owner's tables are."""

    @abstractmethod
    def columns(self, table: str) -> tuple[str, ...]:
        """Return the columns of a table."""

    @abstractmethod
    def version(self, table: str) -> str:
        """Return a text that changes when the table does."""

    @abstractmethod
    def read(self, table: str) -> pl.DataFrame:
        """Return a whole table."""

    def locate(self, table: str) -> Location | None:
        """Return where a table lies, if that can be told: not even the database is asked."""
        return None

    def is_reachable(self, table: str) -> bool:
        """Return whether the table is there, without reading a record."""
        try:
            return bool(self.columns(table))
        except Unavailable:
            return False


class FileSource(DataSource):
    """Tables that are files: CSV, Parquet and whatever else shoal reads, with the types that it gives them.

    DuckDB could read them too, but would take the ZIP code 02139 for a number: the same policy has to give the same
    release through every door.
    """

    def __init__(self, files: Mapping[str, Path]) -> None:
        self.files = dict(files)

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the columns of a file."""
        return tuple(self.read(table).columns)

    def locate(self, table: str) -> Location:
        """Return the file."""
        return Location(self.files[table])

    def is_reachable(self, table: str) -> bool:
        """Return whether the file is there."""
        return self.files[table].is_file()

    def version(self, table: str) -> str:
        """Return when the file changed last, and its size."""
        return _stamp([self.files[table]], table)

    def read(self, table: str) -> pl.DataFrame:
        """Return the table of a file."""
        try:
            return read(self.files[table])
        except (ShoalError, OSError):
            raise Unavailable("the file cannot be read", where=table) from None


class DuckDBSource(DataSource):
    """Tables of a DuckDB database: a file, opened to read only, or a connection of the caller's."""

    def __init__(self, database: object) -> None:
        self._duckdb = import_extra("duckdb", "gateway", "reading a DuckDB database")
        self.path = Path(database) if isinstance(database, (str, Path)) else None
        self._files = [] if self.path is None else [self.path, self.path.with_name(self.path.name + ".wal")]
        self._connection: Any = None if self.path else database

    def locate(self, table: str) -> Location | None:
        """Return the file, and the table in it, whose name DuckDB takes for the same in capitals."""
        return None if self.path is None else Location(self.path, table.casefold())

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the columns of a table."""
        described = self.use(lambda db: db.execute(f"SELECT * FROM {quote(table)} LIMIT 0").description, table)
        return tuple(str(column[0]) for column in described)

    def version(self, table: str) -> str:
        """Return when the file changed last; in memory, a hash of what the table holds."""
        if self._files:
            return _stamp(self._files, table)
        names = ", ".join(map(quote, self.columns(table)))
        statement = f"SELECT count(*), sum(hash({names})::HUGEINT), bit_xor(hash({names})) FROM {quote(table)}"
        return _hash(self.use(lambda db: db.execute(statement).fetchone(), table))

    def read(self, table: str) -> pl.DataFrame:
        """Return a whole table."""
        statement = select(table, self.columns(table))
        frame: pl.DataFrame = self.use(lambda db: open_in_memory(db.sql(statement)).frame, table)
        return frame

    def use(self, action: Callable[[Any], Any], table: str) -> Any:
        """Return what an action finds in the database, which it can only read."""
        try:
            if self._connection is not None:
                return action(self._connection.cursor())
            settings = {"enable_external_access": "false", "lock_configuration": "true"}
            with self._duckdb.connect(str(self.path), read_only=True, config=settings) as connection:
                return action(connection)
        except self._duckdb.Error:  # its text may hold values
            raise Unavailable("the database cannot be read", where=table) from None


class PostgresSource(DataSource):
    """Tables of a PostgreSQL database, in transactions that cannot write.

    A table is hashed again only if a transaction of the server wrote something since: as long as the server's snapshot
    is the same, so is every table.
    """

    def __init__(self, url: str, *, timeout: int = 30) -> None:
        self._psycopg = import_extra("psycopg", "gateway", "reading a PostgreSQL database")
        self._url, self._timeout = url, timeout
        self._retry_at = 0.0
        self._lock = Lock()
        self._snapshot_connection: Any = None
        """A connection that only asks for the snapshot: a new one for each request would cost more than the answer."""
        self._seen: dict[str, tuple[str, str]] = {}
        """Table → the server's snapshot when it was hashed, and its version."""

    def locate(self, table: str) -> Location:
        """Return the server, the database, the schemas that are looked through, and the table."""
        said = self._psycopg.conninfo.conninfo_to_dict(self._url)
        server = f"{said.get('host', 'localhost')}:{said.get('port', 5432)}"
        parts = ("postgresql", server, said.get("dbname", ""), said.get("options", ""), table)
        return Location(None, "/".join(str(part) for part in parts if part))

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the columns of a table."""
        ((names, _),) = self.fetch(table, f"SELECT * FROM {quote(table)} LIMIT 0")
        return tuple(names)

    def version(self, table: str) -> str:
        """Return a hash of what the table holds, whatever the order of its records."""
        snapshot, version = self._seen.get(table, ("", ""))
        if version and self._snapshot(table) == snapshot:
            return version
        row = f"ROW({', '.join(map(quote, self.columns(table)))})::text"
        hashed = f"count(*), sum(hashtextextended({row}, 0)), sum(hashtextextended({row}, 1))"
        kind = f"SELECT relkind FROM pg_class WHERE oid = {_quote_literal(quote(table))}::regclass"
        results = self.fetch(table, _SNAPSHOT, kind, f"SELECT {hashed} FROM {quote(table)}")
        (snapshot,), (relation,), counted = (rows[0] for _, rows in results)
        version = _hash(counted)
        if relation in _STORED:  # a view may show what another server holds
            self._seen[table] = str(snapshot), version
        return version

    def read(self, table: str) -> pl.DataFrame:
        """Return a whole table."""
        ((names, rows),) = self.fetch(table, select(table, self.columns(table)))
        columns = {name: [to_plain_value(row[index]) for row in rows] for index, name in enumerate(names)}
        return open_in_memory(
            pl.DataFrame({name: pl.Series(values, strict=False) for name, values in columns.items()})
        ).frame

    def fetch(self, table: str, *statements: str) -> list[tuple[list[str], list[tuple[Any, ...]]]]:
        """Return names and rows of some statements, built from declared names only, all of one moment."""
        try:
            with self._connect() as connection:
                connection.isolation_level = self._psycopg.IsolationLevel.REPEATABLE_READ
                cursors = [connection.execute(statement) for statement in statements]
                return [([column.name for column in one.description or ()], one.fetchall()) for one in cursors]
        except self._psycopg.Error as error:  # its text may hold values, and the address
            if isinstance(error, self._psycopg.errors.QueryCanceled):  # it took too long
                self._retry_at = time.monotonic() + _PAUSE
            raise Unavailable("the database cannot be read", where=table) from None

    def _snapshot(self, table: str) -> str:
        """Return which transactions have written."""
        with self._lock:
            for _ in range(2):  # a connection that was kept may be gone
                try:
                    if self._snapshot_connection is None:
                        self._snapshot_connection = self._connect()
                        self._snapshot_connection.autocommit = True
                    return str(self._snapshot_connection.execute(_SNAPSHOT).fetchone()[0])
                except self._psycopg.Error:
                    self._snapshot_connection = None
        raise Unavailable("the database cannot be read", where=table)

    def _connect(self) -> Any:
        """Return a new connection; a server that did not answer in time is left alone for a while.

        Otherwise each request would wait for it anew, and the workers that wait would be missed by other owners.
        """
        if time.monotonic() < self._retry_at:
            raise self._psycopg.OperationalError
        try:
            return connect(self._psycopg, self._url, timeout=self._timeout, default_transaction_read_only="on")
        except self._psycopg.errors.ConnectionTimeout:
            self._retry_at = time.monotonic() + _PAUSE
            raise


_SNAPSHOT = "SELECT pg_current_snapshot()::text"
_PAUSE = 5.0
"""Seconds for which a server that did not answer in time is not called again."""
_STORED = ("r", "m")
"""Tables and materialized views: only a transaction of this server changes what they hold."""


def _quote_literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _stamp(paths: Sequence[Path], table: str) -> str:
    stamps = []
    for path in paths:
        with suppress(OSError):
            stat = path.stat()
            stamps.append((path.name, stat.st_mtime_ns, stat.st_size))
    if not stamps:
        raise Unavailable("the file cannot be read", where=table)
    return _hash(stamps)


def _hash(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:32]

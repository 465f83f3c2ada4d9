"""Stores: where a ledger lies; a file of SQLite, or a PostgreSQL server that several gateways share."""

from __future__ import annotations

import os
import sqlite3
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from shoal.errors import LedgerError, MissingExtra
from shoal.gateway.postgres import connect

_ENTRIES = """
CREATE TABLE IF NOT EXISTS entries (
  number {number} PRIMARY KEY, {columns}, previous TEXT NOT NULL, hash TEXT NOT NULL UNIQUE,
  UNIQUE (client, request, owner)
);
CREATE INDEX IF NOT EXISTS newest ON entries (client, family, number);
"""


class Cursor(Protocol):
    """What came of a statement."""

    @property
    def rowcount(self) -> int:
        """How many rows it wrote."""

    def fetchone(self) -> Any:
        """Return the next row."""

    def fetchall(self) -> list[Any]:
        """Return all rows."""

    def __iter__(self) -> Iterator[Any]: ...


class Session(Protocol):
    """Takes statements; values stand for question marks."""

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Cursor:
        """Carry out a statement."""


class Store(ABC):
    """A table of entries that can only grow, and connections to it that are kept."""

    def __init__(self, name: str, errors: type[Exception]) -> None:
        self.name = name
        """What it is called in errors; no password is in it."""
        self.file: Path | None = None
        """Its file, if it has one."""
        self._errors = errors
        self._idle: deque[Any] = deque()

    @abstractmethod
    def key_file(self) -> Path:
        """Return where the key of the hashes lies, unless that is said."""

    @abstractmethod
    def _connect(self) -> Any:
        """Return a new connection."""

    @abstractmethod
    def _session(self, connection: Any) -> Session:
        """Return what takes statements."""

    @abstractmethod
    def _begin(self, session: Session) -> None:
        """Begin a transaction in which nobody else writes."""

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Lend a connection."""
        try:
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._connect()
            try:
                yield self._session(connection)
            except BaseException:
                connection.close()
                raise
            self._idle.append(connection)
        except self._errors as error:
            self._idle.clear()  # a server that went away took all of them
            raise LedgerError("the ledger cannot be used", where=self.name, got=type(error).__name__) from None

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Lend a connection in a transaction; it is on the disk when this ends, or nothing of it is."""
        with self.reading() as session:
            self._begin(session)
            try:
                yield session
            except BaseException:
                session.execute("ROLLBACK")
                raise
            session.execute("COMMIT")


class SQLiteStore(Store):
    """A ledger in a file."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        super().__init__(path.name, sqlite3.Error)
        self.path = self.file = path
        path.parent.mkdir(parents=True, exist_ok=True)
        types = ", ".join(f"{name} {'BLOB' if name == 'groups' else 'TEXT'}" for name in columns)
        with self.reading() as db:
            db.execute("PRAGMA journal_mode=WAL")
            for statement in _ENTRIES.format(number="INTEGER", columns=types).split(";")[:-1]:
                db.execute(statement)
            for name, when in (("unchanged", "UPDATE"), ("undeleted", "DELETE")):
                refuse = "BEGIN SELECT RAISE(ABORT, 'append only'); END"
                db.execute(f"CREATE TRIGGER IF NOT EXISTS {name} BEFORE {when} ON entries {refuse}")

    def key_file(self) -> Path:
        """Return the file beside the ledger."""
        return self.path.with_name(self.path.name + ".key")

    def _connect(self) -> sqlite3.Connection:
        # they are kept: the last one that closes would have to tidy up the whole file
        db = sqlite3.connect(self.path, timeout=30, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA synchronous=FULL")
        return db

    def _session(self, connection: sqlite3.Connection) -> Session:
        return connection

    def _begin(self, session: Session) -> None:
        session.execute("BEGIN IMMEDIATE")


class PostgresStore(Store):
    """A ledger on a server, in a schema of its own; several gateways may write it."""

    SCHEMA = "shoal_ledger"

    def __init__(self, url: str, columns: Sequence[str], *, timeout: int = 30) -> None:
        try:
            import psycopg
        except ImportError:
            raise MissingExtra.of("psycopg", "gateway", "a ledger in PostgreSQL") from None
        super().__init__(f"{urlsplit(url).hostname or 'localhost'}/{self.SCHEMA}", psycopg.Error)
        self._psycopg, self._url, self._timeout = psycopg, url, timeout
        types = ", ".join(f"{name} {'BYTEA' if name == 'groups' else 'TEXT'}" for name in columns)
        with self.reading() as db:
            db.execute("BEGIN")
            db.execute("SELECT pg_advisory_xact_lock(hashtext(?))", (self.SCHEMA,))  # two gateways that start at once
            db.execute(f"CREATE SCHEMA IF NOT EXISTS {self.SCHEMA}")
            for statement in _ENTRIES.format(number="BIGINT", columns=types).split(";")[:-1]:
                db.execute(statement)
            db.execute(
                "CREATE OR REPLACE FUNCTION append_only() RETURNS trigger LANGUAGE plpgsql AS "
                "$$ BEGIN RAISE EXCEPTION 'append only'; END $$"
            )
            if not db.execute(
                "SELECT FROM pg_trigger WHERE tgname = 'append_only' AND tgrelid = 'entries'::regclass"
            ).fetchall():
                what = (
                    "BEFORE UPDATE OR DELETE OR TRUNCATE ON entries FOR EACH STATEMENT EXECUTE FUNCTION append_only()"
                )
                db.execute(f"CREATE TRIGGER append_only {what}")
            db.execute("COMMIT")

    def key_file(self) -> Path:
        """Raise: nobody keeps the key on the server that it protects from."""
        hint = "say ledger_key: (a file that the database's administrators cannot read)"
        raise LedgerError("a ledger on a server needs a key of its own", where=self.name, hint=hint)

    def _connect(self) -> Any:
        # an entry is on the disk before its answer leaves, whatever the server's own default
        ours = {"search_path": self.SCHEMA, "synchronous_commit": "on"}
        return connect(self._psycopg, self._url, timeout=self._timeout, autocommit=True, **ours)

    def _session(self, connection: Any) -> Session:
        return _PercentSession(connection)

    def _begin(self, session: Session) -> None:
        session.execute("BEGIN")
        session.execute("LOCK TABLE entries IN EXCLUSIVE MODE")  # others read on


class _PercentSession:
    """Takes statements with question marks to a driver that writes them otherwise."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Cursor:
        cursor: Cursor = self._connection.execute(statement.replace("?", "%s"), tuple(values) or None)
        return cursor


def open_store(location: str | Path, columns: Sequence[str]) -> Store:
    """Return the store of a ledger: a PostgreSQL URL (``$NAME`` takes it from the environment), or a file."""
    text = str(location)
    if text.startswith("$"):
        text = os.environ.get(text[1:], "")
        if not text:
            raise LedgerError("no such variable in the environment", where="ledger", got=str(location))
    if is_url(text):
        return PostgresStore(text, columns)
    return SQLiteStore(Path(text), columns)


def is_url(location: str) -> bool:
    """Whether a ledger's place is no file.

    Examples
    --------
    >>> is_url("postgresql://host/db"), is_url("$LEDGER_URL"), is_url("ledger.sqlite")
    (True, True, False)
    """
    return location.startswith(("postgresql://", "postgres://", "$"))

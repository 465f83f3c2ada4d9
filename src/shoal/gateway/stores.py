"""Stores: where a ledger lies; a file of SQLite, or a PostgreSQL server that several gateways share."""

from __future__ import annotations

import os
import secrets
import sqlite3
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

from shoal.errors import LedgerError, import_extra
from shoal.gateway.postgres import connect

_ENTRIES = """
CREATE TABLE IF NOT EXISTS entries (
  number {number} PRIMARY KEY, {columns}, previous TEXT NOT NULL, hash TEXT NOT NULL UNIQUE,
  UNIQUE (client, request, owner)
);
CREATE INDEX IF NOT EXISTS newest ON entries (client, number);
CREATE INDEX IF NOT EXISTS newest_of_source ON entries (client, source, number);
CREATE INDEX IF NOT EXISTS origins ON entries (number) WHERE origin <> '';
"""
_PROBE = 65_536
"""Bytes that are written to see whether they can be: more than most entries take."""


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

    def __init__(self, name: str, columns: Sequence[str], errors: type[Exception]) -> None:
        self._columns = columns
        self.name = name
        """What it is called in errors; no address and no password is in it."""
        self.file: Path | None = None
        """Its file, if it has one."""
        self._errors = errors
        self._idle: deque[Any] = deque()

    @abstractmethod
    def key_file(self) -> Path:
        """Return where the key of the hashes lies, unless that is said."""

    @abstractmethod
    def create(self) -> None:
        """Make the table of entries, if it is not there."""

    @abstractmethod
    def is_there(self) -> bool:
        """Return whether there is a ledger already; none is made."""

    def check_in_place(self) -> None:
        """Raise if what was opened is not there any more; a server tells by itself."""
        return

    @contextmanager
    def afresh(self, session: Session) -> Iterator[Session]:
        """Lend a session that sees what somebody else may have done to the store, in place of one that may not."""
        yield session

    @abstractmethod
    def probe(self) -> None:
        """Write something small to the disk; raise if that cannot be done."""

    @abstractmethod
    def _connect(self) -> Any: ...

    @abstractmethod
    def _session(self, connection: Any) -> Session: ...

    def _check_columns(self, present: Sequence[str]) -> None:
        """Raise if there are entries of an earlier shoal, which knew tables by their names only."""
        if present and set(present) != {"number", *self._columns, "previous", "hash"}:
            hint = "keep it for auditors, and begin another one: what clients have by it has to be told apart by hand"
            raise LedgerError("the ledger is of an earlier version of shoal", where=self.name, hint=hint)

    @abstractmethod
    def _begin(self, session: Session) -> None:
        """Begin a transaction in which nobody else writes."""

    def close(self) -> None:
        """Give back the connections that nobody uses."""
        while self._idle:
            self._idle.pop().close()

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Lend a connection."""
        self.check_in_place()
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


@contextmanager
def wait_turn(path: Path) -> Iterator[None]:
    """Wait until no other process holds a file; where the system cannot do that, go on."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    try:
        file = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        got = error.strerror or type(error).__name__
        raise LedgerError("nothing can be written beside the ledger", where=path.name, got=got) from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


class SQLiteStore(Store):
    """A ledger in a file."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        super().__init__(path.name, columns, sqlite3.Error)
        self.path = self.file = path
        self._opened: os.stat_result | None = None
        self._looked: tuple[int, int] | None = None
        """When the file was last written, and its size, at the last look."""

    def create(self) -> None:
        """Make the table of entries, if it is not there."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch()  # connections never make one: a file that vanished must not come back empty
        self._opened = self.path.stat()
        types = ", ".join(f"{name} TEXT" for name in self._columns)
        with self.reading() as db:
            db.execute("PRAGMA journal_mode=WAL")
            self._check_columns([row[1] for row in db.execute("PRAGMA table_info(entries)").fetchall()])
            for statement in _ENTRIES.format(number="INTEGER", columns=types).split(";")[:-1]:
                db.execute(statement)
            for name, when in (("unchanged", "UPDATE"), ("undeleted", "DELETE")):
                refuse = "BEGIN SELECT RAISE(ABORT, 'append only'); END"
                db.execute(f"CREATE TRIGGER IF NOT EXISTS {name} BEFORE {when} ON entries {refuse}")

    def key_file(self) -> Path:
        """Return the file beside the ledger."""
        return self.path.with_name(self.path.name + ".key")

    def is_there(self) -> bool:
        """Return whether the file exists and holds something."""
        return self.path.is_file() and self.path.stat().st_size > 0

    def check_in_place(self) -> None:
        """Raise if the file is gone, or another one lies in its place: what is written would go nowhere."""
        if self._opened is None:
            return
        try:
            found = self.path.stat()
        except OSError:
            raise LedgerError("the file of the ledger is gone", where=self.name) from None
        if not os.path.samestat(found, self._opened):
            raise LedgerError("the file of the ledger was replaced", where=self.name)

    @contextmanager
    def afresh(self, session: Session) -> Iterator[Session]:
        """Lend a session that remembers no pages, where the file was written since the last look.

        A connection does not notice that somebody wrote an older copy over the file. This one does; and since the
        file itself is seldom written (what is new lies in another one, up to some size), it is seldom made.
        """
        found = self.path.stat()
        written = found.st_mtime_ns, found.st_size
        if written == self._looked:
            yield session
            return
        with closing(self._connect("ro")) as fresh:
            yield fresh
        self._looked = written

    def probe(self) -> None:
        """Write a file beside the ledger's, which may take as much as an entry."""
        with self.writing():
            pass
        probe_folder(self.path.parent, self.name)

    def _connect(self, mode: str = "rw") -> sqlite3.Connection:
        # they are kept: the last one that closes would have to tidy up the whole file
        address = f"{self.path.absolute().as_uri()}?mode={mode}{self._frozen()}"
        db = sqlite3.connect(address, uri=True, timeout=30, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA synchronous=FULL")
        return db

    def _frozen(self) -> str:
        """Return what SQLite has to be told where nobody can write: it would make files beside the ledger's."""
        can_write = os.access(self.path.parent, os.W_OK) or self.path.with_name(self.path.name + "-wal").exists()
        return "" if can_write else "&immutable=1"

    def _session(self, connection: sqlite3.Connection) -> Session:
        return connection

    def _begin(self, session: Session) -> None:
        session.execute("BEGIN IMMEDIATE")

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Lend a connection in a transaction, to one process after the other in the order in which they come.

        SQLite itself sleeps and tries again, for up to a tenth of a second: one of several processes would hardly ever
        find the ledger free.
        """
        with wait_turn(self.path.with_name(self.path.name + ".turn")), super().writing() as session:
            yield session


class PostgresStore(Store):
    """A ledger on a server, in a schema of its own; several gateways may write it."""

    SCHEMA = "shoal_ledger"

    def __init__(self, url: str, columns: Sequence[str], *, timeout: int = 30) -> None:
        psycopg = import_extra("psycopg", "gateway", "a ledger in PostgreSQL")
        super().__init__(f"schema {self.SCHEMA}", columns, psycopg.Error)
        self._psycopg, self._url, self._timeout = psycopg, url, timeout

    def create(self) -> None:
        """Make the table of entries, if it is not there."""
        types = ", ".join(f"{name} TEXT" for name in self._columns)
        with self.reading() as db:
            db.execute("BEGIN")
            db.execute("SELECT pg_advisory_xact_lock(hashtext(?))", (self.SCHEMA,))  # two gateways that start at once
            db.execute(f"CREATE SCHEMA IF NOT EXISTS {self.SCHEMA}")
            present = "SELECT column_name FROM information_schema.columns WHERE table_schema = ? AND table_name = ?"
            self._check_columns([row[0] for row in db.execute(present, (self.SCHEMA, "entries")).fetchall()])
            for statement in _ENTRIES.format(number="BIGINT", columns=types).split(";")[:-1]:
                db.execute(statement)
            db.execute("CREATE TABLE IF NOT EXISTS probe (number INTEGER PRIMARY KEY, at TEXT NOT NULL)")
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

    def is_there(self) -> bool:
        """Return whether the server has the table of entries."""
        with self.reading() as db:
            return bool(db.execute(f"SELECT to_regclass('{self.SCHEMA}.entries') IS NOT NULL").fetchone()[0])

    def probe(self) -> None:
        """Write a record into a table of its own."""
        write = (
            "INSERT INTO probe VALUES (1, clock_timestamp()::text) ON CONFLICT (number) DO UPDATE SET at = excluded.at"
        )
        with self.reading() as db:
            db.execute(write)

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


def probe_folder(folder: Path, name: str) -> None:
    """Write a file to the disk, and remove it; raise if there is no room for it, or nothing may be written."""
    path = folder / f".{name}.{secrets.token_hex(4)}.probe"
    try:
        try:
            with path.open("xb") as file:
                file.write(bytes(_PROBE))
                file.flush()
                os.fsync(file.fileno())
        finally:
            path.unlink(missing_ok=True)
    except OSError as error:
        got = error.strerror or type(error).__name__
        raise LedgerError("nothing can be written beside the ledger", where=name, got=got) from None


def is_url(location: str) -> bool:
    """Whether a ledger's place is no file.

    Examples
    --------
    >>> is_url("postgresql://host/db"), is_url("$LEDGER_URL"), is_url("ledger.sqlite")
    (True, True, False)
    """
    return location.startswith(("postgresql://", "postgres://", "$"))

"""SharedRates: how often somebody may ask, counted by all processes of a ledger together, and across their ends."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

from shoal.errors import LedgerError
from shoal.gateway.limits import RateLimiter
from shoal.gateway.stores import PostgresStore, Session, SQLiteStore, Store

_RATES = "rates (name TEXT PRIMARY KEY, full_at DOUBLE PRECISION NOT NULL)"
_FULL_AT = "CASE WHEN rates.full_at BETWEEN ? AND ? THEN rates.full_at ELSE ? END"
"""When a bucket is full again: now, if it was before, or if a clock that was wrong said so."""
_SKEW = 60.0
"""Seconds by which the clocks of several machines may differ."""
_TAKE = (
    "INSERT INTO rates (name, full_at) VALUES (?, ?) ON CONFLICT (name) DO UPDATE "
    f"SET full_at = {_FULL_AT} + ? WHERE {_FULL_AT} + ? <= ? RETURNING full_at"
)
_PATIENCE = 0.1
"""Seconds that another process may take with a file of rates."""
_TIDY = 1_000
"""Tokens after which buckets that are full again are forgotten."""


class SharedRates:
    """Counts requests by name as :class:`RateLimiter` does, in a store that several processes share.

    A bucket is one record, changed in one statement. If the store cannot be used, this process counts for itself: then
    no answer can be entered in the ledger either.

    Examples
    --------
    >>> import tempfile
    >>> file, now = Path(tempfile.mkdtemp()) / "rates", [0.0]
    >>> one, other = (SharedRates(RateFile(file).use, "client", clock=lambda: now[0]) for _ in range(2))
    >>> one.take("ann", 2), other.take("ann", 2), one.take("ann", 2), one.take("bob", 2)
    (0.0, 0.0, 30.0, 0.0)
    >>> now[0] = 30.0
    >>> other.take("ann", 2)
    0.0
    """

    def __init__(
        self,
        use: Callable[[], Iterator[Session]],
        kind: str,
        *,
        is_near: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._use, self._kind, self._clock = contextmanager(use), kind, clock
        self.is_near = is_near
        """Whether a token takes microseconds, which no thread is worth."""
        self._own = RateLimiter()
        self._taken = 0

    def take(self, name: str, rate: int) -> float:
        """Take a token; return 0, or how many seconds to wait for one."""
        try:
            with self._use() as db:
                return self._take(db, f"{self._kind} {name}", 60 / rate)
        except (LedgerError, sqlite3.Error):
            return self._own.take(name, rate)

    def _take(self, db: Session, name: str, each: float) -> float:
        now = self._clock()
        bucket = now, now + 60 + _SKEW, now
        values = (name, now + each, *bucket, each, *bucket, each, now + 60 + 1e-9)
        taken = db.execute(_TAKE, values).fetchall()
        self._taken += 1
        if self._taken % _TIDY == 0:
            db.execute("DELETE FROM rates WHERE full_at < ?", (now,))
        if taken:
            return 0.0
        found = db.execute("SELECT full_at FROM rates WHERE name = ?", (name,)).fetchone()
        full_at = float(found[0]) if found else now
        return max(full_at + each - now - 60, 0.001)

    def give_back(self, name: str, rate: int) -> None:
        """Give a token back that was not needed."""
        try:
            with self._use() as db:
                values = (60 / rate, f"{self._kind} {name}")
                db.execute("UPDATE rates SET full_at = full_at - ? WHERE name = ?", values)
        except (LedgerError, sqlite3.Error):
            self._own.give_back(name, rate)


class RateFile:
    """A file of rates beside a ledger's: nothing in it has to survive the machine, so nobody waits for the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None
        self._lock = Lock()
        with suppress(sqlite3.Error):  # told when it is needed
            self._connection = self._connect()

    def use(self) -> Iterator[Session]:
        """Lend the connection, to one at a time."""
        with self._lock:
            if self._connection is None:
                self._connection = self._connect()
            try:
                yield self._connection
            except sqlite3.Error:
                self._connection.close()
                self._connection = None
                raise

    def _connect(self) -> sqlite3.Connection:
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise sqlite3.OperationalError(error.strerror) from None
        db = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=OFF")
        db.execute(f"CREATE TABLE IF NOT EXISTS {_RATES}")
        return db


def open_rates(store: Store, kind: str) -> SharedRates:
    """Return the rates of some kind of names that all processes of a ledger count together."""
    if isinstance(store, SQLiteStore):
        return SharedRates(RateFile(store.path.with_name(store.path.name + ".rates")).use, kind)
    assert isinstance(store, PostgresStore)
    with store.reading() as db:
        db.execute("BEGIN")
        db.execute("SELECT pg_advisory_xact_lock(hashtext(?))", (store.SCHEMA,))  # two gateways that start at once
        db.execute(f"CREATE SCHEMA IF NOT EXISTS {store.SCHEMA}")
        db.execute(f"CREATE UNLOGGED TABLE IF NOT EXISTS {_RATES}")
        db.execute("COMMIT")

    def use() -> Iterator[Session]:
        with store.reading() as session:
            yield session

    return SharedRates(use, kind, is_near=False)

"""Ledger: who got what; append-only, hash-chained, in SQLite."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shoal.errors import LedgerError, Refused

Ints = npt.NDArray[np.int32]
Action = Literal["release", "anonymize"]
_START = "0" * 64
_SAID = ("at", "request", "asked", "client", "owner", "family", "tabled", "version", "said", "digest", "groups")
_TABLE = f"""
CREATE TABLE IF NOT EXISTS entries (
  number INTEGER PRIMARY KEY, {", ".join(f"{name} {'BLOB' if name == 'groups' else 'TEXT'}" for name in _SAID)},
  previous TEXT NOT NULL, hash TEXT NOT NULL UNIQUE, UNIQUE (client, request, owner)
);
CREATE INDEX IF NOT EXISTS whose ON entries (client, family);
CREATE TRIGGER IF NOT EXISTS unchanged BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER IF NOT EXISTS undeleted BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'append only'); END;
"""


@dataclass(frozen=True)
class Entry:
    """One answer that a client got from one owner."""

    request: str
    """The request's number, the client's own or a random one: one entry for each request and owner."""
    asked: str
    """A keyed hash of what was asked: the same number stands for the same request only."""
    client: str
    owner: str
    family: str
    """The tables that are about the same persons as this one: those that joins connect."""
    table: str
    version: str
    action: Action
    weights: dict[str, float]
    """``table.column`` → its weight, for each column that was touched."""
    digest: str
    """A keyed hash of the records of the answer."""
    groups: Ints | None = field(default=None, compare=False)
    """With a recoding for each request: the group of each person, -1 for who is not in the answer."""
    decision: dict[str, Any] = field(default_factory=dict)
    """The explanation that the client got."""


@dataclass(frozen=True)
class Earlier:
    """What a client already has of a family of tables."""

    count: int = 0
    raw: dict[str, float] = field(default_factory=dict)
    """``table.column`` → its weight, for each column that was answered with the data as they are."""
    anonymized: tuple[str, ...] = ()
    """The tables of which there was an anonymized answer."""
    published: frozenset[str] = frozenset()
    """``table.column`` of each column that an anonymized answer touched."""
    groups: tuple[tuple[str, str, Ints], ...] = ()
    """The table, its version and the groups of each answer with a recoding of its own."""


class Ledger:
    """Who got what: a chain of entries, each with the hash of the one before.

    Entries are added in one transaction, before the answer leaves: whoever is killed in the middle leaves either the
    whole entry or nothing, and a request that is sent again under its number is not entered twice. Hashes are keyed
    with a secret in a file beside the ledger, so that nobody who can only write the ledger can mend the chain, and
    nobody who reads it can try out guesses about an answer. A chain that lost its newest entries is still a chain: keep
    :meth:`head` elsewhere and give it to :meth:`verify`.

    Examples
    --------
    >>> import tempfile
    >>> ledger = Ledger(Path(tempfile.mkdtemp()) / "ledger.sqlite")
    >>> entry = Entry("1", "…", "demo", "north", "north/people", "people", "v1", "release", {"people.sex": 2.0}, "…")
    >>> ledger.append(entry, seen=0), ledger.append(entry, seen=1)
    (True, True)
    >>> ledger.earlier("demo", "north/people").raw, ledger.verify()
    ({'people.sex': 2.0}, 1)
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._key = _secret(self.path.with_name(self.path.name + ".key"))
        with self._open() as db:
            db.execute("PRAGMA journal_mode=WAL")
            db.executescript(_TABLE)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=30, isolation_level=None)) as db:
                db.execute("PRAGMA synchronous=FULL")
                yield db
        except sqlite3.Error as error:
            raise LedgerError("the ledger cannot be used", where=self.path.name, got=type(error).__name__) from None

    def digest(self, records: bytes) -> str:
        """Return a keyed hash of the records of an answer."""
        return self._hashed(records)

    def sealed(self, text: str) -> str:
        """Return a short keyed hash of a text."""
        return self._hashed(text.encode())[:16]

    def _hashed(self, data: bytes) -> str:
        return hashlib.blake2b(data, key=self._key, digest_size=32).hexdigest()

    def earlier(self, client: str, family: str) -> Earlier:
        """Return what a client already has of a family of tables."""
        with self._open() as db:
            rows = db.execute(
                "SELECT tabled, version, said, groups FROM entries WHERE client = ? AND family = ? ORDER BY number",
                (client, family),
            ).fetchall()
        raw: dict[str, float] = {}
        anonymized: dict[str, None] = {}
        published: set[str] = set()
        groups = []
        for table, version, said, packed in rows:
            entry = json.loads(said)
            if entry["action"] == "release":
                raw |= entry["weights"]
            else:
                anonymized[table] = None
                published |= entry["weights"].keys()
            if packed is not None:
                groups.append((table, version, np.frombuffer(zlib.decompress(packed), np.int32)))
        return Earlier(len(rows), raw, tuple(anonymized), frozenset(published), tuple(groups))

    def append(self, entry: Entry, seen: int) -> bool:
        """Add an entry, if the client has as many of its family as were seen when it was decided; tell whether.

        Two requests at once cannot both be decided as if they were alone: the second is told to decide again.
        """
        with self._open() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                done = self._append(db, entry, seen)
                db.execute("COMMIT")
            except BaseException:
                db.execute("ROLLBACK")
                raise
        return done

    def _append(self, db: sqlite3.Connection, entry: Entry, seen: int) -> bool:
        same = (entry.client, entry.request, entry.owner)
        known = db.execute("SELECT asked, digest FROM entries WHERE client = ? AND request = ? AND owner = ?", same)
        for asked, digest in known.fetchall():
            if (asked, digest) != (entry.asked, entry.digest):
                hint = "give each request a number of its own"
                raise Refused("something else was answered under this number", where="request", hint=hint)
            return True
        count = "SELECT count(*) FROM entries WHERE client = ? AND family = ?"
        if db.execute(count, (entry.client, entry.family)).fetchone()[0] != seen:
            return False
        last = db.execute("SELECT number, hash FROM entries ORDER BY number DESC LIMIT 1").fetchone() or (0, _START)
        values = _written(entry)
        number, previous = last[0] + 1, last[1]
        row = (number, *values, previous, self._chained(number, values, previous))
        db.execute(f"INSERT INTO entries VALUES ({', '.join('?' * len(row))})", row)
        return True

    def _chained(self, number: int, values: Sequence[Any], previous: str) -> str:
        plain = [value.hex() if isinstance(value, bytes) else value for value in values]
        return self._hashed(json.dumps([number, plain, previous], ensure_ascii=False).encode())

    def entries(self) -> list[dict[str, Any]]:
        """Return all entries as plain data, for auditors; the groups of persons are left out."""
        with self._open() as db:
            rows = db.execute(f"SELECT number, {', '.join(_SAID)} FROM entries ORDER BY number").fetchall()
        names = ("number", *_SAID)
        return [
            {**{name: value for name, value in zip(names, row, strict=True) if name not in ("said", "groups")}}
            | json.loads(row[names.index("said")])
            for row in rows
        ]

    def head(self) -> str:
        """Return the hash of the newest entry."""
        with self._open() as db:
            found = db.execute("SELECT hash FROM entries ORDER BY number DESC LIMIT 1").fetchone()
        return str(found[0]) if found else _START

    def verify(self, head: str = _START) -> int:
        """Return how many entries there are, or raise where the chain is broken or lacks an entry that it had.

        ``head`` is the hash of any entry that was once the newest.
        """
        previous, seen = _START, {_START}
        with self._open() as db:
            rows = db.execute(f"SELECT number, {', '.join(_SAID)}, previous, hash FROM entries ORDER BY number")
            for expected, (number, *values, before, hashed) in enumerate(rows, start=1):
                if number != expected or before != previous or hashed != self._chained(number, values, previous):
                    raise LedgerError("the chain is broken", where=f"entry {expected}")
                previous = hashed
                seen.add(hashed)
        if head not in seen:
            raise LedgerError("an entry is gone that was once the newest", where=self.path.name)
        return len(seen) - 1


def apart(groups: Sequence[Ints], k: int) -> bool:
    """Return whether answers, laid over each other, would single out fewer than k persons.

    Persons are told apart by the groups that they are in, and by not being in an answer: that covers the intersections
    and the differences of any number of answers.

    Examples
    --------
    >>> halves, thirds = np.array([0, 0, 0, 1, 1, 1], np.int32), np.array([0, 0, 1, 1, 2, 2], np.int32)
    >>> apart([halves], 2), apart([halves, thirds], 2)
    (False, True)
    """
    table = np.column_stack(groups)
    table = table[(table >= 0).any(axis=1)]
    if not len(table):
        return False
    _, counts = np.unique(table, axis=0, return_counts=True)
    return bool(counts.min() < k)


def _written(entry: Entry) -> tuple[Any, ...]:
    said = {"action": entry.action, "weights": entry.weights, "decision": entry.decision}
    packed = None if entry.groups is None else zlib.compress(entry.groups.astype(np.int32).tobytes())
    return (
        datetime.now(UTC).isoformat(timespec="milliseconds"),
        entry.request,
        entry.asked,
        entry.client,
        entry.owner,
        entry.family,
        entry.table,
        entry.version,
        json.dumps(said, sort_keys=True, ensure_ascii=False),
        entry.digest,
        packed,
    )


def _secret(path: Path) -> bytes:
    """Return the key of a ledger's hashes; it is made with the ledger."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(secrets.token_hex(32))
    except FileExistsError:
        pass
    text = path.read_text().strip()
    if len(text) != 64:
        raise LedgerError(
            "the key of the ledger is not whole", where=path.name, hint="a start was cut short: remove it"
        )
    return bytes.fromhex(text)

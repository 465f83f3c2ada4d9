"""Ledger: who got what; append-only, hash-chained, in SQLite or PostgreSQL."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np

from shoal.encoding.types import Codes
from shoal.errors import LedgerError, Refused
from shoal.gateway.group_commit import GroupCommit
from shoal.gateway.stores import Session, open_store

Action = Literal["release", "anonymize"]
_Row = tuple[Any, ...]
"""What lies in the store of an entry: its number, what is said, the hash of the entry before, its own hash."""
_START = "0" * 64
_MAX_HISTORIES = 10_000
"""Clients and families whose entries need not be read again."""
_COLUMNS = ("at", "request", "asked", "client", "owner", "family", "tabled", "version", "said", "digest", "groups")


@dataclass(frozen=True, kw_only=True)
class LedgerEntry:
    """One answer that a client got from one owner."""

    request: str
    """The request's number, the client's own or a random one: one entry for each request and owner."""
    request_hash: str
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
    groups: Codes | None = field(default=None, compare=False)
    """With a recoding for each request: the group of each person, -1 for who is not in the answer."""
    decision: dict[str, Any] = field(default_factory=dict)
    """The explanation that the client got."""


@dataclass(frozen=True, kw_only=True)
class ClientHistory:
    """What a client already has of a family of tables."""

    newest: int = 0
    """The number of the newest entry about it."""
    raw: dict[str, float] = field(default_factory=dict)
    """``table.column`` → its weight, for each column that was answered with the data as they are."""
    released: frozenset[str] = frozenset()
    """The tables of which there was an answer as it is."""
    anonymized: dict[str, frozenset[str]] = field(default_factory=dict)
    """The tables of which there was an anonymized answer → the versions, up to two: then one is not that of now."""
    published: frozenset[str] = frozenset()
    """``table.column`` of each column that an anonymized answer touched."""
    groups: dict[tuple[str, str], Codes] = field(default_factory=dict)
    """Table and version → the groups that all answers with recodings of their own tell apart, laid over each other."""


class Ledger:
    """Who got what: a chain of entries, each with the hash of the one before.

    Entries are added in one transaction, before the answer leaves: whoever is killed in the middle leaves either the
    whole entry or nothing, and a request that is sent again under its number is not entered twice. Hashes are keyed
    with a secret in a file (``key``; beside the ledger by default), so that nobody who can only write the ledger can
    mend the chain, and nobody who reads it can try out guesses about an answer. A chain that lost its newest entries
    is still a chain: keep :meth:`head` elsewhere and give it to :meth:`verify`.

    Examples
    --------
    >>> import tempfile
    >>> ledger = Ledger(Path(tempfile.mkdtemp()) / "ledger.sqlite")
    >>> entry = LedgerEntry(
    ...     request="1", request_hash="…", client="demo", owner="north", family="north/people", table="people",
    ...     version="v1", action="release", weights={"people.sex": 2.0}, digest="…")
    >>> ledger.append(entry, seen=0), ledger.append(entry, seen=1)
    (True, True)
    >>> ledger.read_history("demo", "north/people").raw, ledger.verify()
    ({'people.sex': 2.0}, 1)
    """

    def __init__(self, location: str | Path, key: str | Path | None = None) -> None:
        self._store = open_store(location, _COLUMNS)
        key_file = Path(key) if key is not None else self._store.key_file()
        self.path = self._store.file or key_file
        """The file of the ledger, or of its key where the ledger lies on a server."""
        self._key = _read_key(key_file)
        self._commit = GroupCommit(self._append_all)
        self._histories: OrderedDict[tuple[str, str], ClientHistory] = OrderedDict()
        self._check_key()

    def _check_key(self) -> None:
        """Raise if the key is not that of the newest entry: whatever was added with it would break the chain."""
        with self._store.reading() as db:
            newest = f"SELECT number, {', '.join(_COLUMNS)}, previous, hash FROM entries ORDER BY number DESC LIMIT 1"
            for number, *values, previous, hashed in db.execute(newest).fetchall():
                if hashed != self._chain_hash(number, values, previous):
                    hint = "each gateway of a ledger needs the same key; else somebody changed the entry"
                    raise LedgerError("the key does not fit the newest entry", where=self._store.name, hint=hint)

    def digest(self, records: bytes) -> str:
        """Return a keyed hash of the records of an answer."""
        return self._hash(records)

    def seal(self, text: str) -> str:
        """Return a short keyed hash of a text."""
        return self._hash(text.encode())[:16]

    def _hash(self, data: bytes) -> str:
        return hashlib.blake2b(data, key=self._key, digest_size=32).hexdigest()

    def read_history(self, client: str, family: str, *, cached: bool = False) -> ClientHistory:
        """Return what a client already has of a family of tables; only entries that are new are read.

        ``cached``: none are, where anything is known of the client. Another gateway may have added some: then
        :meth:`append` adds nothing to what was seen.
        """
        before = self._histories.get((client, family))
        if before is not None and cached:
            return before
        before = before or ClientHistory()
        with self._store.reading() as db:
            rows = db.execute(
                "SELECT number, tabled, version, said, groups FROM entries "
                "WHERE client = ? AND family = ? AND number > ? ORDER BY number",
                (client, family, before.newest),
            ).fetchall()
        return self._cache(client, family, _extend_history(before, rows) if rows else before)

    def _cache(self, client: str, family: str, history: ClientHistory) -> ClientHistory:
        self._histories[client, family] = history
        if len(self._histories) > _MAX_HISTORIES:
            self._histories.popitem(last=False)
        return history

    def append(self, entry: LedgerEntry, seen: int) -> bool:
        """Add an entry, if the newest of its client and family is the one that was seen when it was decided.

        Returns whether it did: two requests at once cannot both be decided as if they were alone, and the second is
        told to decide again. The entry is on the disk when this returns.
        """
        return self._commit.do((entry, seen))

    def _append_all(self, jobs: Sequence[tuple[LedgerEntry, int]]) -> list[bool | BaseException]:
        """Add entries in one transaction."""
        added: list[tuple[LedgerEntry, int, _Row]] = []
        outcomes: list[bool | BaseException] = []
        with self._store.writing() as db:
            last = db.execute("SELECT number, hash FROM entries ORDER BY number DESC LIMIT 1").fetchone() or (0, _START)
            for entry, seen in jobs:
                row = self._append(db, entry, seen, *last)
                if row is not None:
                    last = row[0], row[-1]
                    added.append((entry, seen, row))
                outcomes.append(_is_entered(db, entry, seen) if row is None else True)
        for entry, seen, (number, *values, _, _) in added:
            before = self._histories.get((entry.client, entry.family), ClientHistory())
            if before.newest == seen:
                stored = dict(zip(_COLUMNS, values, strict=True))
                new = number, *(stored[name] for name in ("tabled", "version", "said", "groups"))
                with suppress(ValueError):  # groups that do not fit: the entry is there, and told when it is read
                    self._cache(entry.client, entry.family, _extend_history(before, [new]))
        return outcomes

    def _append(self, db: Session, entry: LedgerEntry, seen: int, last: int, previous: str) -> _Row | None:
        """Add an entry after the last one, and return its row; ``None`` if something else was entered meanwhile."""
        if _find_newest(db, entry) != seen:
            return None
        values, number = _to_row(entry), last + 1
        row = (number, *values, previous, self._chain_hash(number, values, previous))
        add = (
            f"INSERT INTO entries VALUES ({', '.join('?' * len(row))}) ON CONFLICT (client, request, owner) DO NOTHING"
        )
        return row if db.execute(add, row).rowcount else None

    def _chain_hash(self, number: int, values: Sequence[Any], previous: str) -> str:
        plain = [value.hex() if isinstance(value, bytes) else value for value in values]
        return self._hash(json.dumps([number, plain, previous], ensure_ascii=False).encode())

    def digests(self, client: str, request: str) -> dict[str, str]:
        """Return the hash of each owner's answer to a request."""
        with self._store.reading() as db:
            rows = db.execute(
                "SELECT owner, digest FROM entries WHERE client = ? AND request = ?", (client, request)
            ).fetchall()
        return dict(rows)

    def entries(
        self, *, after: int = 0, most: int = -1, owner: str | None = None, request: str | None = None
    ) -> list[dict[str, Any]]:
        """Return entries as plain data, for auditors; the groups of persons are left out.

        Parameters
        ----------
        after
            The number of an entry; only later ones are returned.
        most
            How many; all by default.
        owner, request
            Only those of an owner, or to a request.
        """
        wanted = {"number > ?": after, "owner = ?": owner, "request = ?": request}
        tests = {test: value for test, value in wanted.items() if value is not None}
        chosen = f"SELECT number, {', '.join(_COLUMNS)} FROM entries WHERE {' AND '.join(tests)} ORDER BY number"
        with self._store.reading() as db:
            limit = () if most < 0 else (most,)
            rows = db.execute(chosen + " LIMIT ?" * len(limit), (*tests.values(), *limit)).fetchall()
        names = ("number", *_COLUMNS)
        return [
            {**{name: value for name, value in zip(names, row, strict=True) if name not in ("said", "groups")}}
            | json.loads(row[names.index("said")])
            for row in rows
        ]

    def head(self) -> str:
        """Return the hash of the newest entry."""
        with self._store.reading() as db:
            row = db.execute("SELECT hash FROM entries ORDER BY number DESC LIMIT 1").fetchone()
        return str(row[0]) if row else _START

    def verify(self, head: str = _START) -> int:
        """Return how many entries there are, or raise where the chain is broken or lacks an entry that it had.

        ``head`` is the hash of any entry that was once the newest.
        """
        previous, seen = _START, {_START}
        with self._store.reading() as db:
            rows = db.execute(f"SELECT number, {', '.join(_COLUMNS)}, previous, hash FROM entries ORDER BY number")
            for expected, (number, *values, before, hashed) in enumerate(rows, start=1):
                if number != expected or before != previous or hashed != self._chain_hash(number, values, previous):
                    raise LedgerError("the chain is broken", where=f"entry {expected}")
                previous = hashed
                seen.add(hashed)
        if head not in seen:
            raise LedgerError("an entry is gone that was once the newest", where=self._store.name)
        return len(seen) - 1


def overlay_groups(groups: Sequence[Codes]) -> Codes:
    """Return the groups that answers tell apart, laid over each other; -1 for who is in none of them.

    Persons are told apart by the groups that they are in, and by not being in an answer: that covers the intersections
    and the differences of any number of answers.

    Examples
    --------
    >>> overlay_groups([np.array([0, 0, 1, -1], np.int32), np.array([0, -1, -1, -1], np.int32)]).tolist()
    [1, 0, 2, -1]
    """
    table = np.column_stack(groups)
    overlay = np.full(len(table), -1, np.int32)
    inside = (table >= 0).any(axis=1)
    overlay[inside] = np.unique(table[inside], axis=0, return_inverse=True)[1].ravel()
    return overlay


def singles_out(groups: Sequence[Codes], k: int) -> bool:
    """Return whether answers, laid over each other, would single out fewer than k persons.

    Examples
    --------
    >>> halves, thirds = np.array([0, 0, 0, 1, 1, 1], np.int32), np.array([0, 0, 1, 1, 2, 2], np.int32)
    >>> singles_out([halves], 2), singles_out([halves, thirds], 2)
    (False, True)
    """
    overlay = overlay_groups(groups)
    counts = np.bincount(overlay[overlay >= 0])
    return bool(len(counts) and counts.min() < k)


def _find_newest(db: Session, entry: LedgerEntry) -> int:
    """Return the number of the newest entry of an entry's client and family."""
    newest = "SELECT max(number) FROM entries WHERE client = ? AND family = ?"
    return int(db.execute(newest, (entry.client, entry.family)).fetchone()[0] or 0)


def _is_entered(db: Session, entry: LedgerEntry, seen: int) -> bool | Refused:
    """Return whether an entry is there already; a refusal if something else is there under its number.

    The same request, decided on less than its client has, may well have come out otherwise: it is to be decided again.
    """
    same = (entry.client, entry.request, entry.owner)
    entered = db.execute("SELECT asked, digest FROM entries WHERE client = ? AND request = ? AND owner = ?", same)
    for request_hash, digest in entered.fetchall():
        if (request_hash, digest) == (entry.request_hash, entry.digest):
            return True
        if request_hash == entry.request_hash and _find_newest(db, entry) != seen:
            return False
        hint = "give each request a number of its own"
        return Refused("something else was answered under this number", where="request", hint=hint)
    return False


def _extend_history(before: ClientHistory, rows: Sequence[tuple[Any, ...]]) -> ClientHistory:
    """Return what a client has after some more entries: number, table, version, what is said, groups."""
    raw, anonymized, groups = dict(before.raw), dict(before.anonymized), dict(before.groups)
    published, released = set(before.published), set(before.released)
    for _, table, version, said, packed in rows:
        entry = json.loads(said)
        if entry["action"] == "release":
            raw |= entry["weights"]
            released.add(table)
        else:
            versions = anonymized.get(table, frozenset())
            anonymized[table] = versions if len(versions) > 1 else versions | {version}
            published |= entry["weights"].keys()
        if packed is not None:
            new = np.frombuffer(zlib.decompress(packed), np.int32)
            before_groups = groups.get((table, version))
            groups[table, version] = new if before_groups is None else overlay_groups([before_groups, new])
    return ClientHistory(
        newest=rows[-1][0],
        raw=raw,
        released=frozenset(released),
        anonymized=anonymized,
        published=frozenset(published),
        groups=groups,
    )


def _to_row(entry: LedgerEntry) -> tuple[Any, ...]:
    content = {"action": entry.action, "weights": entry.weights, "decision": entry.decision}
    packed = None if entry.groups is None else zlib.compress(entry.groups.astype(np.int32).tobytes())
    return (
        datetime.now(UTC).isoformat(timespec="milliseconds"),
        entry.request,
        entry.request_hash,
        entry.client,
        entry.owner,
        entry.family,
        entry.table,
        entry.version,
        json.dumps(content, sort_keys=True, ensure_ascii=False),
        entry.digest,
        packed,
    )


def _read_key(path: Path) -> bytes:
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

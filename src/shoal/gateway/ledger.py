"""Ledger: who got what; append-only, hash-chained, in SQLite or PostgreSQL."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from shoal.errors import LedgerError, Refused
from shoal.gateway.bounded_cache import BoundedCache
from shoal.gateway.client_history import HISTORY_COLUMNS, ClientHistory
from shoal.gateway.group_commit import GroupCommit
from shoal.gateway.high_water_mark import HighWaterMark
from shoal.gateway.ledger_head import RESTORE, START, LedgerHead
from shoal.gateway.ledger_key import make_key
from shoal.gateway.spending import Budget, KnownSpending, Spending
from shoal.gateway.stores import Session, open_store

Action = Literal["release", "anonymize", "count", "refuse", "accept", "revoke"]
"""What was done: a client got an answer, or none; an owner accepted a copy of the ledger, or revoked a key."""
_Row = tuple[Any, ...]
"""What lies in the store of an entry: its number, what is said, the hash of the entry before, its own hash."""
_MAX_HISTORIES = 10_000
"""Clients whose entries need not be read again."""
_COLUMNS = (*("at", "request", "asked", "client", "owner", "source", "tabled", "origin", "version", "said", "digest"),)


@dataclass(frozen=True, kw_only=True)
class LedgerEntry:
    """One answer that a client got from one owner."""

    request: str
    """The request's number, the client's own or a random one: one entry for each request and owner."""
    request_hash: str
    """A keyed hash of what was asked: the same number stands for the same request only."""
    client: str
    owner: str
    source: str
    """What the table is, whatever it and its owner are called now."""
    table: str
    related: frozenset[str] = frozenset()
    """The other sources that are about the same persons: what was entered of them meanwhile counts."""
    origin: str = ""
    """Where its data lie, and which other sources are about the same persons, as a :class:`SourceOrigin`."""
    version: str
    action: Action
    weights: dict[str, float]
    """``source.column`` → its weight, for each column that was touched."""
    digest: str
    """A keyed hash of the records of the answer."""
    decision: dict[str, Any] = field(default_factory=dict)
    """The explanation that the client got."""
    budget: Budget | None = None
    """What may be spent on this answer and all others; beyond it there is no entry."""

    @property
    def called(self) -> str:
        """What the table is called now, with its owner."""
        return f"{self.owner}/{self.table}"


class Ledger:
    """Who got what: a chain of entries, each with the hash of the one before.

    Entries are added in one transaction, before the answer leaves: whoever is killed in the middle leaves either the
    whole entry or nothing, and a request that is sent again under its number is not entered twice. Hashes are keyed
    with a secret in a file (``key``; beside the ledger by default), so that nobody who can only write the ledger can
    mend the chain, and nobody who reads it can try out guesses about an answer. A chain that lost its newest entries
    is still a chain: its head is kept beside the key, and in other places (``heads``: files or folders). A ledger that
    is behind it, or that somebody removed or replaced, is not used: everything raises :class:`LedgerError`.

    Examples
    --------
    >>> import tempfile
    >>> ledger = Ledger(Path(tempfile.mkdtemp()) / "ledger.sqlite")
    >>> entry = LedgerEntry(
    ...     request="1", request_hash="…", client="demo", owner="north", source="north/people", table="people",
    ...     version="v1", action="release", weights={"north/people.sex": 2.0}, digest="…")
    >>> ledger.append(entry, seen=0), ledger.append(entry, seen=1)
    (True, True)
    >>> ledger.read_history("demo").raw, ledger.verify()
    ({'north/people.sex': 2.0}, 1)
    """

    def __init__(self, location: str | Path, key: str | Path | None = None, heads: Sequence[str | Path] = ()) -> None:
        self.store = open_store(location, _COLUMNS)
        key_file = Path(key) if key is not None else self.store.key_file()
        self.path = self.store.file or key_file
        """The file of the ledger, or of its key where the ledger lies on a server."""
        self._key = self._read_key(key_file)
        self.mark = HighWaterMark(key_file, heads, self._key)
        self._commit = GroupCommit(self._append_all)
        self._histories: BoundedCache[str, ClientHistory] = BoundedCache(_MAX_HISTORIES)
        self._spending = KnownSpending()
        self._origins: dict[str, tuple[str, str]] = {}
        """Source → what it was called last, and its origin: entered again only when they change."""
        self._open()

    def _open(self) -> None:
        """Get ready, and refuse a ledger that is not what it was."""
        if not self.store.is_there() and (lost := self.mark.read()) is not None and lost.entries:
            got = f"a head that knows of {lost.entries:,} entries"
            raise LedgerError("the ledger is gone", where=self.store.name, got=got, hint=RESTORE)
        self.store.create()
        self._check_key()
        with self.store.reading() as db:
            self.mark.open(db, self.store.name, self._walk)

    def check(self) -> None:
        """Raise if the ledger is not what it was, as far as that can be told without reading all of it."""
        with self.store.reading() as db:
            self._check(db)

    def probe(self) -> None:
        """Raise if the ledger is not what it was, or an entry could not be written now."""
        self.check()
        self.store.probe()
        self.mark.probe()

    def close(self) -> None:
        """Keep the newest head everywhere, and give connections back; what comes later opens new ones."""
        try:
            self.mark.settle()
        finally:
            self.store.close()

    def _check(self, db: Session) -> int:
        """Raise if the ledger is not what its head says; return how often the owner accepted one that was not."""
        with self.store.afresh(db) as session:
            return self.mark.check(session, self.store.name).accepted

    def _advance(self, head: LedgerHead) -> None:
        """Keep the head of what is on the disk now, before any answer leaves."""
        self.store.check_in_place()
        self.mark.advance(head)

    def _check_key(self) -> None:
        """Raise if the key is not that of the newest entry: whatever was added with it would break the chain."""
        with self.store.reading() as db:
            newest = f"SELECT number, {', '.join(_COLUMNS)}, previous, hash FROM entries ORDER BY number DESC LIMIT 1"
            for number, *values, previous, hashed in db.execute(newest).fetchall():
                if hashed != self._chain_hash(number, values, previous):
                    hint = "each gateway of a ledger needs the same key; else somebody changed the entry"
                    raise LedgerError("the key does not fit the newest entry", where=self.store.name, hint=hint)

    def digest(self, records: bytes) -> str:
        """Return a keyed hash of the records of an answer."""
        return self._hash(records)

    def seal(self, text: str) -> str:
        """Return a short keyed hash of a text."""
        return self._hash(text.encode())[:16]

    def _hash(self, data: bytes) -> str:
        return hashlib.blake2b(data, key=self._key, digest_size=32).hexdigest()

    def read_history(self, client: str, *, cached: bool = False) -> ClientHistory:
        """Return what a client already has; only entries that are new are read.

        ``cached``: none are, where anything is known of the client. Another gateway may have added some: then
        :meth:`append` adds nothing to what was seen.
        """
        before = self._histories.get(client)
        if before is not None and cached:
            return before
        before = before or ClientHistory()
        with self.store.reading() as db:
            self._check(db)
            chosen = f"SELECT number, {', '.join(HISTORY_COLUMNS)} FROM entries"
            rows = db.execute(
                f"{chosen} WHERE client = ? AND number > ? ORDER BY number", (client, before.newest)
            ).fetchall()
        history = before.extend(rows)
        self._histories.put(client, history)
        return history

    def list_origins(self) -> list[tuple[str, str, str]]:
        """Return the source, what it was called, and its origin, of each that was entered; the latest come last."""
        chosen = "SELECT source, owner, tabled, origin FROM entries WHERE origin <> '' ORDER BY number"
        with self.store.reading() as db:
            rows = db.execute(chosen).fetchall()
        found = [(source, f"{owner}/{table}", origin) for source, owner, table, origin in rows]
        self._origins |= {source: (called, origin) for source, called, origin in found}
        return found

    def read_spending(self, client: str, sources: Collection[str]) -> Spending:
        """Return what answers with noise about the persons of some sources have cost, whoever got them."""
        with self.store.reading() as db:
            return self._spending.read(db, client, sources)

    def append(self, entry: LedgerEntry, seen: int) -> bool:
        """Add an entry, if the newest of its client about the same persons is the one seen when it was decided.

        Returns whether it did: two requests at once cannot both be decided as if they were alone, and the second is
        told to decide again. The entry is on the disk when this returns.
        """
        return self._commit.do((entry, seen))

    def _append_all(self, jobs: Sequence[tuple[LedgerEntry, int]]) -> list[bool | BaseException]:
        added: list[tuple[LedgerEntry, int, _Row]] = []
        outcomes: list[bool | BaseException] = []
        with self.store.writing() as db:
            accepted = self._check(db)
            last = db.execute("SELECT number, hash FROM entries ORDER BY number DESC LIMIT 1").fetchone() or (0, START)
            for entry, seen in jobs:
                newest = _find_newest_of_client(db, entry.client)
                row = self._append(db, entry, seen, *last)
                if row is not None:
                    last = row[0], row[-1]
                    added.append((entry, newest, row))
                outcomes.append(_is_entered(db, entry, seen) if row is None else True)
        self._advance(LedgerHead(accepted, *last))
        for entry, newest, (number, *values, _, _) in added:
            self._origins[entry.source] = entry.called, entry.origin
            before = self._histories.get(entry.client) or ClientHistory()
            if before.newest == newest:  # else another gateway entered something
                stored = dict(zip(_COLUMNS, values, strict=True))
                new = number, *(stored[name] for name in HISTORY_COLUMNS)
                self._histories.put(entry.client, before.extend([new]))
        return outcomes

    def _append(self, db: Session, entry: LedgerEntry, seen: int, last: int, previous: str) -> _Row | None:
        """Add an entry after the last one, and return its row; ``None`` if something else was entered meanwhile."""
        if _find_newest(db, entry) != seen or not self._is_affordable(db, entry):
            return None
        is_known = self._origins.get(entry.source) == (entry.called, entry.origin)
        values, number = _to_row(entry, "" if is_known else entry.origin), last + 1
        row = (number, *values, previous, self._chain_hash(number, values, previous))
        add = (
            f"INSERT INTO entries VALUES ({', '.join('?' * len(row))}) ON CONFLICT (client, request, owner) DO NOTHING"
        )
        return row if db.execute(add, row).rowcount else None

    def _is_affordable(self, db: Session, entry: LedgerEntry) -> bool:
        """Return whether an answer has no price, or enough is left for it."""
        if entry.budget is None:
            return True
        spent = self._spending.read(db, entry.client, entry.budget.sources, keep=False)
        answer = entry.request_hash, entry.version
        return spent.add(answer, entry.budget.epsilon).is_within(entry.budget)

    def _chain_hash(self, number: int, values: Sequence[Any], previous: str) -> str:
        return self._hash(json.dumps([number, list(values), previous], ensure_ascii=False).encode())

    def digests(self, client: str, request: str) -> dict[str, str]:
        """Return the hash of each owner's answer to a request."""
        with self.store.reading() as db:
            self._check(db)
            rows = db.execute(
                "SELECT owner, digest FROM entries WHERE client = ? AND request = ?", (client, request)
            ).fetchall()
        return dict(rows)

    def entries(
        self, *, after: int = 0, most: int = -1, owner: str | None = None, request: str | None = None
    ) -> list[dict[str, Any]]:
        """Return entries as plain data, for auditors.

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
        with self.store.reading() as db:
            limit = () if most < 0 else (most,)
            rows = db.execute(chosen + " LIMIT ?" * len(limit), (*tests.values(), *limit)).fetchall()
        names = ("number", *_COLUMNS)
        return [
            {name: value for name, value in zip(names, row, strict=True) if name not in ("said", "origin")}
            | json.loads(row[names.index("said")])
            | _read_origin(row[names.index("origin")])
            for row in rows
        ]

    def head(self) -> str:
        """Return the hash of the newest entry."""
        with self.store.reading() as db:
            row = db.execute("SELECT hash FROM entries ORDER BY number DESC LIMIT 1").fetchone()
        return str(row[0]) if row else START

    def verify(self, head: str = START) -> int:
        """Return how many entries there are, or raise where the chain is broken or lacks an entry that it had.

        ``head`` is the hash of any entry that was once the newest.
        """
        number, known = 0, head == START
        with self.store.reading() as db:
            for entry in self._walk(db, 0, START):
                number, known = entry[0], known or entry[1] == head
        if not known:
            raise LedgerError("an entry is gone that was once the newest", where=self.store.name)
        return number

    def _walk(self, db: Session, after: int, previous: str) -> Iterator[tuple[int, str]]:
        """Give the number and the hash of each entry after one; raise where the chain is broken."""
        chosen = f"SELECT number, {', '.join(_COLUMNS)}, previous, hash FROM entries WHERE number > ? ORDER BY number"
        for expected, (number, *values, before, hashed) in enumerate(db.execute(chosen, (after,)), start=after + 1):
            if number != expected or before != previous or hashed != self._chain_hash(number, values, previous):
                raise LedgerError("the chain is broken", where=f"entry {expected}")
            previous = hashed
            yield number, hashed

    def _read_key(self, path: Path) -> bytes:
        return make_key(path)


def _find_newest(db: Session, entry: LedgerEntry) -> int:
    """Return the number of the newest entry of an entry's client that is about the same persons."""
    sources = sorted({entry.source, *entry.related})
    newest = f"SELECT max(number) FROM entries WHERE client = ? AND source IN ({', '.join('?' * len(sources))})"
    return int(db.execute(newest, (entry.client, *sources)).fetchone()[0] or 0)


def _find_newest_of_client(db: Session, client: str) -> int:
    return int(db.execute("SELECT max(number) FROM entries WHERE client = ?", (client,)).fetchone()[0] or 0)


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


def _read_origin(text: str) -> dict[str, Any]:
    return {"origin": json.loads(text)} if text else {}


def _to_row(entry: LedgerEntry, origin: str) -> tuple[Any, ...]:
    content: dict[str, Any] = {"action": entry.action, "weights": entry.weights, "decision": entry.decision}
    if entry.budget is not None:
        content["epsilon"] = entry.budget.epsilon
    return (
        datetime.now(UTC).isoformat(timespec="milliseconds"),
        entry.request,
        entry.request_hash,
        entry.client,
        entry.owner,
        entry.source,
        entry.table,
        origin,
        entry.version,
        json.dumps(content, sort_keys=True, ensure_ascii=False),
        entry.digest,
    )

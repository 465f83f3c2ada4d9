"""What auditors and owners do with a ledger that lies there: look whether it is whole, and accept a restored copy."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from shoal.errors import Fault, LedgerError
from shoal.gateway.known_sources import KnownSources, SourceOrigin
from shoal.gateway.ledger import Ledger
from shoal.gateway.ledger_head import START, LedgerHead
from shoal.gateway.ledger_key import read_key
from shoal.gateway.owner_notes import NO_TABLE, enter_note
from shoal.gateway.stores import Session, open_store


@dataclass(frozen=True, kw_only=True)
class LedgerReport:
    """What a ledger holds, and what is wrong with it."""

    entries: int
    clients: tuple[str, ...]
    first: str | None
    """When the first entry was made, in UTC."""
    last: str | None
    newest: str
    """The hash of the newest entry."""
    head: int | None
    """How many entries its head knows of."""
    accepted: int
    """How often the owner accepted a copy."""
    notes: tuple[dict[str, Any], ...]
    """What owners said: the number of the entry, when, what was done and why."""
    sources: tuple[dict[str, str], ...]
    """The tables of which clients have answers: what each is to the ledger, is called now, and where it lies."""
    faults: tuple[Fault, ...]

    @property
    def is_whole(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return asdict(self) | {"whole": self.is_whole, "faults": [fault.to_dict() for fault in self.faults]}


class InspectedLedger(Ledger):
    """A ledger as it lies there: nothing is made, and what is wrong with it is told, not refused.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "ledger.sqlite"
    >>> made = Ledger(path)
    >>> report = InspectedLedger(path).inspect()
    >>> report.entries, report.is_whole
    (0, True)
    """

    def _read_key(self, path: Path) -> bytes:
        return read_key(path)

    def _open(self) -> None:
        if not self.store.is_there():
            raise LedgerError("there is no such ledger", where=self.store.name)

    def _check(self, db: Session) -> int:
        """Let a ledger be read that is not what it was."""
        return 0

    def _advance(self, head: LedgerHead) -> None:
        """Leave the head as it is: only :meth:`accept` may make one that fits."""

    def inspect(self, noted: str = START) -> LedgerReport:
        """Return what the ledger holds, and whether the whole chain and its head are good.

        ``noted`` is the hash of an entry that an auditor saw as the newest once.
        """
        with self.store.reading() as db:
            entries, first, last = db.execute("SELECT count(*), min(at), max(at) FROM entries").fetchone()
            names = db.execute("SELECT DISTINCT client FROM entries WHERE tabled <> ? ORDER BY client", (NO_TABLE,))
            clients = tuple(str(name) for (name,) in names.fetchall())
        head = max(self.mark.read_valid(), default=None)
        return LedgerReport(
            entries=entries,
            clients=clients,
            first=first,
            last=last,
            newest=self.head(),
            head=None if head is None else head.entries,
            accepted=0 if head is None else head.accepted,
            notes=tuple(self._list_notes()),
            sources=tuple(self._list_sources()),
            faults=(*_faults_of(lambda: self.verify(noted)), *_faults_of(self.check_head)),
        )

    def _list_notes(self) -> Iterator[dict[str, Any]]:
        chosen = "SELECT number, at, client, said FROM entries WHERE tabled = ? ORDER BY number"
        with self.store.reading() as db:
            rows = db.execute(chosen, (NO_TABLE,)).fetchall()
        for number, at, client, text in rows:
            said = json.loads(text)
            yield {"number": number, "at": at, "action": said["action"], "client": client, **said["decision"]}

    def _list_sources(self) -> Iterator[dict[str, str]]:
        known = KnownSources()
        for source, _, text in self.list_origins():
            known.note(source, SourceOrigin.from_text(text))
        for source, place in sorted(known.places.items()):
            yield {"source": source, "called": known.called.get(source, source), "place": place}

    def check_head(self) -> None:
        """Raise if the ledger is behind its head, or a head is missing or forged."""
        with self.store.reading() as db:
            if self.mark.read() is None:
                raise LedgerError("the ledger has no head", where=self.mark.places[0].path.name)
            self.mark.check(db, self.store.name)

    def accept(self, reason: str) -> LedgerHead:
        """Enter the owner's word for a ledger that is not what its head says, and make the head that fits.

        Raises
        ------
        LedgerError
            The chain is broken, or there is nothing to accept.
        """
        self.verify()
        if not _faults_of(self.check_head):
            raise LedgerError("the ledger is what its head says: there is nothing to accept", where=self.store.name)
        told = [entry["decision"].get("accepted", 0) for entry in self.entries() if entry["action"] == "accept"]
        accepted = max([*told, *(head.accepted for head in self.mark.read_valid())], default=0) + 1
        enter_note(self, "accept", said={"reason": reason, "accepted": accepted})
        head = LedgerHead(accepted, *self._read_newest())
        self.mark.create(head)
        return head

    def _read_newest(self) -> tuple[int, str]:
        with self.store.reading() as db:
            row = db.execute("SELECT number, hash FROM entries ORDER BY number DESC LIMIT 1").fetchone()
        return (row[0], row[1]) if row else (0, START)


class LostLedger(InspectedLedger):
    """A ledger that is gone, and is begun anew: only to be accepted, which enters why."""

    def _open(self) -> None:
        if self.store.is_there():
            raise LedgerError("the ledger is there", where=self.store.name)
        if not self.mark.read_valid():
            raise LedgerError("there is no such ledger, and no head of one", where=self.store.name)
        self.store.create()


def open_to_accept(
    location: str | Path, key: str | Path | None = None, heads: Sequence[str | Path] = ()
) -> InspectedLedger:
    """Return a ledger that an owner wants to accept: the copy that lies there, or a new one if it is lost."""
    kind = InspectedLedger if open_store(location, ()).is_there() else LostLedger
    return kind(location, key, heads)


def _faults_of(check: Callable[[], object]) -> tuple[Fault, ...]:
    """Return why something is not good; nothing if it is."""
    try:
        check()
    except LedgerError as error:
        return error.faults
    return ()

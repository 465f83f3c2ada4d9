"""HighWaterMark: how far a ledger had come at least, by all places that keep its head; none behind it is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Lock

from shoal.errors import LedgerError
from shoal.gateway.ledger_head import RESTORE, START, HeadPlace, LedgerHead, list_places
from shoal.gateway.stores import Session

Walk = Callable[[Session, int, str], Iterator[tuple[int, str]]]
"""Gives the numbers and hashes of the entries after one, or raises where the chain is broken."""


class HighWaterMark:
    """How far a ledger had come at least.

    Examples
    --------
    >>> import tempfile
    >>> mark = HighWaterMark(Path(tempfile.mkdtemp()) / "ledger.key", [], b"secret")
    >>> mark.create(LedgerHead(0, 0, "first")), mark.advance(LedgerHead(0, 2, "third")), mark.advance(mark.look())
    (None, None, None)
    >>> mark.look().entries
    2
    """

    def __init__(self, key_file: Path, more: Sequence[str | Path], key: bytes) -> None:
        self.places = list_places(key_file, more, key)
        self._newest: LedgerHead | None = None
        self._written: dict[HeadPlace, LedgerHead] = {}
        self._lock = Lock()

    def read(self) -> LedgerHead | None:
        """Return the newest head of all places; ``None`` if none of them has any.

        Raises
        ------
        LedgerError
            Some have one, and some lost theirs.
        """
        heads = {place: place.read() for place in self.places}
        kept = [head for head in heads.values() if head is not None]
        lost = [place.path.name for place, head in heads.items() if head is None]
        if kept and max(kept).entries and lost:
            raise LedgerError("the head of the ledger is gone", where=", ".join(lost), hint=RESTORE)
        return self._remember(max(kept)) if kept else None

    def read_valid(self) -> list[LedgerHead]:
        """Return the heads of all places that have one that is good."""
        heads = []
        for place in self.places:
            try:
                heads.append(place.read())
            except LedgerError:
                continue
        return [head for head in heads if head is not None]

    def look(self) -> LedgerHead:
        """Return the newest head by the place beside the key, and what is known already; this is quick."""
        head = self.places[0].read()
        if head is None:
            raise LedgerError("the head of the ledger is gone", where=self.places[0].path.name, hint=RESTORE)
        return self._remember(head)

    def _remember(self, head: LedgerHead) -> LedgerHead:
        with self._lock:
            self._newest = head if self._newest is None else max(self._newest, head)
            return self._newest

    def create(self, head: LedgerHead) -> None:
        """Keep a head in all places, where there may be none yet."""
        for place in self.places:
            place.create(head)
            self._written[place] = head
        self._remember(head)

    def advance(self, head: LedgerHead) -> None:
        """Keep a head in all places, those where that failed the last time among them."""
        for place in self.places:
            written = self._written.get(place)
            if (written is None or written < head) and place.write(head):
                self._written[place] = head
        self._remember(head)

    def settle(self) -> None:
        """Keep the newest head also where it was left out."""
        newest = self.look()
        for place in self.places:
            written = self._written.get(place)
            if written is None or written < newest:
                place.keep(newest)
                self._written[place] = newest

    def probe(self) -> None:
        """Raise if a head could not be written somewhere."""
        self.settle()
        for place in self.places:
            place.probe()

    def check(self, ledger: Session, name: str) -> LedgerHead:
        """Return the head, or raise if the ledger does not have the entry that was its newest."""
        head = self.look()  # before the ledger is read: that may only be ahead
        check_newest_entry(ledger, name, head)
        return head

    def open(self, ledger: Session, name: str, walk: Walk) -> None:
        """Begin the head with the ledger, or bring it up to what the ledger has; raise if the ledger is behind."""
        head = self.read()
        number = ledger.execute("SELECT max(number) FROM entries").fetchone()[0] or 0
        if head is None and number:
            head = self.read()  # another process may have begun both just now
        if head is None and number:
            what = "the head of the ledger is gone: nobody can tell whether the newest entries are missing"
            raise LedgerError(what, where=self.places[0].path.name, got=f"a ledger of {number:,} entries", hint=RESTORE)
        if head is None:
            self.create(LedgerHead(0, 0, START))
            return
        check_newest_entry(ledger, name, head)
        newest = head.entries, head.newest
        for number, hashed in walk(ledger, *newest):  # what was entered when the machine stopped
            newest = number, hashed
        self.create(LedgerHead(head.accepted, *newest))


def check_newest_entry(ledger: Session, name: str, head: LedgerHead) -> None:
    """Raise if a ledger does not have the entry that its head names."""
    found = ledger.execute("SELECT hash FROM entries WHERE number = ?", (head.entries,)).fetchone()
    if head.entries and (found is None or found[0] != head.newest):
        what = "is older than its head: entries are missing" if found is None else "is not the one of its head"
        hint = f"this is a copy, or somebody removed entries; {RESTORE.replace('put it', 'put the newest one')}"
        raise LedgerError(f"the ledger {what}", where=name, hint=hint)

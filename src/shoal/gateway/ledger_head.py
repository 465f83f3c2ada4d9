"""The head of a ledger, kept apart from it and signed: how a ledger that lost its newest entries is noticed.

A chain that lost its newest entries is still a chain. So its head (how many entries there are, the hash of the newest)
is written after each batch of entries to other places: a file beside the key, and wherever else the owner says. The
ledger may be ahead of its head, by what was being written when the machine stopped; it is never behind.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from shoal.errors import LedgerError

if sys.platform != "win32":
    import fcntl

START = "0" * 64
"""What stands for the hash of the newest entry where there is none."""
_SLOT = 256
"""Bytes of a head in a file, which has room for two."""
_ENDING = ".head"
_PAUSE = 1.0
"""Seconds between two heads in a folder, where each is kept for ever and many stores are slow."""
_sync = getattr(os, "fdatasync", os.fsync)
RESTORE = 'put it back, or give your word that the ledger is whole: shoal gateway-ledger accept LEDGER --reason "…"'


@dataclass(frozen=True, order=True)
class LedgerHead:
    """How far a ledger has come; the later of two is the greater.

    Examples
    --------
    >>> LedgerHead(0, 9, "…") < LedgerHead(0, 10, "…") < LedgerHead(1, 7, "…")
    True
    """

    accepted: int
    """How often the owner accepted a ledger that was not what its head said: a restored copy may have fewer entries."""
    entries: int
    newest: str
    """The hash of the newest entry."""

    def sign(self, key: bytes) -> str:
        """Return the code that only who has the ledger's key can make."""
        text = json.dumps([self.accepted, self.entries, self.newest]).encode()
        return hashlib.blake2b(text, key=key, person=b"shoal head", digest_size=32).hexdigest()

    def to_line(self, key: bytes) -> bytes:
        """Return the head as it lies on the disk."""
        return json.dumps(asdict(self) | {"signed": self.sign(key)}).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes, key: bytes) -> LedgerHead | None:
        """Return a head as it lay on the disk; ``None`` if it is not signed with the key, or cut short."""
        try:
            told = json.loads(line)
            head = cls(int(told["accepted"]), int(told["entries"]), str(told["newest"]))
            signed = str(told["signed"]).encode()
        except (ValueError, TypeError, KeyError):
            return None
        return head if hmac.compare_digest(signed, head.sign(key).encode()) else None


class HeadPlace(ABC):
    """A place where the head of a ledger is kept."""

    def __init__(self, path: Path, key: bytes) -> None:
        self.path, self._key = path, key

    def read(self) -> LedgerHead | None:
        """Return the newest head that is there; ``None`` if there is none.

        Raises
        ------
        LedgerError
            What is there cannot be read, or is not signed with the key.
        """
        with self._explained("cannot be read"):
            heads = self._read()
        newest = next((head for head in heads if head is not None), None)
        if newest is None and heads:
            hint = f"it belongs to another ledger or key, or somebody changed it; {RESTORE}"
            raise LedgerError("the head is not signed with the ledger's key", where=self.path.name, hint=hint)
        return newest

    def create(self, head: LedgerHead) -> None:
        """Keep a head where there may be none yet."""
        with self._explained("cannot be written"):
            self._make()
            self._write(head)
            _sync_folder(self.path if self.path.is_dir() else self.path.parent)

    def write(self, head: LedgerHead) -> bool:
        """Keep a head, unless it may be left out because another one was kept just before; return whether it was."""
        early = self._is_early()
        if not early:
            self.keep(head)
        return not early

    def keep(self, head: LedgerHead) -> None:
        """Keep a head, unless a later one is there; it is on the disk when this returns."""
        with self._explained("cannot be written"):
            self._write(head)

    def probe(self) -> None:
        """Raise if a head could not be written."""
        with self._explained("cannot be written"):
            self._probe()

    def _is_early(self) -> bool:
        """Return whether the head before is so new that this one may be left out."""
        return False

    @abstractmethod
    def _read(self) -> list[LedgerHead | None]:
        """Return what is there, the newest first; ``None`` for what is not signed with the key."""

    @abstractmethod
    def _make(self) -> None:
        """Make the place."""

    @abstractmethod
    def _write(self, head: LedgerHead) -> None: ...

    @abstractmethod
    def _probe(self) -> None: ...

    @contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise LedgerError("the head of the ledger is gone", where=self.path.name, hint=RESTORE) from None
        except OSError as error:
            got = error.strerror or type(error).__name__
            raise LedgerError(f"the head of the ledger {what}", where=self.path.name, got=got) from None


class HeadFile(HeadPlace):
    """A file with room for two heads: the older is overwritten, so that one is whole whenever the machine stops."""

    def _read(self) -> list[LedgerHead | None]:
        with suppress(FileNotFoundError):
            return self._parse(self.path.read_bytes())
        return []

    def _parse(self, data: bytes) -> list[LedgerHead | None]:
        lines = [data[:_SLOT], data[_SLOT:]]
        heads = [LedgerHead.from_line(line, self._key) for line in lines if line.strip(b" \n\0")]
        return sorted(heads, key=lambda head: (head is not None, head), reverse=True) if any(heads) else heads

    def _make(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))

    def _write(self, head: LedgerHead) -> None:
        with _locked(self.path) as file:
            data = os.read(file, 2 * _SLOT)
            slots = [LedgerHead.from_line(data[start : start + _SLOT], self._key) for start in (0, _SLOT)]
            known = [slot for slot in slots if slot is not None]
            if known and max(known) >= head:
                return  # another process was faster
            older = slots.index(None) if None in slots else slots.index(min(known))
            os.lseek(file, older * _SLOT, os.SEEK_SET)
            os.write(file, head.to_line(self._key).rstrip().ljust(_SLOT - 1) + b"\n")
            _sync(file)

    def _probe(self) -> None:
        os.close(os.open(self.path, os.O_RDWR))


class HeadFolder(HeadPlace):
    """A folder in which each head is a file of its own, that is written once; storage that never forgets will do.

    One is written in a second at most; the newest follows when the ledger is probed or closed.
    """

    _wrote_at = float("-inf")

    def _is_early(self) -> bool:
        return time.monotonic() - self._wrote_at < _PAUSE and self.path.is_dir()

    def _read(self) -> list[LedgerHead | None]:
        heads: list[LedgerHead | None] = []
        for path in sorted(self.path.glob(f"*{_ENDING}"), reverse=True):
            line = path.read_bytes()
            if not line.endswith(b"\n"):
                continue  # the machine stopped while it was written
            heads.append(LedgerHead.from_line(line, self._key))
            if heads[-1] is not None:
                return [heads[-1]]
        return heads

    def _make(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)

    def _write(self, head: LedgerHead) -> None:
        self._wrote_at = time.monotonic()
        path = self.path / f"{head.accepted:06}-{head.entries:015}-{head.newest[:16]}{_ENDING}"
        try:
            file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o400)
        except FileExistsError:  # another process was faster
            return
        try:
            os.write(file, head.to_line(self._key))
            os.fsync(file)
        finally:
            os.close(file)

    def _probe(self) -> None:
        if not os.access(self.path, os.W_OK):
            raise PermissionError


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """Lend an open file that no other process writes meanwhile."""
    file = os.open(path, os.O_RDWR)
    try:
        if sys.platform != "win32":
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file
    finally:
        os.close(file)  # this ends the lock as well


def _sync_folder(path: Path) -> None:
    with suppress(OSError):  # not every system can
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def list_places(key_file: Path, more: Sequence[str | Path], key: bytes) -> list[HeadPlace]:
    """Return where a ledger's head is kept: beside its key, and in other files and folders."""
    beside = HeadFile(key_file.with_name(key_file.name + _ENDING), key)
    others = [HeadFolder(Path(path), key) if _is_folder(path) else HeadFile(Path(path), key) for path in more]
    return [beside, *others]


def _is_folder(path: str | Path) -> bool:
    return Path(path).is_dir() or not Path(path).suffix

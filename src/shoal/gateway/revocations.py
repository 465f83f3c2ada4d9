"""Revocations: keys that an owner declared to be good no longer; a file that only grows, beside the ledger."""

from __future__ import annotations

import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock

from shoal.errors import LedgerError


class Revocations:
    """The keys that were revoked.

    They are known by a hash of what the configuration holds of them, so a client's next key is good again. Every
    service that sees the file knows of a new one at once, and one that cannot read it takes no key at all.

    Examples
    --------
    >>> import tempfile
    >>> revocations = Revocations(Path(tempfile.mkdtemp()) / "revoked")
    >>> revocations.add("$argon2id$…", client="ann", by="north")
    >>> revocations.holds("$argon2id$…"), revocations.holds("$argon2id$another")
    (True, False)
    """

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, Lock()
        self._stamp: tuple[int, int] | None = None
        self._keys: dict[str, dict[str, str]] = {}

    def holds(self, stored: str) -> bool:
        """Return whether a key was revoked, by the hash of it that the configuration holds."""
        return self.find(stored) is not None

    def find(self, stored: str) -> dict[str, str] | None:
        """Return who revoked a key, and when."""
        with self._lock:
            self._read()
            return self._keys.get(_digest(stored))

    def add(self, stored: str, *, client: str, by: str) -> None:
        """Revoke a key; it is on the disk when this returns."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        line = json.dumps({"at": at, "by": by, "client": client, "key": _digest(stored)}, ensure_ascii=False)
        with self._lock:
            try:
                file = os.open(self._path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
                try:
                    os.write(file, f"{line}\n".encode())
                    os.fsync(file)
                finally:
                    os.close(file)
            except OSError as error:
                raise LedgerError(
                    "the key cannot be revoked", where=self._path.name, got=error.strerror or ""
                ) from None

    def _read(self) -> None:
        try:
            stat = self._path.stat()
            stamp = stat.st_mtime_ns, stat.st_size
            if stamp == self._stamp:
                return
            lines = self._path.read_text(encoding="utf-8").splitlines()
            self._keys = {entry["key"]: entry for entry in map(json.loads, filter(None, lines))}
            self._stamp = stamp
        except FileNotFoundError:
            self._keys, self._stamp = {}, None
        except (OSError, ValueError, KeyError, TypeError):
            raise LedgerError("the list of revoked keys cannot be read", where=self._path.name) from None


def _digest(stored: str) -> str:
    return hashlib.sha256(stored.encode()).hexdigest()

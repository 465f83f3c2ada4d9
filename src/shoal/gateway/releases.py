"""Releases: answers that were given, kept so that a client can fetch its own again.

An answer is a small record (who asked, which owners answered, the explanation) and the owners' records, which lie
under the hash that the ledger has of them: equal answers are stored once, and a change on the disk is noticed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any

import polars as pl

from shoal.errors import LedgerError
from shoal.gateway.answering import content
from shoal.gateway.config import Kept
from shoal.gateway.formats import Reply
from shoal.gateway.ledger import Ledger
from shoal.gateway.mediator import Answer, Part
from shoal.gateway.uniting import Layout, united

_OFTEN = 600
"""Seconds between two times that old answers are looked for."""
_DAY = 24 * 60 * 60


@dataclass(frozen=True)
class Record:
    """What is kept of an answer beside its records."""

    asked: str
    """A keyed hash of the request's text."""
    parts: dict[str, str]
    """Owner → the hash of what it gave."""
    layout: Layout
    rows: int
    """How many records the client got."""
    explanation: dict[str, Any]

    def to_json(self) -> bytes:
        """Return the record as it lies on the disk."""
        return json.dumps({**vars(self), "layout": self.layout.to_dict()}, ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Record:
        """Return a record as it lay on the disk."""
        said = json.loads(data)
        return cls(**{**said, "layout": Layout.from_dict(said["layout"])})


class Releases:
    """The answers that clients may fetch again."""

    def __init__(self, kept: Kept, ledger: Ledger, *, clock: Callable[[], float] = time.time) -> None:
        folder = kept.folder or f"{ledger.path}.releases"
        self._records, self._contents = Path(folder) / "records", Path(folder) / "contents"
        self._kept, self._ledger, self._clock = kept, ledger, clock
        for path in (self._records, self._contents):
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._tidied, self._tidying = 0.0, Lock()
        self._given: dict[str, float] = {}
        """Hash → when it was known to lie there."""

    def asked(self, text: str, owner_column: bool) -> str:
        """Return the hash by which a request is known again."""
        return self._ledger.sealed(f"{owner_column} {text}")

    def keep(self, client: str, asked: str, answer: Answer) -> Reply:
        """Keep an answer, and return it as it leaves."""
        for part in answer.parts.values():
            self._keep(part)
        parts = {owner: part.digest for owner, part in answer.parts.items()}
        record = Record(asked, parts, answer.layout, answer.table.height, answer.to_dict())
        _write(self._path(client, answer.request), record.to_json())
        self.tidy()
        return Reply(answer.table, record.explanation)

    def _keep(self, part: Part) -> None:
        """Keep what an owner gave, once; how old it is counts from when it was given last."""
        now = self._clock()
        if now - self._given.get(part.digest, 0.0) < _OFTEN:
            return
        path = self._contents / part.digest
        try:
            os.utime(path)
        except FileNotFoundError:
            _write(path, part.table.clone().write_ipc(None, compression="zstd").getvalue())  # it is shared
        self._given[part.digest] = now

    def record(self, client: str, number: str) -> Record | None:
        """Return what is kept of a client's own answer, beside its records."""
        try:
            return Record.from_json(self._path(client, number).read_bytes())
        except (FileNotFoundError, ValueError, KeyError, TypeError):  # gone, or cut short when the machine stopped
            return None

    def reply(self, client: str, number: str) -> Reply | None:
        """Return a client's own answer as it was, or nothing if it is not there any more.

        Raises
        ------
        LedgerError
            What lies on the disk is not what the ledger says the client got.
        """
        record = self.record(client, number)
        if record is None:
            return None
        entered = self._ledger.digests(client, number)
        parts: dict[str, pl.DataFrame] = {}
        for owner, digest in record.parts.items():
            table = self._content(digest)
            if table is None:
                return None
            if entered.get(owner) != digest or self._ledger.digest(content(table)) != digest:
                raise LedgerError("the answer that is kept is not the one in the ledger", where="release")
            parts[owner] = table
        return Reply(united(parts, record.layout)[0][: record.rows], record.explanation)

    def tidy(self, *, now: bool = False) -> None:
        """Remove what is too old or too much, now and then."""
        if not now and self._clock() - self._tidied < _OFTEN:
            return
        with self._tidying:
            self._tidied = self._clock()
            self._given.clear()
            found = [path for folder in (self._records, self._contents) for path in folder.iterdir()]
            told = sorted(((stat.st_mtime, stat.st_size, path) for path, stat in _stats(found)), reverse=True)
            size = 0
            for changed, bytes_, path in told:
                size += bytes_
                if size > self._kept.size or changed < self._tidied - self._kept.days * _DAY:
                    path.unlink(missing_ok=True)

    def _content(self, digest: str) -> pl.DataFrame | None:
        try:
            return pl.read_ipc((self._contents / digest).read_bytes())
        except FileNotFoundError:
            return None
        except (pl.exceptions.PolarsError, OSError):
            raise LedgerError("the answer that is kept cannot be read", where="release") from None

    def _path(self, client: str, number: str) -> Path:
        """Return where the answer to a client's number lies; another client's number lies elsewhere."""
        said = json.dumps([client, number]).encode()
        return self._records / f"{hashlib.blake2b(said, digest_size=20).hexdigest()}.json"


def _stats(paths: list[Path]) -> list[tuple[Path, os.stat_result]]:
    found = []
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            found.append((path, path.stat()))
    return found


_RUN, _NUMBERS = secrets.token_hex(8), count()
"""What makes a file's first name one of its own: this run, and a number."""


def _write(path: Path, data: bytes) -> None:
    """Write a file that only we may read, whole or not at all; with as few calls of the system as that takes."""
    new = path.with_name(f".{path.name}.{_RUN}.{next(_NUMBERS)}")
    file = os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(file, rest) :]
        finally:
            os.close(file)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise

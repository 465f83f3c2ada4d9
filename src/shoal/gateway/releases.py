"""Releases: answers that were given, kept so that a client can fetch its own again.

An answer is a small record (who asked, which owners answered, the explanation) and the owners' records, which lie
under the hash that the ledger has of them: equal answers of a client are stored once, and a change on the disk is
noticed. No client's files are another's: how soon an answer comes would tell that somebody else has the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any

import polars as pl
from pydantic import TypeAdapter

from shoal.errors import LedgerError
from shoal.gateway.config import RetentionConfig
from shoal.gateway.evaluation import hash_answer
from shoal.gateway.formats import Reply
from shoal.gateway.ledger import Ledger
from shoal.gateway.mediator import Answer, AnswerPart
from shoal.gateway.union import UnionLayout, unite_answers

_INTERVAL = 600
"""Seconds between two times that old answers are looked for."""
_DAY = 24 * 60 * 60


@dataclass(frozen=True, kw_only=True)
class KeptAnswer:
    """What is kept of an answer beside its records."""

    asked: str
    """A keyed hash of the request's text."""
    parts: dict[str, str]
    """Owner → the hash of what it gave."""
    layout: UnionLayout
    rows: int
    """How many records the client got."""
    explanation: dict[str, Any]

    def to_json(self) -> bytes:
        """Return the record as it lies on the disk."""
        plain = {**vars(self), "layout": asdict(self.layout)}  # what is plain already is large, and need not be copied
        return json.dumps(plain, ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, data: bytes) -> KeptAnswer:
        """Return a record as it lay on the disk."""
        return TypeAdapter(cls).validate_json(data)


class Releases:
    """The answers that clients may fetch again."""

    def __init__(self, config: RetentionConfig, ledger: Ledger, *, clock: Callable[[], float] = time.time) -> None:
        folder = config.find_folder(ledger.path)
        self.records, self.contents = folder / "records", folder / "contents"
        self._config, self._ledger, self._clock = config, ledger, clock
        for path in (self.records, self.contents):
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._tidied, self._tidying = 0.0, Lock()

    def hash_request(self, text: str, owner_column: bool) -> str:
        """Return the hash by which a request is known again."""
        return self._ledger.seal(f"{owner_column} {text}")

    def keep(self, client: str, request_hash: str, answer: Answer) -> Reply:
        """Keep an answer, and return it as it leaves."""
        for part in answer.parts.values():
            self._keep_part(client, part)
        parts = {owner: part.digest for owner, part in answer.parts.items()}
        record = KeptAnswer(
            asked=request_hash,
            parts=parts,
            layout=answer.layout,
            rows=answer.table.height,
            explanation=answer.to_dict(),
        )
        write_whole(self.locate(client, answer.request), record.to_json())
        self.tidy()
        return Reply(answer.table, record.explanation)

    def _keep_part(self, client: str, part: AnswerPart) -> None:
        """Keep what an owner gave; how old it is counts from when it was given last."""
        path = self._locate_content(client, part.digest)
        try:
            os.utime(path)
        except FileNotFoundError:
            write_whole(path, part.table.clone().write_ipc_stream(None, compression="zstd").getvalue())  # it is shared

    def read_record(self, client: str, number: str) -> KeptAnswer | None:
        """Return what is kept of a client's own answer, beside its records."""
        try:
            return KeptAnswer.from_json(self.locate(client, number).read_bytes())
        except (FileNotFoundError, ValueError):  # gone, or cut short when the machine stopped
            return None

    def read_reply(self, client: str, number: str) -> Reply | None:
        """Return a client's own answer as it was, or nothing if it is not there any more.

        Raises
        ------
        LedgerError
            What lies on the disk is not what the ledger says the client got.
        """
        record = self.read_record(client, number)
        if record is None:
            return None
        entered = self._ledger.digests(client, number)
        parts: dict[str, pl.DataFrame] = {}
        for owner, digest in record.parts.items():
            table = self._read_content(client, digest)
            if table is None:
                return None
            if entered.get(owner) != digest or self._ledger.digest(hash_answer(table)) != digest:
                raise LedgerError("the answer that is kept is not the one in the ledger", where="release")
            parts[owner] = table
        return Reply(unite_answers(parts, record.layout)[0][: record.rows], record.explanation)

    def tidy(self, *, now: bool = False) -> None:
        """Remove what is too old or too much, now and then."""
        if not now and self._clock() - self._tidied < _INTERVAL:
            return
        with self._tidying:
            self._tidied = self._clock()
            paths = [path for folder in (self.records, self.contents) for path in folder.iterdir()]
            newest_first = sorted(((stat.st_mtime, stat.st_size, path) for path, stat in _stat(paths)), reverse=True)
            size = 0
            for changed, bytes_, path in newest_first:
                size += bytes_
                if size > self._config.size or changed < self._tidied - self._config.days * _DAY:
                    path.unlink(missing_ok=True)

    def _read_content(self, client: str, digest: str) -> pl.DataFrame | None:
        try:
            return pl.read_ipc_stream(self._locate_content(client, digest).read_bytes())
        except FileNotFoundError:
            return None
        except (pl.exceptions.PolarsError, OSError):
            raise LedgerError("the answer that is kept cannot be read", where="release") from None

    def locate(self, client: str, number: str) -> Path:
        """Return where the answer to a client's number lies; another client's number lies elsewhere."""
        return self.records / f"{_hash_names(client, number)}.json"

    def _locate_content(self, client: str, digest: str) -> Path:
        return self.contents / _hash_names(client, digest)


def _hash_names(*names: str) -> str:
    return hashlib.blake2b(json.dumps(names).encode(), digest_size=20).hexdigest()


def _stat(paths: list[Path]) -> list[tuple[Path, os.stat_result]]:
    stats = []
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            stats.append((path, path.stat()))
    return stats


_RUN, _NUMBERS = secrets.token_hex(8), count()
"""What makes a file's first name one of its own: this run, and a number."""


def write_whole(path: Path, data: bytes) -> None:
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

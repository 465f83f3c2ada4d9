"""StandingRecords: the records that answers are cut from; what was published of a person stays as it was.

A table that is anonymized anew whenever it changes shows, before and after, the one person who came. So what answers
are cut from stands: the records as they were first read, and since then only whole groups of persons who were not there
(:class:`shoal.policy.answers.Renewal`), each anonymized among themselves. Whoever compares two moments sees that such a
group came, which keeps every model. Persons who left or changed stay as they were first published: what a client has
cannot be taken back, and what differs would be theirs alone.

Each generation is a file that is written once; so is its release, which a later search might make otherwise.
"""

from __future__ import annotations

import io
import json
import os
import secrets
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from shoal.engines.columns import to_plain
from shoal.errors import Unavailable
from shoal.policy import Policy

_DAY = 24 * 60 * 60
_SUBJECT = "shoal: whom the record is about"
_NOT_WHOLE = "the records that answers are cut from are not as they were kept"


@dataclass(frozen=True, kw_only=True)
class ReleasedPart:
    """What was published of a generation."""

    frame: pl.DataFrame
    subjects: pl.Series | None
    """The person of each published record, where the policy names one."""
    attained: dict[str, Any]
    """What the release attains with this generation and those before."""
    steps: tuple[dict[str, Any], ...]


class StandingRecords:
    """The generations of one table, in a folder that only the service reads.

    Examples
    --------
    >>> import tempfile
    >>> standing = StandingRecords(Path(tempfile.mkdtemp()), lambda data: data.hex())
    >>> standing.add(0, pl.DataFrame({"age": [30, 30]})), standing.add(0, pl.DataFrame({"age": [31, 31]}))
    (True, False)
    >>> [frame["age"].to_list() for frame in standing.read()]
    [[30, 30]]
    """

    def __init__(self, folder: Path, digest: Callable[[bytes], str]) -> None:
        self._folder, self._digest = folder, digest

    def read(self) -> list[pl.DataFrame]:
        """Return the records of each generation."""
        frames: list[pl.DataFrame] = []
        while (path := self._path("generation", len(frames))).exists():
            frames.append(self._read_table(path)[0])
        return frames

    def add(self, number: int, frame: pl.DataFrame) -> bool:
        """Keep a generation; whether it is new: another process may have been sooner."""
        return self._write_once(self._path("generation", number), frame, {})

    def has(self, number: int) -> bool:
        """Whether there is such a generation: another process may have added it."""
        return self._path("generation", number).exists()

    def wait(self, number: int, days: int) -> float:
        """Return the seconds until a generation is so many days old."""
        if not days:
            return 0.0
        with suppress(FileNotFoundError):
            return self._path("generation", number).stat().st_mtime + days * _DAY - time.time()
        return 0.0

    def read_release(self, name: str, number: int) -> ReleasedPart | None:
        """Return what was published of a generation under a name, if anything was."""
        path = self._path(f"release-{name}", number)
        if not path.exists():
            return None
        frame, said = self._read_table(path)
        subjects = frame[_SUBJECT] if _SUBJECT in frame.columns else None
        shown = frame.drop(_SUBJECT) if subjects is not None else frame
        return ReleasedPart(frame=shown, subjects=subjects, attained=said["attained"], steps=tuple(said["steps"]))

    def keep_release(self, name: str, number: int, part: ReleasedPart) -> ReleasedPart:
        """Keep what is published of a generation; return what is kept, which may have been there before."""
        frame = part.frame if part.subjects is None else part.frame.with_columns(part.subjects.alias(_SUBJECT))
        said = {"attained": part.attained, "steps": list(part.steps)}
        self._write_once(self._path(f"release-{name}", number), frame, said)
        return self.read_release(name, number) or part

    def read_draw(self, name: str, number: int) -> tuple[pl.DataFrame, str] | None:
        """Return a table that was drawn and kept under a name, with what tells this draw from all others."""
        path = self._path(name, number)
        if not path.exists():
            return None
        table, said = self._read_table(path)
        return table, said.get("draw", "")

    def keep_draw(self, name: str, number: int, table: pl.DataFrame) -> tuple[pl.DataFrame, str]:
        """Keep a table that was drawn; return what is kept, which may have been there before."""
        draw = secrets.token_hex(8)
        self._write_once(self._path(name, number), table, {"draw": draw})
        return self.read_draw(name, number) or (table, draw)

    def _path(self, what: str, number: int) -> Path:
        return self._folder / f"{what}-{number:04}"

    def _read_table(self, path: Path) -> tuple[pl.DataFrame, dict[str, Any]]:
        """Return a table and what is said of it; who changed either is noticed."""
        try:
            seal, said, table = path.read_bytes().split(b"\n", 2)
            if seal.decode() != self._digest(said + table):
                raise Unavailable(_NOT_WHOLE, where=path.name)
            return pl.read_parquet(table), json.loads(said)
        except (OSError, ValueError, pl.exceptions.PolarsError):
            raise Unavailable(_NOT_WHOLE, where=path.name) from None

    def _write_once(self, path: Path, frame: pl.DataFrame, said: dict[str, Any]) -> bool:
        """Write a table that is not there yet, whole or not at all, readable for nobody else."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        table, about = io.BytesIO(), json.dumps(said).encode()
        frame.write_parquet(table)
        seal = self._digest(about + table.getvalue()).encode()
        new = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        try:
            with os.fdopen(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                file.write(b"\n".join((seal, about, table.getvalue())))
                file.flush()
                os.fsync(file.fileno())
            os.link(new, path)  # unlike a renaming it replaces nothing
        except FileExistsError:
            return False
        except OSError:
            raise Unavailable("the records that answers are cut from cannot be kept", where=path.name) from None
        finally:
            new.unlink(missing_ok=True)
        return True


def find_new_persons(frame: pl.DataFrame, generations: Sequence[pl.DataFrame], policy: Policy) -> pl.DataFrame:
    """Return the records of persons of whom there is none in any generation.

    A person is who has the same subject, or where none is named the same identifiers. Where there is neither, a record
    can only be told from those before if nothing but new ones came.

    Examples
    --------
    >>> promise = Policy(identifiers=["id"], quasi_identifiers=["age"], models=[{"name": "k-anonymity", "k": 2}])
    >>> before, now = pl.DataFrame({"id": [1, 2], "age": [30, 31]}), pl.DataFrame({"id": [2, 3], "age": [32, 40]})
    >>> find_new_persons(now, [before], promise).rows()
    [(3, 40)]
    """
    names = list(frame.columns if not policy.identifiers else policy.identifiers)
    if policy.subject is not None:
        names = [policy.subject]
    if not all(name in known.columns for name in names for known in (frame, *generations)):
        return frame.clear()
    known = Counter(key for before in generations for key in _identify(before, names))
    persons = _identify(frame, names)
    if policy.subject is None and not policy.identifiers:
        return _subtract(frame, persons, known)
    return frame.filter(pl.Series([person not in known for person in persons], dtype=pl.Boolean))


def _subtract(frame: pl.DataFrame, records: Sequence[tuple[str | None, ...]], known: Counter[Any]) -> pl.DataFrame:
    """Return the records that came; none if any is gone: it may have changed into one that seems to be new."""
    left, new = Counter(known), []
    for record in records:
        new.append(left[record] <= 0)
        left[record] -= 1
    if any(count > 0 for count in left.values()):
        return frame.clear()
    return frame.filter(pl.Series(new, dtype=pl.Boolean))


def _identify(frame: pl.DataFrame, names: Sequence[str]) -> list[tuple[str | None, ...]]:
    columns = [to_plain(frame[name]).cast(pl.String).to_list() for name in names]
    return list(zip(*columns, strict=True))

"""SeriesState: what the owner keeps between the releases of a table, sealed beside each of them."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl
from polars.exceptions import PolarsError

from shoal.encoding.bounded_files import read_bounded
from shoal.engines.keys import Key, read_owner_key
from shoal.engines.sealing import require_cipher, seal, unseal
from shoal.errors import SeriesError

STATE_NAME = "series.sealed"
"""The file of the state, in the folder of a release."""
PERSON = "person"
"""The column of persons beside what is published of them."""
_VERSION = 1
_MOST = 2**28
"""Bytes of a sealed state."""
_LOST = (
    "put it back from where the folder is kept. Without it nobody knows who was published with whom: "
    "persons of earlier releases must not be published again, new ones may be, in a series of their own"
)


@dataclass(frozen=True, kw_only=True)
class SeriesState:
    """What the owner knows of the releases so far; never published.

    Attributes
    ----------
    promise
        What all releases have in common (:func:`shoal.policy.series.hash_promise`).
    policy_hash, data
        The policy of the newest release, and the fingerprint of its table.
    releases
        What was published each time, with the person of each record (under :data:`PERSON`), the oldest first.
    persons
        Each person with the number of each ``signature`` that the person had: one that holds the newest value.
    signatures
        The sensitive values of each signature, as texts.
    held_back
        How many records of the newest table are not published.
    """

    promise: str
    policy_hash: str = ""
    data: str = ""
    releases: tuple[pl.DataFrame, ...] = field(default=(), repr=False)
    persons: pl.DataFrame = field(
        default_factory=lambda: pl.DataFrame(schema={PERSON: pl.String, "signature": pl.Int64}), repr=False
    )
    signatures: tuple[tuple[str | None, ...], ...] = ()
    held_back: int = 0

    @property
    def number(self) -> int:
        """How many releases there are."""
        return len(self.releases)

    def published(self) -> tuple[pl.DataFrame, ...]:
        """Return what everybody saw, without persons."""
        return tuple(release.drop(PERSON) for release in self.releases)

    def to_bytes(self) -> bytes:
        """Return the state as bytes: a line of JSON, then the tables."""
        tables = [_to_parquet(table) for table in (self.persons, *self.releases)]
        about = {
            "version": _VERSION,
            "promise": self.promise,
            "policy_hash": self.policy_hash,
            "data": self.data,
            "signatures": self.signatures,
            "held_back": self.held_back,
            "tables": [len(table) for table in tables],
        }
        return b"".join([json.dumps(about).encode(), b"\n", *tables])

    @classmethod
    def from_bytes(cls, data: bytes) -> SeriesState:
        """Return the state that bytes tell.

        Examples
        --------
        >>> SeriesState.from_bytes(SeriesState(promise="ab", held_back=3).to_bytes()).held_back
        3
        """
        line, _, rest = data.partition(b"\n")
        try:
            about = json.loads(line)
            if about["version"] != _VERSION:
                raise SeriesError("the state is of another version of shoal", got=str(about["version"]))
            persons, *releases = _read_tables(rest, about["tables"])
            return cls(
                promise=about["promise"],
                policy_hash=about["policy_hash"],
                data=about["data"],
                signatures=tuple(tuple(values) for values in about["signatures"]),
                held_back=about["held_back"],
                persons=persons,
                releases=tuple(releases),
            )
        except (ValueError, KeyError, TypeError, PolarsError) as error:
            raise SeriesError("the state is not whole", got=type(error).__name__, hint=_LOST) from None

    def seal(self, key: Key | None) -> bytes:
        """Return the state as it lies beside its release."""
        return seal(self.to_bytes(), read_series_key(key))

    def bind(self, policy_hash: str, fingerprint: str) -> SeriesState:
        """Return the state bound to the policy of the newest release, and to the table that it was made of."""
        return replace(self, policy_hash=policy_hash, data=fingerprint)


def read_series_key(key: Key | None) -> bytes:
    """Return the owner's key, or say that a series needs one, and what seals with it."""
    require_cipher()
    return read_owner_key(key, what="what the owner keeps between releases is sealed with a key", where="series")


def read_state(folder: Path, promise: str, key: Key | None) -> SeriesState:
    """Return the state that lies in the folder of an earlier release, if it is that of this release and this promise.

    Raises
    ------
    SeriesError
        It is gone, cannot be opened, or belongs to another policy, release or table.
    """
    path = folder / STATE_NAME
    manifest = _read_manifest(folder)
    try:
        sealed = read_bounded(path, _MOST)
    except OSError as error:
        raise SeriesError("the state is gone", where=str(path), got=error.strerror or "", hint=_LOST) from None
    state = SeriesState.from_bytes(unseal(sealed, read_series_key(key)))
    require_promise(state, promise, str(folder))
    if (manifest.get("policy_hash"), manifest.get("data_fingerprint")) != (state.policy_hash, state.data):
        raise SeriesError("state and manifest are not of one release", where=str(folder), hint=_LOST)
    return state


def require_promise(state: SeriesState, promise: str, where: str) -> None:
    """Raise where a state is that of releases that promise something else, or of other columns."""
    if state.promise != promise:
        what = "the earlier release is of another policy"
        hint = "roles, models and the series stay the same in all releases of one; others begin a series of their own"
        raise SeriesError(what, where=where, hint=hint)


def _read_manifest(folder: Path) -> dict[str, object]:
    path = folder / "manifest.json"
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        hint = "after names the folder of the release before"
        raise SeriesError("there is no release", where=str(path), got=error.strerror or "", hint=hint) from None
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise SeriesError("the manifest is not whole", where=str(path), hint=_LOST)
    return told


def _to_parquet(table: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def _read_tables(data: bytes, sizes: Sequence[int]) -> list[pl.DataFrame]:
    tables, start = [], 0
    for size in sizes:
        tables.append(pl.read_parquet(io.BytesIO(data[start : start + size])))
        start += size
    return tables

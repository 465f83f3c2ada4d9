"""Keyring: whose key is this? Keys are stored as argon2 hashes; a key says whom it belongs to.

A key is ``NAME.SECRET``: the client's name stands before the last dot, or is the whole key, where that is a name.
So one hash is tried for one key, however many clients there are, and an unknown name costs as much as a wrong secret.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from threading import Lock
from typing import Any

from shoal.errors import MissingExtra, PolicyError
from shoal.gateway.config import ClientConfig

_MAX_KNOWN = 10_000
"""Keys that are remembered as good."""
_MAX_LENGTH = 256
"""Characters of a key."""


def _hasher() -> Any:
    try:
        import argon2
    except ImportError:
        raise MissingExtra.of("argon2-cffi", "gateway", "checking keys") from None
    # a key is 256 random bits: nobody finds it by trying, so the hash need not be slower than this
    return argon2.PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)


def generate_key(name: str) -> str:
    """Return a new random key for a client.

    Examples
    --------
    >>> generate_key("ann").startswith("ann.")
    True
    """
    return f"{name}.{secrets.token_urlsafe(32)}"


def hash_key(key: str) -> str:
    """Return what the configuration holds of a key.

    Examples
    --------
    >>> hash_key(generate_key("ann"))[:10]
    '$argon2id$'
    """
    return str(_hasher().hash(key))


def read_day() -> date:
    """Return the day, in UTC."""
    return datetime.now(UTC).date()


class Keyring:
    """Tells the client of a key.

    Whoever was recognized once is known by a keyed digest afterwards, so that the slow hash is paid once for each key
    and run of the service.

    Examples
    --------
    >>> ring = Keyring({"ann": ClientConfig(key=hash_key("ann.secret"))})
    >>> ring.find_known("ann.secret"), ring.check("ann.secret"), ring.find_known("ann.secret"), ring.check("ann.guess")
    (None, 'ann', 'ann', None)
    """

    def __init__(self, clients: Mapping[str, ClientConfig], *, day: Callable[[], date] = read_day) -> None:
        self._clients, self._day = clients, day
        self._hasher = _hasher()
        self._unknown_hash = hash_key(secrets.token_hex(32))
        self._secret = secrets.token_bytes(32)
        self._good: OrderedDict[bytes, str] = OrderedDict()
        self._lock = Lock()
        for name, client in clients.items():
            if client.key is not None and not client.key.startswith("$argon2"):
                hint = f"shoal gateway-key {name} makes a key and its hash"
                raise PolicyError("is not an argon2 hash", where=f"clients.{name}.key", hint=hint)

    def find_known(self, key: str) -> str | None:
        """Return the client of a key that was checked before, and is still good; this is quick."""
        digest = self._digest(key)
        with self._lock:
            name = self._good.get(digest)
            if name is None:
                return None
            if self._is_expired(name):
                del self._good[digest]
                return None
            self._good.move_to_end(digest)
        return name

    def check(self, key: str) -> str | None:
        """Return the client of a key; this takes the time of one hash, whether the key is good or not."""
        name = key if key in self._clients else key.rpartition(".")[0]
        client = self._clients.get(name)
        stored = client.key if client is not None and not self._is_expired(name) else None
        good = self._matches(stored or self._unknown_hash, key[:_MAX_LENGTH]) and len(key) <= _MAX_LENGTH
        if stored is None or not good:
            return None
        with self._lock:
            self._good[self._digest(key)] = name
            while len(self._good) > _MAX_KNOWN:
                self._good.popitem(last=False)
        return name

    def _matches(self, stored: str, key: str) -> bool:
        import argon2

        try:
            return bool(self._hasher.verify(stored, key))
        except (argon2.exceptions.VerificationError, argon2.exceptions.InvalidHashError):
            return False

    def _is_expired(self, name: str) -> bool:
        expires = self._clients[name].expires
        return expires is not None and expires < self._day()

    def _digest(self, key: str) -> bytes:
        return hashlib.blake2b(key.encode("utf-8", "replace"), key=self._secret, digest_size=32).digest()

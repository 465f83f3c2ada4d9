"""Keyring: whose key is this? Keys are stored as argon2 hashes; a key says whom it belongs to.

A key is ``NAME.SECRET``: the client's name stands before the last dot, or is the whole key, where that is a name.
So one hash is tried for one key, however many clients there are, and an unknown name costs as much as a wrong secret.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Any

from shoal.errors import PolicyError, import_extra
from shoal.gateway.bounded_cache import BoundedCache
from shoal.gateway.config import ClientConfig

_MAX_KNOWN = 10_000
"""Keys that are remembered as good."""
_MAX_LENGTH = 256
"""Characters of a key."""


def _hasher() -> Any:
    argon2 = import_extra("argon2", "gateway", "checking keys", "argon2-cffi")
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

    def __init__(
        self,
        clients: Mapping[str, ClientConfig],
        *,
        day: Callable[[], date] = read_day,
        is_revoked: Callable[[str], bool] = lambda stored: False,
    ) -> None:
        self._clients, self._day, self._is_revoked = clients, day, is_revoked
        self._hasher = _hasher()
        self._unknown_hash = hash_key(secrets.token_hex(32))
        self._secret = secrets.token_bytes(32)
        self._good: BoundedCache[bytes, str] = BoundedCache(_MAX_KNOWN)
        self._bad: BoundedCache[bytes, bool] = BoundedCache(_MAX_KNOWN)
        for name, client in clients.items():
            if client.key is not None and not client.key.startswith("$argon2"):
                hint = f"shoal gateway-key {name} makes a key and its hash"
                raise PolicyError("is not an argon2 hash", where=f"clients.{name}.key", hint=hint)

    def find_known(self, key: str) -> str | None:
        """Return the client of a key that was checked before, and is still good; this is quick."""
        digest = self._digest(key)
        name = self._good.get(digest)
        if name is not None and self.is_over(name):
            self._good.forget(digest)
            return None
        return name

    def is_known_bad(self, key: str) -> bool:
        """Return whether a key was checked before and was not good: nobody waits for the same hash twice."""
        return self._bad.get(self._digest(key)) is not None

    def find_claimed(self, key: str) -> str:
        """Return the client that a key claims to be of; no name where we know of none."""
        name = key if key in self._clients else key.rpartition(".")[0]
        return name if name in self._clients else ""

    def check(self, key: str) -> str | None:
        """Return the client of a key; this takes the time of one hash, whether the key is good or not."""
        name = self.find_claimed(key)
        client = self._clients.get(name)
        stored = client.key if client is not None and not self.is_over(name) else None
        good = self.matches(stored or self._unknown_hash, key[:_MAX_LENGTH]) and len(key) <= _MAX_LENGTH
        if stored is None or not good:
            self._bad.put(self._digest(key), True)
            return None
        self._good.put(self._digest(key), name)
        return name

    def matches(self, stored: str, key: str) -> bool:
        """Return whether a key is the one whose hash is stored; this is slow on purpose."""
        import argon2

        try:
            return bool(self._hasher.verify(stored, key))
        except (argon2.exceptions.VerificationError, argon2.exceptions.InvalidHashError):
            return False

    def is_over(self, name: str) -> bool:
        """Return whether a client's key was good once: it expired, or somebody revoked it."""
        client = self._clients[name]
        expired = client.expires is not None and client.expires < self._day()
        return expired or (client.key is not None and self._is_revoked(client.key))

    def _digest(self, key: str) -> bytes:
        return hashlib.blake2b(key.encode("utf-8", "replace"), key=self._secret, digest_size=32).digest()

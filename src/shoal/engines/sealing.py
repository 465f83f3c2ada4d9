"""seal(), unseal(): bytes that only who has the owner's key can read, and nobody can change unseen."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

from shoal.errors import SeriesError, import_extra

_MAGIC = b"shoal sealed 1\n"
"""What a sealed file begins with: its version."""
_NONCE = 12


def seal(plain: bytes, key: bytes) -> bytes:
    """Return bytes under AES-256-GCM.

    The nonce follows from the bytes under another key: the same bytes are sealed the same way, others never with the
    same nonce.

    Examples
    --------
    >>> key = b"a key of at least 16 bytes"
    >>> unseal(seal(b"who was where", key), key)
    b'who was where'
    """
    nonce = _derive(key, b"nonce " + hashlib.sha256(plain).digest())[:_NONCE]
    return bytes(_MAGIC + nonce + _cipher(key).encrypt(nonce, plain, _MAGIC))


def unseal(sealed: bytes, key: bytes) -> bytes:
    """Return the bytes that were sealed.

    Raises
    ------
    SeriesError
        The file is of another version, was changed or cut, or was sealed with another key.
    """
    if not sealed.startswith(_MAGIC):
        hint = "it is none, or of another version of shoal"
        raise SeriesError("this is no sealed state", got=repr(sealed[: len(_MAGIC)]), hint=hint)
    nonce, rest = sealed[len(_MAGIC) :][:_NONCE], sealed[len(_MAGIC) + _NONCE :]
    invalid: type[Exception] = import_extra("cryptography.exceptions", "series", _PURPOSE, "cryptography").InvalidTag
    try:
        return bytes(_cipher(key).decrypt(nonce, rest, _MAGIC))
    except (invalid, ValueError):
        raise SeriesError(
            "the state cannot be opened",
            hint="it was changed or cut, or sealed with another key: give the key of the first release, "
            "or put the file back from where it is kept",
        ) from None


def require_cipher() -> None:
    """Raise where the library that seals is not installed: before a release is made that could not be kept."""
    _find_cipher()


_PURPOSE = "the sealed state of a series"


def _cipher(key: bytes) -> Any:
    return _find_cipher()(_derive(key, b"cipher"))


def _find_cipher() -> Any:
    return import_extra("cryptography.hazmat.primitives.ciphers.aead", "series", _PURPOSE, "cryptography").AESGCM


def _derive(key: bytes, purpose: bytes) -> bytes:
    return hmac.new(key, b"shoal series " + purpose, hashlib.sha256).digest()

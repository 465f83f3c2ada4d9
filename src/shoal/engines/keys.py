"""read_owner_key(): the owner's key, from which pseudonyms and the shifts of dates follow."""

from __future__ import annotations

import os
from pathlib import Path

from shoal.encoding.bounded_files import read_bounded
from shoal.errors import Misfit

KEY_VARIABLE = "SHOAL_KEY"
"""The environment variable that holds the key where no other is given."""
_LEAST = 16
"""A key of fewer bytes could be guessed, and with it everybody's pseudonym."""

_MOST = 2**20
"""Bytes of the file of a key."""

Key = bytes | str | Path
"""A key as bytes, or the path of the file that holds it."""

TRIAL_KEY = bytes(_LEAST)
"""A key for what is only tried and never released: everybody knows it."""


def read_owner_key(key: Key | None, *, what: str = "pseudonyms need a key", where: str = "identifiers") -> bytes:
    """Return the key: as given, from its file, or from the environment; line ends after it are not part of it.

    ``what`` needs it and ``where`` that was asked are told if there is none.

    Raises
    ------
    Misfit
        There is none, it cannot be read, or it is too short.
    """
    source = KEY_VARIABLE
    if isinstance(key, bytes):
        found, source = key, "key"
    elif key is not None:
        source = str(key)
        try:
            found = read_bounded(Path(key), _MOST)
        except OSError as error:
            raise Misfit("cannot read the key", where=source, got=error.strerror or "an error") from None
    else:
        found = os.environ.get(KEY_VARIABLE, "").encode()
        if not found:
            hint = f"give the file of a key (key=, --key), or put it into the environment as {KEY_VARIABLE}"
            raise Misfit(what, where=where, hint=hint)
    found = found.rstrip(b"\r\n")
    if len(found) < _LEAST:
        hint = "draw one: python -c 'import secrets; print(secrets.token_hex(32))'"
        raise Misfit(f"a key needs at least {_LEAST} bytes", where=source, got=f"{len(found)} bytes", hint=hint)
    return found

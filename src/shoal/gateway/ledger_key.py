"""The key of a ledger's hashes: a file that is made with the ledger, and kept from whoever may write the ledger."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from shoal.errors import LedgerError


def make_key(path: Path) -> bytes:
    """Return the key of a ledger's hashes; it is made with the ledger."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() and path.with_name(path.name + ".head").exists():
        raise LedgerError("the key of the ledger is gone", where=path.name, hint="put it back: its head is there")
    if not path.exists():
        _write_key(path)
    return read_key(path)


def _write_key(path: Path) -> None:
    """Write a new key whole, or leave the one that another process wrote meanwhile."""
    new = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(secrets.token_hex(32))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(new, path)  # unlike a renaming it replaces nothing
    finally:
        new.unlink(missing_ok=True)


def read_key(path: Path) -> bytes:
    """Return the key that lies in a file."""
    try:
        key = bytes.fromhex(path.read_text().strip())
    except FileNotFoundError:
        raise LedgerError("there is no such key", where=str(path), hint="--key names the file of the key") from None
    except ValueError:  # no text, or not of these digits
        key = b""
    if len(key) != 32:
        raise LedgerError(
            "the key of the ledger is not whole", where=path.name, hint="a start was cut short: remove it"
        )
    return key

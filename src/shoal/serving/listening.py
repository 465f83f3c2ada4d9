"""What a service listens at, and what it speaks there: a socket that is free, a certificate, a patient protocol."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

from shoal.errors import PolicyError, Unavailable

LOCAL = ("127.0.0.1", "::1", "localhost")
"""Addresses that only this machine reaches."""


def open_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens, so that a port that is taken is told before anything starts."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else type(error).__name__
        raise Unavailable("cannot listen there", where=f"{host}:{port}", got=why) from None


def require_certificate(tls_cert: Path | None, tls_key: Path | None) -> None:
    """Raise unless there is a certificate with its key, or neither."""
    if (tls_cert is None) != (tls_key is None):
        raise PolicyError("TLS needs a certificate and its key", where="--tls-cert, --tls-key")
    for path in (tls_cert, tls_key):
        if path is not None and not path.is_file():
            raise PolicyError("no such file", where="--tls-cert, --tls-key", got=str(path))


def find_protocol() -> Any:
    """Return the protocol that hangs up on slow clients; nothing where httptools is not to be had."""
    try:
        from shoal.serving.write_timeout import WriteTimeout
    except ImportError:
        return None
    return WriteTimeout

"""connect(): to a PostgreSQL server, with settings of ours after those of its URL, and with a patience that ends."""

from __future__ import annotations

from typing import Any

_REACH = 5
"""Seconds in which a server has to take a call; for what it is then asked it may take longer."""


def connect(psycopg: Any, url: str, *, timeout: int, autocommit: bool = False, **settings: str) -> Any:
    """Return a connection.

    Parameters
    ----------
    timeout
        Seconds that a statement may take, and that a server may stay silent while something is sent to it.
    settings
        Settings of the session; where the URL has some too (``?options=``), these are the last word.
    """
    theirs = psycopg.conninfo.conninfo_to_dict(url).get("options") or ""
    ours = {"statement_timeout": str(timeout * 1000), **settings}
    return psycopg.connect(
        url,
        autocommit=autocommit,
        connect_timeout=min(timeout, _REACH),
        tcp_user_timeout=timeout * 1000,
        options=" ".join([theirs, *(f"-c {name}={value}" for name, value in ours.items())]).strip(),
    )

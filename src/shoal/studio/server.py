"""serve_studio(): the pages behind a port, and a browser that is opened on them."""

from __future__ import annotations

import logging
import webbrowser
from collections.abc import Callable
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING

from shoal.errors import MissingExtra, PolicyError
from shoal.serving.listening import LOCAL, find_protocol, open_socket, require_certificate

if TYPE_CHECKING:
    from shoal.studio.project import DataSource

_GRACE = 3
"""Seconds that open requests have to end when the studio is told to."""


def serve_studio(
    folder: Path,
    *,
    data: DataSource | None = None,
    policy: Path | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    names: tuple[str, ...] = (),
    password: str = "",
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
    opens: bool = True,
    tell: Callable[[str], None] = print,
) -> None:
    """Serve the pages of a project until Ctrl-C.

    Parameters
    ----------
    folder
        The project's folder.
    data, policy
        What to begin with; what the project has otherwise.
    port
        Where to listen; 0 takes a free one.
    names
        Other names that a browser may reach it by.
    password, tls_cert, tls_key
        Needed where other machines may reach it.
    opens
        Whether to open the browser.
    tell
        Is told the address.
    """
    try:
        import uvicorn

        from shoal.studio.app import create_studio
        from shoal.studio.guard import Doorkeeper
        from shoal.studio.studio import Studio
    except ImportError as error:
        raise MissingExtra.of(error.name or "fastapi", "studio", "the studio") from None
    require_certificate(tls_cert, tls_key)
    require_closed(host, password, tls_cert)
    studio = Studio(folder, is_local=host in LOCAL)
    if policy is not None:
        studio.take_policy(policy)
    if data is not None and data != studio.project.state.source:
        studio.open_data(data)
    with open_socket(host, port) as listening:
        port = listening.getsockname()[1]
        hosts = {f"{name}:{port}" for name in (*LOCAL, "[::1]", host, *names)} | set(names)
        name = f"shoal-studio-{port}"  # cookies know no ports, and there may be two studios
        keeper = Doorkeeper(frozenset(hosts), secure=tls_cert is not None, password=password, name=name)
        address = f"{'https' if keeper.secure else 'http'}://{names[0] if names else _write_host(host)}:{port}/"
        shown = address if password else f"{address}?token={keeper.token}"
        tell(shown)
        if opens:
            Timer(0.5, webbrowser.open, (shown,)).start()
        logging.getLogger("uvicorn").setLevel(logging.CRITICAL)  # its errors quote what they are about
        config = uvicorn.Config(
            create_studio(studio, keeper),
            http=find_protocol() or "auto",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_GRACE,
            ssl_certfile=tls_cert,
            ssl_keyfile=tls_key,
        )
        uvicorn.Server(config).run(sockets=[listening])


def require_closed(host: str, password: str, tls_cert: Path | None) -> None:
    """Raise where other machines could reach a studio that speaks in clear, or asks for no password."""
    if host in LOCAL:
        return
    if tls_cert is None:
        raise PolicyError("other machines may reach it: it must speak HTTPS", where="--host", hint="give --tls-cert")
    if len(password) < _LEAST:
        hint = f"set SHOAL_STUDIO_PASSWORD to one of {_LEAST} characters or more"
        raise PolicyError("other machines may reach it: it must ask for a password", where="--host", hint=hint)


_LEAST = 12


def _write_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host

"""serve_studio(): the pages behind a port, and a browser that is opened on them."""

from __future__ import annotations

import logging
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING

from shoal.errors import MissingExtra, PolicyError
from shoal.serving.listening import LOCAL, find_protocol, open_socket, require_certificate

if TYPE_CHECKING:
    from shoal.studio.guard import Doorkeeper
    from shoal.studio.studio import Studio

_GRACE = 3
"""Seconds that open requests have to end when the studio is told to."""


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where a studio listens, and who may come in."""

    host: str = "127.0.0.1"
    port: int = 0
    """Where to listen; 0 takes a free one."""
    names: tuple[str, ...] = ()
    """Other names that a browser may reach it by."""
    password: str = ""
    """Needed, as a certificate is, where other machines may reach it."""
    tls_cert: Path | None = None
    tls_key: Path | None = None

    @property
    def is_local(self) -> bool:
        """Whether only this machine reaches it."""
        return self.host in LOCAL

    def require_closed(self) -> None:
        """Raise where other machines could reach a studio that speaks in clear, or asks for no password."""
        require_certificate(self.tls_cert, self.tls_key)
        what = "other machines may reach it"
        if not self.is_local and self.tls_cert is None:
            raise PolicyError(f"{what}: it must speak HTTPS", where="--host", hint="give --tls-cert and --tls-key")
        if not self.is_local and len(self.password) < _LEAST:
            hint = f"set SHOAL_STUDIO_PASSWORD to one of {_LEAST} characters or more"
            raise PolicyError(f"{what}: it must ask for a password", where="--host", hint=hint)

    def keep_door(self, port: int) -> Doorkeeper:
        """Return who lets browsers in at a port."""
        from shoal.studio.guard import Doorkeeper

        known = (*LOCAL, "[::1]", self.host, *self.names)
        hosts = {f"{name}:{port}" for name in known} | ({*known} if port in (80, 443) else set())
        password = "" if self.is_local else self.password
        name = f"shoal-studio-{port}"  # cookies know no ports, and there may be two studios
        return Doorkeeper(frozenset(hosts), secure=self.tls_cert is not None, password=password, name=name)

    def write(self, port: int, token: str) -> str:
        """Return the address to open; with the token, where that is what opens it."""
        name = self.names[0] if self.names else f"[{self.host}]" if ":" in self.host else self.host
        address = f"{'http' if self.tls_cert is None else 'https'}://{name}:{port}/"
        return f"{address}?token={token}" if self.is_local else address


_LEAST = 12
"""Characters of a password."""


def serve_studio(studio: Studio, address: Address, *, opens: bool = True, tell: Callable[[str], None] = print) -> None:
    """Serve the pages of a project until Ctrl-C; tell the address, and open the browser on it.

    Raises
    ------
    PolicyError
        Others could reach it, and it speaks in clear or asks for no password.
    Unavailable
        Something else listens there.
    """
    address.require_closed()
    try:
        import uvicorn

        from shoal.studio.app import create_studio
    except ImportError as error:
        raise MissingExtra.of(error.name or "fastapi", "studio", "the studio") from None
    with open_socket(address.host, address.port) as listening:
        port = listening.getsockname()[1]
        keeper = address.keep_door(port)
        shown = address.write(port, keeper.token)
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
            ssl_certfile=address.tls_cert,
            ssl_keyfile=address.tls_key,
        )
        uvicorn.Server(config).run(sockets=[listening])

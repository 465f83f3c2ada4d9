"""serve(): the service behind a port, until it is told to end."""

from __future__ import annotations

import gc
import logging
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import MissingExtra, PolicyError, Unavailable
from shoal.gateway.config import GatewayConfig
from shoal.gateway.logs import Log, LogHandler
from shoal.gateway.worker import GARBAGE
from shoal.gateway.workers import ProcessWorkers

if TYPE_CHECKING:
    import uvicorn

_GRACE = 10
"""Seconds that open requests have to end when the service is told to."""
_LOCAL = ("127.0.0.1", "::1", "localhost")


def serve(
    config: GatewayConfig,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
) -> None:
    """Run the service; SIGTERM and Ctrl-C end it after the requests that are open.

    Parameters
    ----------
    port
        Where to listen; 0 takes a free one, which the log tells.
    tls_cert, tls_key
        A certificate and its key, both in PEM; without them it speaks plain HTTP.
    """
    gc.set_threshold(*GARBAGE)
    log = Log()
    workers = ProcessWorkers(config, log)
    server = _create_server(config, log, workers, tls_cert, tls_key)
    with _listen(host, port) as listening:
        workers.launch()
        log.write("started", host=host, port=listening.getsockname()[1], tls=tls_cert is not None)
        if tls_cert is None and host not in _LOCAL:
            log.write("warning", said="keys and answers travel in clear: give --tls-cert, or a proxy that ends TLS")
        for warning in config.list_warnings():
            log.write("warning", said=warning)
        try:
            server.run(sockets=[listening])
        finally:
            log.write("ended")


def choose_protocol(log: Log) -> Any:
    """Return the protocol that hangs up on slow clients; uvicorn's own where httptools is not to be had."""
    try:
        from shoal.gateway.write_timeout import WriteTimeout
    except ImportError:
        log.write("warning", said="slow clients are waited for: install httptools, or let a proxy end them")
        return "auto"
    return WriteTimeout


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, so that a port that is taken is told before anything starts."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else type(error).__name__
        raise Unavailable("cannot listen there", where=f"{host}:{port}", got=why) from None


def _create_server(
    config: GatewayConfig, log: Log, workers: ProcessWorkers, tls_cert: Path | None, tls_key: Path | None
) -> uvicorn.Server:
    try:
        import uvicorn

        from shoal.gateway.app import create_app
    except ImportError as error:
        raise MissingExtra.of(error.name or "fastapi", "gateway", "the service") from None
    if (tls_cert is None) != (tls_key is None):
        raise PolicyError("TLS needs a certificate and its key", where="--tls-cert, --tls-key")
    for path in (tls_cert, tls_key):
        if path is not None and not path.is_file():
            raise PolicyError("no such file", where="--tls-cert, --tls-key", got=str(path))
    library = logging.getLogger("uvicorn")
    library.handlers, library.propagate = [LogHandler(log)], False
    library.setLevel(logging.WARNING)
    return uvicorn.Server(
        uvicorn.Config(
            create_app(config, workers=workers, log=log),
            http=choose_protocol(log),
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=bool(config.server.proxies),
            forwarded_allow_ips=list(config.server.proxies),
            timeout_graceful_shutdown=_GRACE,
            ssl_certfile=tls_cert,
            ssl_keyfile=tls_key,
        )
    )

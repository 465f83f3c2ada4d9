"""serve(): the service behind a port, until it is told to end."""

from __future__ import annotations

import gc
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import MissingExtra
from shoal.gateway.config import GatewayConfig
from shoal.gateway.logs import Log, LogHandler
from shoal.gateway.worker import GARBAGE
from shoal.gateway.workers import ProcessWorkers
from shoal.serving.listening import LOCAL, find_protocol, open_socket, require_certificate

if TYPE_CHECKING:
    import uvicorn

_GRACE = 10
"""Seconds that open requests have to end when the service is told to."""


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
    with open_socket(host, port) as listening:
        workers.launch()
        log.write("started", host=host, port=listening.getsockname()[1], tls=tls_cert is not None)
        if tls_cert is None and host not in LOCAL:
            log.write("warning", said="keys and answers travel in clear: give --tls-cert, or a proxy that ends TLS")
        for warning in config.list_warnings():
            log.write("warning", said=warning)
        try:
            server.run(sockets=[listening])
        finally:
            log.write("ended")


def choose_protocol(log: Log) -> Any:
    """Return the protocol that hangs up on slow clients; uvicorn's own where httptools is not to be had."""
    protocol = find_protocol()
    if protocol is None:
        log.write("warning", said="slow clients are waited for: install httptools, or let a proxy end them")
    return protocol or "auto"


def _create_server(
    config: GatewayConfig, log: Log, workers: ProcessWorkers, tls_cert: Path | None, tls_key: Path | None
) -> uvicorn.Server:
    try:
        import uvicorn

        from shoal.gateway.app import create_app
    except ImportError as error:
        raise MissingExtra.of(error.name or "fastapi", "gateway", "the service") from None
    require_certificate(tls_cert, tls_key)
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

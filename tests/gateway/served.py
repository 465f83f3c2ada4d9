"""A real service on the loopback, in a thread of the tests' own process."""

from __future__ import annotations

import io
import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from shoal.gateway.app import create_app
from shoal.gateway.config import ClientConfig, GatewayConfig
from shoal.gateway.keys import hash_key
from shoal.gateway.logs import Log
from shoal.gateway.mediator import Gateway
from tests.gateway.conftest import copy_example

KEYS = {name: f"{name}.secret-of-{name}" for name in ("ann", "bob", "aud", "north", "town", "late")}
ROLES = {"aud": ("auditor",), "north": ("owner",), "town": ("owner",)}


@cache
def hash_of(key: str) -> str:
    return hash_key(key)


def clients(**changes: dict[str, Any]) -> dict[str, ClientConfig]:
    """Return two clients, an auditor, an owner, and a client whose key has expired."""
    said: dict[str, dict[str, Any]] = {name: {"roles": ROLES.get(name, ("client",)), "rate": 100_000} for name in KEYS}
    said["late"]["expires"] = "2020-01-01"
    for name, change in changes.items():
        said[name] |= change
    return {name: ClientConfig(key=hash_of(KEYS[name]), **one) for name, one in said.items()}


@dataclass
class Served:
    url: str
    gateway: Gateway
    written: io.StringIO
    app: Any

    def http(self, name: str | None = "ann", *, key: str | None = None, **said: Any) -> httpx.Client:
        """Return a connection of somebody's."""
        given = key if name is None else KEYS[name]
        headers = {"Authorization": f"Bearer {given}"} if given is not None else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, **said)

    def ask(self, text: str, name: str = "ann", **said: Any) -> httpx.Response:
        with self.http(name) as http:
            return http.post("/query", json={"sql": text, **said})

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.written.getvalue().splitlines()]


def example(folder: Path, **changes: Any) -> GatewayConfig:
    """Return the example's configuration in a folder of its own, with our clients."""
    config = GatewayConfig.read(copy_example(folder))
    server = {"attempts": 100_000, **changes.pop("server", {})}
    return config.replace(**{"clients": clients(), "server": server, **changes})


@contextmanager
def served(config: GatewayConfig, sources: Mapping[str, Any] | None = None) -> Iterator[Served]:
    written = io.StringIO()
    gateway = Gateway(config, sources=sources)
    app = create_app(config, gateway=gateway, log=Log(written))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=5))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield Served(f"http://127.0.0.1:{listening.getsockname()[1]}", gateway, written, app)
        finally:
            server.should_exit = True
            thread.join(30)

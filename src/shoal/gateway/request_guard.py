"""Door: what every HTTP request passes: its size, its time, a line in the log, and no traceback on the way out."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shoal.errors import Fault
from shoal.gateway.logs import Log
from shoal.gateway.metrics import Metrics


@dataclass
class Visit:
    """What the log tells of one request: names that the service knows, no text of the client's."""

    client: str | None = None
    request: str | None = None
    tables: Sequence[str] = ()
    columns: Sequence[str] = ()
    action: str | None = None
    status: int = 0
    began: float = field(default_factory=time.perf_counter)


class TooLarge(Exception):
    """The request has more bytes than it may."""


class RequestGuard:
    """Lets requests in and out."""

    def __init__(self, app: ASGIApp, *, body: int, seconds: float, log: Log, metrics: Metrics) -> None:
        self._app, self._most, self._seconds = app, body, seconds
        self._log, self._metrics = log, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request through."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        visit = scope["visit"] = Visit()

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                visit.status = message["status"]
            await send(message)

        try:
            await self._through(scope, receive, told)
        except Exception as error:
            self._log.failed(error, request=visit.request)
            if not visit.status:
                await _say(told, 500, "Broken", "something went wrong inside")
        finally:
            self._leave(scope, visit)

    async def _through(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await asyncio.wait_for(self._read(receive), self._seconds)
        except TooLarge:
            await _say(send, 413, "TooLarge", "the request is too large", f"up to {self._most:,} bytes")
        except TimeoutError:
            await _say(send, 408, "TooLong", "the request did not arrive in time")
        else:
            if body is not None:  # else the client left
                await self._app(scope, _again(body, receive), send)

    async def _read(self, receive: Receive) -> bytes | None:
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            if len(body) > self._most:
                raise TooLarge
            if not message.get("more_body", False):
                return bytes(body)

    def _leave(self, scope: Scope, visit: Visit) -> None:
        seconds = time.perf_counter() - visit.began
        endpoint = str(getattr(scope.get("route"), "path", "other"))
        self._metrics.count("shoal_requests_total", endpoint=endpoint, status=str(visit.status))
        self._metrics.took(endpoint, seconds)
        self._log.write(
            "request",
            method=scope["method"] if endpoint != "other" else None,
            endpoint=endpoint,
            status=visit.status,
            milliseconds=round(seconds * 1000, 2),
            client=visit.client,
            request=visit.request,
            tables=visit.tables,
            columns=visit.columns,
            action=visit.action,
        )


def _again(body: bytes, receive: Receive) -> Receive:
    """Return a way to read a body that was read before."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def read() -> Message:
        return messages.pop() if messages else await receive()

    return read


async def _say(send: Send, status: int, error: str, what: str, hint: str = "") -> None:
    """Answer before the application is reached, or in its place; the connection ends."""
    told: dict[str, Any] = {"error": error, "faults": [Fault(what, where="request", hint=hint).to_dict()]}
    body = json.dumps(told).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, (b"connection", b"close")]})
    await send({"type": "http.response.body", "body": body})

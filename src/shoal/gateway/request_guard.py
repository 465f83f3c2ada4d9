"""RequestGuard: what every HTTP request passes: its size, its time, a line in the log; and no traceback gets out."""

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
class RequestTrace:
    """What the log says of one request: names that the service knows, no text of the client's."""

    client: str | None = None
    request: str | None = None
    tables: Sequence[str] = ()
    columns: Sequence[str] = ()
    action: str | None = None
    status: int = 0
    began: float = field(default_factory=time.perf_counter)


class BodyTooLarge(Exception):
    """The request has more bytes than it may."""


class RequestGuard:
    """Lets requests in and out."""

    def __init__(self, app: ASGIApp, *, max_bytes: int, seconds: float, log: Log, metrics: Metrics) -> None:
        self._app, self._max_bytes, self._seconds = app, max_bytes, seconds
        self._log, self._metrics = log, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request through."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        trace = scope["trace"] = RequestTrace()

        async def send_traced(message: Message) -> None:
            if message["type"] == "http.response.start":
                trace.status = message["status"]
            await send(message)

        try:
            await self._pass_on(scope, receive, send_traced)
        except Exception as error:
            self._log.write_error(error, request=trace.request)
            if not trace.status:
                await _send_problem(send_traced, 500, "Broken", "something went wrong inside")
        finally:
            self._record(scope, trace)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await asyncio.wait_for(self._read(receive), self._seconds)
        except BodyTooLarge:
            await _send_problem(send, 413, "TooLarge", "the request is too large", f"up to {self._max_bytes:,} bytes")
        except TimeoutError:
            await _send_problem(send, 408, "TooLong", "the request did not arrive in time")
        else:
            if body is not None:  # else the client left
                await self._app(scope, _replay(body, receive), send)

    async def _read(self, receive: Receive) -> bytes | None:
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            if len(body) > self._max_bytes:
                raise BodyTooLarge
            if not message.get("more_body", False):
                return bytes(body)

    def _record(self, scope: Scope, trace: RequestTrace) -> None:
        seconds = time.perf_counter() - trace.began
        endpoint = str(getattr(scope.get("route"), "path", "other"))
        self._metrics.count_request(endpoint, trace.status, seconds)
        self._log.write(
            "request",
            method=scope["method"] if endpoint != "other" else None,
            endpoint=endpoint,
            status=trace.status,
            milliseconds=round(seconds * 1000, 2),
            client=trace.client,
            request=trace.request,
            tables=trace.tables,
            columns=trace.columns,
            action=trace.action,
        )


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a way to read a body that was read before."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def read() -> Message:
        return messages.pop() if messages else await receive()

    return read


async def _send_problem(send: Send, status: int, error: str, what: str, hint: str = "") -> None:
    """Answer before the application is reached, or in its place; the connection ends."""
    problem: dict[str, Any] = {"error": error, "faults": [Fault(what, where="request", hint=hint).to_dict()]}
    body = json.dumps(problem).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, (b"connection", b"close")]})
    await send({"type": "http.response.body", "body": body})

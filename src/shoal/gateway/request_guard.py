"""RequestGuard: what every HTTP request passes: its size, its time, a line in the log; and no traceback gets out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shoal.errors import Fault
from shoal.gateway.http_schemas import HttpProblem
from shoal.gateway.logs import Log
from shoal.gateway.metrics import Metrics

_ALWAYS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
"""What every response says: an answer is for this client, now, and is what it says it is."""


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
                message = {**message, "headers": [*message.get("headers", ()), *_ALWAYS]}
            await send(message)

        try:
            await self._pass_on(scope, receive, send_traced)
        except Exception as error:
            self._log.write_error(error, request=trace.request)
            if not trace.status:
                await _respond(500, "Broken", "something went wrong inside")(scope, receive, send_traced)
        finally:
            self._record(scope, trace)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await asyncio.wait_for(self._read(receive), self._seconds)
        except BodyTooLarge:
            hint = f"up to {self._max_bytes:,} bytes"
            await _respond(413, "TooLarge", "the request is too large", hint)(scope, receive, send)
        except TimeoutError:
            await _respond(408, "TooLong", "the request did not arrive in time")(scope, receive, send)
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
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def read() -> Message:
        return messages.pop() if messages else await receive()

    return read


def _respond(status: int, error: str, what: str, hint: str = "") -> JSONResponse:
    """Answer before the application is reached, or in its place; the connection ends."""
    return HttpProblem(status, error, Fault(what, where="request", hint=hint)).respond(connection="close")

"""Answers that are on their way: how many bytes of them a client has not read yet."""

from __future__ import annotations

from collections import Counter
from typing import Any

from fastapi.responses import Response
from starlette.types import Receive, Scope, Send

_PIECE = 262_144
"""Bytes that are handed over at once; the next ones when these were read."""


class UnreadBytes:
    """Counts the bytes of answers that are on their way, client by client.

    Examples
    --------
    >>> unread = UnreadBytes(most=100)
    >>> unread.add("ann", 150)
    >>> unread.is_full("ann"), unread.is_full("bob")
    (True, False)
    >>> unread.add("ann", -150)
    >>> unread.is_full("ann")
    False
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._bytes: Counter[str] = Counter()

    def is_full(self, client: str) -> bool:
        """Return whether a client has to read first."""
        return self._bytes[client] >= self._most

    def add(self, client: str, size: int) -> None:
        """Count bytes that are on their way, or that arrived."""
        self._bytes[client] += size
        if not self._bytes[client]:
            del self._bytes[client]


class AnswerResponse(Response):
    """An answer that is handed over piece by piece, as the client reads it."""

    def __init__(self, content: bytes, client: str, unread: UnreadBytes, **options: Any) -> None:
        super().__init__(content, **options)
        self._client, self._unread = client, unread

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        if len(self.body) <= _PIECE:
            await super().__call__(scope, receive, send)
            return
        body = memoryview(self.body)
        self._unread.add(self._client, len(body))
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            for begin in range(0, len(body), _PIECE):
                piece = bytes(body[begin : begin + _PIECE])
                await send({"type": "http.response.body", "body": piece, "more_body": begin + _PIECE < len(body)})
        finally:
            self._unread.add(self._client, -len(body))

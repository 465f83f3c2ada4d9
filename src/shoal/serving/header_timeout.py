"""HeaderTimeout: the protocol of the service, which hangs up on whoever does not send a short head in time."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

SECONDS = 10.0
"""How long the head of a request may take, from the connection or its first byte on."""
MAX_BYTES = 65_536
"""Bytes that the head of a request may have."""


class HeadTooLong(Exception):
    """The head of a request has more bytes than it may."""


class HeaderTimeout(HttpToolsProtocol):
    """Waits so long, and takes so much, for the head of a request; what comes after it the request guard looks at."""

    _timer: asyncio.TimerHandle | None = None
    _received = 0
    """Bytes that came since a head began."""
    _head = 0
    """Bytes of the head that were read: a large piece may hold more than one request."""

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a first request."""
        super().connection_made(transport)
        self._start_timer()

    def on_message_begin(self) -> None:
        """Begin to wait for the rest of a request's head."""
        super().on_message_begin()
        self._head = 0
        self._start_timer()

    def on_url(self, url: bytes) -> None:
        """Take a part of the address, unless the head is too long."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, unless the head is too long."""
        self._count(len(name) + len(value) + 4)
        super().on_header(name, value)

    def data_received(self, data: bytes) -> None:
        """Read on, unless the head goes on for too long."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self._timer is not None:
            self._received += len(data)
            if self._received > MAX_BYTES:
                self._hang_up()

    def on_headers_complete(self) -> None:
        """Wait no longer."""
        self._stop_timer()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_timer()
        super().connection_lost(exc)

    def _count(self, size: int) -> None:
        self._head += size
        if self._head > MAX_BYTES:
            self._hang_up()
            raise HeadTooLong  # the parser goes no further

    def _start_timer(self) -> None:
        self._stop_timer()
        self._received = 0
        self._timer = self.loop.call_later(SECONDS, self._hang_up)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _hang_up(self) -> None:
        self._stop_timer()
        if not self.transport.is_closing():
            self.transport.close()

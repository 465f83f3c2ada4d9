"""HeaderTimeout: the protocol of the service, which hangs up on whoever does not send a short head in time."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

SECONDS = 10.0
"""How long the head of a request may take, from the connection or its first byte on."""
MAX_BYTES = 65_536
"""Bytes that the head of a request may have."""


class HeaderTimeout(HttpToolsProtocol):
    """Waits so long, and takes so much, for the head of a request; what comes after it the request guard looks at."""

    _timer: asyncio.TimerHandle | None = None
    _received = 0

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a first request."""
        super().connection_made(transport)
        self._start_timer()

    def on_message_begin(self) -> None:
        """Begin to wait for the rest of a request's head."""
        super().on_message_begin()
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        """Read on, unless the head goes on for too long."""
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

"""Patient: the protocol of the service, which hangs up on whoever does not say in time and in brief what they want."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

SECONDS = 10.0
"""How long the head of a request may take, from the connection or its first byte on."""
LARGEST = 65_536
"""Bytes that the head of a request may have."""


class HeaderTimeout(HttpToolsProtocol):
    """Waits so long, and takes so much, for the head of a request; what comes after it the door looks at."""

    _waiting: asyncio.TimerHandle | None = None
    _taken = 0

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a first request."""
        super().connection_made(transport)
        self._wait()

    def on_message_begin(self) -> None:
        """Begin to wait for the rest of a request's head."""
        super().on_message_begin()
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Read on, unless the head goes on for too long."""
        super().data_received(data)
        if self._waiting is not None:
            self._taken += len(data)
            if self._taken > LARGEST:
                self._hang_up()

    def on_headers_complete(self) -> None:
        """Wait no longer."""
        self._rest()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._rest()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._rest()
        self._taken = 0
        self._waiting = self.loop.call_later(SECONDS, self._hang_up)

    def _rest(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _hang_up(self) -> None:
        self._rest()
        if not self.transport.is_closing():
            self.transport.close()

"""WriteTimeout: the protocol of the service, which hangs up on whoever does not read what it is sent."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from shoal.serving.header_timeout import HeaderTimeout

SECONDS = 10.0
"""How long a client has to read some more of an answer."""
LEAST_BYTES = 100_000
"""What it has to read in that time, or all that there is."""
_SYSTEM_BYTES = 65_536
"""What the system holds of it: were that more than has to be read in time, slow readers would look like none."""


class WriteTimeout(HeaderTimeout):
    """Waits so long for a client to read; what is not read is forgotten with the connection."""

    _writing: asyncio.TimerHandle | None = None
    _left = 0
    """Bytes that were not read when it was looked at last."""

    def connection_made(self, transport: Any) -> None:
        """Be told of everything that is not read at once."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=1, low=0)  # with none at all TLS would wait for ever
        connection = transport.get_extra_info("socket")
        if connection is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SYSTEM_BYTES)

    def pause_writing(self) -> None:
        """Begin to wait for the client."""
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        """Wait no longer: everything was read."""
        self._stop_watching()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_watching()
        super().connection_lost(exc)

    def _watch(self) -> None:
        self._stop_watching()
        self._left = self.transport.get_write_buffer_size()
        self._writing = self.loop.call_later(SECONDS, self._look)

    def _look(self) -> None:
        """Hang up unless enough was read; pieces follow each other only when all of one was read."""
        if self._left - self.transport.get_write_buffer_size() < LEAST_BYTES:
            self.transport.abort()
        else:
            self._watch()

    def _stop_watching(self) -> None:
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None

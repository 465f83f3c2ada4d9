"""Limits: how often somebody may ask, how much is done at once, and how long anybody waits."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Lock
from typing import Any, TypeVar

_NAMES = 10_000
"""Names that are remembered; the one that was not seen for longest is forgotten first."""
_Found = TypeVar("_Found")


class Rates:
    """Counts requests by name: ``rate`` in a minute, all at once or one by one.

    Each name has a bucket of as many tokens as it may take in a minute, that fills up again steadily.

    Examples
    --------
    >>> now = [0.0]
    >>> rates = Rates(clock=lambda: now[0])
    >>> rates.take("ann", 2), rates.take("ann", 2), rates.take("ann", 2), rates.take("bob", 2)
    (0.0, 0.0, 30.0, 0.0)
    >>> now[0] = 30.0
    >>> rates.take("ann", 2)
    0.0
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._full_at: OrderedDict[str, float] = OrderedDict()
        """Name → when its bucket is full again."""
        self._lock = Lock()

    def take(self, name: str, rate: int) -> float:
        """Take a token; return 0, or how many seconds to wait for one."""
        now, each = self._clock(), 60 / rate
        with self._lock:
            full_at = max(self._full_at.get(name, now), now)
            wait = full_at + each - now - 60
            if wait > 1e-9:
                return wait
            self._full_at[name] = full_at + each
            self._full_at.move_to_end(name)
            while len(self._full_at) > _NAMES:
                self._full_at.popitem(last=False)
        return 0.0

    def give_back(self, name: str, rate: int) -> None:
        """Give a token back that was not needed."""
        with self._lock:
            if name in self._full_at:
                self._full_at[name] -= 60 / rate


class Busy(Exception):
    """So many requests are waiting that another one cannot."""


class TooLong(Exception):
    """The work takes longer than a client waits; it goes on."""


class Workers:
    """Threads that do the work, with a limit to what may wait for them."""

    def __init__(self, count: int, waiting: int, seconds: float) -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="shoal-worker")
        self._most, self._seconds = count + waiting, seconds
        self.begun = 0
        """Requests that are being worked on, or wait for it."""

    async def run(self, work: Callable[[], _Found]) -> _Found:
        """Do some work in a thread; raise :class:`Busy` or :class:`TooLong`."""
        if self.begun >= self._most:
            raise Busy
        self.begun += 1
        loop = asyncio.get_running_loop()
        waited: asyncio.Future[_Found] = loop.create_future()
        self._pool.submit(self._do, work, loop, waited)
        try:
            async with asyncio.timeout(self._seconds):
                return await waited
        except TimeoutError:
            if waited.cancelled():
                raise TooLong from None
            raise

    def _do(self, work: Callable[[], _Found], loop: asyncio.AbstractEventLoop, waited: asyncio.Future[_Found]) -> None:
        found: _Found | None = None
        error: Exception | None = None
        try:
            found = work()
        except Exception as raised:
            error = raised
        with suppress(RuntimeError):  # the service has ended, and nobody waits
            loop.call_soon_threadsafe(self._ended, waited, found, error)

    def _ended(self, waited: asyncio.Future[Any], found: Any, error: Exception | None) -> None:
        self.begun -= 1
        if waited.done():  # whoever waited has gone; an error goes with them, for its text may hold data
            return
        if error is None:
            waited.set_result(found)
        else:
            waited.set_exception(error)

    def close(self) -> None:
        """Wait for what was begun."""
        self._pool.shutdown(wait=True)

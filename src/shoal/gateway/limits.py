"""Limits: how often somebody may ask, how much is done at once, and how long anybody waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from functools import cached_property
from threading import Lock
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread

from shoal.gateway.bounded_cache import BoundedCache

_MAX_NAMES = 10_000
"""Names that are remembered; the one that was not seen for longest is forgotten first."""
_Result = TypeVar("_Result")


class RateLimiter:
    """Counts requests by name: ``rate`` in a minute, all at once or one by one.

    Each name has a bucket of as many tokens as it may take in a minute, that fills up again steadily.

    Examples
    --------
    >>> now = [0.0]
    >>> rates = RateLimiter(clock=lambda: now[0])
    >>> rates.take("ann", 2), rates.take("ann", 2), rates.take("ann", 2), rates.take("bob", 2)
    (0.0, 0.0, 30.0, 0.0)
    >>> now[0] = 30.0
    >>> rates.take("ann", 2)
    0.0
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.full_at: BoundedCache[str, float] = BoundedCache(_MAX_NAMES)
        """Name → when its bucket is full again."""
        self._lock = Lock()

    def take(self, name: str, rate: int) -> float:
        """Take a token; return 0, or how many seconds to wait for one."""
        now, each = self._clock(), 60 / rate
        with self._lock:
            full_at = max(self.full_at.get(name) or now, now)
            wait = full_at + each - now - 60
            if wait > 1e-9:
                return wait
            self.full_at.put(name, full_at + each)
        return 0.0

    def give_back(self, name: str, rate: int) -> None:
        """Give a token back that was not needed."""
        with self._lock:
            full_at = self.full_at.get(name)
            if full_at is not None:
                self.full_at.put(name, full_at - 60 / rate)


class QueueFull(Exception):
    """So many requests are waiting that another one cannot."""


class DeadlineExceeded(Exception):
    """The work takes longer than a client waits; it goes on."""


class OpenRequests:
    """Requests that are being worked on or wait for it: so many, and each is waited for so long."""

    def __init__(self, most: int, seconds: float) -> None:
        self._most, self._seconds = most, seconds
        self._open: set[asyncio.Future[Any]] = set()

    def __len__(self) -> int:
        return len(self._open)

    async def run(self, begin: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
        """Begin some work and wait for it; raise :class:`QueueFull` or :class:`DeadlineExceeded`."""
        if len(self._open) >= self._most:
            raise QueueFull
        task = asyncio.ensure_future(begin())
        self._open.add(task)
        task.add_done_callback(self._end)
        try:
            return await asyncio.wait_for(asyncio.shield(task), self._seconds)  # what takes too long goes on
        except TimeoutError as error:
            if task.done() and task.exception() is error:
                raise
            raise DeadlineExceeded from None

    def _end(self, task: asyncio.Future[Any]) -> None:
        self._open.discard(task)
        if not task.cancelled():
            task.exception()  # where nobody waits any more, asyncio would log its text, which may hold data

    async def close(self) -> None:
        """Wait for what was begun."""
        if self._open:
            await asyncio.wait(self._open)


class WorkerPool:
    """Threads that do the work, with a limit to what may wait for them."""

    def __init__(self, count: int, waiting: int, seconds: float) -> None:
        self._count, self._open = count, OpenRequests(count + waiting, seconds)

    @property
    def open_requests(self) -> int:
        """Requests that are being worked on, or wait for it."""
        return len(self._open)

    @cached_property
    def _limiter(self) -> CapacityLimiter:
        return CapacityLimiter(self._count)  # it belongs to the event loop

    async def run(self, work: Callable[[], _Result]) -> _Result:
        """Do some work in a thread; raise :class:`QueueFull` or :class:`DeadlineExceeded`."""
        return await self._open.run(lambda: to_thread.run_sync(work, limiter=self._limiter))

    async def close(self) -> None:
        """Wait for what was begun."""
        await self._open.close()

"""Workers: who does what requests ask for; processes that can be ended, or threads where the caller has a gateway."""

from __future__ import annotations

import asyncio
import os
import zlib
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Coroutine
from contextlib import suppress
from functools import partial
from math import ceil
from threading import Event, Thread
from typing import Any

from shoal.errors import Fault, ShoalError, Unavailable
from shoal.gateway.answer_service import AnswerService
from shoal.gateway.config import GatewayConfig
from shoal.gateway.limits import OpenRequests, QueueFull, WorkerPool
from shoal.gateway.logs import Log
from shoal.gateway.mediator import Gateway
from shoal.gateway.worker import WorkerConfig, prepare_gateway
from shoal.gateway.worker_process import WorkerEnded, WorkerProcess

_TRIES = 3
"""How often work is begun whose process was ended for other work."""
_PATIENCE = 5.0
"""Seconds that the end waits for what makes ready."""
_PAUSES = (0.1, 1.0, 5.0, 30.0)
"""Seconds before a process that does not start is begun again."""


class TookTooLong(ShoalError):
    """The work was ended."""

    title = "It takes too long"


class Workers(ABC):
    """Do work: methods of :class:`~shoal.gateway.answer_service.AnswerService`, by name."""

    @property
    @abstractmethod
    def open_requests(self) -> int:
        """Requests that are being worked on, or wait for it."""

    @abstractmethod
    async def start(self) -> None:
        """Get ready."""

    @abstractmethod
    async def call(self, method: str, *values: Any, client: str) -> Any:
        """Return what came of some work for a client.

        Raises
        ------
        QueueFull, DeadlineExceeded
            Too much waits, or it takes longer than a client waits; then it goes on.
        """

    @abstractmethod
    async def close(self) -> None:
        """Wait for what was begun, and end."""


class ThreadWorkers(Workers):
    """Threads of this process: nothing ends what holds one of them."""

    def __init__(self, gateway: Gateway) -> None:
        config = gateway.config.server
        self._gateway, self.answers = gateway, AnswerService(gateway)
        self._pool = WorkerPool(config.workers, config.waiting, config.seconds)
        self._checker = WorkerPool(1, config.waiting, config.seconds)
        """Anybody may ask for the owners' health, and must not take a worker from clients."""
        self._ended = Event()
        self._preparing = Thread(
            target=prepare_gateway, args=[gateway, self._ended.is_set], name="shoal-prepare", daemon=True
        )

    @property
    def open_requests(self) -> int:
        """Requests that are being worked on, or wait for it."""
        return self._pool.open_requests

    async def start(self) -> None:
        """Get ready."""
        self._preparing.start()

    async def call(self, method: str, *values: Any, client: str) -> Any:
        """Return what came of some work for a client."""
        pool = self._checker if method == "check_health" else self._pool
        return await pool.run(partial(getattr(self.answers, method), *values))

    async def close(self) -> None:
        """Wait for what was begun, and end."""
        self._ended.set()
        await asyncio.to_thread(self._preparing.join, _PATIENCE)  # it holds what libraries would complain about
        for pool in (self._pool, self._checker):
            await pool.close()
        self._gateway.ledger.close()


class ProcessWorkers(Workers):
    """Processes, each with several threads; one that is held for too long is killed, and begun anew.

    What a client asks goes to one process as long as that is there: it knows what the client had before, and is the one
    that suffers from the client. A client has half of its threads at most. When a process is killed, what others asked
    of it is done by another one; whoever asked for what took too long has to wait until it is back.
    """

    def __init__(self, config: GatewayConfig, log: Log) -> None:
        server = config.server
        self._log, self._seconds = log, server.longest
        count = server.processes or min(4, os.cpu_count() or 1)
        threads = ceil(server.workers / count)
        self._config = WorkerConfig(config, threads)
        self._workers = [self._create() for _ in range(count)]
        self._open = OpenRequests(count * threads + server.waiting, server.seconds)
        self._each = max(1, threads // 2)
        self._most_each = self._each + server.waiting // 2
        self._turns: dict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(self._each))
        self._clients: Counter[str] = Counter()
        """Client → its requests that are open."""
        self._bound: set[str] = set()
        """Clients who may use no process but their own, because something of theirs was ended."""
        self._changed = asyncio.Event()
        self._starting: set[asyncio.Task[None]] = set()
        self._ended = False

    def _create(self) -> WorkerProcess:
        return WorkerProcess(self._config, on_change=self._notice, on_line=self._log.write_line)

    def launch(self) -> ProcessWorkers:
        """Begin the first process; raise what is wrong with the configuration."""
        self._workers[0].launch().wait_open()
        return self

    @property
    def open_requests(self) -> int:
        """Requests that are being worked on, or wait for it."""
        return len(self._open)

    async def wait_prepared(self) -> None:
        """Wait until all processes are ready."""
        while not all(worker.is_prepared for worker in self._workers):
            await self._wait()

    @property
    def pids(self) -> list[int]:
        """The numbers of the processes."""
        return [worker.pid for worker in self._workers if worker.pid is not None]

    async def start(self) -> None:
        """Get ready."""
        await self._workers[0].attach()
        self._track(self._begin_rest())

    async def call(self, method: str, *values: Any, client: str) -> Any:
        """Return what came of some work for a client."""
        if self._clients[client] >= self._most_each:
            raise QueueFull
        self._clients[client] += 1
        try:
            return await self._open.run(lambda: self._do(method, values, client))
        except QueueFull:
            self._clients[client] -= 1
            raise

    async def _do(self, method: str, values: tuple[Any, ...], client: str) -> Any:
        try:
            if method == "check_health":
                return await self._begin(method, values, client)
            async with self._turns[client]:
                return await self._begin(method, values, client)
        finally:
            self._clients[client] -= 1

    async def _begin(self, method: str, values: tuple[Any, ...], client: str) -> Any:
        for _ in range(_TRIES):
            worker = await self._choose(client)
            async with worker.checks if method == "check_health" else worker.turns:
                if not worker.is_open:
                    continue
                began = asyncio.get_running_loop().time()
                try:
                    return await worker.ask(method, values, seconds=self._seconds)
                except WorkerEnded:
                    if asyncio.get_running_loop().time() - began >= self._seconds:
                        self._bound.add(client)
                        self._log.write("killed", client=client, seconds=self._seconds)
                        raise TookTooLong(Fault("it took too long and was ended", hint="ask for less")) from None
        raise Unavailable("the service cannot answer now")

    async def _choose(self, client: str) -> WorkerProcess:
        """Return the client's process, or another one where that is not ready; wait until there is one."""
        home = zlib.crc32(client.encode()) % len(self._workers)
        while not self._ended:
            ordered = [*self._workers[home:], *self._workers[:home]][: 1 if client in self._bound else None]
            ready = [one for one in ordered if one.is_prepared] or [one for one in ordered if one.is_open]
            if ready:
                return ready[0]
            await self._wait()
        raise Unavailable("the service ends")

    def _notice(self, worker: WorkerProcess) -> None:
        """Wake who waits for a process; begin another one in the place of one that ended."""
        self._changed.set()
        if not worker.is_open and not self._ended and worker in self._workers:
            self._log.write("warning", said="a process ended, and another one is begun")
            self._track(self._replace(self._workers.index(worker)))

    async def _begin_rest(self) -> None:
        """Begin the other processes one by one: the first answers sooner when it need not share the machine."""
        for index in range(1, len(self._workers)):
            while not any(worker.is_prepared for worker in self._workers):
                await self._wait()
            await self._replace(index)

    async def _wait(self) -> None:
        """Wait until something changes."""
        self._changed.clear()
        await self._changed.wait()

    def _track(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _replace(self, index: int) -> None:
        """Begin a process, again and again until it is there."""
        for attempt in range(10**9):
            worker = self._workers[index] = self._create()
            try:
                await asyncio.to_thread(lambda one: one.launch().wait_open(), worker)
                if self._ended:
                    worker.kill()
                    return
                await worker.attach()
                return
            except (ShoalError, OSError) as error:
                worker.kill()
                self._log.write_error(error)
            await asyncio.sleep(_PAUSES[min(attempt, len(_PAUSES) - 1)])

    async def close(self) -> None:
        """Wait for what was begun, and end."""
        self._ended = True
        self._changed.set()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._open.close(), _PATIENCE)
        for task in self._starting:
            task.cancel()
        await asyncio.gather(*(worker.close() for worker in self._workers))
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*self._starting, return_exceptions=True)

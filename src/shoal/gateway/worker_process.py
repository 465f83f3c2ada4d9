"""WorkerProcess: one process that answers requests, seen from the service's event loop."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from typing import IO, Any, cast

from shoal.errors import ShoalError, Unavailable
from shoal.gateway.frames import FrameReader, read_frame, write_frame
from shoal.gateway.worker import Task, TaskOutcome, WorkerConfig

COMMAND = (sys.executable, "-P", "-c", "from shoal.gateway.worker import main; main()")
_PATIENCE = 5.0
"""Seconds that a process has to end on its own."""
_NUMBERS = count(1)


class WorkerEnded(Exception):
    """The process ended before the work was done."""


class FailedInside(Exception):
    """The work failed in a way that nobody may be told of; the log says how."""


class WorkerProcess(asyncio.Protocol):
    """A process and what it was asked.

    Parameters
    ----------
    on_change
        Is called when it is prepared, and when it ended.
    on_line
        Takes the lines of its log.
    """

    def __init__(
        self,
        config: WorkerConfig,
        *,
        on_change: Callable[[WorkerProcess], None],
        on_line: Callable[[str], None],
    ) -> None:
        self._config, self._on_change, self._on_line = config, on_change, on_line
        self._process: subprocess.Popen[bytes] | None = None
        self._writer: asyncio.WriteTransport | None = None
        self._frames = FrameReader()
        self._open: dict[int, asyncio.Future[Any]] = {}
        self.turns = asyncio.Semaphore(config.threads)
        """So many requests are answered at once."""
        self.checks = asyncio.Semaphore(1)
        """Strangers may ask for the health of owners' databases, which may hang: they take no turn from clients."""
        self.is_open = self.is_prepared = False

    @property
    def pid(self) -> int | None:
        """The number of the process."""
        return None if self._process is None else self._process.pid

    def launch(self) -> WorkerProcess:
        """Begin the process; it finds the modules that this one finds, and ends when this one does."""
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._process = subprocess.Popen(COMMAND, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        pipe = cast("IO[bytes]", self._process.stdin)
        pipe.write(write_frame(self._config))
        pipe.flush()
        return self

    def wait_open(self) -> WorkerProcess:
        """Wait until its gateway is there; raise what was wrong with its configuration."""
        assert self._process is not None
        try:
            said = read_frame(cast("Any", self._process.stdout))
        except EOFError:
            said = Unavailable("a process of the service ended at its start")
        if isinstance(said, ShoalError):
            self.kill()
            raise said
        return self

    async def attach(self) -> None:
        """Let the event loop read what it answers."""
        assert self._process is not None
        loop = asyncio.get_running_loop()
        self._writer, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, self._process.stdin)
        self.is_open = True
        await loop.connect_read_pipe(lambda: self, self._process.stdout)
        self._on_change(self)

    async def ask(self, method: str, values: tuple[Any, ...], *, seconds: float) -> Any:
        """Return what came of some work; once it is prepared the process is killed when that takes so long.

        Raises
        ------
        WorkerEnded
            It was killed, for this or for other work, or ended on its own.
        """
        number, loop = next(_NUMBERS), asyncio.get_running_loop()
        done = self._open[number] = loop.create_future()
        assert self._writer is not None
        self._writer.write(write_frame(Task(number, method, values)))
        timer = loop.call_later(seconds, self._end_overdue)
        try:
            return await done
        finally:
            timer.cancel()
            self._open.pop(number, None)

    def _end_overdue(self) -> None:
        if self.is_prepared:  # while it prepares, requests wait for a table that may be large
            self.kill()

    def data_received(self, data: bytes) -> None:
        """Take what it answers."""
        for said in self._frames.feed(data):
            if isinstance(said, TaskOutcome):
                self._finish(said)
            elif said == "prepared":
                self.is_prepared = True
                self._on_change(self)
            else:
                self._on_line(str(said))

    def _finish(self, outcome: TaskOutcome) -> None:
        done = self._open.pop(outcome.number, None)
        if done is None or done.done():
            return
        if outcome.error is not None:
            done.set_exception(outcome.error)
        elif outcome.is_broken:
            done.set_exception(FailedInside())
        else:
            done.set_result(outcome.value)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell everybody who waits that it ended."""
        self.is_open = self.is_prepared = False
        self.kill()
        for done in self._open.values():
            if not done.done():
                done.set_exception(WorkerEnded())
        self._on_change(self)

    def kill(self) -> None:
        """End the process now."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    async def close(self) -> None:
        """Let the process end."""
        if self._process is None:
            return
        self._on_change = lambda _: None
        if self._writer is not None:
            self._writer.close()
        elif self._process.stdin is not None:
            self._process.stdin.close()
        try:
            await asyncio.to_thread(self._process.wait, _PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()

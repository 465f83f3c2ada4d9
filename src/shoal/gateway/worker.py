"""The process in which requests are answered: whatever holds it, it can be ended, and another one goes on."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock, Thread
from typing import Any, BinaryIO, Literal

from shoal.errors import ShoalError
from shoal.gateway.answer_service import AnswerService
from shoal.gateway.config import GatewayConfig
from shoal.gateway.frames import read_frame, write_frame
from shoal.gateway.logs import Log
from shoal.gateway.mediator import Gateway

Stage = Literal["open", "prepared"]
GARBAGE = (50_000, 20, 50)
"""When cycles of objects are looked for: an answer makes thousands of objects, and hardly a cycle."""


@dataclass(frozen=True)
class WorkerConfig:
    """What a process is told first."""

    gateway: GatewayConfig
    threads: int
    """Requests that it answers at once."""


@dataclass(frozen=True)
class Task:
    """Something to do: a method of :class:`~shoal.gateway.answer_service.AnswerService`, by its name."""

    number: int
    method: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class TaskOutcome:
    """What came of a task."""

    number: int
    value: Any = None
    error: ShoalError | None = None
    is_broken: bool = False
    """Whether it failed in a way that nobody may be told of; the log says so."""


class _Channel(io.TextIOBase):
    """The way back to the service; a log that is written into it is written there."""

    def __init__(self, target: BinaryIO) -> None:
        self._target, self._lock = target, Lock()

    def send(self, value: Any) -> None:
        frame = write_frame(value)
        with self._lock:
            self._target.write(frame)
            self._target.flush()

    def write(self, line: str) -> int:
        self.send(line)
        return len(line)


def prepare_gateway(gateway: Gateway, is_ended: Callable[[], bool]) -> None:
    """Get ready, and let the collector of garbage leave alone what is there to stay."""
    gateway.prepare()
    if not is_ended():
        gc.collect()
        gc.freeze()


def do_task(answers: AnswerService, task: Task, log: Log) -> TaskOutcome:
    """Do what the service asks for; the text of an error that is ours may hold data, and stays here."""
    try:
        return TaskOutcome(task.number, getattr(answers, task.method)(*task.values))
    except ShoalError as error:
        return TaskOutcome(task.number, error=error)
    except Exception as error:
        log.write_error(error)
        return TaskOutcome(task.number, is_broken=True)


def serve_tasks(source: BinaryIO, target: BinaryIO) -> None:
    """Do tasks, several at once, until nobody asks any more."""
    channel = _Channel(target)
    told: WorkerConfig = read_frame(source)
    try:
        gateway = Gateway(told.gateway)
    except ShoalError as error:
        channel.send(error)
        return
    log = Log(channel)  # type: ignore[arg-type]
    gateway.on_error = log.write_error
    answers = AnswerService(gateway)
    threads, checker = ThreadPoolExecutor(told.threads), ThreadPoolExecutor(1)
    channel.send("open")

    def prepare() -> None:
        prepare_gateway(gateway, lambda: False)
        channel.send("prepared")

    def do(task: Task) -> None:
        channel.send(do_task(answers, task, log))

    Thread(target=prepare, daemon=True).start()
    while True:
        try:
            task: Task = read_frame(source)
        except EOFError:
            gateway.ledger.close()
            return
        # health is asked for by anybody, and must not take a thread from clients
        (checker if task.method == "check_health" else threads).submit(do, task)


def main() -> None:
    """Serve the process that began this one, by its standard input and output; end when it does."""
    for number in (signal.SIGINT, signal.SIGTERM):  # the service is told to end, and then asks no more
        signal.signal(number, signal.SIG_IGN)
    gc.set_threshold(*GARBAGE)
    target = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no frame
    try:
        serve_tasks(sys.stdin.buffer, target)
        target.flush()
    finally:
        os._exit(0)  # threads may be busy, and whoever waits for them would wait for what nobody asks for any more

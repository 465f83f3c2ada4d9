"""Child: a process that does what takes long, one task after the other; it can be stopped at any moment."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from threading import Lock
from typing import Any

from shoal.encoding.types import Progress
from shoal.errors import Infeasible, ShoalError
from shoal.studio.faults import spell_fault

_CONTEXT = get_context("spawn")  # a fork would take over the threads' locks


STOPPED = "Stopped"
"""The title of what somebody stopped."""


@dataclass(frozen=True)
class TaskProblem:
    """Why a task has no result, as plain data."""

    title: str
    faults: tuple[Mapping[str, str], ...] = ()
    blocking: tuple[str, ...] = ()
    attainable: Mapping[str, Any] | None = None
    relaxations: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def of(cls, error: BaseException) -> TaskProblem:
        """Return what an error says; nothing of one of ours that is none of these, whose text may hold data."""
        if isinstance(error, KeyboardInterrupt):
            return cls(STOPPED)
        if not isinstance(error, ShoalError):
            return cls("Something went wrong inside", (spell_fault({"what": type(error).__name__}),))
        faults = tuple(map(spell_fault, error.faults))
        if not isinstance(error, Infeasible):
            return cls(error.title, faults)
        ways = tuple({"text": one.text, "yaml": one.policy.to_yaml(), "loss": one.loss} for one in error.relaxations)
        return cls(error.title, faults, error.blocking, dict(error.attainable), ways)


class TaskFailed(Exception):
    """A task has no result."""

    def __init__(self, problem: TaskProblem) -> None:
        super().__init__(problem.title)
        self.problem = problem


class Child:
    """A process of our own, seen from the studio."""

    def __init__(self) -> None:
        self._connection, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=do_tasks, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._lock, self._busy = Lock(), False

    def run(self, task: str, arguments: Mapping[str, Any], progress: Progress) -> Any:
        """Return what a task gives.

        Raises
        ------
        TaskFailed
            It was stopped, it failed, or the process ended.
        """
        try:
            with self._lock:
                self._connection.send((task, dict(arguments)))
                self._busy = True
            return self._wait(progress)
        except (EOFError, OSError):
            raise TaskFailed(TaskProblem(STOPPED)) from None

    def _wait(self, progress: Progress) -> Any:
        while True:
            kind, *said = self._connection.recv()
            if kind == "progress":
                progress(*said)
                continue
            with self._lock:
                self._busy = False
            if kind == "failed":
                raise TaskFailed(said[0])
            return said[0]

    def interrupt(self) -> None:
        """Ask the task to end with the best so far, as Ctrl-C does."""
        with self._lock:
            if self._busy and self._process.pid is not None:
                os.kill(self._process.pid, signal.SIGINT)

    def kill(self) -> None:
        """End the process now."""
        self._process.kill()
        self._process.join()

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return self._process.is_alive()


class _Interruptions:
    """Ctrl-C reaches work, and nothing between two tasks."""

    def __init__(self) -> None:
        self.working = False
        signal.signal(signal.SIGINT, self._interrupt)

    def _interrupt(self, number: int, frame: object) -> None:
        if self.working:
            self.working = False  # once: what is written after a search that was stopped is written to its end
            raise KeyboardInterrupt


def do_tasks(connection: Connection) -> None:
    """Do what is asked until nobody asks any more: what the child process runs."""
    interruptions = _Interruptions()
    while True:
        try:
            task, arguments = connection.recv()
        except (EOFError, OSError):
            return
        try:
            connection.send(_do(task, arguments, connection, interruptions))
        except OSError:  # the studio has ended
            return


def _do(task: str, arguments: dict[str, Any], connection: Connection, interruptions: _Interruptions) -> tuple[str, Any]:
    from shoal.studio.tasks import TASKS

    interruptions.working = True
    try:
        found = TASKS[task](progress=lambda *said: connection.send(("progress", *said)), **arguments)
    except (Exception, KeyboardInterrupt) as error:
        return "failed", TaskProblem.of(error)
    finally:
        interruptions.working = False
    return "done", found

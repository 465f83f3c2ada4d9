"""Together: jobs of several threads, done at once by whichever of them comes first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Event, Lock
from typing import Generic, TypeVar

_Job = TypeVar("_Job")
_Done = TypeVar("_Done")


class _Ticket(Generic[_Job, _Done]):
    def __init__(self, job: _Job) -> None:
        self.job = job
        self.done: list[_Done | BaseException] = []
        self.woken = Event()
        """Set when it is done, or when it is its turn to do all that wait."""


class Together(Generic[_Job, _Done]):
    """Does jobs that come while others are done in one go, as soon as those are done.

    A transaction has to wait for the disk, whether it holds one entry or fifty. Nobody waits for others to come: the
    first does its own job, the next does all that came meanwhile.

    Parameters
    ----------
    do
        Does some jobs at once and returns what came of each, an error where it is one job's own; if it raises, none
        of them was done.

    Examples
    --------
    >>> doubled = Together(lambda jobs: [2 * job for job in jobs])
    >>> doubled.do(21)
    42
    """

    def __init__(self, do: Callable[[Sequence[_Job]], Sequence[_Done | BaseException]]) -> None:
        self._do = do
        self._waiting: list[_Ticket[_Job, _Done]] = []
        self._led = False
        """Whether somebody is at it."""
        self._lock = Lock()

    def do(self, job: _Job) -> _Done:
        """Do a job, or wait until somebody did it; return what came of it, or raise its error."""
        mine: _Ticket[_Job, _Done] = _Ticket(job)
        with self._lock:
            self._waiting.append(mine)
            alone, self._led = not self._led, True
        if not alone:
            mine.woken.wait()
        if not mine.done:
            self._do_all()
        (found,) = mine.done
        if isinstance(found, BaseException):
            raise found
        return found

    def _do_all(self) -> None:
        """Do all jobs that wait, and wake the first that came meanwhile to do the next."""
        with self._lock:
            batch, self._waiting = self._waiting, []
        found: Sequence[_Done | BaseException]
        try:
            found = self._do([ticket.job for ticket in batch])
        except BaseException as error:
            found = [error] * len(batch)
        for ticket, one in zip(batch, found, strict=True):
            ticket.done.append(one)
        with self._lock:
            after = self._waiting[:1]
            self._led = bool(after)
        for ticket in (*after, *batch):
            ticket.woken.set()

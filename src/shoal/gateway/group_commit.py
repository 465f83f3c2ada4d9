"""GroupCommit: jobs of several threads, done at once by whichever of them comes first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Event, Lock
from typing import Generic, TypeVar

_Job = TypeVar("_Job")
_Result = TypeVar("_Result")


class _Ticket(Generic[_Job, _Result]):
    def __init__(self, job: _Job) -> None:
        self.job = job
        self.results: list[_Result | BaseException] = []
        self.woken = Event()
        """Set when it is done, or when it is its turn to do all that wait."""


class GroupCommit(Generic[_Job, _Result]):
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
    >>> doubled = GroupCommit(lambda jobs: [2 * job for job in jobs])
    >>> doubled.do(21)
    42
    """

    def __init__(self, do: Callable[[Sequence[_Job]], Sequence[_Result | BaseException]]) -> None:
        self._do = do
        self._waiting: list[_Ticket[_Job, _Result]] = []
        self._has_leader = False
        """Whether a thread is doing jobs."""
        self._lock = Lock()

    def do(self, job: _Job) -> _Result:
        """Do a job, or wait until somebody did it; return what came of it, or raise its error."""
        ticket: _Ticket[_Job, _Result] = _Ticket(job)
        with self._lock:
            self._waiting.append(ticket)
            alone, self._has_leader = not self._has_leader, True
        if not alone:
            ticket.woken.wait()
        if not ticket.results:
            self._do_all()
        (result,) = ticket.results
        if isinstance(result, BaseException):
            raise result
        return result

    def _do_all(self) -> None:
        """Do all jobs that wait, and wake the first that came meanwhile to do the next."""
        with self._lock:
            batch, self._waiting = self._waiting, []
        results: Sequence[_Result | BaseException]
        try:
            results = self._do([ticket.job for ticket in batch])
        except BaseException as error:
            results = [error] * len(batch)
        for ticket, result in zip(batch, results, strict=True):
            ticket.results.append(result)
        with self._lock:
            after = self._waiting[:1]
            self._has_leader = bool(after)
        for ticket in (*after, *batch):
            ticket.woken.set()

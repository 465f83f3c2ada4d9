"""Jobs: what child processes do for the pages, with progress; a page asks again and is never waiting."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from queue import Queue
from threading import Lock, Thread
from typing import Any

from shoal.errors import PolicyError, ShoalError
from shoal.studio.children import STOPPED, Child, TaskFailed, TaskProblem
from shoal.studio.project import write_private

_AT_ONCE = 2
"""Long jobs that run at the same time: each holds the table."""
_REMEMBERED = 64
"""Quick jobs whose results are remembered."""


@dataclass
class Job:
    """Something that a child process does, did, or could not do."""

    id: str
    task: str
    title: str
    told: dict[str, Any] = field(default_factory=dict)
    """What is remembered of what was asked."""
    state: str = "waiting"
    """``waiting``, ``running``, ``done``, ``failed``, ``stopped`` or ``interrupted`` (the studio ended before it)."""
    result: Any = None
    problem: TaskProblem | None = None
    stage: tuple[str, int, int] = ("starting", 0, 0)
    began: float = 0.0
    """Seconds since 1970."""
    ended: float = 0.0
    stage_began: float = 0.0
    stops: int = 0
    """How often it was asked to stop."""

    @property
    def is_open(self) -> bool:
        """Whether it has still to end."""
        return self.state in ("waiting", "running")

    @property
    def share(self) -> float | None:
        """How much of the stage is done, 0 to 1, where that is known."""
        _, done, total = self.stage
        return min(done / total, 1.0) if total else None

    @property
    def seconds(self) -> float:
        """How long it ran."""
        return (self.ended or time.time()) - self.began if self.began else 0.0

    @property
    def seconds_left(self) -> float | None:
        """How long the stage may still take, where that can be told."""
        spent = time.time() - self.stage_began
        return spent * (1 - self.share) / self.share if self.share and spent > 0.5 else None

    def to_dict(self) -> dict[str, Any]:
        """Return what is kept on the disk: no record of the table."""
        kept = {name: getattr(self, name) for name in ("id", "task", "title", "told", "state", "began", "ended")}
        shown = {key: value for key, value in self.result.items() if key != "examples"} if self.result else None
        return {**kept, "result": shown, "problem": None if self.problem is None else asdict(self.problem)}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Job:
        """Return a job of an earlier time; one that was not at its end then never will be."""
        problem = None if data["problem"] is None else TaskProblem(**data["problem"])
        state = "interrupted" if data["state"] in ("waiting", "running") else data["state"]
        return cls(**{**data, "problem": problem, "state": state})


class Jobs:
    """All jobs of a project: quick ones share a process that holds the table, each long one has its own."""

    def __init__(self, folder: Path, make_child: Callable[[], Child] = Child) -> None:
        self._folder, self._lock, self._make_child = folder, Lock(), make_child
        self._children: dict[str, Child] = {}
        self._quick: dict[str, Job] = {}
        self._waiting: Queue[tuple[Job, dict[str, Any], Callable[[Job, str], None]] | None] = Queue()
        self.kept = {job.id: job for job in self._read()}
        self._thread = Thread(target=self._do_quick, daemon=True)
        self._thread.start()

    def _read(self) -> list[Job]:
        found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(self._folder.glob("job-*.json"))]
        return sorted((Job.of(data) for data in found), key=lambda job: job.began)

    # quick: asked again and again, remembered by what was asked

    def ask(
        self, task: str, arguments: dict[str, Any], then: Callable[[Job, str], None] = lambda job, state: None
    ) -> Job:
        """Return a quick job, begun now unless the same was asked before; others of its kind are not waited for."""
        key = json.dumps([task, arguments], sort_keys=True, default=str)
        with self._lock:
            known = self._quick.get(key)
            if known is not None and known.state != "stopped":
                return known
            self._supersede(task)
            job = self._quick[key] = Job(id=key, task=task, title=task)
            for old in list(self._quick)[:-_REMEMBERED]:
                del self._quick[old]
        self._waiting.put((job, arguments, then))
        return job

    def _supersede(self, task: str) -> None:
        """Stop jobs of the same kind: what they are about has changed."""
        for job in self._quick.values():
            if job.task == task and job.state == "waiting":
                job.state = "stopped"
            elif job.task == task and job.state == "running" and "quick" in self._children:
                self._children["quick"].interrupt()

    def _do_quick(self) -> None:
        while (waiting := self._waiting.get()) is not None:
            job, arguments, then = waiting
            if job.state == "stopped":
                continue
            if "quick" not in self._children or not self._children["quick"].is_alive:
                self._children["quick"] = self._make_child()
            state = self._run(job, self._children["quick"], arguments)
            try:
                then(job, state)
            except (OSError, ShoalError) as error:  # a full disk ends one job, not all that come after it
                job.problem, state = TaskProblem.of(error), "failed"
            job.state = state

    def warm(self) -> None:
        """Let the process for quick jobs begin, and import what it needs."""
        self.ask("warm", {})

    # long: asked once, kept on the disk, stopped on request

    def begin(
        self,
        task: str,
        title: str,
        arguments: dict[str, Any],
        told: dict[str, Any] | None = None,
        folder: Path | None = None,
    ) -> Job:
        """Begin a long job in a process of its own; one that writes gets a folder of its own inside a folder."""
        with self._lock:
            if sum(job.is_open for job in self.kept.values()) >= _AT_ONCE:
                hint = "wait for one of them, or stop it"
                raise PolicyError(f"{_AT_ONCE} jobs are running already", where="jobs", hint=hint)
            job = Job(id=secrets.token_hex(8), task=task, title=title, told=told or {}, began=time.time())
            self.kept[job.id] = job
        if folder is not None:
            (folder / job.id).mkdir(mode=0o700)
            arguments = {**arguments, "out": str(folder / job.id)}
        self._keep(job)
        Thread(target=self._do_long, args=(job, arguments), daemon=True).start()
        return job

    def _do_long(self, job: Job, arguments: dict[str, Any]) -> None:
        child = self._children[job.id] = self._make_child()
        state = self._run(job, child, arguments)
        del self._children[job.id]
        child.kill()
        try:
            self._keep(job, state)
        finally:
            job.state = state  # last: who sees it sees the rest

    def _run(self, job: Job, child: Child, arguments: dict[str, Any]) -> str:
        """Let a child do a job; return how it ended."""
        job.state, job.began = "running", time.time()

        def progress(what: str, done: int, total: int) -> None:
            if what != job.stage[0]:
                job.stage_began = time.time()
            job.stage = (what, done, total)

        try:
            job.result = child.run(job.task, arguments, progress)
        except TaskFailed as error:
            job.problem = error.problem
        job.ended = time.time()
        if job.problem is None:
            return "done"
        return "stopped" if job.problem.title == STOPPED else "failed"

    def stop(self, job: Job) -> None:
        """Ask a job to end with the best so far; asked again, end it at once."""
        child = self._children.get(job.id)
        if child is not None and job.is_open:
            job.stops += 1
            child.interrupt() if job.stops == 1 else child.kill()

    def _keep(self, job: Job, state: str = "running") -> None:
        kept = json.dumps({**job.to_dict(), "state": state}, ensure_ascii=False, default=str)
        write_private(self._folder / f"job-{job.id}.json", kept)

    def of(self, *tasks: str) -> list[Job]:
        """Return the long jobs of some kinds, the newest first."""
        return [job for job in reversed(self.kept.values()) if job.task in tasks]

    def find(self, id: str) -> Job | None:
        """Return a job that is shown on a page: a long one, or a quick one."""
        return self.kept.get(id) or self._quick.get(id)

    def forget(self) -> None:
        """Forget the quick jobs: the table is another one, or lies elsewhere."""
        with self._lock:
            self._quick.clear()

    def close(self) -> None:
        """End all processes."""
        self._waiting.put(None)
        for child in list(self._children.values()):
            child.kill()

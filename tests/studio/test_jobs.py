"""Child processes: what they answer, how they are stopped, and what is left of a studio that ended before them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from shoal.encoding.types import silent
from shoal.errors import PolicyError
from shoal.studio.children import Child, TaskFailed, TaskProblem
from shoal.studio.jobs import Job, Jobs
from tests.studio.served import PATIENTS, POLICY, ChildHere


class Busy(ChildHere):
    """A child that is never done until it is asked to stop."""

    asked = 0

    def run(self, task: str, arguments: Any, progress: Any) -> Any:
        progress("cutting", 1, 4)
        while not self.asked:
            time.sleep(0.01)
        if self.asked > 1:
            raise TaskFailed(TaskProblem("Stopped"))
        return {"outcome": "the best so far"}

    def interrupt(self) -> None:
        self.asked = max(self.asked, 1)

    def kill(self) -> None:
        self.asked = 2


def wait(job: Job) -> Job:
    for _ in range(12_000):
        if not job.is_open:
            return job
        time.sleep(0.01)
    raise AssertionError(job)


@pytest.mark.slow
def test_a_real_child_answers_fails_in_words_and_is_stopped(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(PATIENTS)
    child, path = Child(), str(tmp_path / "table.csv")
    told: list[str] = []
    found = child.run("rows", {"path": path, "reading": {}}, silent)
    assert found["rows"][0] == ["Ann", "21", "1000", "flu"]
    with pytest.raises(TaskFailed) as failed:
        child.run("check", {"path": path, "text": POLICY.replace("k: 2", "k: 9")}, lambda *said: told.append(said[0]))
    assert failed.value.problem.title == "The policy cannot be met" or failed.value.problem.faults
    with pytest.raises(TaskFailed) as broken:
        child.run("rows", {"path": path, "wrong": 1}, silent)
    assert [fault["what"] for fault in broken.value.problem.faults] == ["TypeError"]  # no text that may hold data
    child.interrupt()  # between two tasks: nothing to stop, and nothing breaks
    assert child.run("rows", {"path": path, "reading": {}}, silent)["rows"]
    child.kill()
    with pytest.raises(TaskFailed, match="Stopped"):
        child.run("rows", {"path": path, "reading": {}}, silent)


@pytest.mark.slow
def test_a_search_that_is_stopped_gives_the_best_so_far(tmp_path: Path) -> None:
    import shoal

    shoal.datasets.adult().head(400).write_csv(tmp_path / "adult.csv")
    models, search = [{"name": "k-anonymity", "k": 3}], {"name": "shoal", "effort": 1000}
    known = ["age", "education"]
    policy = shoal.Policy(quasi_identifiers=known, others="drop", models=models, algorithm=search)
    child, out = Child(), tmp_path / "out"
    out.mkdir()

    def stop(what: str, done: int, total: int) -> None:
        if what == "searching for less loss" and done > 1:
            child.interrupt()

    given = {"path": str(tmp_path / "adult.csv"), "text": policy.to_yaml(), "out": str(out), "mapping": False}
    found = child.run("release", given, stop)
    child.kill()
    assert found["holds"] and found["stopped"] == "by the user"
    assert shoal.audit(out / "release" / "release.csv", policy).models[0].holds


def test_a_long_job_tells_its_progress_is_stopped_and_kept(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path, Busy)  # type: ignore[arg-type]
    job = jobs.begin("release", "Release 1", {}, {"text": "x"})
    while job.stage[0] != "cutting":
        time.sleep(0.01)
    assert job.share == 0.25
    other = jobs.begin("compare", "others", {})
    with pytest.raises(PolicyError, match="running already"):
        jobs.begin("lattice", "a third", {})
    jobs.stop(job)
    assert wait(job).result == {"outcome": "the best so far"} and job.state == "done"
    again = Jobs(tmp_path, Busy)  # type: ignore[arg-type]  # the studio ended while the other ran
    assert again.kept[other.id].state == "interrupted" and again.kept[job.id].result == job.result
    jobs.close()


def test_quick_jobs_are_remembered_and_what_is_out_of_date_is_not_waited_for(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path, Busy)  # type: ignore[arg-type]
    first = jobs.ask("preview", {"text": "1"})
    while first.state != "running":
        time.sleep(0.01)
    waiting = jobs.ask("preview", {"text": "2"})
    last = jobs.ask("preview", {"text": "3"})  # stops the first, and the second never begins
    assert waiting.state == "stopped" and wait(first).state == "done"
    assert jobs.ask("preview", {"text": "1"}) is first
    jobs.close()
    assert last.state in ("waiting", "running", "done")
